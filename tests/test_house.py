"""The rules of the house: imports point one way, and no engine below the operators."""

import ast
from pathlib import Path

import pytest

import okl_flow

ROOT = Path(okl_flow.__file__).parent
LAYERS = ("approximation", "learners", "registry", "factory", "operators", "dataflows")
ABOVE = (
    "__init__",
    "adapters",
    "cli",
    "doctor",
    "evaluation",
    "job",
    "running",
    "snapshot",
)  # may import from every layer
ENGINES = ("bytewax", "confluent_kafka", "kafka", "rocksdict")
MAY_USE_ENGINES = ("operators", "kafka", "dataflows")
OTHER_LIBRARIES = ("river", "sklearn")
MAY_USE_OTHER_LIBRARIES = ("adapters",)
FLOWS = ROOT.parent / "dataflows"  # above all layers: whatever is in it may import any of them
MODULES = sorted(ROOT.rglob("*.py"))


def imported(path):
    """Every module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def layer(parts):
    """The layer that a module belongs to: 0 for the foundation, None above all of them."""
    if parts[0] in ABOVE:
        return None
    return 1 + LAYERS.index(parts[0]) if parts[0] in LAYERS else 0


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    own = layer(parts)
    for name in imported(path):
        package, *rest = name.split(".")
        assert package != "dataflows", f"{path} imports {name}"
        assert package not in ENGINES or parts[0] in MAY_USE_ENGINES, f"{path} imports {name}"
        assert package not in OTHER_LIBRARIES or parts[0] in MAY_USE_OTHER_LIBRARIES, (
            f"{path} imports {name}"
        )
        if package == "okl_flow" and rest and own is not None:
            theirs = layer(rest)
            assert theirs is not None and theirs <= own, f"{path} imports {name}"


def test_learners_do_not_import_each_other():
    for path in (ROOT / "learners").rglob("*.py"):
        for name in imported(path):
            assert not name.startswith("okl_flow.learners"), f"{path} imports {name}"


def test_exported_names_exist_and_are_sorted():
    for name in okl_flow.__all__:
        assert hasattr(okl_flow, name)
    assert okl_flow.__all__ == sorted(okl_flow.__all__)


@pytest.mark.parametrize(
    "path", [*MODULES, *FLOWS.glob("*.py")], ids=lambda path: str(path.relative_to(ROOT.parent))
)
def test_files_stay_readable(path):
    tree = ast.parse(path.read_text())
    assert len(path.read_text().splitlines()) <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 70, f"{node.name} in {path}"
