"""How fast a job reads, how fast there is more to read, and how far it is behind."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from okl_flow.page.series import Series
from okl_flow.wire.raw import Part

__all__ = ["Pace"]

_SPAN_MS = 30_000  # a job tells how far it is once an epoch, which is 10 s by default
_SHORTEST_MS = 9_000  # below that a rate is more of chance than of the job
_DRAWN_MS = 5_000


class _Sample(NamedTuple):
    moment: int
    read: dict[Part, int]
    ends: dict[Part, int]


class Pace:
    """What the offsets of a job's consumer group tell, beside the ends of its topics."""

    def __init__(self, span_ms: int = _SPAN_MS) -> None:
        self.series = Series(4)  # moment, lag, records read and come in a second
        self._span_ms = span_ms
        self._samples: deque[_Sample] = deque()
        self._drawn = 0

    def take(self, moment: int, offsets: Mapping[Part, tuple[int, int]]) -> None:
        """Take in of each partition the offset to be read next, and its end, at a moment in ms."""
        read = {part: at for part, (at, _end) in offsets.items()}
        ends = {part: end for part, (_at, end) in offsets.items()}
        samples = self._samples
        if samples and moment <= samples[-1].moment:
            samples.clear()  # the clock was set back
        samples.append(_Sample(moment, read, ends))
        while len(samples) > 1 and samples[1].moment <= moment - self._span_ms:
            samples.popleft()
        if offsets and abs(moment - self._drawn) >= _DRAWN_MS:
            self._drawn = moment
            rates = (self.rate("read"), self.rate("ends"))
            known = (math.nan if one is None else one for one in rates)
            self.series.add([moment, self.lag or 0, *known])

    @property
    def lag(self) -> int | None:
        """Records that are there and not yet read, by what the job has told; None if nothing."""
        by_topic = self.by_topic()
        return sum(by_topic.values()) if by_topic else None

    def by_topic(self) -> dict[str, int]:
        """The lag of each topic."""
        found: dict[str, int] = {}
        if self._samples:
            _moment, read, ends = self._samples[-1]
            for part, at in read.items():
                found[part[0]] = found.get(part[0], 0) + max(0, ends[part] - at)
        return found

    def rate(self, which: str) -> float | None:
        """Records a second that were read, or that came: "read", "ends"."""
        if not self._samples:
            return None
        first, last = self._samples[0], self._samples[-1]
        if last.moment < first.moment + _SHORTEST_MS:
            return None
        before, now = (first.ends, last.ends) if which == "ends" else (first.read, last.read)
        count = sum(max(0, at - before[part]) for part, at in now.items() if part in before)
        return 1000.0 * count / (last.moment - first.moment)

    def shown(self) -> dict[str, Any]:
        """All of it."""
        return {
            "lag": self.lag,
            "by_topic": self.by_topic(),
            "read_rate": self.rate("read"),
            "come_rate": self.rate("ends"),
        }
