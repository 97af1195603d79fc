"""Every learner's native loop against the plain version in its test file, draw by draw."""

import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.registry import REGISTRY
from tests.conformance.cases import alternatives, events_for, plain_of, variants

TOLERANCE = 1e-9
EVENTS = 400


def settings_of(name):
    """Every choice of a learner, and every number of it changed."""
    row = REGISTRY[name]
    numbers = [
        {**row.settings, **changed}
        for parameter, settings in alternatives(name).items()
        for changed in settings
        if isinstance(changed[parameter], int | float)
    ]
    return [*variants(name), *numbers]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param(
            name, settings, id="-".join([name, *(f"{k}={v}" for k, v in settings.items())])
        )
        for name in REGISTRY
        for settings in settings_of(name)
    ],
)
def test_the_fast_loop_is_the_plain_formula(name, settings):
    learner = make_learner(name, **settings)
    X, y = events_for(learner.task.name, EVENTS)
    state = learner.init(X.shape[1], seed=11)
    scores = learner.step(state, X, y).reshape(len(X), -1)
    oracle = plain_of(name)(learner, X.shape[1], 11)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        expected = oracle.score(x)
        error = np.max(np.abs(scores[t] - expected) / np.maximum(1.0, np.abs(expected)))
        assert error <= TOLERANCE, f"{name} at event {t}: {scores[t]} is not {expected}"
        if not np.isnan(label):
            oracle.learn(x, label)
    assert state.seen == EVENTS
