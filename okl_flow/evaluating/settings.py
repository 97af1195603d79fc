"""What is evaluated, and how: the settings that partitions and the whole stream share."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from okl_flow.evaluating.drift import NO_DRIFT, Drift, NativeDrift, PageHinkley, drift_of
from okl_flow.evaluating.intervals import check_confidence
from okl_flow.evaluating.sums import ENTRY, classes_of, width_of
from okl_flow.parameters import flat, nearest
from okl_flow.tasks import Binary, Task

__all__ = ["FADES_OUT", "KEYS", "Settings"]

KEYS = ("worst", "all", "none")
"""Which keys are reported."""

FADES_OUT = 8
"""A prediction has faded out, in the whole stream's figures, after so many times `fading`."""

_LISTED_EVERY = 100


@dataclass(frozen=True)
class Settings:
    """Checked settings; `described` is what must be the same when figures are restored."""

    task: Task = field(default_factory=Binary)
    window: int = 1000
    fading: int = 1000
    report_every: int = 1000
    keys: str = "worst"
    keys_reported: int = 20
    key_lists_every: int = 5
    key_report_every: int = 100
    keys_in_memory: int = 16384
    drift: Drift | None = field(default_factory=PageHinkley)
    confidence: float = 0.95
    partitions: int = 64

    def __post_init__(self) -> None:
        for name, low in (
            ("window", 1),
            ("fading", 2),
            ("report_every", 1),
            ("keys_reported", 1),
            ("key_lists_every", 1),
            ("key_report_every", 1),
            ("keys_in_memory", 1),
            ("partitions", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ValueError(
                    f"evaluate: {name} must be a whole number at least {low}, not {value!r}"
                )
        check_confidence(self.confidence)
        if self.keys not in KEYS:
            raise ValueError(
                f"evaluate: keys must be one of {', '.join(KEYS)}, not {self.keys!r}"
                f"{nearest(str(self.keys), KEYS)}"
            )

    @classmethod
    def of(cls, task: Task | str, drift: Drift | str | None, **settings: Any) -> "Settings":
        """Settings with the task and the detector by their names, or themselves."""
        if isinstance(task, str):
            if task not in Task.members:
                raise ValueError(
                    f"evaluate: task must be one of {', '.join(Task.members)}, or such a task, "
                    f"not {task!r}{nearest(task, Task.members)}"
                )
            return cls(task=Task.members[task](), drift=drift_of(drift), **settings)
        return cls(task=task, drift=drift_of(drift), **settings)

    @cached_property
    def classes(self) -> int:
        """Classes of the task; 0 in a regression."""
        return classes_of(self.task)

    @cached_property
    def width(self) -> int:
        """Numbers of a row of sums."""
        return width_of(self.classes)

    @cached_property
    def keep(self) -> float:
        """The share of its weight that a prediction keeps when the next one comes."""
        return 1.0 - 1.0 / self.fading

    @cached_property
    def native_drift(self) -> NativeDrift:
        """The detector as native loops take it."""
        return self.drift.native if self.drift else NO_DRIFT

    @cached_property
    def drift_size(self) -> int:
        """Numbers that the detector remembers."""
        return self.drift.size if self.drift else 0

    @cached_property
    def chunk(self) -> int:
        """Labelled predictions of a partition after which it tells the whole stream's step.

        The partitions together must not be late by more than a report, and the window and the
        distance of reports must be full of whole chunks.
        """
        common = math.gcd(self.report_every, self.window)
        most = max(1, self.report_every // self.partitions)
        return max(size for size in range(1, min(common, most) + 1) if common % size == 0)

    @cached_property
    def told_width(self) -> int:
        """Numbers that a partition tells with each chunk."""
        return 1 + self.width + self.chunk * ENTRY

    @cached_property
    def listed_every(self) -> int:
        """Labelled predictions of a partition between two lists of its worst and busiest keys."""
        return self.chunk * math.ceil(_LISTED_EVERY / self.chunk)

    @cached_property
    def chunks_kept(self) -> int:
        """The latest chunks that the window and the fading past need."""
        return math.ceil(max(self.window, FADES_OUT * self.fading) / self.chunk)

    @cached_property
    def slots(self) -> int:
        """Keys of one partition whose figures are kept."""
        return math.ceil(self.keys_in_memory / self.partitions)

    @cached_property
    def described(self) -> dict[str, Any]:
        """What must be the same when figures are restored."""
        return {
            "task": [self.task.name, self.classes],
            "window": self.window,
            "fading": self.fading,
            "report_every": self.report_every,
            "keys": self.keys,
            "keys_reported": self.keys_reported,
            "keys_in_memory": self.keys_in_memory,
            "drift": [self.drift.name, flat(self.drift)] if self.drift else None,
            "partitions": self.partitions,
        }
