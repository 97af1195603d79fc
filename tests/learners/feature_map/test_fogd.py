"""FOGD: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.learners.feature_map.fogd import FOGD
from okl_flow.streams import rings
from tests import plain


class Plain:
    """FOGD as its paper writes it."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.fourier = plain.Fourier(learner.kernel, learner.feature_count, dim, learner.seed)
        self.weights = np.zeros((learner.task.outputs, 2 * learner.feature_count))
        self.learned = 0

    def score(self, x):
        return self.weights @ self.fourier.features(x)

    def learn(self, x, y):
        self.learned += 1
        eta = plain.rate(self.learner, self.learned)
        slopes = [
            plain.slope(self.learner.loss, f, target)
            for f, target in zip(self.score(x), plain.targets(self.learner.task, y), strict=True)
        ]
        gradient = np.outer(slopes, self.fourier.features(x))
        gradient += self.learner.regularization * self.weights
        self.weights -= eta * gradient


def test_two_steps_by_hand():
    learner = FOGD(feature_count=1, kernel=Gaussian(bandwidth=2.0), learning_rate=0.5)
    direction = plain.Generator(learner.seed).normals(1)[0] / 2.0
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [1.0]], [1.0, -1.0])
    np.testing.assert_allclose(scores, [0.0, 0.5 * np.cos(direction)], rtol=1e-14)
    np.testing.assert_allclose(
        state.weights[0], [0.5 - 0.5 * np.cos(direction), -0.5 * np.sin(direction)], rtol=1e-14
    )


def test_regularization_shrinks_weights_without_a_slope():
    learner = FOGD(feature_count=3, learning_rate=0.5, regularization=0.2)
    state = learner.init(dim=1)
    learner.step(state, [[0.0]], [1.0])
    before = 100.0 * state.weights
    state.weights[:] = before
    learner.step(state, [[0.0]], [1.0])
    np.testing.assert_allclose(state.weights, 0.9 * before, rtol=1e-14)


@pytest.mark.parametrize("kernel", [Gaussian(bandwidth=0.7), Laplacian(bandwidth=2.0)])
def test_more_directions_come_closer_to_kogd(kernel):
    X, y = rings(500, dim=3, seed=4)
    parent = KOGD(kernel=kernel)
    expected = parent.step(parent.init(3), X, y)
    errors = []
    for feature_count in (20, 400, 8000):
        learner = FOGD(feature_count=feature_count, kernel=kernel)
        errors.append(np.mean((learner.step(learner.init(3), X, y) - expected) ** 2))
    assert errors[1] < errors[0] / 5
    assert errors[2] < errors[1] / 5


def test_states_of_one_seed_share_their_directions():
    learner = FOGD(feature_count=5, seed=3)
    first, second = learner.init(dim=2, seed=1), learner.init(dim=2, seed=2)
    X, y = rings(50)
    np.testing.assert_array_equal(learner.step(first, X, y), learner.step(second, X, y))
    for other, same in ((FOGD(feature_count=5, seed=3), True), (FOGD(feature_count=5), False)):
        scores = other.step(other.init(dim=2), X, y)
        assert np.array_equal(scores, learner.step(learner.init(dim=2), X, y)) == same


def test_a_kernel_without_directions_is_refused():
    with pytest.raises(ValueError, match="fogd: kernel must be gaussian or laplacian, not linear"):
        FOGD(kernel=Linear())
