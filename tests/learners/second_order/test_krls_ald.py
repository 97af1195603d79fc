"""KRLS-ALD: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Linear, Multiclass, Polynomial, Regression, make_learner, streams
from okl_flow.curvature import triangle_of
from okl_flow.learners.linear.arow import AROW
from okl_flow.learners.second_order.krls_ald import KRLSALD
from tests import plain
from tests.conformance.cases import events_for


class Plain:
    """Least squares on the features of the kept examples, by whole matrices."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.kernel = plain.remembered(learner.kernel)
        self.examples = []
        self.precision = np.zeros((0, 0))
        self.moments = np.zeros((0, learner.task.outputs))
        self.learned = 0

    def features(self, x):
        row = [self.kernel(x, a) for a in self.examples]
        return np.linalg.solve(np.linalg.cholesky(self.gram()), row) if row else np.zeros(0)

    def score(self, x):
        if not self.examples:
            return np.zeros(self.learner.task.outputs)
        return self.features(x) @ np.linalg.solve(self.precision, self.moments)

    def learn(self, x, y):
        self.learned += 1
        if self.learner.forgetting < 1:
            self.fade()
        z, own = self.features(x), self.kernel(x, x)
        rest = own - z @ z
        full = len(self.examples) == self.learner.budget
        room = not full or self.learner.replacement == "oldest"
        if room and rest >= 1e-10 * own and rest > self.learner.dependency:
            if full:
                self.drop()
                z = self.features(x)
                rest = own - z @ z
            self.examples.append(x.copy())
            z = np.append(z, math.sqrt(rest))
            self.precision = np.pad(self.precision, (0, 1))
            self.precision[-1, -1] = self.learner.regularization
            self.moments = np.pad(self.moments, ((0, 1), (0, 0)))
        self.precision = self.precision + np.outer(z, z)
        self.moments = self.moments + np.outer(z, plain.targets(self.learner.task, y))

    def drop(self):
        """Keep what is known of the function's values at the other examples."""
        values, deviations = self.function()
        del self.examples[0]
        root = np.linalg.cholesky(self.gram())
        weights = np.linalg.solve(root, values[1:])
        deviations = np.linalg.solve(root, deviations[1:])
        self.precision = np.linalg.inv(deviations @ deviations.T)
        self.moments = self.precision @ weights

    def function(self):
        """Its values at the examples, and a root of their covariance."""
        root = np.linalg.cholesky(self.gram())
        covariance = np.linalg.cholesky(np.linalg.inv(self.precision))
        return root @ np.linalg.solve(self.precision, self.moments), root @ covariance

    def gram(self):
        return np.array([[self.kernel(a, b) for b in self.examples] for a in self.examples])

    def fade(self):
        keep, prior = self.learner.forgetting, self.learner.regularization
        self.precision = keep * self.precision
        self.moments = keep * self.moments
        for j in plain.given_back(self.learned, len(self.examples), keep):
            weight = np.linalg.solve(self.precision, self.moments)[j]
            self.precision[j, j] += prior
            self.moments[j] += 0.9 * prior * weight  # as it is would be the whole of it


def gram(kernel, X):
    similarity = plain.kernel_of(kernel)
    return np.array([[similarity(a, b) for b in X] for a in X])


def covariance(state):
    U = triangle_of(state.triangle, state.size)
    return U @ np.diag(state.variances[: state.size]) @ U.T


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_what_replaces_is_the_plain_formula_too(forgetting, task, kernel):
    learner = make_learner(
        "krls_ald",
        budget=9,
        replacement="oldest",
        forgetting=forgetting,
        kernel=kernel,
        dependency=0.05,
        task=task,
    )
    X, y = events_for(task, 150, dim=4)
    state = learner.init(4)
    scores = learner.step(state, X, y).reshape(len(X), -1)
    oracle = Plain(learner, 4, 0)
    for t in range(len(X)):
        np.testing.assert_allclose(scores[t], oracle.score(X[t]), rtol=1e-9, atol=1e-9)
        if not np.isnan(y[t]):
            oracle.learn(X[t], y[t])
    np.testing.assert_array_equal(state.rows.T, oracle.examples)


def test_three_events_by_hand():
    learner = KRLSALD(
        kernel=Gaussian(bandwidth=1.0), dependency=0.5, regularization=1.0, task=Regression()
    )
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [0.5], [0.0]], [2.0, 1.0, np.nan])
    k = math.exp(-0.125)  # 1 - k^2 is 0.22: the second is seen as k times the first
    np.testing.assert_allclose(scores, [0.0, k, (2.0 + k) / (2.0 + k * k)], rtol=1e-14)
    assert state.size == 1
    learner.step(state, [[3.0]], [1.0])  # far enough to be kept
    assert state.size == 2
    far = math.exp(-4.5)
    z = np.array([[1.0, 0.0], [k, 0.0], [far, math.sqrt(1.0 - far * far)]])
    precision = np.eye(2) + z.T @ z
    expected = np.linalg.solve(precision, z.T @ [2.0, 1.0, 1.0])
    np.testing.assert_allclose(state.weights[0], expected, rtol=1e-13)
    np.testing.assert_allclose(covariance(state), np.linalg.inv(precision), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(bandwidth=0.7), Polynomial(degree=2), Linear()])
