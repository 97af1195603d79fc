"""Intervals: what they promise is counted on simulated streams."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from okl_flow.evaluating.intervals import (
    mean_interval,
    normal_quantile,
    rate_interval,
    rate_sequence,
    wilson,
    wilson_interval,
)
from okl_flow.native import native

STREAMS, EVENTS, CONFIDENCE = 2000, 3000, 0.95


@native
def ever_left(chances, uniforms, alpha, quantile, left, left_wilson):
    """Mark the streams whose mean chance was outside an interval at any look."""
    for s in range(uniforms.shape[0]):
        mistakes, total = 0.0, 0.0
        for i in range(uniforms.shape[1]):
            total += chances[i]
            if uniforms[s, i] < chances[i]:
                mistakes += 1.0
            if i % 10 == 0:
                low, high = rate_sequence(mistakes, i + 1.0, alpha)
                left[s] |= not low <= total / (i + 1.0) <= high
                low, high = wilson(mistakes, i + 1.0, quantile)
                left_wilson[s] |= not low <= total / (i + 1.0) <= high


def share_left(chances, seed):
    uniforms = np.random.default_rng(seed).random((STREAMS, EVENTS))
    left, left_wilson = np.zeros((2, STREAMS), dtype=bool)
    quantile = normal_quantile(CONFIDENCE)
    ever_left(chances, uniforms, 1.0 - CONFIDENCE, quantile, left, left_wilson)
    return left.mean(), left_wilson.mean()


@pytest.mark.parametrize(
    ("name", "chances"),
    [
        ("rare", np.full(EVENTS, 0.02)),
        ("common", np.full(EVENTS, 0.3)),
        ("learning", 0.1 + 0.4 / (1.0 + np.arange(EVENTS) / 300.0)),
        ("drifting", np.where(np.arange(EVENTS) % 1000 < 500, 0.05, 0.6)),
    ],
)
def test_a_sequence_holds_at_all_looks_and_wilson_does_not(name, chances):
    sequence, fixed = share_left(chances, seed=12)
    assert 0.0 < sequence <= 0.05, f"{name}: {sequence} of the streams left the sequence"
    assert fixed > 0.15, f"{name}: {fixed} of the streams left Wilson's interval"


@pytest.mark.parametrize("count", [1, 7, 100, 10_000, 1_000_000])
@pytest.mark.parametrize("rate", [0.0, 0.003, 0.2, 0.5, 1.0])
def test_the_ends_are_where_the_capital_is_made(rate, count):
    mistakes = round(rate * count)
    low, high = rate_interval(mistakes, count)
    stakes = np.array([side * 2.0**power for power in range(-11, 3) for side in (-1, 1)])

    def fortune(mean):
        capitals = stakes * mistakes - count * np.log1p(mean * np.expm1(stakes))
        return np.logaddexp.reduce(capitals) - np.log(len(stakes)) + np.log(0.05)

    rate = mistakes / count
    expected_low = brentq(fortune, 0.0, rate, xtol=1e-13) if fortune(0.0) > 0.0 else 0.0
    expected_high = brentq(fortune, rate, 1.0, xtol=1e-13) if fortune(1.0) > 0.0 else 1.0
    assert low == pytest.approx(expected_low, abs=1e-8)
    assert high == pytest.approx(expected_high, abs=1e-8)


def test_wilsons_interval_is_the_root_of_its_equation():
    z = norm.ppf(0.975)
    for mistakes, count in ((0, 5), (3, 10), (10, 10), (117, 1000)):
        low, high = wilson_interval(mistakes, count)
        for end in (low, high):
            if 0.0 < end < 1.0:
                distance = abs(mistakes / count - end)
                assert distance == pytest.approx(z * np.sqrt(end * (1 - end) / count))
        assert 0.0 <= low <= mistakes / count <= high <= 1.0


@pytest.mark.parametrize("distribution", ["exponential", "squared_normal"])
def test_the_asymptotic_sequence_holds_from_a_hundred_on(distribution):
    generator = np.random.default_rng(5)
    values = getattr(generator, "exponential", None)(size=(2000, 4000))
    if distribution == "squared_normal":
        values = generator.normal(size=(2000, 4000)) ** 2
    sums, squares = np.cumsum(values, axis=1), np.cumsum(values**2, axis=1)
    left = np.zeros(2000, dtype=bool)
    for count in range(100, 4001, 50):
        for s in np.flatnonzero(~left):
            low, high = mean_interval(sums[s, count - 1], squares[s, count - 1], count)
            left[s] = not low <= 1.0 <= high
    assert 0.0 < left.mean() <= 0.05


def test_nothing_is_known_of_nothing():
    assert rate_interval(0, 0) == (0.0, 1.0)
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert mean_interval(1.0, 1.0, 1) == (-np.inf, np.inf)


def test_more_confidence_is_more_width():
    for interval in (
        lambda c: rate_interval(10, 100, c),
        lambda c: wilson_interval(10, 100, c),
        lambda c: mean_interval(10.0, 20.0, 100, c),
    ):
        widths = [np.diff(interval(confidence))[0] for confidence in (0.5, 0.9, 0.99)]
        assert widths == sorted(widths) and widths[0] < widths[2]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_a_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence must be"):
        rate_interval(1, 2, confidence)
