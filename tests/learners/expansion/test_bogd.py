"""BOGD and BOGD++: what only their paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian
from okl_flow.kernels import Linear
from okl_flow.learners.expansion.bogd import BOGD
from okl_flow.rng import seeded
from okl_flow.tasks import Regression
from tests import plain


class Plain(plain.Expansion):
    """BOGD and BOGD++ as their paper writes them."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner
        self.generator = plain.Generator(seed)
        self.learned = 0

    def learn(self, x, y):
        self.learned += 1
        eta = plain.rate(self.learner, self.learned)
        slopes = [
            plain.slope(self.learner.loss, f, target)
            for f, target in zip(self.score(x), plain.targets(self.task, y), strict=True)
        ]
        self.weights = [w * (1 - eta * self.learner.regularization) for w in self.weights]
        if not any(slopes):
            return
        limit = self.learner.clip * eta
        self.add(x, np.clip(-eta * np.array(slopes), -limit, limit))
        if len(self.examples) > self.learner.budget:
            chances = self.chances()
            unit = self.generator.unit()
            gone = next(i for i in range(len(chances)) if unit < sum(chances[: i + 1]))
            for i, chance in enumerate(chances):
                if i != gone:
                    self.weights[i] = np.clip(self.weights[i] / (1 - chance), -limit, limit)
            self.examples[gone], self.weights[gone] = self.examples.pop(), self.weights.pop()

    def chances(self):
        """The probability with which each of the old examples goes."""
        budget = self.learner.budget
        if self.learner.sampling == "uniform":
            return [1 / budget] * budget
        norms = [
            np.sum(np.abs(w)) * np.sqrt(self.kernel(z, z))
            for w, z in zip(self.weights[:budget], self.examples[:budget], strict=True)
        ]
        return [(1 - norm / sum(norms)) / (budget - 1) for norm in norms]


def test_uniform_sampling_multiplies_the_rest_by_b_over_b_less_one():
    learner = BOGD(budget=4, kernel=Gaussian(bandwidth=0.01), learning_rate=0.3)
    state = learner.init(dim=1)
    learner.step(state, np.arange(5.0)[:, None], np.ones(5))
    np.testing.assert_allclose(sorted(state.weights[0]), [0.3, 0.4, 0.4, 0.4], rtol=1e-14)
    assert 4.0 in state.rows[0]


def test_of_two_weighted_examples_the_one_left_carries_both():
    learner = BOGD(
        budget=2,
        kernel=Gaussian(bandwidth=0.01),
        task=Regression(),
        learning_rate=0.1,
        sampling="weighted",
        clip=10.0,
    )
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0], [2.0]], [1.0, -2.0, 0.5])
    left = state.weights[0, np.argmin(state.rows[0])]
    np.testing.assert_allclose(abs(left), 0.2 * 1.0 + 0.2 * 2.0, rtol=1e-14)


def test_weighted_sampling_counts_the_norms_of_examples():
    learner = BOGD(budget=2, kernel=Linear(), learning_rate=0.1, sampling="weighted", clip=10.0)
    state = learner.init(dim=1)
    learner.step(state, [[3.0], [-1.0], [0.5]], [1.0, 1.0, 1.0])
    place = np.flatnonzero(state.rows[0] != 0.5).item()
    norms = {3.0: 0.1 * 3.0, -1.0: 0.1 * 1.0}
    share = norms[state.rows[0, place]] / sum(norms.values())
    np.testing.assert_allclose(state.weights[0, place], 0.1 / share, rtol=1e-14)


@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_on_average_over_the_draw_the_function_stays_what_it_was(sampling):
    learner = BOGD(
        budget=3,
        kernel=Gaussian(bandwidth=0.01),
        task=Regression(),
        learning_rate=0.5,
        sampling=sampling,
        clip=10.0,
    )
    X, y = np.arange(4.0)[:, None], [1.0, 0.2, -0.1, 1.0]
    after = []
    for seed in range(4000):
        state = learner.init(dim=1, seed=seed)
        learner.step(state, X, y)
        after.append(learner.score(state, X))
    error = np.std(after, axis=0) / np.sqrt(len(after))
    assert np.all(np.abs(np.mean(after, axis=0) - y) <= 4 * error)


def test_heavy_examples_go_less_often_under_weighted_sampling():
    learner = BOGD(
        budget=3, kernel=Gaussian(bandwidth=0.01), task=Regression(), sampling="weighted"
    )
    gone = np.zeros(4)
    for seed in range(3000):
        state = learner.init(dim=1, seed=seed)
        learner.step(state, np.arange(4.0)[:, None], [0.5, 0.3, 0.2, 0.4])
        gone[list({0, 1, 2, 3} - set(state.rows[0].astype(int)))] += 1
    np.testing.assert_allclose(gone / 3000, [0.25, 0.35, 0.4, 0.0], atol=0.035)


def test_weights_are_cut_at_clip_steps():
    learner = BOGD(budget=10, kernel=Gaussian(bandwidth=0.01), learning_rate=0.2, clip=3.0)
    state = learner.init(dim=1)
    learner.step(state, np.arange(200.0)[:, None], np.ones(200))
    np.testing.assert_allclose(np.max(state.weights), 3.0 * 0.2, rtol=1e-14)


def test_a_steep_loss_adds_at_most_clip_steps():
    learner = BOGD(kernel=Gaussian(), task=Regression(), learning_rate=0.1, clip=3.0)
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [0.0]], [-1e6, 0.0])
    np.testing.assert_allclose(scores, [0.0, -0.3], rtol=1e-14)


def test_weighted_sampling_is_uniform_among_examples_of_no_weight():
    learner = BOGD(budget=3, kernel=Linear(), learning_rate=0.3, sampling="weighted")
    state = learner.init(dim=2)
    learner.step(state, np.zeros((4, 2)), np.ones(4))
    np.testing.assert_allclose(sorted(state.weights[0]), [0.3, 0.45, 0.45], rtol=1e-14)


def test_nothing_is_drawn_before_an_example_must_go():
    learner = BOGD(budget=5, kernel=Gaussian(bandwidth=0.01))
    state = learner.init(dim=1, seed=4)
    X, y = np.arange(6.0)[:, None], np.ones(6)
    learner.step(state, X[:5], y[:5])
    np.testing.assert_array_equal(state.words, seeded(4))
    learner.step(state, X[5:], y[5:])
    assert not np.array_equal(state.words, seeded(4))
