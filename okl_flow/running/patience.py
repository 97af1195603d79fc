"""How long to wait before a cluster is started again, and when to give up."""

from collections import deque
from dataclasses import dataclass, field
from random import Random

__all__ = ["Patience", "Policy"]

_PAUSE_MAX = 60.0
_JITTER = 0.5  # a pause is up to so much of itself shorter or longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When to start again, in seconds."""

    failures: int = 5  # so many within a time are too many
    within: float = 600.0
    pause: float = 1.0  # before the first start after a failure; twice as long after the next
    healthy: float = 60.0  # a run as long as this makes the next pause the first one again

    def __post_init__(self) -> None:
        for name, value in (("failures", self.failures), ("within", self.within)):
            if value <= 0:
                raise ValueError(f"{name} must be above 0, not {value}")
        for name, value in (("pause", self.pause), ("healthy", self.healthy)):
            if value < 0.0:
                raise ValueError(f"{name} must be at least 0, not {value}")


@dataclass(slots=True)
class Patience:
    """The failures so far, and what follows from the next one."""

    policy: Policy
    chance: Random = field(default_factory=Random)
    in_a_row: int = 0
    _times: deque[float] = field(default_factory=deque)

    @property
    def lately(self) -> int:
        """Failures within the time that counts, at the last one."""
        return len(self._times)

    def fail(self, now: float, lasted: float) -> float | None:
        """After a run that lasted so long: the pause before the next, or None to give up.

        Several clusters that fail of one cause do not come back at one moment: a pause is longer
        or shorter by chance.
        """
        if lasted >= self.policy.healthy:
            self.in_a_row = 0
        self.in_a_row += 1
        self._times.append(now)
        while self._times[0] < now - self.policy.within:
            self._times.popleft()
        if len(self._times) >= self.policy.failures:
            return None
        pause = min(_PAUSE_MAX, self.policy.pause * 2.0 ** min(self.in_a_row - 1, 30))
        return pause * self.chance.uniform(1.0 - _JITTER, 1.0 + _JITTER)
