"""Learning-rate schedules: how a step shrinks with the number of learned events."""

import math
from typing import Any

from okl_flow.native import inner

__all__ = ["SCHEDULES", "NativeRate", "check_shrinkage", "native_rate", "rate_at"]

NativeRate = tuple[int, float]

SCHEDULES = ("constant", "inverse_sqrt", "inverse")
_CONSTANT, _INVERSE_SQRT, _INVERSE = range(3)


def native_rate(schedule: str, learning_rate: float) -> NativeRate:
    """A schedule as a native loop takes it."""
    return SCHEDULES.index(schedule), learning_rate


def check_shrinkage(learner: Any) -> None:
    """Refuse a first step that would turn the sign of all weights."""
    if learner.learning_rate * learner.regularization >= 1.0:
        raise ValueError(
            f"{learner.name}: learning_rate * regularization must be below 1, not "
            f"{learner.learning_rate!r} * {learner.regularization!r}"
        )


@inner
def rate_at(rate: NativeRate, learned: int) -> float:
    """The step size for labelled event number `learned`, counted from 1."""
    code, first = rate
    if code == _INVERSE_SQRT:
        return first / math.sqrt(learned)
    if code == _INVERSE:
        return first / learned
    return first
