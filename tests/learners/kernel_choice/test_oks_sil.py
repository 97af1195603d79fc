"""OKS-SIL: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Multiclass, Regression, streams
from okl_flow.learners.kernel_choice.oks_sil import OKSSIL
from okl_flow.losses import Loss
from tests import plain


class Plain:
    """OKS-SIL as Algorithm 1 of its paper has it, line by line."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.generator = plain.Generator(seed)
        self.gamma = 1 / (2 * learner.kernel.bandwidth**2)
        self.examples = np.zeros((0, dim))
        self.weights = np.zeros((0, learner.task.outputs))
        self.learned = 0

    def squares(self, x):
        return np.sum((self.examples - x) ** 2, axis=1)

    def score(self, x):
        return np.exp(-self.gamma * self.squares(x)) @ self.weights

    def learn(self, x, y):
        self.learned += 1
        slopes = np.array(
            [
                plain.slope(self.learner.loss, f, target)
                for f, target in zip(
                    self.score(x), plain.targets(self.learner.task, y), strict=True
                )
            ]
        )
        eta = plain.rate(self.learner, self.learned)
        self.weights *= 1 - eta * self.learner.regularization
        if not slopes.any():
            return
        weight = -eta * slopes
        if len(self.examples) < self.learner.budget:
            self.examples = np.vstack([self.examples, x])
            self.weights = np.vstack([self.weights, weight])
        else:
            drawn = self.drawn(np.exp(-self.gamma * self.squares(x)))
            few = self.examples[drawn]
            apart = ((few[:, None] - few[None]) ** 2).sum(axis=2)
            k = np.exp(-self.gamma * ((few - x) ** 2).sum(axis=1))
            alpha = np.linalg.pinv(np.exp(-self.gamma * apart), rcond=1e-10, hermitian=True) @ k
            if not 1 - k @ alpha > max(self.learner.dependency, 1e-10):
                self.weights[drawn] += np.outer(alpha, weight)
                return
            sizes = np.linalg.norm(self.weights, axis=1)
            place = np.argmax(sizes <= sizes.min() + 1e-12 * sizes.max())
            self.examples[place], self.weights[place] = x, weight
        self.turn(x, slopes)

    def drawn(self, row):
        """Rows one after the other; among the others anew, where one comes again."""
        drawn, left = [], row.copy()
        while len(drawn) < self.learner.sample_size and left.any():
            place = self.draw(left)
            if place in drawn:
                left[:] = row
                left[drawn] = 0.0
                if not left.any():
                    break
                place = self.draw(left)
            drawn.append(place)
        return drawn

    def draw(self, left):
        """A row, in proportion to what is left."""
        sums = np.cumsum(left)
        return int(np.argmax(sums > self.generator.unit() * sums[-1]))

    def turn(self, x, slopes):
        """A step of the kernel, with weights and rows as they are now."""
        learner, squares = self.learner, self.squares(x)
        terms = np.exp(-self.gamma * squares) * squares
        change = max(learner.bandwidth_rate / self.learned, learner.bandwidth_rate_min) * (
            slopes @ (self.weights.T @ terms)
        )
        if learner.bandwidth_step == "relative":
            self.gamma = math.exp(math.log(self.gamma) + self.gamma * change)
        else:
            self.gamma += change
        widest, narrowest = learner.bandwidth_max, learner.bandwidth_min
        self.gamma = min(max(self.gamma, 1 / (2 * widest**2)), 1 / (2 * narrowest**2))


def made(**settings):
    """A learner of wide margins, with a kernel of bandwidth 1 that stays as it is."""
    return OKSSIL(
        **{
            "learning_rate": 0.5,
            "bandwidth_rate": 0.0,
            "bandwidth_rate_min": 0.0,
            "kernel": Gaussian(bandwidth=1.0),
            **settings,
        }
    )


def near(*distances):
    """The kernel of bandwidth 1 at some distances."""
    return np.exp(-0.5 * np.square(distances))


