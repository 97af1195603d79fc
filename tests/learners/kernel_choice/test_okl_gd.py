"""OKL-GD: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Multiclass, Regression, streams
from okl_flow.learners.kernel_choice.okl_gd import OKLGD
from okl_flow.losses import Loss
from tests import plain


class Plain:
    """A list of examples, oldest first, each with its own gamma."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.gamma = 1 / (2 * learner.kernel.bandwidth**2)
        self.kept = []  # example, weights, gamma
        self.learned = 0

    def score(self, x):
        total = np.zeros(self.learner.task.outputs)
        for z, weights, gamma in self.kept:
            total += weights * math.exp(-gamma * np.sum((x - z) ** 2))
        return total

    def learn(self, x, y):
        learner = self.learner
        self.learned += 1
        slopes = np.array(
            [
                plain.slope(learner.loss, f, target)
                for f, target in zip(self.score(x), plain.targets(learner.task, y), strict=True)
            ]
        )
        eta = plain.rate(learner, self.learned)
        self.kept = [(z, a * (1 - eta * learner.regularization), g) for z, a, g in self.kept]
        if not slopes.any():
            return
        if self.kept:
            self.turn(x, slopes)
        self.kept.append((x.copy(), -eta * slopes, self.gamma))
        if learner.budget and len(self.kept) > learner.budget:
            del self.kept[0]

    def turn(self, x, slopes):
        """A step down the loss as a function of the newest gamma."""
        learner = self.learner
        z, weights, gamma = self.kept[-1]
        away = np.sum((x - z) ** 2)
        slope = slopes @ weights * -away * math.exp(-gamma * away)
        size = max(learner.bandwidth_rate / self.learned, learner.bandwidth_rate_min)
        if learner.bandwidth_step == "relative":
            self.gamma *= math.exp(-size * slope * gamma)
        else:
            self.gamma -= size * slope
        widest, narrowest = learner.bandwidth_max, learner.bandwidth_min
        self.gamma = min(max(self.gamma, 1 / (2 * widest**2)), 1 / (2 * narrowest**2))


def made(**settings):
    """A learner of wide margins, with a kernel of bandwidth 1 to begin with."""
    return OKLGD(**{"learning_rate": 0.5, "kernel": Gaussian(bandwidth=1.0), **settings})


@pytest.mark.parametrize("bandwidth_step", ["relative", "paper"])
def test_three_steps_by_hand(bandwidth_step):
    learner = made(bandwidth_step=bandwidth_step, bandwidth_rate=0.0, bandwidth_rate_min=0.3)
    state = learner.init(dim=1)
    assert learner.step(state, [[0.0]], [1.0]) == 0.0
    assert state.gamma == 0.5  # nothing came before
    # f = 0.5 exp(-gamma), the label -1: the loss falls where the kernel gets narrower.
    np.testing.assert_allclose(learner.step(state, [[1.0]], [-1.0]), 0.5 * np.exp(-0.5))
    change = 0.3 * 0.5 * np.exp(-0.5)
    gamma = 0.5 * np.exp(0.5 * change) if bandwidth_step == "relative" else 0.5 + change
    np.testing.assert_allclose(state.gammas, [0.5, gamma], rtol=1e-14)
    np.testing.assert_allclose(state.bandwidth, np.sqrt(0.5 / gamma))
    f = 0.5 * np.exp(-0.5 * 4.0) - 0.5 * np.exp(-gamma)
    np.testing.assert_allclose(learner.step(state, [[2.0]], [1.0]), f)
    # Now only the second example counts, at distance 1 and weight -0.5.
    change = 0.3 * 0.5 * np.exp(-gamma)
    third = gamma * np.exp(gamma * change) if bandwidth_step == "relative" else gamma + change
    np.testing.assert_allclose(state.gamma, third, rtol=1e-14)


