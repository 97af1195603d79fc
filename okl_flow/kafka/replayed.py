"""Which outputs of a replay appeared before a crash.

Outputs are known by the records that made them, and these by their offsets, as each partition of
a topic is read in its order. What two records make together, an event and its label, appeared if
one run had read both when its outputs appeared. In which order it read them does not matter, and
so a replay may read two topics in another order than the run before it.

A run that is killed again before its replay is over has seen more of one topic and less of the
other than the run before it. So it is kept for each run how far its outputs go, until a later run
has gone as far everywhere: with the offset that is committed for a partition stands a note such as
"7:1024,6:990", of the runs 7 and 6.
"""

from collections.abc import Mapping, Sequence

from okl_flow.wire import Encoded
from okl_flow.wire.raw import Part

__all__ = ["Committed", "Replayed"]

Committed = tuple[int, str]
"""The last offset whose outputs have appeared, and the note that stands with it."""

_NEVER = -1


class Replayed:
    """Tells outputs that have appeared from those that have not.

    Parameters:
        resumed: of each source partition the last offset that the engine goes on after.
        committed: of each source partition what the brokers know.

    >>> from okl_flow.events import Cause
    >>> replayed = Replayed({("events", 0): 3}, {("events", 0): (5, "")})
    >>> again = [Encoded(None, b"%d" % at, Cause("events", 0, at)) for at in (3, 4, 5, 6)]
    >>> [one.value for one in replayed.fresh(again)]  # the first is late: no replay brings it
    [b'3', b'6']
    >>> replayed.to_commit({("events", 0): 4})  # those of the run before go farther
    {('events', 0): (5, '1:4,0:5')}
    """

    def __init__(self, resumed: Mapping[Part, int], committed: Mapping[Part, Committed]) -> None:
        self._resumed = dict(resumed)
        self._runs: dict[int, dict[Part, int]] = {}  # how far the outputs of each go
        for part, (offset, note) in committed.items():
            for run, end in _read(note) or [(0, offset)]:
                self._runs.setdefault(run, {})[part] = end
        self._number = max(self._runs, default=0) + 1  # of the run at hand
        for run in sorted(self._runs):
            others = [known for other, known in self._runs.items() if other != run]
            if any(_covers(known, self._runs[run]) for known in others):
                del self._runs[run]
        self._forget(resumed)

    def __bool__(self) -> bool:
        """Whether more has appeared than this run has made again."""
        return bool(self._runs)

    def fresh(self, records: Sequence[Encoded]) -> list[Encoded]:
        """The records that have not appeared."""
        return [record for record in records if not self._has_appeared(record)]

    def to_commit(self, ends: Mapping[Part, int]) -> dict[Part, Committed]:
        """What to commit with outputs that go up to these offsets."""
        self._forget(ends)
        noted = {}
        for part, end in ends.items():
            others = {run: known[part] for run, known in self._runs.items() if part in known}
            every = {self._number: end, **dict(sorted(others.items(), reverse=True))}
            noted[part] = max(every.values()), ",".join(f"{run}:{at}" for run, at in every.items())
        return noted

    def _forget(self, ends: Mapping[Part, int]) -> None:
        """Forget the runs that have not gone beyond these offsets anywhere."""
        self._runs = {run: known for run, known in self._runs.items() if not _covers(ends, known)}

    def _has_appeared(self, record: Encoded) -> bool:
        causes = [one for one in (record.cause, record.event) if one is not None]
        places = [((one.topic, one.partition), one.offset) for one in causes]
        if all(offset <= self._resumed.get(part, _NEVER) for part, offset in places):
            return False
        return any(
            all(offset <= known.get(part, _NEVER) for part, offset in places)
            for known in self._runs.values()
        )


def _covers(ends: Mapping[Part, int], others: Mapping[Part, int]) -> bool:
    """Whether no other end lies beyond."""
    return all(end <= ends.get(part, _NEVER) for part, end in others.items())


def _read(note: str) -> list[tuple[int, int]]:
    """The runs of a note, and how far each went."""
    pairs = [one.partition(":") for one in note.split(",") if one]
    return [(int(run), int(end)) for run, _colon, end in pairs]
