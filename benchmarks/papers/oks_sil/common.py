"""The settings that the experiments of the paper share."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.harness import Stream
from okl_flow import make_learner
from okl_flow.evaluation import Measured, Result, run_permutations

__all__ = [
    "FIRST_WIDTHS",
    "LEARNING_RATES",
    "SETTINGS",
    "STEPS",
    "averaged",
    "budget_for",
    "over_widths",
]

LEARNING_RATES = tuple(10.0**power for power in range(-5, 1))
FIRST_WIDTHS = tuple(2.0 ** (-(i + 1) / 2) for i in range(-12, -5))
SETTINGS: Mapping[str, Any] = {"dependency": 0.9, "sample_size": 3}
STEPS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"bandwidth_step": "paper", "bandwidth_rate": 1.0},
    "relative": {},
}
"""The paper's step of gamma, rho = 1/t, and the learner's own."""
WIDTHS_SEARCHED = (FIRST_WIDTHS[0], FIRST_WIDTHS[3], FIRST_WIDTHS[6])


def budget_for(stream: Stream) -> int:
    """The paper's budget: 150 for fewer than 10,000 events, else 200."""
    return 150 if stream.y.shape[0] < 10_000 else 200


def averaged(
    name: str,
    stream: Stream,
    settings: Mapping[str, Any],
    permutations: int,
    rates: tuple[float, ...] = LEARNING_RATES,
) -> Result:
    """The learner with the best of the steps, over all first widths and permutations.

    The paper draws the first width anew in every run; here every run is made with each of them.
    """
    few = min(3, permutations)

    def mistakes(rate: float) -> float:
        chosen = {**settings, "learning_rate": rate}
        result = over_widths(name, stream, chosen, few, WIDTHS_SEARCHED)
        return result.measures["mistake_rate"].mean

    chosen = {**settings, "learning_rate": min(rates, key=mistakes)}
    return over_widths(name, stream, chosen, permutations, FIRST_WIDTHS)


def over_widths(
    name: str,
    stream: Stream,
    settings: Mapping[str, Any],
    permutations: int,
    widths: tuple[float, ...],
) -> Result:
    """The learner from each of some first widths, all its runs together."""
    learners = [make_learner(name, **settings, bandwidth=width) for width in widths]
    results = run_permutations(learners, stream.X, stream.y, permutations=permutations)
    measures = {
        key: _pooled([result.measures[key] for result in results]) for key in results[0].measures
    }
    return Result(results[0].learner, results[0].events, results[0].labelled, measures)


def _pooled(parts: list[Measured]) -> Measured:
    """Mean and deviation of the runs of all parts together."""
    means = np.array([part.mean for part in parts])
    variance = np.mean([part.std**2 for part in parts]) + means.var()
    return Measured(float(means.mean()), float(np.sqrt(variance)))
