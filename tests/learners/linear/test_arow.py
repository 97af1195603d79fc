"""AROW: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Multiclass, Regression, make_learner, streams
from okl_flow.curvature import triangle_of
from okl_flow.learners.linear.arow import AROW
from tests import plain
from tests.conformance.cases import events_for

COVARIANCES = ("full", "diagonal")


class Plain:
    """AROW as its paper writes it, by the inverse of the covariance, anew at each event."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.size = dim + (learner.intercept == "fitted")
        outputs = range(learner.task.outputs)
        self.weights = [np.zeros(self.size) for _ in outputs]
        self.precision = [np.eye(self.size) for _ in outputs]
        self.learned = 0

    def inputs(self, x):
        return np.append(x, 1.0)[: self.size]

    def score(self, x):
        return np.array([w @ self.inputs(x) for w in self.weights])

    def learn(self, x, y):
        scores = self.score(x)
        self.learned += 1
        for c, goal in enumerate(plain.targets(self.learner.task, y)):
            if self.learner.forgetting < 1:
                self.fade(c)
            if self.learner.task.name == "regression" or goal * scores[c] < 1:
                self.move(c, self.inputs(x), goal)

    def move(self, c, x, goal):
        r = self.learner.regularization
        S = np.linalg.inv(self.precision[c])
        self.weights[c] = self.weights[c] + (goal - self.weights[c] @ x) / (r + x @ S @ x) * S @ x
        if self.learner.covariance == "full":
            self.precision[c] = self.precision[c] + np.outer(x, x) / r
        else:
            after = np.diag(S) - (S @ x) ** 2 / (r + x @ S @ x)
            self.precision[c] = np.diag(1 / after)

    def fade(self, c):
        keep, w = self.learner.forgetting, self.weights[c]
        self.precision[c] = keep * self.precision[c]
        if self.learner.covariance == "full":
            for j in plain.given_back(self.learned, self.size, keep):
                self.precision[c][j, j] += 1
                w = w - 0.1 * w[j] * np.linalg.inv(self.precision[c])[:, j]
        else:
            before = self.precision[c]
            self.precision[c] = before + (1 - keep) * np.eye(self.size)
            w = np.linalg.solve(self.precision[c], before @ w)
        self.weights[c] = w


def covariance(state, output=0):
    U = triangle_of(state.triangle[output], state.inputs)
    return U @ np.diag(state.variances[output]) @ U.T


def test_two_steps_by_hand():
    learner = AROW(regularization=2.0, intercept="none")
    state = learner.init(dim=2)
    scores = learner.step(state, [[1.0, 1.0]], [1.0])
    assert scores[0] == 0.0  # so the step is 1 / (2 + 2)
    np.testing.assert_allclose(state.weights, [[0.25, 0.25]], rtol=1e-15)
    np.testing.assert_allclose(covariance(state), [[0.75, -0.25], [-0.25, 0.75]], rtol=1e-15)
    scores = learner.step(state, [[2.0, 0.0]], [-1.0])
    assert scores[0] == 0.5  # S x is (1.5, -0.5), and the step 1.5 / (2 + 3)
    np.testing.assert_allclose(state.weights, [[-0.2, 0.4]], rtol=1e-14)
    np.testing.assert_allclose(covariance(state), [[0.3, -0.1], [-0.1, 0.7]], rtol=1e-14)


def test_the_same_two_steps_with_a_variance_for_each_weight():
    learner = AROW(covariance="diagonal", regularization=2.0, intercept="none")
    state = learner.init(dim=2)
    learner.step(state, [[1.0, 1.0]], [1.0])
    np.testing.assert_allclose(state.variances, [[0.75, 0.75]], rtol=1e-15)
    learner.step(state, [[2.0, 0.0]], [-1.0])  # S x is (1.5, 0), and the step 1.5 / (2 + 3)
    np.testing.assert_allclose(state.weights, [[-0.2, 0.25]], rtol=1e-14)
    np.testing.assert_allclose(state.variances, [[0.3, 0.75]], rtol=1e-14)
    assert state.triangle.size == 0


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("forgetting", [0.99, 0.7])
@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_what_forgets_is_the_plain_formula_too(kind, forgetting, task):
    learner = make_learner("arow", covariance=kind, forgetting=forgetting, task=task)
    X, y = events_for(task, 200, dim=4)
    scores = learner.step(learner.init(4), X, y).reshape(len(X), -1)
    oracle = Plain(learner, 4, 0)
    for t in range(len(X)):
        np.testing.assert_allclose(scores[t], oracle.score(X[t]), rtol=0, atol=1e-10)
        if not np.isnan(y[t]):
            oracle.learn(X[t], y[t])


@pytest.mark.parametrize("kind", COVARIANCES)
def test_a_score_beyond_the_margin_changes_nothing(kind):
    learner = AROW(covariance=kind)
    state = learner.init(dim=1)
    state.weights[:] = [[0.5, 0.5]]
    learner.step(state, [[1.0]], [1.0])  # y w . x is 1, which is no loss any more
    np.testing.assert_array_equal(state.weights, [[0.5, 0.5]])
    np.testing.assert_array_equal(state.variances, 1.0)
    learner.step(state, [[0.99]], [1.0])
    assert (state.weights > 0.5).all()
    assert (state.variances < 1.0).all()


