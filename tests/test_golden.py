"""Snapshots of every format, as they were written when it was new."""

import json

import numpy as np
import pytest

from okl_flow import snapshot
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.registry import MAPS, REGISTRY
from tests.conformance.cases import events_for
from tests.golden import DIM, FOLDER, answers, path_of

PATHS = sorted(FOLDER.rglob("*.oklf"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_it_loads_and_answers_as_it_did(path):
    owner, state = snapshot.loads(path.read_bytes())
    expected = json.loads(path.with_suffix(".json").read_text())
    np.testing.assert_allclose(answers(owner, state), expected, rtol=1e-9, atol=1e-12)
    assert state.seen == 60


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_it_goes_on_learning(path):
    owner, state = snapshot.loads(path.read_bytes())
    X, y = events_for(getattr(owner, "task", None) and owner.task.name, 100, dim=DIM, seed=8)
    if isinstance(owner, FeatureMap):
        owner.update(state, X)
    else:
        owner.step(state, X, y)
    assert state.seen == 160
    assert np.isfinite(answers(owner, state)).all()


@pytest.mark.parametrize("name", [*REGISTRY, *MAPS])
def test_everything_has_a_golden_snapshot(name):
    assert path_of(snapshot.FORMAT_VERSION, name).exists(), "run `python -m tests.golden`"