@pytest.mark.parametrize("bandwidth_step", ["relative", "paper"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_the_width_descends_on_the_loss_as_a_function_of_the_newest_one(bandwidth_step, loss):
    X, y = streams.rings(61, dim=3, seed=4)
    rate = 1e-6
    learner = made(
        budget=13,  # full, and gone round
        bandwidth_rate=0.0,
        bandwidth_rate_min=rate,
        bandwidth_step=bandwidth_step,
        learning_rate=0.01,
        loss=Loss.members[loss](),
    )
    state = learner.init(3)
    learner.step(state, X[:60], y[:60])
    before, newest = state.gamma, (state.oldest - 1) % 13
    assert newest != 12
    np.testing.assert_array_equal(state.rows[:, newest], X[59])
    ahead = []
    for gamma in (before - 1e-5, before + 1e-5):
        turned = learner.init(3)
        learner.step(turned, X[:60], y[:60])
        turned.gammas[newest] = gamma
        ahead.append(plain.value(learner.loss, learner.score(turned, X[60:])[0], y[60]))
    learner.step(state, X[60:], y[60:])
    slope = (ahead[1] - ahead[0]) / 2e-5
    moved = -rate * slope * (before**2 if bandwidth_step == "relative" else 1.0)
    assert state.gamma - before == pytest.approx(moved, rel=1e-4)


def test_every_example_keeps_the_width_that_it_came_with():
    X, y = streams.rotating(40, seed=1)
    learner = made(bandwidth_rate_min=3.0)
    state = learner.init(2)
    widths = []
    for x, label in zip(X, y, strict=True):
        size = state.size
        learner.step(state, x[None], [label])
        if state.size > size:
            widths.append(state.gamma)
        np.testing.assert_array_equal(state.gammas[: state.size], widths)
    assert len(set(widths)) > 20


def test_the_window_keeps_the_latest_and_their_widths():
    X, y = streams.rotating(60, seed=2)
    learner = made(budget=7)
    state, oracle = learner.init(2), Plain(learner, 2, 0)
    learner.step(state, X, y)
    for x, label in zip(X, y, strict=True):
        oracle.learn(x, label)
    order = (state.oldest + np.arange(7)) % 7
    assert state.oldest > 0
    np.testing.assert_array_equal(state.rows[:, order].T, [x for x, _, _ in oracle.kept])
    np.testing.assert_allclose(state.gammas[order], [gamma for _, _, gamma in oracle.kept])


def test_without_a_budget_nothing_goes():
    X, y = streams.rotating(60, seed=2)
    learner = made(budget=None)
    state = learner.init(2)
    learner.step(state, X, y)
    assert state.size > 30
    np.testing.assert_array_equal(state.rows[:, 0], X[0])
    assert learner.state_bytes_max(2) is None


def test_an_event_without_a_loss_moves_nothing():
    learner = made(learning_rate=2.0)
    state = learner.init(1)
    learner.step(state, [[0.0]], [1.0])
    learner.step(state, [[0.5]], [1.0])  # f = 2 exp(-1/8) > 1
    assert (state.size, state.gamma, state.learned) == (1, 0.5, 2)


@pytest.mark.parametrize("bandwidth_step", ["relative", "paper"])
def test_the_width_stays_within_its_bounds(bandwidth_step):
    learner = made(
        bandwidth_rate=1e6, bandwidth_step=bandwidth_step, bandwidth_min=0.8, bandwidth_max=1.3
    )
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0]], [1.0, -1.0])
    assert state.bandwidth == pytest.approx(0.8)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1.0]], [1.0, 1.0])
    assert state.bandwidth == pytest.approx(1.3)


def test_relative_steps_know_no_unit():
    X, y = streams.rotating(400, dim=3, seed=2)
    runs = {}
    for step in ("relative", "paper"):
        for scale in (1.0, 8.0):
            learner = made(budget=20, kernel=Gaussian(bandwidth=0.5 * scale), bandwidth_step=step)
            runs[step, scale] = learner.step(learner.init(3), scale * X, y)
    np.testing.assert_allclose(runs["relative", 1.0], runs["relative", 8.0], atol=1e-12)
    assert np.abs(runs["paper", 1.0] - runs["paper", 8.0]).max() > 0.1


@pytest.mark.parametrize("bandwidth", [0.05, 2.0])
def test_a_wrong_width_is_left_behind(bandwidth):
    X, y = streams.rings(6000, seed=3)
    mistakes = {}
    for rate in (0.0, 1.0):
        learner = made(
            kernel=Gaussian(bandwidth=bandwidth), bandwidth_rate=rate, bandwidth_rate_min=rate
        )
        state = learner.init(2)
        mistakes[rate] = np.mean(learner.step(state, X, y)[4000:] * y[4000:] <= 0)
    assert mistakes[1.0] < 0.9 * mistakes[0.0]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kernel": Laplacian()}, "kernel must be gaussian, not laplacian"),
        ({"kernel": Gaussian(bandwidth=100.0)}, "bandwidth must lie between .* not 100.0"),
        ({"bandwidth_min": 2.0}, "bandwidth must lie between .* not 1.0 with 2.0"),
        ({"learning_rate": 10.0, "regularization": 0.1}, "must be below 1"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, reason):
    with pytest.raises(ValueError, match=reason):
        OKLGD(**settings)


@pytest.mark.parametrize("task", [None, Multiclass(classes=3), Regression()])
@pytest.mark.parametrize("bandwidth_step", ["relative", "paper"])
def test_long_streams_stay_with_the_plain_formula(task, bandwidth_step):
    X, y = streams.rotating(1500, dim=3, seed=9)
    if isinstance(task, Multiclass):
        y = (y > 0) + (X[:, 2] > 0.3).astype(float)
    learner = OKLGD(
        budget=25,
        kernel=Gaussian(bandwidth=0.4),
        bandwidth_step=bandwidth_step,
        bandwidth_rate_min=0.05,
        regularization=0.01,
        **({"task": task} if task else {}),
    )
    state = learner.init(3)
    scores = learner.step(state, X, y).reshape(len(X), -1)
    oracle = Plain(learner, 3, 0)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(scores[t], oracle.score(x), atol=1e-9, rtol=1e-9, err_msg=t)
        oracle.learn(x, label)
    assert state.gamma == pytest.approx(oracle.gamma, rel=1e-9)
