"""RBP: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian
from okl_flow.learners.expansion.rbp import RBP
from okl_flow.tasks import Regression
from tests import plain


class Plain(plain.Expansion):
    """RBP as its paper writes it."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.budget = learner.budget
        self.generator = plain.Generator(seed)

    def learn(self, x, y):
        targets = plain.targets(self.task, y)
        wrong = targets * self.score(x) <= 0
        if not wrong.any():
            return
        self.add(x, np.where(wrong, targets, 0.0))
        if len(self.examples) > self.budget:
            gone = self.generator.below(self.budget)
            self.examples[gone], self.weights[gone] = self.examples.pop(), self.weights.pop()


def all_mistakes(count):
    """Events so far from each other that each is scored 0."""
    return np.arange(float(count))[:, None], np.ones(count)


def test_nothing_is_drawn_before_an_example_must_go():
    learner = RBP(budget=5, kernel=Gaussian(bandwidth=0.01))
    state = learner.init(dim=1, seed=4)
    learner.step(state, *all_mistakes(5))
    np.testing.assert_array_equal(state.words, learner.init(dim=1, seed=4).words)
    learner.step(state, [[4.0]], [1.0])
    np.testing.assert_array_equal(state.words, learner.init(dim=1, seed=4).words)
    learner.step(state, [[5.0]], [1.0])
    assert not np.array_equal(state.words, learner.init(dim=1, seed=4).words)


def test_only_the_new_example_is_certain_to_stay():
    learner = RBP(budget=3, kernel=Gaussian(bandwidth=0.01))
    X, y = all_mistakes(4)
    stays = np.zeros(4)
    for seed in range(3000):
        state = learner.init(dim=1, seed=seed)
        learner.step(state, X, y)
        stays[state.rows[0].astype(int)] += 1
    assert stays[3] == 3000
    np.testing.assert_allclose(stays[:3] / 3000, 2 / 3, atol=0.035)


def test_regression_is_refused():
    with pytest.raises(ValueError, match="rbp does not do regression"):
        RBP(task=Regression())
