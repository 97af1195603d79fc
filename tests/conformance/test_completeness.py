"""Whatever is under learners/ is registered, tested and documented, under one name."""

import inspect
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

import okl_flow
from okl_flow.registry import MAPS, REGISTRY
from okl_flow.tasks import Task
from tests.conformance.cases import accepted, plain_of

PACKAGE = Path(okl_flow.__file__).parent
PROJECT = Path(__file__).parents[2]
FILES = [
    path.relative_to(PACKAGE).with_suffix("")
    for folder in ("learners", "approximation")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if path.stem not in ("__init__", "feature_map")
]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_file_is_a_registered_learner_or_map(file):
    module = import_module(".".join(("okl_flow", *file.parts)))
    registered = [row.learner for row in REGISTRY.values()] + list(MAPS.values())
    owner = getattr(module, module.__all__[0])
    assert owner in registered
    if file.parts[0] == "learners":
        assert owner.name == file.stem
        assert module.__all__ == [owner.__name__, f"{owner.__name__}State"]
    assert (PROJECT / "tests" / file.parent / f"test_{file.stem}.py").exists()


@pytest.mark.parametrize("name", list(REGISTRY))
def test_a_learner_is_complete(name):
    row = REGISTRY[name]
    assert row.learner.name == name
    assert is_dataclass(row.learner)
    assert getattr(row.learner, "__final__", False), "mark the class @final"
    assert row.paper
    assert row.memory
    assert row.cost
    assert {"score", "learn"} <= {member for member, _ in inspect.getmembers(plain_of(name))}
    for text in ("Formula:", "Parameters:", "Cost:", ">>> "):
        assert text in row.learner.__doc__
    assert f"`{name}`" in (PROJECT / "README.md").read_text()


@pytest.mark.parametrize("name", list(REGISTRY))
def test_the_declared_tasks_are_the_ones_it_does(name):
    row = REGISTRY[name]
    done = [task for task in Task.members if accepted(name, {**row.settings, "task": task})]
    assert sorted(done) == sorted(row.tasks)