@pytest.mark.parametrize("bandwidth_step", ["relative", "paper"])
def test_two_steps_by_hand(bandwidth_step):
    learner = made(bandwidth_rate=0.6, bandwidth_step=bandwidth_step)
    state = learner.init(dim=1)
    # The first example is alone: its distance from itself turns no kernel.
    assert learner.step(state, [[0.0]], [1.0]) == 0.0
    assert state.gamma == 0.5
    # The second is near it and of the other class: y sum w K d^2 = -0.5 exp(-0.5).
    np.testing.assert_allclose(learner.step(state, [[1.0]], [-1.0]), 0.5 * np.exp(-0.5))
    change = 0.3 * 0.5 * np.exp(-0.5)
    expected = 0.5 * np.exp(0.5 * change) if bandwidth_step == "relative" else 0.5 + change
    np.testing.assert_allclose(state.gamma, expected, rtol=1e-14)
    np.testing.assert_allclose(
        learner.score(state, [[0.5]]), 0.0, atol=1e-15
    )  # weights 0.5 and -0.5, at equal distances
    np.testing.assert_allclose(state.bandwidth, np.sqrt(0.5 / expected))


@pytest.mark.parametrize("bandwidth_step", ["relative", "paper"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_the_kernel_descends_on_the_loss_of_the_event(bandwidth_step, loss):
    X, y = streams.rings(31, dim=3, seed=4)
    rate = 1e-6
    learner = made(
        budget=30 + (loss == "hinge"),
        bandwidth_rate_min=rate,
        bandwidth_step=bandwidth_step,
        dependency=0.0,
        learning_rate=0.01,
        loss=Loss.members[loss](),
    )
    state = learner.init(3)
    learner.step(state, X[:30], y[:30])
    before, rows, weights = state.gamma, state.rows.copy(), state.weights[0].copy()
    score = learner.step(state, X[30:], y[30:])[0]
    stays = np.all(state.rows[:, :30] == rows[:, :30], axis=0)
    assert stays.sum() >= 29
    squares = ((rows[:, :30] - X[30:].T) ** 2).sum(axis=0)[stays]

    def f(gamma):
        return weights[:30][stays] @ np.exp(-gamma * squares)

    slope_in_gamma = (f(before + 1e-5) - f(before - 1e-5)) / 2e-5
    steepness = plain.slope(learner.loss, score, y[30]) * slope_in_gamma
    moved = -rate * steepness * (before**2 if bandwidth_step == "relative" else 1.0)
    assert state.gamma - before == pytest.approx(moved, rel=1e-4)


def test_a_stranger_takes_the_place_of_the_least_weight():
    learner = made(budget=3, schedule="inverse")
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [20.0], [40.0]], [1.0, -1.0, 1.0])
    np.testing.assert_allclose(state.weights, [[1 / 2, -1 / 4, 1 / 6]])
    learner.step(state, [[60.0]], [-1.0])
    np.testing.assert_array_equal(state.rows, [[0.0, 20.0, 60.0]])
    np.testing.assert_allclose(state.weights, [[1 / 2, -1 / 4, -1 / 8]])


def test_weights_that_differ_by_round_off_are_a_tie():
    learner = made(budget=3)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [20.0], [40.0]], [1.0, 1.0, 1.0])
    state.weights[0, 2] -= 1e-15
    learner.step(state, [[60.0]], [1.0])
    np.testing.assert_array_equal(state.rows, [[60.0, 20.0, 40.0]])


def test_an_example_that_is_expressed_hands_its_step_over():
    learner = made(budget=2, dependency=0.5, bandwidth_rate=1.0)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [2.0]], [1.0, -1.0])
    gamma, weights, rows = state.gamma, state.weights.copy(), state.rows.copy()
    k = np.exp(-gamma * np.square([0.5, 1.5]))
    K = np.array([[1.0, np.exp(-gamma * 4)], [np.exp(-gamma * 4), 1.0]])
    learner.step(state, [[0.5]], [-1.0])
    np.testing.assert_allclose(state.weights[0] - weights[0], -0.5 * np.linalg.solve(K, k))
    np.testing.assert_array_equal(state.rows, rows)
    assert state.gamma == gamma  # the buffer did not change, so neither does the kernel