@pytest.mark.parametrize("intercept", ["fitted", "none"])
def test_regression_is_the_ridge_regression_of_all_events(intercept):
    X, y = streams.waves(300, dim=9, seed=2)
    learner = AROW(regularization=0.3, intercept=intercept, task=Regression())
    state = learner.init(dim=9)
    learner.step(state, X, y)
    inputs = np.column_stack([X, np.ones(300)]) if intercept == "fitted" else X
    precision = 0.3 * np.eye(inputs.shape[1]) + inputs.T @ inputs
    np.testing.assert_allclose(state.weights[0], np.linalg.solve(precision, inputs.T @ y), 1e-10)
    np.testing.assert_allclose(covariance(state), 0.3 * np.linalg.inv(precision), atol=1e-13)


def test_with_one_weight_both_covariances_are_one():
    X, y = streams.rotating(500, dim=2, seed=1)
    runs = [AROW(covariance=kind, intercept="none") for kind in COVARIANCES]
    full, diagonal = (learner.step(learner.init(1), X[:, :1], y) for learner in runs)
    np.testing.assert_allclose(full, diagonal, rtol=1e-12, atol=1e-14)


def lines_apart(count, flips=()):
    """Two classes that a line divides, away from 0; at the flips they change places."""
    generator = np.random.default_rng(3)
    X = generator.standard_normal((count, 6)) * np.array([1.0, 10.0, 0.1, 1.0, 1.0, 1.0])
    y = np.where(X[:, 0] + 10.0 * X[:, 2] + 0.2 * X[:, 3] > 0.7, 1.0, -1.0)
    for at in flips:
        y[at:] *= -1.0
    return X, y


@pytest.mark.parametrize("kind", COVARIANCES)
def test_a_line_that_divides_the_classes_is_found(kind):
    X, y = lines_apart(3000)
    learner = AROW(covariance=kind, regularization=1.0)
    mistakes = learner.step(learner.init(6), X, y) * y <= 0
    assert mistakes.mean() < 0.05
    assert mistakes[-1000:].mean() < 0.03
    without = AROW(covariance=kind, regularization=1.0, intercept="none")
    assert (without.step(without.init(6), X, y) * y <= 0)[-1000:].mean() > 0.1


@pytest.mark.parametrize("kind", COVARIANCES)
def test_only_what_forgets_follows_a_concept_that_turns_round(kind):
    X, y = lines_apart(12_000, flips=(6000,))
    last = {}
    for forgetting in (1.0, 0.99):
        learner = AROW(covariance=kind, regularization=1.0, forgetting=forgetting)
        last[forgetting] = np.mean((learner.step(learner.init(6), X, y) * y <= 0)[6500:8000])
    assert last[0.99] < 0.15 < 0.5 * last[1.0]


def test_each_class_has_a_covariance_of_its_own():
    learner = AROW(regularization=1.0, task=Multiclass(3), intercept="none")
    state = learner.init(dim=2)
    state.weights[:] = [[2.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]
    learner.step(state, [[1.0, 0.5]], [0.0])  # classes 0 and 1 are right beyond the margin
    np.testing.assert_array_equal(covariance(state, 0), np.eye(2))
    np.testing.assert_array_equal(covariance(state, 1), np.eye(2))
    assert covariance(state, 2)[0, 0] == pytest.approx(1 - 1 / 2.25)
    np.testing.assert_allclose(state.weights[2], [-1 / 2.25, -0.5 / 2.25])


@pytest.mark.parametrize("task", [Multiclass(3), Regression()])
def test_the_matrix_comes_with_the_first_label(task):
    learner = AROW(task=task)
    state = learner.init(dim=5)
    learner.step(state, np.ones((4, 5)), np.full(4, np.nan))
    assert state.triangle.size == 0
    learner.step(state, np.ones((4, 5)), [np.nan, 1.0, np.nan, np.nan])
    arrays = (state.weights, state.variances, state.triangle)
    assert sum(array.nbytes for array in arrays) == learner.state_bytes_max(5)
    assert AROW(covariance="diagonal", task=task).state_bytes_max(5) == 2 * 6 * 8 * task.outputs


@pytest.mark.parametrize("kind", COVARIANCES)
def test_an_event_of_great_length_leaves_some_variance(kind):
    learner = AROW(covariance=kind, regularization=1.0, intercept="none")
    state = learner.init(dim=2)
    learner.step(state, [[1e12, 0.0]], [1.0])
    np.testing.assert_allclose(state.variances, [[1e-24, 1.0]], rtol=1e-12)


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_a_covariance_is_positive_after_whatever_comes(kind, forgetting):
    generator = np.random.default_rng(5)
    hard = (
        generator.standard_normal((3000, 4)) * 10.0 ** generator.integers(-200, 140, (3000, 1)),
        np.tile([[1e6, 1e6, 1.0, 0.0]], (3000, 1)),
        np.zeros((3000, 4)),
        np.full((3, 4), 1e200),
    )
    for X in hard:
        learner = AROW(covariance=kind, forgetting=forgetting)
        state = learner.init(dim=4)
        y = generator.choice([-1.0, 1.0], len(X))
        assert np.isfinite(learner.step(state, X, y)).all()
        assert (state.variances >= 0.0).all()
        assert np.isfinite(state.triangle).all()
        assert state.variances.max() < 3.0


@pytest.mark.parametrize("kind", COVARIANCES)
def test_an_event_too_long_for_its_square_teaches_nothing(kind):
    learner = AROW(covariance=kind, intercept="none")
    state = learner.init(dim=2)
    learner.step(state, [[1.0, 2.0]], [1.0])
    before = [array.copy() for array in (state.weights, state.variances, state.triangle)]
    learner.step(state, [[1.0, 1e200]], [-1.0])
    for array, was in zip((state.weights, state.variances, state.triangle), before, strict=True):
        np.testing.assert_array_equal(array, was)
