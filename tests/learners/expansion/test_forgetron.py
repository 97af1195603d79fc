"""Forgetron: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian, streams
from okl_flow.kernels import Linear, Polynomial
from okl_flow.learners.expansion.forgetron import Forgetron
from okl_flow.tasks import Multiclass, Regression
from tests import plain


class Plain(plain.Expansion):
    """The self-tuned Forgetron as its paper writes it."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.budget = learner.budget
        self.mistakes = 0
        self.damage = 0.0

    def learn(self, x, y):
        if y * self.score(x)[0] > 0:
            return
        self.mistakes += 1
        self.add(x, [y])
        if len(self.examples) > self.budget:
            weight = self.weights[0][0]
            delta = abs(weight)
            mu = np.sign(weight) * self.score(self.examples[0])[0]
            phi = largest_allowed(
                lambda phi: self.damage + psi(delta * phi, mu * phi) <= 15 / 32 * self.mistakes
            )
            self.damage += psi(delta * phi, mu * phi)
            self.weights = [w * phi for w in self.weights]
            self.drop(0)


def psi(weight, score):
    """What it costs to drop an example of this weight, itself scored so."""
    return weight**2 + 2 * weight - 2 * weight * score


def largest_allowed(allowed):
    """The largest number in (0, 1] that is allowed, if it and all below it are."""
    if allowed(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def all_mistakes(count):
    """Events so far from each other that each is scored 0."""
    return np.arange(float(count))[:, None], np.ones(count)


def test_weights_shrink_only_once_the_allowance_is_spent():
    learner = Forgetron(budget=20, kernel=Gaussian(bandwidth=0.01))
    state = learner.init(dim=1)
    X, y = all_mistakes(38)
    learner.step(state, X[:37], y[:37])
    assert (state.mistakes, state.damage) == (37, 17.0)  # 17 at most, as 15/32 * 37 is 17.3
    np.testing.assert_array_equal(state.weights, np.ones((1, 20)))
    learner.step(state, X[37:], y[37:])
    phi = 1 - np.sqrt(3 / 16)  # 17 + 2 phi - phi^2 = 15/32 * 38
    np.testing.assert_allclose(state.weights, np.full((1, 20), phi), rtol=1e-14)
    np.testing.assert_allclose(state.damage, 15 / 32 * 38, rtol=1e-14)


def test_the_new_example_counts_in_the_score_of_the_one_that_goes():
    learner = Forgetron(budget=1, kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0]], [1.0, -1.0])
    k = np.exp(-0.5)
    phi = max(np.roots([1 - 2 * (1 - k), 2, -15 / 16]))  # the other root is below 0
    assert 0 < phi < 1
    np.testing.assert_allclose(state.weights, [[-phi]], rtol=1e-14)
    assert state.rows[0, 0] == 1.0


@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 1.0, 10.0])
def test_damage_never_exceeds_its_share_of_the_mistakes(bandwidth):
    learner = Forgetron(budget=7, kernel=Gaussian(bandwidth=bandwidth))
    state = learner.init(dim=2)
    for x, y in zip(*streams.rotating(1000), strict=True):
        learner.step(state, [x], [y])
        assert state.damage <= 15 / 32 * state.mistakes + 1e-9
        assert np.all(np.abs(state.weights) <= 1.0)
    assert state.mistakes > 100


@pytest.mark.parametrize("kernel", [Linear(), Polynomial()])
def test_a_kernel_that_is_not_normalized_is_refused(kernel):
    with pytest.raises(ValueError, match=f"must be gaussian or laplacian, not {kernel.name}"):
        Forgetron(kernel=kernel)


@pytest.mark.parametrize("task", [Multiclass(), Regression()])
def test_tasks_without_one_sign_are_refused(task):
    with pytest.raises(ValueError, match=f"forgetron does not do {task.name}"):
        Forgetron(task=task)
