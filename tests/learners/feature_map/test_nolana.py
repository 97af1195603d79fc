"""NOLANA: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian, Logistic, Multiclass, Regression, snapshot
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.learners.feature_map.nogd import NOGD
from okl_flow.learners.feature_map.nolana import NOLANA
from okl_flow.streams import rings, waves
from tests import plain


class Plain(plain.Expansion):
    """NOLANA as its paper writes it, with a new eigen-decomposition after every move."""

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
            self.follow(x)
            return
        self.weights = [w * shrinkage for w in self.weights]
        self.add(x, -eta * np.array(slopes))
        if len(self.examples) == self.learner.budget:
            self.make_map()
            self.w = np.linalg.lstsq(self.map, np.array(self.weights))[0].T
            self.followers = plain.Followers(self.learner, self.examples, self.learned)

    def features(self, x):
        return self.map.T @ self.similarities(x)

    def make_map(self):
        gram = np.array([self.similarities(z) for z in self.examples])
        values, vectors = np.linalg.eigh(gram)
        most = self.learner.rank or max(1, 4 * len(values) // 5)
        rank = min(most, np.sum(values > 1e-10 * values[-1]))
        self.map = vectors[:, len(values) - rank :] / np.sqrt(values[len(values) - rank :])

    def follow(self, x):
        place, to = self.followers.move_of(x, self.learned)
        if place is None:
            return
        old = [self.score(to if i == place else z) for i, z in enumerate(self.examples)]
        self.examples[place] = to
        self.make_map()
        Phi = np.array([self.features(z) for z in self.examples])
        ridge = np.sqrt(self.learner.refit_ridge) * np.eye(Phi.shape[1])
        goal = np.vstack([old, np.zeros((Phi.shape[1], self.task.outputs))])
        self.w = np.linalg.lstsq(np.vstack([Phi, ridge]), goal, rcond=None)[0].T


def drifting(count, dim=3, seed=0):
    """Rings around a centre that wanders."""
    X, y = rings(count, dim=dim, seed=seed)
    return X + 0.8 * np.sin(np.arange(count)[:, None] / 300 + np.arange(dim)), y


def run(learner, X, y):
    state = learner.init(X.shape[1])
    return state, learner.step(state, X, y)


def test_stage_one_is_kogd_that_keeps_every_labelled_event():
    X, y = rings(80, dim=3, seed=2)
    y[5] = np.nan
    learner, parent = NOLANA(budget=200, regularization=0.5), KOGD(regularization=0.5)
    state, scores = run(learner, X, y)
    np.testing.assert_allclose(scores, parent.step(parent.init(3), X, y), atol=1e-14)
    assert (state.size, state.landmarks) == (79, 0)


def test_an_event_by_hand():
    """One landmark: features K(x, u), w = f(u), and a move from 0 to 1."""
    learner = NOLANA(
        budget=1, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5, squared_distance=1.0
    )
    X = np.array([[0.0], [2.0], [1.0], [2.0]])
    state, scores = run(learner, X, np.array([1.0, 1.0, np.nan, np.nan]))
    # f = 0.5 K(0, .) after the first event; the second is scored so, and then learned.
    weight = 0.5 + 0.5 * np.exp(-2)
    # At the new landmark 1 the old function is weight * K(0, 1), and that is kept.
    moved = weight * np.exp(-0.5)
    np.testing.assert_allclose(
        scores, [0.0, 0.5 * np.exp(-2), moved, moved * np.exp(-0.5)], atol=1e-8
    )
    assert state.rows.tolist() == [[1.0]]
    assert state.counts.tolist() == [2.0]


def test_a_move_keeps_the_function_at_the_landmarks():
    X, y = drifting(400)
    learner = NOLANA(budget=20, rank=20, squared_distance=0.1, learning_rate=0.5)
    state, _ = run(learner, X[:300], y[:300])
    for x, label in zip(X[300:], y[300:], strict=True):
        # With a label that costs nothing, the step that comes before the move is none.
        score = learner.score(state, x[None])[0]
        if score * label < 1:
            learner.step(state, x[None], [label])
            continue
        before = snapshot.loads(snapshot.dumps(learner, state))[1]
        learner.step(state, x[None], [label])
        landmarks = state.rows.T.copy()
        expected = learner.score(before, landmarks)
        np.testing.assert_allclose(learner.score(state, landmarks), expected, atol=1e-5)
    assert state.moves > 100


def test_an_event_without_a_label_moves_nothing():
    X, y = drifting(300)
    learner = NOLANA(budget=20, squared_distance=0.0)
    state, _ = run(learner, X[:200], y[:200])
    before = snapshot.dumps(learner, state)
    seen = state.seen
    learner.step(state, X[200:], np.full(100, np.nan))
    state.seen = seen
    assert snapshot.dumps(learner, state) == before


@pytest.mark.parametrize("task", [Regression(), Multiclass(classes=3)])
def test_without_moves_it_is_nogd_on_the_same_landmarks(task):
    """With a loss that is never 0, `nogd` keeps the first labelled events as well."""
    if task.name == "regression":
        X, y = waves(300, dim=3, seed=1)
        settings = {"task": task}
    else:
        X, y = rings(300, dim=3, seed=1)
        y = (y > 0) + (X[:, 0] > 0.2).astype(float)
        settings = {"task": task, "loss": Logistic()}
    parent = NOGD(budget=30, rank=24, **settings)
    state, scores = run(NOLANA(budget=30, squared_distance=1e6, **settings), X, y)
    assert (state.moves, state.landmarks) == (0, 30)
    np.testing.assert_allclose(scores, parent.step(parent.init(3), X, y), atol=1e-9)


def test_a_larger_ridge_fits_smaller_weights():
    X, y = drifting(600)
    norms = []
    for ridge in (0.0, 1e-8, 1e-2, 1.0):
        state, _ = run(NOLANA(budget=20, squared_distance=0.3, refit_ridge=ridge), X, y)
        norms.append(np.linalg.norm(state.weights))
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 0.5 * norms[0]


def mistakes(learner, count=4000):
    """The share of mistakes on rings that wander far."""
    X, y = rings(count, dim=2, seed=0)
    X += 1.5 * np.sin(np.arange(count)[:, None] / 500 + np.arange(2))
    return np.mean(run(learner, X, y)[1] * y <= 0)


WANDERING = {"budget": 30, "kernel": Gaussian(bandwidth=0.4), "learning_rate": 0.5}


def test_the_refit_is_what_makes_moving_harmless():
    """Figure 2 of the paper; a ridge that leaves nothing of the fit stands in for no fit."""
    settings = {"squared_distance": 0.03, "landmark_memory": 10, **WANDERING}
    assert mistakes(NOLANA(**settings)) < 0.32
    assert mistakes(NOLANA(refit_ridge=1e6, **settings)) > 0.45


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        ({"squared_distance": 0.1, "landmark_memory": 5}, 0.85),
        ({"squared_distance": 0.1, "landmark_ttl": 200}, 0.7),
    ],
)
def test_on_a_drifting_stream_it_is_ahead_of_nogd(settings, share):
    still = mistakes(NOGD(rank=24, **WANDERING))
    assert mistakes(NOLANA(**settings, **WANDERING)) < share * still


@pytest.mark.parametrize(
    "settings",
    [
        {"squared_distance": 0.1},
        {"squared_distance": 0.0, "landmark_memory": 1, "rank": 25},
        {"squared_distance": 0.1, "landmark_ttl": 60, "regularization": 0.01},
        {"squared_distance": 0.1, "counting": "examples", "kernel": Gaussian(bandwidth=4.0)},
    ],
)
def test_long_streams_stay_with_the_plain_formula(settings):
    X, y = drifting(700)
    learner = NOLANA(**{"budget": 25, "learning_rate": 0.5, **settings})
    state, scores = run(learner, X, y)
    assert state.moves > 150
    oracle = Plain(learner, 3, 0)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        expected = oracle.score(x)[0]
        assert abs(scores[t] - expected) <= 1e-8 * max(1.0, abs(expected)), t
        oracle.learn(x, label)


def test_a_million_events_leave_memory_and_features_as_they_were():
    learner = NOLANA(
        budget=8, rank=6, kernel=Gaussian(bandwidth=0.5), squared_distance=0.3, landmark_memory=20
    )
    state = learner.init(3)
    X, y = drifting(50_000)
    for _ in range(20):
        learner.step(state, X, y)
    assert state.seen == 1_000_000
    assert state.moves > 200_000
    arrays = (state.rows, state.weights, state.counts, state.nearest_at, state.values)
    held = sum(array.nbytes for array in arrays) + state.vectors.nbytes
    assert held <= learner.state_bytes_max(3)
    # M' E M of the features' matrix M = V S^-1/2, E of the landmarks as they are
    squares = ((state.rows.T[:, None] - state.rows.T[None]) ** 2).sum(axis=2)
    M = state.vectors[:, :6] / np.sqrt(state.values[:6])
    np.testing.assert_allclose(M.T @ np.exp(-squares / 0.5) @ M, np.eye(6), atol=1e-10)


def test_what_a_parameter_cannot_be_is_refused():
    with pytest.raises(ValueError, match="nolana: rank must be at most the budget of 5"):
        NOLANA(budget=5, rank=6)
    with pytest.raises(ValueError, match="landmark_memory must be a whole number at least 1"):
        NOLANA(landmark_memory=0)
