"""Passive-aggressive learning: what only its paper promises."""

import dataclasses

import numpy as np
import pytest

from okl_flow import EpsilonInsensitive, Hinge, Logistic, Multiclass, Regression, Square, streams
from okl_flow.learners.linear.passive_aggressive import PassiveAggressive
from tests import plain

VARIANTS = ("pa", "pa1", "pa2")


class Plain:
    """The three variants as their paper writes them."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.weights = [np.zeros(dim) for _ in range(learner.task.outputs)]

    def score(self, x):
        return np.array([np.sum(w * x) for w in self.weights])

    def learn(self, x, y):
        C, square = self.learner.aggressiveness, np.sum(x**2)
        if square == 0:
            return
        for c, goal in enumerate(plain.targets(self.learner.task, y)):
            f = np.sum(self.weights[c] * x)
            loss = plain.value(self.learner.loss, f, goal)
            tau = {
                "pa": lambda loss: loss / square,
                "pa1": lambda loss: min(C, loss / square),
                "pa2": lambda loss: loss / (square + 1 / (2 * C)),
            }[self.learner.variant](loss)
            self.weights[c] = self.weights[c] + tau * np.sign(goal - f) * x


def weights_after(learner, X, y):
    state = learner.init(dim=len(X[0]))
    learner.step(state, X, y)
    return state.weights[0]


def test_one_step_of_each_variant_by_hand():
    X, y = [[3.0, 4.0]], [-1.0]
    np.testing.assert_allclose(
        weights_after(PassiveAggressive(variant="pa"), X, y), [-3 / 25, -4 / 25]
    )
    np.testing.assert_allclose(
        weights_after(PassiveAggressive(aggressiveness=0.01), X, y), [-0.03, -0.04]
    )
    np.testing.assert_allclose(
        weights_after(PassiveAggressive(aggressiveness=0.5), X, y), [-3 / 25, -4 / 25]
    )
    np.testing.assert_allclose(
        weights_after(PassiveAggressive(variant="pa2", aggressiveness=0.1), X, y),
        [-3 / 30, -4 / 30],
    )


def test_the_aggressive_step_leaves_no_loss_and_without_a_loss_it_is_passive():
    X, y = streams.rotating(500, dim=4, seed=1)
    learner = PassiveAggressive(variant="pa")
    state = learner.init(dim=4)
    passive = 0
    for t in range(len(X)):
        before = state.weights.copy()
        margin = y[t] * learner.step(state, X[t : t + 1], y[t : t + 1])[0]
        if margin >= 1.0:
            passive += 1
            np.testing.assert_array_equal(state.weights, before)
        else:
            np.testing.assert_allclose(y[t] * learner.score(state, X[t : t + 1]), 1.0, rtol=1e-9)
    assert passive > 20


def test_regression_goes_to_the_edge_of_the_tube():
    loss = EpsilonInsensitive(epsilon=0.5)
    learner = PassiveAggressive(variant="pa", loss=loss, task=Regression())
    state = learner.init(dim=2)
    for label, edge in ((2.0, 1.5), (1.0, 1.5), (0.0, 0.5), (-7.0, -6.5)):
        learner.step(state, [[1.0, 2.0]], [label])
        np.testing.assert_allclose(learner.score(state, [[1.0, 2.0]]), edge, rtol=1e-14)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("x", [0.0, 1e-200, 1e-162])
def test_an_example_without_length_moves_nothing_that_matters(variant, x):
    for task in (Multiclass(2), Regression()):
        learner = PassiveAggressive(variant=variant, task=task)
        state = learner.init(dim=2)
        learner.step(state, [[x, 0.0]] * 3, [1.0] * 3)
        assert np.abs(state.weights).max() < 1e-100


def test_each_class_takes_a_step_of_its_own():
    learner = PassiveAggressive(variant="pa", task=Multiclass(3))
    state = learner.init(dim=1)
    state.weights[:, 0] = [0.5, 0.5, -4.0]
    learner.step(state, [[2.0]], [1.0])
    np.testing.assert_allclose(state.weights[:, 0], [-0.5, 0.5, -4.0], rtol=1e-15)


def test_an_aggressiveness_that_would_be_ignored_is_refused():
    with pytest.raises(ValueError, match="aggressiveness plays no part in variant pa"):
        PassiveAggressive(variant="pa", aggressiveness=1.0)
    assert PassiveAggressive(variant="pa").aggressiveness is None
    assert PassiveAggressive(variant="pa2").aggressiveness == 1.0
    assert dataclasses.replace(PassiveAggressive(), variant="pa2").aggressiveness == 1.0


def test_losses_that_it_is_not_made_for_are_refused():
    assert PassiveAggressive().loss == Hinge()
    assert PassiveAggressive(task=Regression()).loss == EpsilonInsensitive()
    with pytest.raises(ValueError, match="those of the loss hinge, not of logistic"):
        PassiveAggressive(loss=Logistic())
    with pytest.raises(ValueError, match="those of the loss epsilon_insensitive, not of square"):
        PassiveAggressive(loss=Square(), task=Regression())


def test_memory_does_not_grow():
    learner = PassiveAggressive(task=Multiclass(3))
    state = learner.init(dim=5)
    learner.step(state, np.ones((1000, 5)), np.zeros(1000))
    assert state.weights.nbytes == learner.state_bytes_max(5)
