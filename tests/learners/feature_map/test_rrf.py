"""RRF: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Square
from okl_flow.learners.feature_map.fogd import FOGD
from okl_flow.learners.feature_map.rrf import RRF
from okl_flow.streams import rings
from tests import plain


class Plain:
    """RRF as its paper writes it."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.drawn = plain.Fourier(Gaussian(), learner.feature_count, dim, learner.seed)
        self.w = np.zeros((learner.task.outputs, 2 * learner.feature_count))
        self.first = np.log(1 / learner.kernel.bandwidth)
        self.log_scales = np.full(dim, self.first)
        self.learned = 0

    def features(self, x):
        return self.drawn.features(np.exp(self.log_scales) * x)

    def score(self, x):
        return self.w @ self.features(x)

    def learn(self, x, y):
        learner, D = self.learner, self.learner.feature_count
        self.learned += 1
        eta = plain.rate(learner, self.learned)
        scale_eta = eta * learner.scale_rate / learner.learning_rate
        slopes = [
            plain.slope(learner.loss, f, target)
            for f, target in zip(self.score(x), plain.targets(learner.task, y), strict=True)
        ]
        phi = self.features(x)
        scale_gradient = np.zeros(len(x))
        for c, slope in enumerate(slopes):
            for i, e in enumerate(self.drawn.directions):
                wave = -self.w[c, i] * phi[D + i] + self.w[c, D + i] * phi[i]
                scale_gradient += slope * wave * e * np.exp(self.log_scales) * x
        self.w = (1 - eta * learner.regularization) * self.w - eta * np.outer(slopes, phi)
        step = np.clip(-scale_eta * scale_gradient, -0.1, 0.1)
        reach = np.log(1000)
        self.log_scales = np.clip(self.log_scales + step, self.first - reach, self.first + reach)


def loss_of(learner, state, x, y):
    return (learner.score(state, [x])[0] - y) ** 2


def test_the_scales_follow_the_slope_of_the_loss():
    learner = RRF(feature_count=10, kernel=Gaussian(bandwidth=1.3), loss=Square(), scale_rate=1e-3)
    state = learner.init(dim=3)
    X, y = rings(20, dim=3)
    learner.step(state, X, y)
    x, label = X[3] + 0.1, -y[3]
    before = state.log_scales.copy()
    slopes = []
    for j in range(3):
        losses = []
        for shift in (-1e-6, 1e-6):
            state.log_scales[:] = before
            state.log_scales[j] += shift
            losses.append(loss_of(learner, state, x, label))
        slopes.append((losses[1] - losses[0]) / 2e-6)
    state.log_scales[:] = before
    learner.step(state, [x], [label])
    assert np.min(np.abs(slopes)) > 1e-3
    np.testing.assert_allclose(state.log_scales - before, -1e-3 * np.array(slopes), rtol=1e-6)


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "inverse"])
def test_without_a_scale_rate_it_is_fogd(schedule):
    X, y = rings(300, dim=4, seed=3)
    settings = {
        "feature_count": 30,
        "kernel": Gaussian(bandwidth=1.7),
        "schedule": schedule,
        "regularization": 0.5,
    }
    learner, parent = RRF(scale_rate=0.0, **settings), FOGD(**settings)
    scores = learner.step(learner.init(4), X, y)
    np.testing.assert_allclose(scores, parent.step(parent.init(4), X, y), atol=1e-12)


def test_features_that_say_nothing_are_faded_out():
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (4000, 6))
    y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 2 / 3, 1.0, -1.0)
    learner = RRF(feature_count=100, scale_rate=0.01)
    state = learner.init(6)
    scores = learner.step(state, X, y)
    assert state.log_scales[:2].min() > state.log_scales[2:].max()
    fixed = RRF(feature_count=100, scale_rate=0.0)
    unscaled = fixed.step(fixed.init(6), X, y)
    assert np.mean(scores[2000:] * y[2000:] <= 0) < 0.6 * np.mean(unscaled[2000:] * y[2000:] <= 0)


def test_one_event_far_out_does_not_spoil_the_scales():
    X, y = rings(4000, dim=5, seed=1)
    learner = RRF(feature_count=100, scale_rate=0.01)
    expected = learner.step(learner.init(5), X, y)
    X[1500] *= 1e6
    scores = learner.step(learner.init(5), X, y)
    mistakes = np.mean(scores[2000:] * y[2000:] <= 0)
    assert mistakes < np.mean(expected[2000:] * y[2000:] <= 0) + 0.02


def test_scales_stay_in_range():
    learner = RRF(feature_count=5, scale_rate=1e3, kernel=Gaussian(bandwidth=2.0))
    X, y = rings(200, seed=2)
    for sign in (-1.0, 1.0):
        edge = -np.log(2.0) + sign * np.log(1000.0)
        state = learner.init(dim=2)
        learner.step(state, X, y)
        state.log_scales[:] = edge - sign * 0.01
        seen = []
        for x, label in zip(X, y, strict=True):
            learner.step(state, [x], [label])
            seen.append(sign * state.log_scales)
        assert np.max(seen) == pytest.approx(sign * edge, abs=1e-12)


def test_no_event_moves_a_log_scale_by_more_than_a_tenth():
    learner = RRF(feature_count=5, scale_rate=1e3)
    state = learner.init(dim=2)
    moves = []
    for x, label in zip(*rings(200, seed=2), strict=True):
        before = state.log_scales.copy()
        learner.step(state, [x], [label])
        moves.append(np.abs(state.log_scales - before))
    assert np.max(moves) == pytest.approx(0.1, abs=1e-12)


def test_kernels_other_than_gaussian_are_refused():
    with pytest.raises(ValueError, match="rrf: kernel must be gaussian, not laplacian"):
        RRF(kernel=Laplacian())
