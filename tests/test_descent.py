"""One gradient step on the weights of explicit features."""

import numpy as np
import pytest

from okl_flow import Gaussian, streams
from okl_flow.descent import gradient_step, learn_examples, move
from okl_flow.losses import Hinge, Square
from okl_flow.rates import native_rate
from tests import plain


@pytest.mark.parametrize("loss", [Hinge(), Square()])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_a_step_follows_the_gradient_of_the_regularised_loss(loss, lam):
    generator = np.random.default_rng(1)
    for _ in range(20):
        weights, features = generator.standard_normal((1, 7)), generator.standard_normal(7)
        scores = weights @ features
        gradient = plain.slope(loss, scores[0], 1.0) * features + lam * weights
        expected = weights - 0.1 * gradient
        gradient_step(loss.native, scores, 1.0, 0.1, lam, weights, features, np.empty(1))
        np.testing.assert_allclose(weights, expected, atol=1e-14)


def test_each_output_moves_by_its_own_change():
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    move(weights, 0.5, np.array([10.0, 0.0]), np.array([1.0, -1.0]))
    assert weights.tolist() == [[10.5, -9.0], [1.5, 2.0]]


def test_several_classes_step_one_against_the_rest():
    weights = np.zeros((3, 2))
    gradient_step(
        Hinge().native, np.zeros(3), 1.0, 0.1, 0.0, weights, np.array([1.0, 2.0]), np.empty(3)
    )
    np.testing.assert_allclose(weights, [[-0.1, -0.2], [0.1, 0.2], [-0.1, -0.2]])


@pytest.mark.parametrize(("every", "stored"), [(False, [0, 2]), (True, [0, 1, 2])])
def test_examples_without_a_loss_are_stored_on_request(every, stored):
    X, y = np.array([[0.0], [0.0], [9.0]]), np.array([1.0, 1.0, -1.0])
    rows, weights, scores = np.zeros((1, 8)), np.zeros((1, 8)), np.zeros((3, 1))
    t, size, learned = learn_examples(
        0, X, y, scores, Gaussian().native, rows, weights, 0, 0,
        Hinge().native, native_rate("constant", 1.0), 0.0, every,
    )  # fmt: skip
    assert (t, size, learned) == (3, len(stored), 3)
    np.testing.assert_array_equal(rows[0, :size], X[stored, 0])
    assert weights[0, :size].tolist() == ([1.0, 0.0, -1.0] if every else [1.0, -1.0])


def test_examples_are_learned_as_long_as_there_is_room():
    X, y = streams.rings(20, dim=2)
    rows, weights, scores = np.zeros((2, 5)), np.zeros((1, 5)), np.zeros((20, 1))
    t, size, learned = learn_examples(
        3, X, y, scores, Gaussian().native, rows, weights, 0, 7,
        Square().native, native_rate("constant", 0.1), 0.0, False,
    )  # fmt: skip
    assert (t, size, learned) == (8, 5, 12)
