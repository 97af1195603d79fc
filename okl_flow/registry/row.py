"""What the registry says of a learner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from okl_flow.learner import Learner

__all__ = ["Limit", "Row"]


@dataclass(frozen=True)
class Limit:
    """A learner that another one becomes, or comes closer to, under ever wider settings."""

    settings: tuple[Mapping[str, Any], ...]  # the last of them is nearest
    equals: str
    with_settings: Mapping[str, Any]
    tolerance: float = 1e-12  # root mean square of the difference of scores


@dataclass(frozen=True)
class Row:
    """A learner as the registry, the conformance suite and the README's table know it."""

    learner: type[Learner]
    paper: str  # authors and year
    memory: str  # growth of one state, in words
    cost: str  # growth of one event's work, in words
    tasks: tuple[str, ...]  # tasks that it does
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters that the tests use
    learning: Mapping[str, Any] = field(default_factory=dict)  # more of them where it must learn
    mistakes_max: tuple[float, float] = (0.5, 0.5)  # share on streams.rings, streams.rotating
    alternatives: Mapping[str, Any] = field(default_factory=dict)  # values that must matter
    limits: tuple[Limit, ...] = ()  # where it meets another learner
    exceptions: Mapping[str, str] = field(default_factory=dict)  # law: why it does not hold