@pytest.mark.parametrize("regularization", [1e-3, 0.1, 3.0])
def test_with_room_for_all_it_is_the_kernel_ridge_regression_of_the_events_so_far(
    kernel, regularization
):
    X, y = streams.waves(150, dim=3, seed=4)
    X[100:120] = X[:20]
    learner = KRLSALD(
        budget=150,
        kernel=kernel,
        dependency=0.0,
        regularization=regularization,
        task=Regression(),
    )
    scores = learner.step(learner.init(dim=3), X, y)
    K = gram(kernel, X)
    for t in range(1, 150):
        ridge = K[:t, :t] + regularization * np.eye(t)
        assert abs(scores[t] - K[t, :t] @ np.linalg.solve(ridge, y[:t])) < 1e-8, t


def test_with_little_regularization_it_goes_through_the_events_as_the_paper_does():
    X, y = streams.waves(20, dim=3, seed=1)
    learner = KRLSALD(
        kernel=Gaussian(bandwidth=0.5), dependency=0.0, regularization=1e-9, task=Regression()
    )
    state = learner.init(dim=3)
    learner.step(state, X, y)
    np.testing.assert_allclose(learner.score(state, X), y, atol=1e-6)


def test_without_a_kernel_it_is_recursive_least_squares_of_the_features():
    X, y = streams.waves(3000, dim=5, seed=4)
    linear = KRLSALD(kernel=Linear(), dependency=0.0, regularization=0.7, task=Regression())
    state = linear.init(dim=5)
    scores = linear.step(state, X, y)
    assert state.size == 5
    same = AROW(regularization=0.7, intercept="none", task=Regression())
    np.testing.assert_allclose(scores, same.step(same.init(dim=5), X, y), rtol=0, atol=1e-11)


def test_what_is_kept_is_far_from_the_rest_and_what_is_not_is_near():
    X, y = streams.rotating(600, dim=3, seed=1)
    learner = KRLSALD(kernel=Gaussian(bandwidth=1.0), dependency=0.1)
    state = learner.init(dim=3)
    learner.step(state, X, y)
    assert 10 < state.size < 100
    kept = state.rows[:, : state.size].T
    K = gram(learner.kernel, kept)
    assert 1.0 / np.diag(np.linalg.inv(K))[-1] > 0.1  # the last one, from those before it
    for x in X:
        k = np.array([plain.kernel_of(learner.kernel)(x, z) for z in kept])
        assert 1.0 - k @ np.linalg.solve(K, k) <= 0.1 + 1e-9


def test_a_full_budget_keeps_what_it_has_and_goes_on_learning():
    X, y = streams.rings(4000, seed=2)
    learner = KRLSALD(budget=25, kernel=Gaussian(bandwidth=0.4), dependency=0.0)
    state = learner.init(dim=2)
    learner.step(state, X[:200], y[:200])
    kept, factor = state.rows.copy(), state.factor.copy()
    weights = state.weights.copy()
    early = np.mean(learner.step(state, X[200:400], y[200:400]) * y[200:400] <= 0)
    learner.step(state, X[400:-200], y[400:-200])
    late = np.mean(learner.step(state, X[-200:], y[-200:]) * y[-200:] <= 0)
    np.testing.assert_array_equal(state.rows, kept)
    np.testing.assert_array_equal(state.factor, factor)
    assert not np.array_equal(state.weights, weights)
    assert late < early + 0.02
    assert early < 0.3


def test_a_new_example_takes_the_place_of_the_oldest():
    learner = KRLSALD(budget=2, replacement="oldest", regularization=1.0, dependency=0.1)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [4.0], [0.0]], [1.0, -1.0, 1.0])
    before = learner.score(state, [[4.0]])
    learner.step(state, [[20.0]], [1.0])
    np.testing.assert_array_equal(state.rows, [[4.0, 20.0]])
    np.testing.assert_allclose(learner.score(state, [[4.0], [20.0]]), [before[0], 0.5], rtol=1e-9)
    assert abs(learner.score(state, [[0.0]])[0]) < 1e-3
    learner.step(state, [[4.01]], [1.0])  # expressed by what is kept
    np.testing.assert_array_equal(state.rows, [[4.0, 20.0]])


