"""Projectron: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Linear, Multiclass, Regression, streams
from okl_flow.learners.expansion.projectron import Projectron
from tests import plain


class Plain(plain.Expansion):
    """The Projectron as its paper writes it, with a fresh solution by the whole matrix."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner

    def learn(self, x, y):
        goals = plain.targets(self.task, y)
        step = np.where(goals * self.score(x) <= 0, goals, 0.0)
        if not step.any():
            return
        k, own = self.similarities(x), self.kernel(x, x)
        K = np.array([self.similarities(z) for z in self.examples]).reshape(len(k), len(k))
        d = np.linalg.solve(K, k)
        delta = max(own - k @ d, 0.0)
        room = len(self.examples) < self.learner.budget
        if room and delta >= 1e-10 * own and math.sqrt(delta) > self.learner.threshold:
            self.add(x, step)
        else:
            self.weights = [w + step * part for w, part in zip(self.weights, d, strict=True)]


def kernel_matrix(state, bandwidth):
    rows = state.rows[:, : state.size]
    distances = ((rows[:, :, None] - rows[:, None]) ** 2).sum(axis=0)
    return np.exp(-distances / (2 * bandwidth**2))


def test_a_near_mistake_moves_the_weight_of_the_stored_example():
    learner = Projectron(kernel=Gaussian(bandwidth=1.0), threshold=0.5)
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [0.2], [0.0]], [1.0, -1.0, np.nan])
    k = math.exp(-0.02)  # its distance is sqrt(1 - k^2) = 0.198
    np.testing.assert_allclose(scores, [0.0, k, 1.0 - k], rtol=1e-14)
    assert state.size == 1


def test_a_far_mistake_is_stored_with_its_label():
    learner = Projectron(kernel=Gaussian(bandwidth=1.0), threshold=0.5)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0]], [1.0, -1.0])
    k = math.exp(-0.5)  # its distance is sqrt(1 - k^2) = 0.795
    np.testing.assert_array_equal(state.rows, [[0.0, 1.0]])
    np.testing.assert_array_equal(state.weights, [[1.0, -1.0]])
    np.testing.assert_allclose(state.factor, [[1.0, 0.0], [k, math.sqrt(1 - k * k)]], rtol=1e-14)


def test_a_full_budget_projects_whatever_comes():
    learner = Projectron(budget=1, kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [1.0], [0.0]], [1.0, -1.0, np.nan])
    np.testing.assert_allclose(scores[2], 1.0 - math.exp(-0.5), rtol=1e-14)
    np.testing.assert_array_equal(state.rows, [[0.0]])


def test_without_a_kernel_it_is_the_perceptron_in_as_many_rows_as_features():
    X, y = streams.rotating(2000, dim=4, seed=5)
    learner = Projectron(kernel=Linear(), threshold=0.0)
    state = learner.init(dim=4)
    scores = learner.step(state, X, y)
    w = np.zeros(4)
    for t in range(len(X)):
        assert abs(scores[t] - w @ X[t]) < 1e-9, t
        if y[t] * (w @ X[t]) <= 0:
            w += y[t] * X[t]
    assert state.size == 4


def test_a_zero_vector_is_never_stored_under_a_linear_kernel():
    learner = Projectron(kernel=Linear(), threshold=0.0)
    state = learner.init(dim=2)
    learner.step(state, np.zeros((5, 2)), np.ones(5))
    assert state.size == 0


def test_classes_share_the_examples_and_only_those_that_err_learn():
    learner = Projectron(kernel=Gaussian(bandwidth=1.0), threshold=0.5, task=Multiclass(3))
    state = learner.init(dim=1)
    learner.step(state, [[0.0]], [1.0])
    np.testing.assert_array_equal(state.weights, [[-1.0], [1.0], [-1.0]])
    learner.step(state, [[2.0]], [0.0])  # class 2 is right already
    np.testing.assert_array_equal(state.weights, [[-1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]])
    learner.step(state, [[0.1]], [2.0])  # class 0 is right already, and the row is near
    assert state.size == 2
    a = state.weights[:, :2]
    np.testing.assert_array_equal(a[0], [-1.0, 1.0])
    assert a[1, 0] < 0.1 and a[2, 0] > -0.1


def test_the_factor_stays_true_on_a_long_stream():
    X, y = streams.rotating(20_000, dim=3, seed=2)
    learner = Projectron(budget=100, kernel=Gaussian(bandwidth=1.0), threshold=1e-4)
    state = learner.init(dim=3)
    learner.step(state, X, y)
    assert state.size == 100
    error = np.abs(state.factor @ state.factor.T - kernel_matrix(state, 1.0))
    assert error.max() < 1e-14


def test_regression_is_refused():
    with pytest.raises(ValueError, match="projectron does not do regression"):
        Projectron(task=Regression())
