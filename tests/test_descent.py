"""One gradient step on the weights of explicit features."""

import numpy as np
import pytest

from okl_flow.descent import gradient_step, move
from okl_flow.losses import Hinge, Square
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
