"""Proj-KA: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Multiclass, Regression, streams
from okl_flow.learners.expansion.projectron import Projectron
from okl_flow.learners.kernel_choice.proj_ka import ProjKA
from okl_flow.state import array_axes
from tests import plain

WIDTHS = {"bandwidth_min": 0.1, "bandwidth_max": 6.4, "per_octave": 2}


class Plain:
    """The Projectron over all events from the first, under one width and then another."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.events = []
        self.begin(learner.kernel.bandwidth)

    def begin(self, bandwidth):
        self.bandwidth = bandwidth
        self.kernel = plain.kernel_of(type(self.learner.kernel)(bandwidth=bandwidth))
        self.examples, self.weights = [], []

    def score(self, x):
        total = np.zeros(self.learner.task.outputs)
        for z, weights in zip(self.examples, self.weights, strict=True):
            total += weights * self.kernel(x, z)
        return total

    def learn(self, x, y):
        self.take(x, y)
        if self.events is None:
            return
        self.events.append((x.copy(), y))
        if len(self.events) == self.learner.alignment_events:
            self.begin(self.best())
            for known in self.events:
                self.take(*known)
            self.events = None

    def take(self, x, y):
        goals = plain.targets(self.learner.task, y)
        step = np.where(goals * self.score(x) <= 0, goals, 0.0)
        if not step.any():
            return
        k = np.array([self.kernel(x, z) for z in self.examples])
        K = np.array([[self.kernel(z, w) for w in self.examples] for z in self.examples])
        d = np.linalg.solve(K, k) if len(k) else k
        delta = max(1 - k @ d, 0.0)
        room = len(k) < self.learner.budget
        if room and delta >= 1e-10 and math.sqrt(delta) > self.learner.threshold:
            self.examples.append(x.copy())
            self.weights.append(step)
        else:
            self.weights = [w + step * part for w, part in zip(self.weights, d, strict=True)]

    def best(self):
        X, y = (np.array(column) for column in zip(*self.events, strict=True))
        count, learner = len(y), self.learner
        T = np.outer(y, y)
        if learner.task.name == "multiclass":
            T = np.where(y[:, None] == y[None], 1.0, -1.0)
        H = np.eye(count) - (learner.alignment == "centered") / count
        found, width = [], learner.bandwidth_min
        while width <= learner.bandwidth_max * (1 + 1e-9):
            similarity = plain.kernel_of(type(learner.kernel)(bandwidth=width))
            K = H @ np.array([[similarity(x, z) for z in X] for x in X]) @ H
            size = np.linalg.norm(K) * np.linalg.norm(T)
            found.append((np.sum(K * T) / size if size > 1e-12 else 0.0, width))
            width = learner.bandwidth_min * 2 ** (len(found) / learner.per_octave)
        highest = max(found)[0]
        if highest <= 1e-9:
            return learner.kernel.bandwidth
        return max(width for aligned, width in found if aligned >= highest - 1e-9)


def made(**settings):
    return ProjKA(**{"alignment_events": 100, "budget": 40, **WIDTHS, **settings})


def array_bytes(state):
    return sum(getattr(state, name).nbytes for name in array_axes(type(state)))


@pytest.mark.parametrize("kernel", [Gaussian(bandwidth=3.0), Laplacian(bandwidth=3.0)])
@pytest.mark.parametrize("task", [None, Multiclass(classes=3)])
def test_it_is_the_projectron_of_either_width(kernel, task):
    X, y = streams.rings(900, dim=3, seed=5)
    if task:
        y = (y > 0) + (X[:, 2] > 0.3).astype(float)
    y[3::7] = np.nan
    chosen_at = np.flatnonzero(~np.isnan(y))[99] + 1
    learner = made(kernel=kernel, **({"task": task} if task else {}))
    state = learner.init(3)
    scores = learner.step(state, X, y)
    assert state.bandwidth != 3.0
    for width, part in ((3.0, slice(0, chosen_at)), (state.bandwidth, slice(chosen_at, None))):
        same = Projectron(kernel=type(kernel)(bandwidth=width), budget=40, task=learner.task)
        held = same.init(3)
        np.testing.assert_array_equal(scores[part], same.step(held, X, y)[part])
    np.testing.assert_array_equal(state.factor, held.factor)


