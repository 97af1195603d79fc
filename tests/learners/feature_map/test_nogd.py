"""NOGD: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian, Linear
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.learners.feature_map.nogd import NOGD
from okl_flow.streams import rings
from tests import plain


class Plain(plain.Expansion):
    """NOGD as its paper writes it, on the features S^-1/2 V' k(x)."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner
        self.learned = 0
        self.map = None

    def score(self, x):
        return super().score(x) if self.map is None else self.w @ self.features(x)

    def learn(self, x, y):
        self.learned += 1
        eta = plain.rate(self.learner, self.learned)
        shrinkage = 1 - eta * self.learner.regularization
        slopes = [
            plain.slope(self.learner.loss, f, target)
            for f, target in zip(self.score(x), plain.targets(self.task, y), strict=True)
        ]
        if self.map is not None:
            self.w = shrinkage * self.w - eta * np.outer(slopes, self.features(x))
            return
        self.weights = [w * shrinkage for w in self.weights]
        if any(slopes):
            self.add(x, -eta * np.array(slopes))
            if len(self.examples) == self.learner.budget:
                self.make_map()

    def features(self, x):
        return self.map.T @ self.similarities(x)

    def make_map(self):
        values, vectors = np.linalg.eigh([self.similarities(z) for z in self.examples])
        rank = min(self.learner.rank or len(values), np.sum(values > 1e-10 * values[-1]))
        self.map = vectors[:, -rank:] / np.sqrt(values[-rank:])
        self.w = np.linalg.lstsq(self.map, np.array(self.weights))[0].T


def stage_two(learner, X, y):
    """The state with which stage two begins, and the number of events until then."""
    state = learner.init(X.shape[1])
    for count in range(1, len(X)):
        learner.step(state, X[count - 1 : count], y[count - 1 : count])
        if state.rank:
            return state, count
    raise AssertionError("stage two never began")


def test_stage_one_is_kogd():
    X, y = rings(80, dim=3, seed=2)
    learner, parent = NOGD(budget=200, regularization=0.5), KOGD(regularization=0.5)
    state = learner.init(3)
    np.testing.assert_array_equal(learner.step(state, X, y), parent.step(parent.init(3), X, y))
    assert state.rank == 0


def test_two_landmarks_by_hand():
    learner = NOGD(budget=2, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    state = learner.init(dim=1)
    k = np.exp(-0.5)
    scores = learner.step(state, [[0.0], [1.0], [1.0], [0.0]], [1.0, -1.0, -1.0, np.nan])
    # Both landmarks are in the span: each step on them is as in stage one.
    expected = [0.0, 0.5 * k, 0.5 * k - 0.5, 0.5 - k]
    np.testing.assert_allclose(scores, expected, atol=1e-14)
    assert (state.size, state.rank, state.learned) == (2, 2, 3)


def test_the_event_that_fills_the_budget_is_learned_in_stage_one():
    X, y = rings(200, dim=3, seed=5)
    learner = NOGD(budget=12)
    state, count = stage_two(learner, X, y)
    np.testing.assert_array_equal(state.rows[:, 11], X[count - 1])
    parent = KOGD()
    reference = parent.init(3)
    parent.step(reference, X[:count], y[:count])
    np.testing.assert_allclose(learner.score(state, X), parent.score(reference, X), atol=1e-12)


def test_at_a_lower_rank_the_function_is_carried_over_as_far_as_it_can_be():
    X, y = rings(200, dim=3, seed=5)
    learner = NOGD(budget=12, rank=4, kernel=Gaussian(bandwidth=0.5))
    state, count = stage_two(learner, X, y)
    assert state.rank == 4
    parent = KOGD(kernel=learner.kernel)
    reference = parent.init(3)
    parent.step(reference, X[:count], y[:count])
    gram = np.array([[plain.kernel_of(learner.kernel)(x, z) for x in X] for z in state.rows.T])
    values, vectors = np.linalg.eigh(gram[:, [np.argmin(abs(X - z).sum(1)) for z in state.rows.T]])
    kept = vectors[:, -4:] @ vectors[:, -4:].T @ reference.weights[0, :12]
    np.testing.assert_allclose(learner.score(state, X), kept @ gram, atol=1e-12)


def test_repeated_landmarks_lower_the_rank():
    learner = NOGD(budget=4, kernel=Gaussian(bandwidth=1.0), learning_rate=0.01)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0], [0.0], [1.0]], [1.0, -1.0, 1.0, -1.0])
    assert (state.size, state.rank) == (4, 2)
    assert state.projection.shape == (4, 2)
    assert state.weights[0, 2:].tolist() == [0.0, 0.0]


def test_landmarks_without_similarity_leave_a_map_of_zeros():
    learner = NOGD(budget=3, kernel=Linear())
    state = learner.init(dim=2)
    scores = learner.step(state, np.zeros((10, 2)), np.ones(10))
    assert scores.tolist() == [0.0] * 10
    assert state.rank == 1


def test_a_rank_above_the_budget_is_refused():
    with pytest.raises(ValueError, match="nogd: rank must be at most the budget of 5"):
        NOGD(budget=5, rank=6)


@pytest.mark.parametrize(
    ("rank", "bandwidth", "regularization"),
    [(None, 1.0, 0.0), (None, 10.0, 0.01), (20, 1.0, 0.1)],
)
def test_long_streams_stay_with_the_plain_formula(rank, bandwidth, regularization):
    X, y = rings(2500, dim=3, seed=9)
    learner = NOGD(
        budget=40,
        rank=rank,
        kernel=Gaussian(bandwidth=bandwidth),
        learning_rate=0.5,
        regularization=regularization,
    )
    scores = learner.step(learner.init(3), X, y)
    oracle = Plain(learner, 3, 0)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        expected = oracle.score(x)[0]
        assert abs(scores[t] - expected) <= 1e-9 * max(1.0, abs(expected)), t
        oracle.learn(x, label)