def test_the_distance_decides():
    # With every row in the sample, 1 - k' K^-1 k is the distance from them all.
    k, K = near(1.0, 2.0), np.array([[1.0, near(1.0)[0]], [near(1.0)[0], 1.0]])
    away = 1 - k @ np.linalg.solve(K, k)
    for threshold, size in ((away - 1e-9, 1), (away + 1e-9, 0)):
        learner = made(budget=2, sample_size=5, dependency=threshold)
        state = learner.init(dim=1)
        learner.step(state, [[1.0], [2.0], [0.0]], [1.0, -1.0, -1.0])
        assert np.count_nonzero(state.rows == 0.0) == size


def test_a_copy_never_enters_a_full_budget():
    learner = made(budget=2, dependency=0.0)
    state = learner.init(dim=1)
    learner.step(state, [[0.3], [0.3], [0.3]], [1.0, -1.0, 1.0])
    # Two copies of weights 0.5 and -0.5 share the step of the third alike.
    np.testing.assert_allclose(state.weights, [[0.75, -0.25]], atol=1e-15)


def test_no_round_off_makes_a_stranger_of_a_copy():
    learner = made(budget=4, sample_size=4, dependency=0.0, learning_rate=0.01)
    for seed in range(40):
        X = np.random.default_rng(seed).uniform(-1, 1, (4, 3))
        state = learner.init(dim=3, seed=seed)
        learner.step(state, X, np.ones(4))
        learner.step(state, np.tile(X, (5, 1)), -np.ones(20))
        np.testing.assert_array_equal(state.rows, X.T)


def test_the_least_similar_row_is_drawn_where_it_is_the_only_one():
    learner = made(budget=1, dependency=1.0)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [6.0]], [1.0, 1.0])
    np.testing.assert_allclose(state.weights[0] - 0.5, 0.5 * near(6.0), rtol=1e-6)


def test_rows_are_drawn_in_proportion_to_the_kernel():
    learner = made(budget=3, sample_size=1, dependency=1.0, learning_rate=1e-9)
    X, y = [[0.5], [1.0], [1.5], [0.0]], np.ones(4)
    expected = near(0.5, 1.0, 1.5) / near(0.5, 1.0, 1.5).sum()
    hits = np.zeros(3)
    for seed in range(4000):
        state = learner.init(dim=1, seed=seed)
        learner.step(state, X, y)
        hits += state.weights[0] > 1.01e-9
    np.testing.assert_allclose(hits / 4000, expected, atol=0.025)


def test_the_rest_is_drawn_without_the_first():
    learner = made(budget=3, sample_size=2, dependency=1.0, learning_rate=1e-9)
    X, y = [[0.5], [1.0], [1.5], [0.0]], np.ones(4)
    p = near(0.5, 1.0, 1.5) / near(0.5, 1.0, 1.5).sum()
    # The one left out: the third of an ordered draw, over both orders of the others.
    missed = [
        sum(p[a] * p[b] / (1 - p[a]) for a, b in ((i, j), (j, i)))
        for i, j in ((1, 2), (0, 2), (0, 1))
    ]
    left_out = np.zeros(3)
    for seed in range(4000):
        state = learner.init(dim=1, seed=seed)
        learner.step(state, X, y)
        left_out += state.weights[0] == 1e-9
    np.testing.assert_allclose(left_out / 4000, missed, atol=0.025)


def test_nothing_is_drawn_where_the_kernel_vanishes():
    learner = made(budget=2)
    state = learner.init(dim=1, seed=3)
    learner.step(state, [[0.0], [1.0], [1e6]], [1.0, 1.0, -1.0])
    np.testing.assert_array_equal(state.rows, [[1e6, 1.0]])
    np.testing.assert_array_equal(state.words, learner.init(dim=1, seed=3).words)
    learner.step(state, [[1e6 + 1.0]], [1.0])
    assert not np.array_equal(state.words, learner.init(dim=1, seed=3).words)


