"""OKS: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Multiclass, Regression, streams
from okl_flow.learners.kernel_choice.oks import OKS
from okl_flow.losses import Square
from tests import plain


class Plain:
    """A list of examples for each kernel, oldest first, and what the kernel has cost."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.generator = plain.Generator(seed)
        self.widths = []
        while (width := self.widest_next()) <= learner.bandwidth_max * (1 + 1e-9):
            self.widths.append(width)
        self.kept = [[] for _ in self.widths]
        self.losses = np.zeros(len(self.widths))
        self.learned = 0
        self.draw()

    def widest_next(self):
        return self.learner.bandwidth_min * 2 ** (len(self.widths) / self.learner.per_octave)

    def chances(self):
        count, learner = len(self.widths), self.learner
        step = math.sqrt(
            2 * (1 - learner.smoothing) * math.log(count) / (count * (self.learned + 1))
        )
        weights = np.exp(-learner.selection_rate * step * (self.losses - self.losses.min()))
        smoothing = learner.smoothing
        return (1 - smoothing) * weights / weights.sum() + smoothing / count

    def draw(self):
        sums = np.cumsum(self.chances())
        sums[-1] = 1.0
        self.drawn = int(np.argmax(sums > self.generator.unit()))

    def score(self, x):
        total = np.zeros(self.learner.task.outputs)
        for z, weights in self.kept[self.drawn]:
            total += weights * math.exp(-np.sum((x - z) ** 2) / (2 * self.widths[self.drawn] ** 2))
        return total

    def learn(self, x, y):
        learner, scores, p = self.learner, self.score(x), self.chances()[self.drawn]
        targets = plain.targets(learner.task, y)
        pairs = list(zip(scores, targets, strict=True))
        slopes = np.array([plain.slope(learner.loss, f, target) for f, target in pairs])
        self.learned += 1
        eta = plain.rate(learner, self.learned)
        if slopes.any():
            weighted = max(eta, min(eta / p, 0.5))
            self.kept[self.drawn].append((x.copy(), -weighted * slopes))
            if learner.budget and len(self.kept[self.drawn]) > learner.budget:
                del self.kept[self.drawn][0]
        cost = sum(plain.value(learner.loss, f, g) for f, g in pairs) / p
        self.losses[self.drawn] += float(np.float32(min(cost, 1e38)))
        self.draw()


def made(**settings):
    """A learner of two kernels, of bandwidths 1 and 2."""
    return OKS(**{"bandwidth_min": 1.0, "bandwidth_max": 2.0, **settings})


def test_two_steps_by_hand():
    learner = made(learning_rate=0.1)
    state = learner.init(dim=1)
    first = state.drawn
    assert learner.step(state, [[0.0]], [1.0]) == 0.0
    other = 1 - first
    # Drawn with probability 1/2: the step is 0.1 / 0.5, the cost 1 / 0.5.
    np.testing.assert_allclose(state.weights[first, 0, 0], 0.2)
    assert state.losses[first] == 2.0
    assert state.losses[other] == state.stored[other] == 0
    eta = math.sqrt(2 * 0.8 * math.log(2) / (2 * 2))
    p = 0.8 / (1 + math.exp(2 * eta)) + 0.1
    np.testing.assert_allclose(learner.probabilities(state)[first], p)
    second = state.drawn
    chance = p if second == first else 1 - p
    f = 0.2 * math.exp(-0.5 / learner.bandwidths[first] ** 2) * (second == first)
    np.testing.assert_allclose(learner.step(state, [[1.0]], [-1.0]), f, rtol=1e-14)
    place = int(second == first)
    np.testing.assert_allclose(state.weights[second, 0, place], -0.1 / chance, rtol=1e-12)
    losses = np.zeros(2)
    losses[first] = 2.0
    losses[second] += (1 + f) / chance
    np.testing.assert_allclose(state.losses, losses - losses.min(), rtol=1e-6)


