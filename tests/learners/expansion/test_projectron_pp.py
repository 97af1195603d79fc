"""Projectron++: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Linear, Multiclass, Regression
from okl_flow.learners.expansion.projectron_pp import ProjectronPP
from tests import plain


class Plain(plain.Expansion):
    """Projectron++ as its paper writes it, with a fresh solution by the whole matrix."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner

    def learn(self, x, y):
        goals = plain.targets(self.task, y)
        margins = goals * self.score(x)
        if (margins >= 1).all():
            return
        k, own = self.similarities(x), self.kernel(x, x)
        K = np.array([self.similarities(z) for z in self.examples]).reshape(len(k), len(k))
        d = np.linalg.solve(K, k)
        P = k @ d
        delta = max(own - P, 0.0)
        room = len(self.examples) < self.learner.budget
        new = delta >= 1e-10 * own and math.sqrt(delta) > self.learner.threshold
        enters = bool((margins <= 0).any() and room and new)
        weight = np.where(margins <= 0, goals, 0.0)
        B = self.learner.budget
        U = 0.25 * math.sqrt((B + 1) / math.log(B + 1))
        step = np.zeros(len(goals)) if enters else weight.copy()
        for c, margin in enumerate(margins):
            if 0 < margin < 1:
                loss = 1 - margin
                tau = min(loss / P, 1.0) if P > 0 else 1.0
                if tau * (2 * loss - tau * P - 2 * U * math.sqrt(delta)) >= 0:
                    step[c] = tau * goals[c]
        self.weights = [w + step * part for w, part in zip(self.weights, d, strict=True)]
        if enters:
            self.add(x, weight)


def one_stored(budget, x, weight=1.0):
    """A learner that holds one example at 0, and its scores at 0 after an event at x."""
    learner = ProjectronPP(budget=budget, kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    learner.step(state, [[0.0]], [1.0])
    state.weights[0, 0] = weight
    learner.step(state, [[x]], [1.0])
    assert state.size == 1
    return state.weights[0, 0]


def test_a_close_right_answer_is_pushed_to_the_margin():
    k = math.exp(-0.005)  # at 0.1; the event's score is 0.6 k, its distance sqrt(1 - k^2)
    loss, P = 1.0 - 0.6 * k, k * k
    U = 0.25 * math.sqrt(11 / math.log(11))
    assert loss * (2.0 - 1.0) - 2.0 * U * math.sqrt(1.0 - P) > 0.0  # tau = loss / P pays
    np.testing.assert_allclose(one_stored(10, 0.1, 0.6), 0.6 + loss / P * k, rtol=1e-13)


def test_a_step_that_loses_more_than_it_gains_is_left_out():
    k = math.exp(-0.5)  # at 1.0
    U = 0.25 * math.sqrt(11 / math.log(11))
    tau = 1.0  # loss / P is above 1
    assert 2.0 * (1.0 - k) - tau * k * k - 2.0 * U * math.sqrt(1.0 - k * k) < 0.0
    assert one_stored(10, 1.0) == 1.0


def test_a_greater_budget_steps_less_freely():
    assert one_stored(10, 0.1, 0.6) > 0.6
    assert one_stored(1000, 0.1, 0.6) == 0.6


def test_a_step_never_goes_past_the_whole_projection():
    k = math.exp(-0.08)  # at 0.4; loss / P is above 1
    assert 1.0 - 0.1 * k > k * k
    np.testing.assert_allclose(one_stored(1, 0.4, 0.1), 0.1 + k, rtol=1e-13)


def test_a_stored_example_is_brought_to_its_margin_exactly():
    learner = ProjectronPP(kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0]], [1.0, -1.0])
    assert state.size == 2
    np.testing.assert_allclose(learner.step(state, [[0.0]], [1.0]), 1.0 - math.exp(-0.5))
    np.testing.assert_allclose(learner.score(state, [[0.0]]), 1.0, rtol=1e-14)


def test_mistakes_and_margins_of_several_classes_are_met_in_one_event():
    kernel = Gaussian(bandwidth=1.0)
    learner = ProjectronPP(budget=2, kernel=kernel, threshold=0.1, task=Multiclass(3))
    state = learner.init(dim=1)
    learner.step(state, [[0.0]], [0.0])
    state.weights[:, 0] = [0.1, -0.1, -2.0]
    k = math.exp(-0.08)  # at 0.4
    learner.step(state, [[0.4]], [1.0])  # 0 and 1 err, 2 has its margin
    np.testing.assert_allclose(state.weights, [[0.1, -1.0], [-0.1, 1.0], [-2.0, 0.0]])
    state = learner.init(dim=1)
    learner.step(state, [[0.0]], [0.0])
    state.weights[:, 0] = [0.1, 0.1, -0.1]
    learner.step(state, [[0.4]], [0.0])  # 1 errs, the others are inside their margin
    expected = [[0.1 + k, 0.0], [0.1, -1.0], [-0.1 - k, 0.0]]
    np.testing.assert_allclose(state.weights, expected, rtol=1e-13)


def test_a_zero_vector_teaches_nothing_under_a_linear_kernel():
    learner = ProjectronPP(kernel=Linear())
    state = learner.init(dim=2)
    learner.step(state, [[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0])
    assert state.size == 1
    np.testing.assert_array_equal(state.weights[:, :1], [[1.0]])


def test_regression_is_refused():
    with pytest.raises(ValueError, match="projectron_pp does not do regression"):
        ProjectronPP(task=Regression())
