"""Alarms and rejects: how many there were, and the latest of them."""

from bisect import insort
from collections import Counter, deque
from typing import Any, NamedTuple

from okl_flow.events import Alarm, Cause, Reject

__all__ = ["ALARMS_MAX", "EXAMPLES_MAX", "Alarms", "Rejects"]

ALARMS_MAX = 500
"""Alarms that are kept."""

EXAMPLES_MAX = 5
"""Rejects of each reason that are kept."""

_TEXT_MAX = 500  # characters of a message, or of an original
_KINDS_MAX = 100


class _Rung(NamedTuple):
    written: int
    number: int  # two alarms of one moment are not compared any further
    alarm: Alarm
    name: Any


class Alarms:
    """The latest alarms, by the time when they were written. One that is repeated counts once."""

    def __init__(self, alarms_max: int = ALARMS_MAX) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()  # by step, kind and learner
        self.dropped = 0
        self._alarms_max = alarms_max
        self._kept: list[_Rung] = []
        self._names: set[Any] = set()
        self._number = 0

    def take(self, alarm: Alarm, written: int) -> None:
        """Take in an alarm."""
        name = (alarm.step, alarm.subject, alarm.name, alarm.kind, alarm.cause, alarm.ordinal)
        if alarm.cause is not None and name in self._names:
            return
        kind = (alarm.step, alarm.kind, alarm.learner or "")
        if kind in self.counts or len(self.counts) < _KINDS_MAX:
            self.counts[kind] += 1
        self._number += 1
        self._names.add(name)
        insort(self._kept, _Rung(written, self._number, alarm, name))
        if len(self._kept) > self._alarms_max:
            self._names.discard(self._kept.pop(0).name)
            self.dropped += 1

    def latest(self, count: int = ALARMS_MAX, key: str | None = None) -> list[dict[str, Any]]:
        """The latest alarms, the newest first: all, or those about a key."""
        kept = reversed(self._kept)
        chosen = [
            one
            for one in kept
            if key is None or (one.alarm.subject == "key" and one.alarm.name == key)
        ]
        return [_alarm_shown(one) for one in chosen[:count]]


class Rejects:
    """How many records were rejected, by reason, with the latest of each."""

    def __init__(self, examples_max: int = EXAMPLES_MAX) -> None:
        self.counts: Counter[str] = Counter()
        self._latest: dict[str, deque[dict[str, Any]]] = {}
        self._examples_max = examples_max

    def take(self, reject: Reject, written: int) -> None:
        """Take in a reject."""
        reason = reject.reason.value
        self.counts[reason] += 1
        if reason not in self._latest:
            self._latest[reason] = deque(maxlen=self._examples_max)
        self._latest[reason].append(
            {
                "written": written,
                "message": _cut(reject.message),
                "key": reject.key and _cut(reject.key),
                "id": reject.id and _cut(reject.id),
                "cause": _place(reject.cause),
                **_original(reject.original),
            }
        )

    def by_reason(self) -> list[dict[str, Any]]:
        """Each reason with its count and the latest rejects, the most frequent first."""
        return [
            {"reason": reason, "count": count, "latest": list(reversed(self._latest[reason]))}
            for reason, count in self.counts.most_common()
        ]


def _alarm_shown(rung: _Rung) -> dict[str, Any]:
    alarm = rung.alarm
    return {
        "written": rung.written,
        "step": alarm.step,
        "subject": alarm.subject,
        "name": alarm.name,
        "kind": alarm.kind,
        "message": _cut(alarm.message),
        "learner": alarm.learner,
        "cause": None if alarm.cause is None else _place(alarm.cause),
        "number": rung.number,
    }


def _original(original: bytes | None) -> dict[str, Any]:
    """The beginning of a record as text; bytes that are none are shown by their numbers."""
    if original is None:
        return {"original": None, "original_bytes": 0}
    text = original[:_TEXT_MAX].decode("utf-8", "backslashreplace")
    return {"original": text, "original_bytes": len(original)}


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}…"


def _place(cause: Cause) -> dict[str, Any]:
    return {"topic": cause.topic, "partition": cause.partition, "offset": cause.offset}
