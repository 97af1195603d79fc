"""KOGD: what only its paper promises."""

import numpy as np

from okl_flow import Gaussian
from okl_flow.learners.expansion.kogd import KOGD
from tests import plain


class Plain(plain.Expansion):
    """KOGD as its paper writes it."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner
        self.learned = 0

    def learn(self, x, y):
        self.learned += 1
        eta = plain.rate(self.learner, self.learned)
        slopes = [
            plain.slope(self.learner.loss, f, target)
            for f, target in zip(self.score(x), plain.targets(self.task, y), strict=True)
        ]
        self.weights = [w * (1 - eta * self.learner.regularization) for w in self.weights]
        if any(slopes):
            if len(self.examples) == self.learner.budget:
                self.drop(0)
            self.add(x, -eta * np.array(slopes))


def test_two_steps_by_hand():
    learner = KOGD(kernel=Gaussian(bandwidth=1.0), learning_rate=0.5, regularization=0.2)
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [1.0], [0.0]], [1.0, -1.0, 1.0])
    k = np.exp(-0.5)
    np.testing.assert_allclose(scores, [0.0, 0.5 * k, 0.5 * 0.9 - 0.5 * k], rtol=1e-14)
    np.testing.assert_allclose(state.weights[0, : state.size], [0.5 * 0.81, -0.45, 0.5])


def test_without_a_budget_every_lossy_example_stays():
    learner = KOGD(kernel=Gaussian(bandwidth=0.01), learning_rate=0.5)
    state = learner.init(dim=1)
    learner.step(state, np.arange(100.0)[:, None], np.ones(100))
    assert state.size == 100
    assert learner.state_bytes_max(1) is None


def test_the_oldest_example_makes_room():
    learner = KOGD(budget=3, kernel=Gaussian(bandwidth=0.01), learning_rate=0.5)
    state = learner.init(dim=1)
    learner.step(state, np.arange(5.0)[:, None], np.ones(5))
    assert sorted(state.rows[0]) == [2.0, 3.0, 4.0]
