"""What `okl-flow eval --json` prints, as points: error, deviation, time and bytes of learners."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Point", "point_of"]

_RATE, _ROOT = "mistake_rate", "rmse"


@dataclass(frozen=True, slots=True)
class Point:
    """A learner's error on a file."""

    name: str
    data: str
    is_rate: bool  # a share of mistakes, else a root of squared errors
    error: float
    deviation: float  # over permutations; 0 of a single run
    baseline: float  # of the constant answer, or of the running mean
    microseconds: float  # per event


def point_of(result: Mapping[str, Any]) -> Point:
    """The point of one result; a ValueError says that it is none.

    >>> measures = {"mistake_rate": {"mean": 0.1, "std": 0.0}, "majority_rate": {"mean": 0.4}}
    >>> speed = {"events_per_second": {"mean": 1e6}}
    >>> point_of({"learner": "ons", "data": "a.csv", **measures, **speed}).microseconds
    1.0
    """
    is_rate = _RATE in result
    try:
        error = result[_RATE if is_rate else _ROOT]
        baseline = result["majority_rate" if is_rate else "rmse_of_running_mean"]
        return Point(
            _name(result),
            result["data"],
            is_rate,
            error["mean"],
            error["std"],
            baseline["mean"],
            1e6 / result["events_per_second"]["mean"],
        )
    except (KeyError, TypeError, ZeroDivisionError) as found:
        raise ValueError(f"not a result of okl-flow eval --json: {found!r}") from None


def _name(result: Mapping[str, Any]) -> str:
    chosen = [f"{name}={_short(value)}" for name, value in result.get("chosen", {}).items()]
    return ", ".join([result["learner"], *chosen])


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