def test_events_without_a_label_do_not_count():
    X, y = streams.rings(300, seed=1)
    learner = made()
    state = learner.init(2)
    learner.step(state, X[:99], y[:99])
    learner.step(state, X[99:200], np.full(101, np.nan))
    assert (state.gathered, state.chosen, state.bandwidth) == (99, 0, 1.0)
    learner.step(state, X[200:201], y[200:201])
    assert (state.gathered, state.chosen) == (0, 1)


def test_the_gathered_examples_are_given_up():
    X, y = streams.rings(2000, dim=8, seed=1)
    learner = made(alignment_events=1000, budget=5)
    state = learner.init(8)
    learner.step(state, X[:999], y[:999])
    assert array_bytes(state) > 999 * 9 * 8
    assert state.gathered_rows.shape == (8, 1000)
    learner.step(state, X[999:], y[999:])
    assert array_bytes(state) <= 8 * 5 * (8 + 1 + 5)
    assert state.size == 5


def test_room_is_found_for_all_examples_of_the_second_width():
    # Under the first width nothing is new; under the second everything is.
    X, y = streams.rings(400, dim=3, seed=1)
    learner = made(
        kernel=Gaussian(bandwidth=1e6), bandwidth_min=0.01, bandwidth_max=0.01, budget=60
    )
    state = learner.init(3)
    learner.step(state, X[:99], y[:99])
    assert state.size == 1
    learner.step(state, X[99:100], y[99:100])
    assert state.size == 60


def test_a_width_that_fits_is_chosen():
    X, y = streams.rings(3000, seed=2)
    mistakes = {}
    for kind, learner in {
        "chosen": made(kernel=Gaussian(bandwidth=6.0)),
        "fixed": Projectron(kernel=Gaussian(bandwidth=6.0), budget=40),
    }.items():
        scores = learner.step(learner.init(2), X, y)
        mistakes[kind] = np.mean(scores[500:] * y[500:] <= 0)
    assert mistakes["chosen"] < 0.5 * mistakes["fixed"]


def test_where_nothing_is_aligned_the_given_width_stays():
    X, _ = streams.rings(100, seed=2)
    for alignment, width in (("centered", 1.7), ("uncentered", 6.4)):
        learner = made(alignment=alignment, kernel=Gaussian(bandwidth=1.7))
        state = learner.init(2)
        learner.step(state, X, np.ones(100))
        assert state.chosen == 1
        assert state.bandwidth == pytest.approx(width)


def test_of_equal_widths_the_widest_is_taken():
    # Two pairs of copies, 50 apart: up to a width of 6.4 nothing changes.
    learner = made(alignment_events=4, kernel=Gaussian(bandwidth=3.0))
    state = learner.init(1)
    learner.step(state, [[0.0], [0.0], [50.0], [50.0]], [1.0, 1.0, -1.0, -1.0])
    assert state.bandwidth == pytest.approx(6.4)


@pytest.mark.parametrize("alignment", ["uncentered", "centered"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_the_formula(alignment, seed):
    X, y = streams.rotating(100, seed=seed)
    learner = made(alignment=alignment)
    state, oracle = learner.init(2), Plain(learner, 2, 0)
    learner.step(state, X, y)
    for x, label in zip(X, y, strict=True):
        oracle.learn(x, label)
    assert state.bandwidth == pytest.approx(oracle.bandwidth)
    np.testing.assert_allclose(learner.score(state, X), [oracle.score(x)[0] for x in X], atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kernel": Linear()}, "kernel must be gaussian or laplacian, not linear"),
        ({"task": Regression()}, "proj_ka does not do regression"),
        ({"alignment_events": 1}, "alignment_events must be a whole number at least 2, not 1"),
        ({"bandwidth_min": 2.0, "bandwidth_max": 1.0}, "bandwidth_max must be at least"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, reason):
    with pytest.raises(ValueError, match=reason):
        ProjKA(**settings)
