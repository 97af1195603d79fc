"""What is made of measured costs; and that the limits do the work that they are named after."""

import numpy as np
import pytest

from benchmarks.speed import contestants, flat, learners
from benchmarks.speed.contestants import Contestant, Size, limits_of
from benchmarks.speed.figures import Figures
from benchmarks.speed.limits import bare_fourier, bare_products, bare_rows
from okl_flow import Gaussian
from okl_flow.approximation.random_features import RandomFourier, fourier_directions


def test_exponents_are_fitted():
    assert learners.exponent_of([20, 100, 400], [2.0, 10.0, 40.0]) == pytest.approx(1.0)
    assert learners.exponent_of([8, 24, 128], [64.0, 576.0, 16384.0]) == pytest.approx(2.0)


def test_growth_is_told_where_there_is_a_budget():
    figures, rounds = Figures("learners"), [1.0, 1.1]
    costs = {("kogd", b, 24): [0.01 * b * one for one in rounds] for b in learners.BUDGETS}
    costs |= {(name, 100, d): [0.5 + 0.002 * d] * 2 for name in ("kogd", "arow") for d in (8, 128)}
    costs["arow", 100, 24] = [0.5, 0.5]
    for name in ("kogd", "arow"):
        learners.growth(figures, name, costs)
    assert figures.value("kogd", learners.IN_BUDGET) == pytest.approx(1.0)
    assert figures.value("kogd", learners.MORE_BUDGET) == pytest.approx(10.5)
    assert figures.get("arow", learners.IN_BUDGET) is None
    assert figures.get("arow", learners.IN_DIM).rounds == 2


def test_flat_is_an_exponent_of_zero():
    figures, noise = Figures("learners"), np.random.default_rng(0).normal(0.0, 0.01, 100)
    flat.describe(figures, "kogd", list(0.5 + noise))
    flat.describe(figures, "bogd", list(np.arange(1.0, 101.0) ** 0.5 + noise))
    steady, growing = (
        figures.get(f"{name}, {flat.ALL}", flat.EXPONENT) for name in ("kogd", "bogd")
    )
    assert abs(steady.value) < 0.02 and steady.rounds == 10
    assert 0.4 < growing.low <= growing.high < 0.6
    assert figures.value(f"bogd, {flat.ALL}", flat.LATER) > 3.0


def test_limits_do_the_work_they_are_named_after():
    drawn = np.random.default_rng(0)
    X, rows = drawn.normal(size=(6, 3)), drawn.normal(size=(3, 5))
    gaussian = Gaussian(bandwidth=1.5)
    first = np.exp(-((X - rows[:, 0]) ** 2).sum(axis=1) / (2 * 1.5**2))
    assert bare_rows(gaussian.native, rows, X) == pytest.approx(first.sum())
    assert bare_products(rows, X) == pytest.approx((X @ rows[:, 0]).sum())
    directions = np.array(fourier_directions(gaussian, 5, 3, 0))
    fourier = RandomFourier(feature_count=5, kernel=gaussian)
    features = fourier.features(fourier.init(3), X)
    assert bare_fourier(directions, X) == pytest.approx(features[:, 0].sum())


def test_a_contestant_is_full_and_timed_on_other_events_each_time(monkeypatch):
    monkeypatch.setattr(contestants, "WARM_UP", 400)
    monkeypatch.setattr(contestants, "EVENTS", 800)
    one = Contestant("kogd", Size(20, 3))
    assert one.state.size == 20
    seen = one.state.seen
    monkeypatch.setattr(one, "count", 400)
    places = []
    for _ in range(3):
        assert one.both() > 0.0 and one.score() > 0.0
        places.append(one.at)
    assert places == [400, 800, 400]
    assert one.state.seen == seen + 3 * 400  # score changes nothing
    assert one.single() > 0.0 and one.packed_bytes() > 20 * 3 * 8


def test_limits_are_of_the_size_that_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(contestants, "EVENTS", 50)
    found = dict(limits_of(Size(20, 3)))
    assert {learners.ROW, *learners.LIMITS.values()} <= set(found)
    assert all(work() > 0.0 for work in found.values())
