"""Streams, cuts and configurations that nobody thought of: Hypothesis looks for them."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from okl_flow import Learner, snapshot
from okl_flow.registry import REGISTRY
from tests.conformance import cases

LABELS = {
    "binary": st.sampled_from([-1.0, 1.0]),
    "multiclass": st.sampled_from([0.0, 1.0, 2.0]),
    "regression": st.floats(-5, 5),
}

variants = cache(cases.variants)
alternatives = cache(cases.alternatives)


@dataclass(frozen=True)
class Run:
    """A learner, a stream, and places to cut it."""

    learner: Learner
    X: np.ndarray
    y: np.ndarray
    cuts: list[int]
    seed: int

    def parts(self):
        """The stream in pieces, some of them empty."""
        return zip(np.split(self.X, self.cuts), np.split(self.y, self.cuts), strict=True)


@st.composite
def runs(draw, name):
    """A learner in some configuration over some stream."""
    chosen = dict(draw(st.sampled_from(variants(name))))
    for parameter, others in alternatives(name).items():
        if parameter != "task" and draw(st.booleans()):
            chosen.update(draw(st.sampled_from(others)))
    learner = cases.accepted(name, chosen)
    assume(learner is not None)
    dim = draw(st.integers(1, 6))
    features = st.floats(-3, 3, allow_subnormal=False)
    example = st.lists(features, min_size=dim, max_size=dim)
    known = draw(st.lists(example, min_size=1, max_size=12))
    label = st.one_of(LABELS[learner.task.name], st.just(np.nan))
    stream = draw(st.lists(st.tuples(st.sampled_from(known), label), max_size=60))
    X = np.array([x for x, _ in stream], dtype=float).reshape(len(stream), dim)
    y = np.array([label for _, label in stream], dtype=float)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    return Run(learner, X, y, cuts, seed=draw(st.integers(0, 2**63 - 1)))


@pytest.mark.parametrize("name", list(REGISTRY))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_cuts_and_resumes_leave_no_trace(name, data):
    run = data.draw(runs(name))
    learner = run.learner
    whole = learner.init(run.X.shape[1], seed=run.seed)
    expected = learner.step(whole, run.X, run.y)
    state = learner.init(run.X.shape[1], seed=run.seed)
    scores = []
    for X, y in run.parts():
        foretold = learner.score(state, X[:1])
        blob = snapshot.dumps(learner, state)
        learner, state = snapshot.loads(blob)
        assert snapshot.dumps(learner, state) == blob
        scores.append(learner.step(state, X, y))
        np.testing.assert_array_equal(scores[-1][:1], foretold)
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    assert snapshot.dumps(learner, state) == snapshot.dumps(learner, whole)