def test_without_forgetting_what_was_known_of_the_kept_examples_stays_known():
    X, y = streams.waves(200, dim=2, seed=5)
    kernel = Gaussian(bandwidth=0.5)
    learner = KRLSALD(
        budget=12, kernel=kernel, replacement="oldest", dependency=0.01, task=Regression()
    )
    state, replaced = learner.init(dim=2), 0
    for t in range(len(X)):
        kept = state.rows[:, : state.size].copy()
        before = learner.score(state, kept.T)
        learner.step(state, X[t : t + 1], y[t : t + 1])
        if state.size == 12 == kept.shape[1] and not np.array_equal(state.rows, kept):
            replaced += 1
            np.testing.assert_array_equal(state.rows[:, :-1], kept[:, 1:])
            np.testing.assert_array_equal(state.rows[:, -1], X[t])
            # The new event alone has moved them: by its residual, along its covariance.
            K = gram(kernel, state.rows.T)
            L, z = state.factor, state.factor[-1]
            after = L @ state.weights[0]
            gain = covariance(state) @ z / 0.1
            residual = (y[t] - after[-1]) / (1.0 - z @ gain)  # the one before it learned
            np.testing.assert_allclose((after - L @ gain * residual)[:-1], before[1:], atol=1e-9)
            np.testing.assert_allclose(L @ L.T, K, rtol=0, atol=1e-13)
    assert replaced > 20


def test_the_oldest_makes_way_where_the_examples_travel():
    X, y = streams.wandering(20_000, seed=1)
    rates = {}
    for replacement in ("none", "oldest"):
        learner = KRLSALD(
            budget=30,
            kernel=Gaussian(bandwidth=0.5),
            replacement=replacement,
            dependency=0.1,
            forgetting=0.99,
        )
        rates[replacement] = np.mean((learner.step(learner.init(2), X, y) * y <= 0)[10_000:])
    assert rates["oldest"] < 0.16
    assert rates["none"] > 0.3


def test_classes_share_all_but_the_weights():
    X, _ = streams.rotating(300, dim=3, seed=3)
    y = np.digitize(X[:, 0], [-0.3, 0.3]).astype(float)
    learner = KRLSALD(budget=30, task=Multiclass(3))
    state = learner.init(dim=3)
    learner.step(state, X, y)
    alone = KRLSALD(budget=30)
    for c in range(3):
        own = alone.init(dim=3)
        alone.step(own, X, np.where(y == c, 1.0, -1.0))
        np.testing.assert_array_equal(own.weights[0], state.weights[c])
        np.testing.assert_array_equal(own.triangle, state.triangle)


@pytest.mark.parametrize("forgetting", [1.0, 0.99, 0.5])
def test_one_point_and_zeros_for_ever_leave_it_sound(forgetting):
    X, y = streams.rotating(300, dim=2, seed=3)
    still = np.tile(X[0], (50_000, 1))
    for kernel in (Gaussian(bandwidth=0.5), Linear()):
        for idle in (still, np.zeros_like(still)):
            learner = KRLSALD(budget=20, kernel=kernel, forgetting=forgetting, dependency=0.1)
            state = learner.init(dim=2)
            learner.step(state, X, y)
            learner.step(state, idle, np.ones(len(idle)))
            S = covariance(state)
            assert np.linalg.eigvalsh(S)[0] > 0.0
            assert np.linalg.eigvalsh(S)[-1] < 4.0
            assert np.abs(learner.score(state, X)).max() < 10.0


def test_only_what_forgets_follows_classes_that_change_places():
    X, y = streams.abrupt(8000, every=4000, noise=0.0, seed=1)
    rates = {}
    for forgetting in (1.0, 0.99):
        learner = KRLSALD(kernel=Gaussian(bandwidth=0.5), forgetting=forgetting)
        scores = learner.step(learner.init(dim=2), X, y)
        rates[forgetting] = np.mean((scores * y <= 0)[4500:])
    assert rates[0.99] < 0.1
    assert rates[1.0] > 0.3


def test_the_factor_stays_true_on_a_long_stream():
    X, y = streams.rotating(20_000, dim=3, seed=2)
    learner = KRLSALD(kernel=Gaussian(bandwidth=1.0), dependency=1e-4)
    state = learner.init(dim=3)
    learner.step(state, X, y)
    assert state.size == 100
    K = gram(learner.kernel, state.rows.T)
    assert np.abs(state.factor @ state.factor.T - K).max() < 1e-14
    kernel = plain.kernel_of(learner.kernel)
    rows = np.array([[kernel(x, z) for z in state.rows.T] for x in X[-2000:]])
    assert np.linalg.eigvalsh(covariance(state))[0] > 0.0
    assert np.isfinite(rows @ np.linalg.solve(K, rows[0])).all()


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_an_event_too_long_for_its_square_teaches_nothing(forgetting):
    learner = KRLSALD(kernel=Linear(), budget=2, forgetting=forgetting)
    state = learner.init(dim=2)
    learner.step(state, np.eye(2), [1.0, -1.0])
    before = [array.copy() for array in (state.weights, state.variances, state.triangle)]
    learner.step(state, [[1e200, 1.0]], [-1.0])
    faded = [before[0], before[1] / forgetting, before[2]]
    for array, was in zip((state.weights, state.variances, state.triangle), faded, strict=True):
        np.testing.assert_array_equal(array, was)
