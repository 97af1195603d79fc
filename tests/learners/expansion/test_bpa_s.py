"""BPA-S: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Linear, Multiclass, Polynomial, Regression, streams
from okl_flow.learners.expansion.bpa_s import BPAS
from tests import plain


class Plain(plain.Expansion):
    """BPA-S as its paper writes it: every candidate by the whole of its objective."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner

    def learn(self, x, y):
        C, own, goals = self.learner.aggressiveness, self.kernel(x, x), plain.targets(self.task, y)
        f, k = self.score(x), self.similarities(x)
        losses = np.maximum(0.0, 1 - goals * f)
        if own == 0 or not losses.any():
            return
        tau = np.minimum(C, losses / own)
        if len(self.examples) < self.learner.budget:
            self.add(x, tau * goals)
            return
        costs, betas = [], []
        for a, z, similarity in zip(self.weights, self.examples, k, strict=True):
            beta = a * similarity / own + tau * goals
            change = a * a * self.kernel(z, z) + beta * beta * own - 2 * a * beta * similarity
            after = np.maximum(0.0, 1 - goals * (f - a * similarity + beta * own))
            costs.append(np.sum(change / 2 + C * after))
            betas.append(beta)
        # Equal candidates differ by round-off here.
        place = int(np.argmax(costs <= min(costs) + 1e-12 * max(1.0, abs(min(costs)))))
        self.examples[place], self.weights[place] = x.copy(), betas[place]


def replayed(learner, X, y):
    """The scores of the native loop, once they have been found equal to the plain ones."""
    state, oracle = learner.init(X.shape[1]), Plain(learner, X.shape[1], 0)
    scores = learner.step(state, X, y)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(scores[t], oracle.score(x)[0], atol=1e-9, err_msg=f"event {t}")
        oracle.learn(x, label)
    return scores


def test_a_step_meets_the_margin_within_its_cap():
    learner = BPAS(kernel=Polynomial(degree=2, offset=1.0), aggressiveness=0.5)
    state = learner.init(dim=1)
    learner.step(state, [[1.0], [0.0]], [1.0, 1.0])
    # k(1, 1) = 4, so 1/4 is enough; then f(0) = 1/4 and 3/4 would be, of which 1/2 is allowed.
    np.testing.assert_allclose(state.weights, [[0.25, 0.5]], rtol=1e-15)
    np.testing.assert_allclose(learner.score(state, [[1.0]]), 1.5, rtol=1e-15)


def test_the_weight_of_the_row_that_makes_way_moves_onto_the_new_one():
    learner = BPAS(budget=2, kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [3.0]], [1.0, -1.0])
    kept = state.weights[0, 0]
    k, far = math.exp(-0.125), math.exp(-6.125 / 2 * 2)  # of 3.5 with 3 and with 0
    f = kept * far + state.weights[0, 1] * k
    beta = state.weights[0, 1] * k - max(0.0, 1.0 + f)
    learner.step(state, [[3.5]], [-1.0])
    np.testing.assert_array_equal(state.rows, [[0.0, 3.5]])
    np.testing.assert_allclose(state.weights, [[kept, beta]], rtol=1e-13)


def test_whichever_row_goes_the_score_of_the_event_moves_by_the_step():
    X, y = streams.rings(300, dim=3, seed=4)
    learner = BPAS(budget=5, kernel=Polynomial(degree=2), aggressiveness=0.05)
    state = learner.init(dim=3)
    for t in range(len(X)):
        before = learner.step(state, X[t : t + 1], y[t : t + 1])[0]
        own = (X[t] @ X[t] + 1.0) ** 2
        tau = min(0.05, max(0.0, 1.0 - y[t] * before) / own)
        after = learner.score(state, X[t : t + 1])[0]
        np.testing.assert_allclose(after, before + tau * y[t] * own, rtol=0, atol=1e-12)


def test_without_a_kernel_and_with_room_for_all_it_is_the_linear_step():
    X, y = streams.rotating(300, dim=4, seed=6)
    learner = BPAS(budget=300, kernel=Linear(), aggressiveness=0.3)
    scores = learner.step(learner.init(dim=4), X, y)
    w = np.zeros(4)
    for t in range(len(X)):
        assert abs(scores[t] - w @ X[t]) < 1e-12, t
        w += y[t] * min(0.3, max(0.0, 1 - y[t] * (w @ X[t])) / (X[t] @ X[t])) * X[t]


def test_the_first_of_equal_rows_makes_way():
    learner = BPAS(budget=3, kernel=Gaussian(bandwidth=0.01))
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0], [2.0], [3.0]], [1.0, -1.0, 1.0, 1.0])
    np.testing.assert_array_equal(state.rows, [[3.0, 1.0, 2.0]])
    learner.step(state, [[4.0]], [1.0])
    np.testing.assert_array_equal(state.rows, [[4.0, 1.0, 2.0]])


def test_equal_rows_are_equal_however_their_sums_are_made():
    generator = np.random.default_rng(0)
    X = np.eye(30)[generator.integers(0, 30, 600)]
    y = generator.choice([-1.0, 1.0], 600)
    for C in (0.07, 1.0):
        replayed(BPAS(budget=10, kernel=Gaussian(bandwidth=1.0), aggressiveness=C), X, y)
        replayed(BPAS(budget=10, kernel=Gaussian(bandwidth=0.05), aggressiveness=C), X, y)
        replayed(BPAS(budget=10, kernel=Polynomial(degree=3), aggressiveness=C), X, y)


@pytest.mark.parametrize("kernel", [Gaussian(bandwidth=1.0), Linear(), Polynomial(degree=3)])
def test_copies_of_the_event_are_equal_however_their_sums_are_made(kernel):
    generator = np.random.default_rng(1)
    X = generator.uniform(-1.0, 1.0, (8, 7))[generator.integers(0, 8, 600)]
    y = generator.choice([-1.0, 1.0], 600)
    scores = replayed(BPAS(budget=12, kernel=kernel, aggressiveness=0.05), X, y)
    assert len(np.unique(scores)) > 500


def test_copies_are_equal_however_little_the_event_has_to_teach():
    learner = BPAS(budget=2, kernel=Linear())
    for x in np.random.default_rng(2).uniform(-1.0, 1.0, (50, 7)):
        state = learner.init(dim=7)
        learner.step(state, [x, -x], [1.0, 1.0])
        assert state.size == 2
        state.rows[:] = x[:, None]
        state.weights[:] = np.array([0.75, 0.25]) * (1.0 - 1e-6) / (x @ x)
        kept = state.weights[0, 1]
        learner.step(state, [x], [1.0])
        assert state.weights[0, 1] == kept


def test_an_example_without_length_is_not_learned():
    learner = BPAS(kernel=Linear())
    state = learner.init(dim=2)
    learner.step(state, [[0.0, 0.0]], [1.0])
    assert state.size == 0


def test_a_class_with_its_margin_gets_no_weight():
    learner = BPAS(budget=1, kernel=Gaussian(bandwidth=1.0), task=Multiclass(3))
    state = learner.init(dim=1)
    learner.step(state, [[0.0]], [1.0])
    state.weights[:, 0] = [-3.0, 1.0, -1.0]
    learner.step(state, [[0.5]], [1.0])
    k = math.exp(-0.125)
    np.testing.assert_allclose(state.weights[:, 0], [-3.0 * k, 1.0, -1.0], rtol=1e-14)


def test_regression_is_refused():
    with pytest.raises(ValueError, match="bpa_s does not do regression"):
        BPAS(task=Regression())
