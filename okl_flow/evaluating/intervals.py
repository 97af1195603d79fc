"""Intervals around the rates and means of a stream that goes on.

An interval for a fixed count, such as Wilson's, is wrong sooner or later if one looks at it
again and again. A confidence sequence holds at all counts at once: the chance that it is ever
off, at any moment of an endless stream, is at most one minus the confidence.
"""

import math
from statistics import NormalDist

import numpy as np

from okl_flow.native import native

__all__ = [
    "check_confidence",
    "mean_interval",
    "mean_radius",
    "mean_sequence",
    "normal_quantile",
    "rate_interval",
    "rate_sequence",
    "wilson",
    "wilson_interval",
]

# Stakes of the bets that the sequence for rates is a mixture of, in powers of two, on both
# sides. The best stake after n events is about sqrt(2 log(1 / alpha) / (n p)): the least one
# serves up to some 10**8 events.
_STAKES = np.array([side * 2.0**power for power in range(-11, 3) for side in (-1.0, 1.0)])
_GAINS = np.expm1(_STAKES)
_NO_MATTER = 40.0  # in the logarithm: a capital so much smaller changes no bit of the mean
_ROUNDS_MOST = 100
_NEAR_ENOUGH = 1e-9

# The asymptotic sequence is narrowest at about this count.
_NARROWEST_AT = 1000.0


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is none."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be a number above 0 and below 1, not {confidence!r}")


def rate_interval(mistakes: float, count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Where the rate of mistakes is, to be looked at as often as one likes.

    The rate is the mean, over the events so far, of the chance of a mistake that each event
    had given all before it. It may change from event to event, as it does while a learner
    learns. Nothing else is assumed.

    The interval holds the rates that no gambler has made a fortune against. For each stake L
    out of a fixed list, exp(L * mistakes - count * log(1 - m + m * exp(L))) is the gambler's
    capital if m is the mean; as the logarithm is concave in m, it is at most what it would be
    under the single chances, which is a fair game. The mean capital over all stakes exceeds
    1 / (1 - confidence) at any time at all with a chance of 1 - confidence at most (Ville).

    >>> [round(end, 3) for end in rate_interval(100, 1000)]
    [0.07, 0.137]
    """
    check_confidence(confidence)
    low, high = rate_sequence(float(mistakes), float(count), 1.0 - confidence)
    return float(low), float(high)


@native
def wilson(mistakes: float, count: float, quantile: float) -> tuple[float, float]:
    """The two ends of `wilson_interval`; 0 and 1 before the first event."""
    if not count > 0.0:
        return 0.0, 1.0
    rate = mistakes / count
    extra = quantile * quantile / count
    middle = (rate + extra / 2.0) / (1.0 + extra)
    radius = math.sqrt(extra * (rate * (1.0 - rate) + extra / 4.0)) / (1.0 + extra)
    return max(0.0, middle - radius), min(1.0, middle + radius)


@native
def _fortune(mean: float, mistakes: float, count: float, alpha: float) -> tuple[float, float]:
    """Logarithm of the gamblers' mean capital times alpha, and its slope in the mean."""
    largest = -math.inf
    capitals = np.empty(_STAKES.shape[0])
    for j in range(_STAKES.shape[0]):
        capitals[j] = _STAKES[j] * mistakes - count * math.log1p(mean * _GAINS[j])
        largest = max(largest, capitals[j])
    total, slope = 0.0, 0.0
    for j in range(_STAKES.shape[0]):
        if capitals[j] < largest - _NO_MATTER:
            continue
        capital = math.exp(capitals[j] - largest)
        total += capital
        slope -= capital * count * _GAINS[j] / (1.0 + mean * _GAINS[j])
    value = largest + math.log(total / _STAKES.shape[0]) + math.log(alpha)
    return value, slope / total


@native
def _end(outermost: float, near: float, mistakes: float, count: float, alpha: float) -> float:
    """The rate between the outermost and the mean at which the fortune is made.

    The fortune is convex in the rate: Newton's method comes to the end from outside and never
    goes beyond it.
    """
    rate = mistakes / count
    value, slope = _fortune(near, mistakes, count, alpha)
    here = near
    if value <= 0.0:
        here = outermost
        value, slope = _fortune(here, mistakes, count, alpha)
    for _ in range(_ROUNDS_MOST):
        if value <= 0.0 or slope * (rate - here) >= 0.0:
            break
        step = -value / slope
        here += step
        if abs(step) < _NEAR_ENOUGH:
            break
        value, slope = _fortune(here, mistakes, count, alpha)
    return here


@native
def rate_sequence(mistakes: float, count: float, alpha: float) -> tuple[float, float]:
    """The two ends of `rate_interval`; 0 and 1 before the first event."""
    if not count > 0.0:
        return 0.0, 1.0
    # Wilson's ends for the odds that the best stake alone would have to beat are close by, and
    # mostly outside.
    odds = math.sqrt(2.0 * math.log(_STAKES.shape[0] / alpha))
    near_low, near_high = wilson(mistakes, count, odds)
    low = _end(0.0, near_low, mistakes, count, alpha)
    high = _end(1.0, near_high, mistakes, count, alpha)
    return low, high


def wilson_interval(mistakes: float, count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a rate: narrower, and for one look at a count fixed beforehand.

    >>> [round(end, 3) for end in wilson_interval(100, 1000)]
    [0.083, 0.12]
    """
    check_confidence(confidence)
    low, high = wilson(float(mistakes), float(count), normal_quantile(confidence))
    return float(low), float(high)


def normal_quantile(confidence: float) -> float:
    """How many standard deviations either side hold a normal variable with this chance."""
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


def mean_interval(
    total: float, squares: float, count: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Where the mean of losses or squared errors is: an asymptotic confidence sequence.

    To be looked at as often as one likes, but only approximately right: it holds in the limit
    of a late first look, for values with finite variance, as an interval by the central limit
    theorem does for one look. For values that can be of any size nothing exact can hold.
    `total` and `squares` are the sums of the values and of their squares.

    Paper: Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, "Time-uniform central limit theory and
    asymptotic confidence sequences", Annals of Statistics, 2024.

    >>> [round(end, 3) for end in mean_interval(500.0, 333.0, 1000)]
    [0.472, 0.528]
    """
    check_confidence(confidence)
    low, high = mean_sequence(float(total), float(squares), float(count), 1.0 - confidence)
    return float(low), float(high)


@native
def mean_radius(total: float, squares: float, count: float, alpha: float) -> float:
    """Half the width of `mean_interval`; NaN before the second event."""
    if not count > 1.0:
        return math.nan
    mean = total / count
    variance = max(0.0, squares / count - mean * mean)
    doubled = -2.0 * math.log(alpha)
    tuning = (doubled + math.log(doubled + 1.0)) / _NARROWEST_AT
    grown = count * tuning + 1.0
    bound = 2.0 * grown / (count * count * tuning) * math.log(math.sqrt(grown) / alpha)
    return math.sqrt(variance * bound)


@native
def mean_sequence(total: float, squares: float, count: float, alpha: float) -> tuple[float, float]:
    """The two ends of `mean_interval`, for alpha = 1 - confidence."""
    radius = mean_radius(total, squares, count, alpha)
    if math.isnan(radius):
        return -math.inf, math.inf
    mean = total / count
    return mean - radius, mean + radius