def test_fewer_are_drawn_where_fewer_are_similar():
    learner = made(budget=3, sample_size=3, dependency=0.5)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [1e6], [-1e6], [0.1]], [1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(state.weights, [[0.5 + 0.5 * near(0.1)[0], 0.5, 0.5]])


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
            learner = made(
                budget=20,
                kernel=Gaussian(bandwidth=0.5 * scale),
                bandwidth_rate=1.0,
                bandwidth_step=step,
            )
            runs[step, scale] = learner.step(learner.init(3), scale * X, y)
    np.testing.assert_allclose(runs["relative", 1.0], runs["relative", 8.0], atol=1e-12)
    assert np.abs(runs["paper", 1.0] - runs["paper", 8.0]).max() > 0.1


def test_steps_of_the_width_shrink_no_further_than_told():
    X, y = streams.rings(300, dim=2, seed=3)
    widths = {}
    for least in (0.0, 0.2):
        learner = made(budget=1000, bandwidth_rate=1.0, bandwidth_rate_min=least)
        state = learner.init(2)
        learner.step(state, X[:5], y[:5])
        widths[least] = [state.gamma]
        learner.step(state, X[5:], y[5:])
        widths[least].append(state.gamma)
    assert widths[0.0][0] == widths[0.2][0]  # 1/5 is the floor's own size
    assert widths[0.0][1] != widths[0.2][1]


def test_regularization_keeps_a_stream_without_end_in_bounds():
    X, y = streams.rotating(150_000, seed=5)
    typical = {}
    for lam in (0.0, 0.01):
        learner = made(
            budget=30,
            kernel=Gaussian(bandwidth=0.3),
            bandwidth_rate=1.0,
            bandwidth_rate_min=0.01,
            regularization=lam,
        )
        state = learner.init(2)
        learner.step(state, X, y)
        typical[lam] = np.median(np.abs(state.weights))
        assert np.isfinite(state.weights).all()
        assert 2.0**-6.5 <= state.bandwidth <= 2.0**5.5
    assert typical[0.01] < 2.0
    assert typical[0.0] > 5.0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kernel": Laplacian()}, "kernel must be gaussian, not laplacian"),
        ({"kernel": Gaussian(bandwidth=100.0)}, "bandwidth must lie between .* not 100.0"),
        ({"bandwidth_min": 2.0}, "bandwidth must lie between .* not 1.0 with 2.0"),
        ({"dependency": 1.5}, "dependency must be a real number .* at most 1, not 1.5"),
        ({"learning_rate": 10.0, "regularization": 0.1}, "must be below 1"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, reason):
    with pytest.raises(ValueError, match=reason):
        OKSSIL(**settings)


@pytest.mark.parametrize("task", [None, Multiclass(classes=3), Regression()])
@pytest.mark.parametrize(
    ("bandwidth_step", "dependency", "sample_size"),
    [("relative", 0.9, 3), ("paper", 0.3, 2), ("relative", 0.6, 5)],
)
def test_long_streams_stay_with_the_plain_formula(task, bandwidth_step, dependency, sample_size):
    X, y = streams.rotating(1500, dim=3, seed=9)
    if isinstance(task, Multiclass):
        y = (y > 0) + (X[:, 2] > 0.3).astype(float)
    learner = OKSSIL(
        budget=25,
        kernel=Gaussian(bandwidth=0.4),
        dependency=dependency,
        sample_size=sample_size,
        bandwidth_step=bandwidth_step,
        bandwidth_rate_min=0.02,
        regularization=0.01,
        **({"task": task} if task else {}),
    )
    state = learner.init(3, seed=2)
    scores = learner.step(state, X, y).reshape(len(X), -1)
    oracle = Plain(learner, 3, 2)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(scores[t], oracle.score(x), atol=1e-9, rtol=1e-9, err_msg=t)
        oracle.learn(x, label)
    assert state.gamma == pytest.approx(oracle.gamma, rel=1e-9)