def test_the_kernel_is_drawn_by_its_probability():
    learner = OKS(bandwidth_min=0.5, bandwidth_max=4.0, smoothing=0.3, learning_rate=0.1)
    X, y = streams.rings(30, seed=1)
    hits = np.zeros(4)
    expected = np.zeros(4)
    for seed in range(3000):
        state = learner.init(2, seed=seed)
        learner.step(state, X[:6], y[:6])
        expected += learner.probabilities(state)
        hits[state.drawn] += 1
    np.testing.assert_allclose(hits / 3000, expected / 3000, atol=0.03)
    firsts = np.bincount([learner.init(2, seed=seed).drawn for seed in range(4000)])
    np.testing.assert_allclose(firsts / 4000, 0.25, atol=0.03)


def test_only_the_drawn_kernel_learns():
    X, y = streams.rotating(200, seed=2)
    learner = OKS(learning_rate=0.3, budget=10)
    state = learner.init(2)
    for x, label in zip(X, y, strict=True):
        before = state.rows.copy(), state.weights.copy(), state.stored.copy()
        gaps = np.subtract.outer(state.losses, state.losses)
        drawn = state.drawn
        learner.step(state, x[None], [label])
        others = np.arange(7) != drawn
        room = before[0].shape[2]
        np.testing.assert_array_equal(state.rows[others, :, :room], before[0][others])
        np.testing.assert_array_equal(state.weights[others, :, :room], before[1][others])
        np.testing.assert_array_equal(state.stored[others], before[2][others])
        np.testing.assert_allclose(
            np.subtract.outer(state.losses, state.losses)[np.ix_(others, others)],
            gaps[np.ix_(others, others)],
            atol=1e-9,
        )
    assert state.size == 10


def test_one_draw_serves_until_the_next_label():
    X, y = streams.rotating(300, seed=4)
    learner = OKS(learning_rate=0.5, bandwidth_min=0.1, bandwidth_max=1.0)
    state = learner.init(2)
    learner.step(state, X[:200], y[:200])
    words = state.words.copy()
    foretold = learner.score(state, X[200:])
    unlabelled = learner.step(state, X[200:], np.full(100, np.nan))
    np.testing.assert_array_equal(unlabelled, foretold)
    np.testing.assert_array_equal(state.words, words)
    held = slice(0, state.stored[state.drawn])
    away = ((X[200:, :, None] - state.rows[state.drawn][None, :, held]) ** 2).sum(axis=1)
    width = learner.bandwidths[state.drawn]
    expected = np.exp(-away / (2 * width**2)) @ state.weights[state.drawn, 0, held]
    np.testing.assert_allclose(foretold, expected, atol=1e-12)


def test_the_step_is_divided_by_the_probability_up_to_one_half():
    for rate, smoothing, step in ((0.01, 1.0, 0.04), (0.3, 1.0, 0.5), (2.0, 1.0, 2.0)):
        learner = OKS(bandwidth_min=1.0, bandwidth_max=8.0, learning_rate=rate, smoothing=smoothing)
        state = learner.init(1)
        drawn = state.drawn
        learner.step(state, [[0.0]], [1.0])
        np.testing.assert_allclose(state.weights[drawn, 0, 0], step)


def test_no_kernel_is_given_up():
    learner = OKS(smoothing=0.14)
    state = learner.init(1)
    state.losses[:] = [1e300, 1e9, 1e3, 0.0, 1e3, 1e6, 1e12]
    state.learned = 10
    chances = learner.probabilities(state)
    np.testing.assert_allclose(chances[[0, 1, 6]], 0.02)
    np.testing.assert_allclose(chances.sum(), 1.0)
    learner.step(state, np.zeros((300, 1)), np.ones(300))
    assert np.isfinite(state.losses).all()
    assert state.losses.min() == 0.0


