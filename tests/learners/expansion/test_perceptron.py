"""Perceptron: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian
from okl_flow.kernels import Linear
from okl_flow.learners.expansion.perceptron import Perceptron
from okl_flow.tasks import Multiclass, Regression
from tests import plain


class Plain(plain.Expansion):
    """The perceptron as its paper writes it."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.budget = learner.budget

    def learn(self, x, y):
        targets = plain.targets(self.task, y)
        wrong = targets * self.score(x) <= 0
        if wrong.any():
            if len(self.examples) == self.budget:
                self.drop(0)
            self.add(x, np.where(wrong, targets, 0.0))


def test_a_score_of_zero_is_a_mistake_and_a_small_right_one_is_not():
    learner = Perceptron(kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [3.0], [1.0]], [1.0, 1.0, -1.0])
    np.testing.assert_allclose(scores, [0.0, np.exp(-4.5), np.exp(-0.5)], rtol=1e-14)
    np.testing.assert_array_equal(state.rows[0, : state.size], [0.0, 1.0])
    np.testing.assert_array_equal(state.weights[0, : state.size], [1.0, -1.0])


def test_classes_that_are_right_get_no_weight():
    learner = Perceptron(kernel=Gaussian(bandwidth=1.0), task=Multiclass(classes=3))
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [0.0], [0.0]], [2.0, 2.0, 0.0])
    np.testing.assert_array_equal(scores, [[0, 0, 0], [-1, -1, 1], [-1, -1, 1]])
    np.testing.assert_array_equal(state.weights[:, : state.size], [[-1, 1], [-1, 0], [1, -1]])


def test_mistakes_on_separable_data_stay_under_novikoffs_bound():
    generator = np.random.default_rng(0)
    X = generator.uniform(-1.0, 1.0, (2000, 3))
    direction = np.array([2.0, -1.0, 2.0]) / 3.0
    X = X[np.abs(X @ direction) >= 0.2]
    y = np.sign(X @ direction)
    learner = Perceptron(kernel=Linear())
    state = learner.init(dim=3)
    for _ in range(5):
        scores = learner.step(state, X, y)
    assert state.size <= np.max(np.sum(X * X, axis=1)) / 0.2**2
    assert np.all(scores * y > 0)


def test_without_a_budget_every_mistake_stays():
    learner = Perceptron(kernel=Gaussian(bandwidth=0.01))
    state = learner.init(dim=1)
    learner.step(state, np.arange(100.0)[:, None], np.ones(100))
    assert state.size == 100
    assert learner.state_bytes_max(1) is None


def test_the_oldest_example_makes_room():
    learner = Perceptron(budget=3, kernel=Gaussian(bandwidth=0.01))
    state = learner.init(dim=1)
    learner.step(state, np.arange(5.0)[:, None], np.ones(5))
    assert sorted(state.rows[0]) == [2.0, 3.0, 4.0]


def test_regression_is_refused():
    with pytest.raises(ValueError, match="perceptron does not do regression"):
        Perceptron(task=Regression())