def test_the_kernel_that_costs_least_is_drawn_most():
    X, y = streams.rings(6000, noise=0.0, seed=3)
    learner = OKS(bandwidth_min=0.02, bandwidth_max=0.64, per_octave=1, learning_rate=0.3)
    state = learner.init(2)
    drawn = []
    for x, label in zip(X, y, strict=True):
        drawn.append(state.drawn)
        learner.step(state, x[None], [label])
    late = np.bincount(drawn[3000:], minlength=6) / 3000
    assert late[:2].sum() < 0.12  # a third of the draws that are even, which are a fifth
    assert late.argmax() >= 3


def test_a_selection_rate_of_zero_draws_evenly():
    X, y = streams.rings(500, seed=3)
    learner = OKS(selection_rate=0.0)
    state = learner.init(2)
    learner.step(state, X, y)
    assert state.losses.max() > 0.0
    np.testing.assert_allclose(learner.probabilities(state), 1 / 7)


def test_each_kernel_keeps_its_latest_examples():
    X, y = streams.rotating(400, seed=6)
    learner, whole = made(budget=5), made(budget=None)
    state, unbounded = learner.init(2), whole.init(2)
    learner.step(state, X[:1], y[:1])
    assert state.rows.shape == (2, 2, 1)
    learner.step(state, X[1:], y[1:])
    whole.step(unbounded, X, y)
    assert state.rows.shape == (2, 2, 5)
    assert unbounded.size == unbounded.stored.max() > 100
    assert whole.state_bytes_max(2) is None


def test_steps_of_the_square_loss_do_not_overshoot():
    X, y = streams.waves(4000, dim=2, seed=1)
    learner = OKS(task=Regression(), smoothing=0.01, learning_rate=0.4, bandwidth_max=4.0)
    scores = learner.step(learner.init(2), X, 10 * y)
    assert np.abs(scores).max() < 200
    learner = made(loss=Square(), learning_rate=0.3, smoothing=0.2)
    state = learner.init(1)
    drawn = state.drawn
    learner.step(state, [[0.0]], [1.0])
    np.testing.assert_allclose(state.weights[drawn, 0, 0], 1.0)  # where the loss is 0


def test_the_bandwidths_are_a_grid():
    np.testing.assert_array_equal(OKS().bandwidths, [0.25, 0.5, 1, 2, 4, 8, 16])
    few = OKS(bandwidth_min=0.3, bandwidth_max=1.0, per_octave=2)
    np.testing.assert_allclose(few.bandwidths, 0.3 * 2 ** np.array([0, 0.5, 1, 1.5]))
    with pytest.raises(ValueError, match="bandwidth_max must be at least the bandwidth_min of 2.0"):
        OKS(bandwidth_min=2.0, bandwidth_max=1.0)
    with pytest.raises(ValueError, match="smoothing must be .* above 0 .* not 0"):
        OKS(smoothing=0.0)


@pytest.mark.parametrize("task", [None, Multiclass(classes=3), Regression()])
@pytest.mark.parametrize("smoothing", [0.05, 0.4])
def test_long_streams_stay_with_the_plain_formula(task, smoothing):
    X, y = streams.rotating(3000, dim=3, seed=9)
    if isinstance(task, Multiclass):
        y = (y > 0) + (X[:, 2] > 0.3).astype(float)
    learner = OKS(
        budget=25,
        smoothing=smoothing,
        learning_rate=0.2,
        schedule="inverse_sqrt",
        **({"task": task} if task else {}),
    )
    state = learner.init(3, seed=2)
    scores = learner.step(state, X, y).reshape(len(X), -1)
    oracle = Plain(learner, 3, 2)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(scores[t], oracle.score(x), atol=1e-9, rtol=1e-9, err_msg=t)
        oracle.learn(x, label)
    assert state.drawn == oracle.drawn
    np.testing.assert_allclose(learner.probabilities(state), oracle.chances(), rtol=1e-9)
