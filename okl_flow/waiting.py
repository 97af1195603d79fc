"""Where a key's events wait for their labels, and labels for their events.

An event without a label waits under its id, with the score that it got. A label that comes finds
it there. A label that comes before its event waits as well. Both wait for so many milliseconds
of event time and among so many of their kind at most; what is over is remembered by its id, so
that a late label can be told from an unknown one.

Rules for ids: an event whose id waits or is remembered is a duplicate. Only events that waited
are remembered: an event that has its label with it leaves no trace here.
"""

from dataclasses import dataclass, field
from itertools import islice

import msgspec
import numpy as np

from okl_flow.events import Cause, Event, Label, Reason
from okl_flow.native import Array

__all__ = ["Limits", "Refused", "Waiting", "WaitingRoom"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many events of a key may wait, as well as labels, and how long."""

    count: int  # 0: nothing waits
    milliseconds: int | None  # of event time; None for ever


@dataclass(slots=True)
class Waiting:
    """An event that waits for its label."""

    features: Array
    time: int | None
    cause: Cause
    seen: int = 0  # events that the model had seen before it
    score: float | list[float] = 0.0  # that it got when it came, of one learner after the other
    champion: int = 0  # whose score was reported


class Refused(msgspec.Struct, frozen=True):
    """Why an event or a label was not taken, with the label if it is not the one at hand."""

    reason: Reason
    message: str
    label: Label | None = None


@dataclass(slots=True)
class WaitingRoom:
    """The events and labels of one key that wait, and the ids of those that have done so."""

    events: dict[str, Waiting] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    past: dict[str, float | None] = field(default_factory=dict)  # label learned, None for too late

    def __bool__(self) -> bool:
        return bool(self.events or self.labels or self.past)

    def expire(self, now: int | None, limits: Limits) -> tuple[int, list[Refused]]:
        """Let go what has waited too long: how many events, and the labels."""
        if now is None or limits.milliseconds is None:
            return 0, []
        expired = 0
        while self.events:
            id, first = next(iter(self.events.items()))
            if first.time is None or now - first.time <= limits.milliseconds:
                break
            self._end(id, None, limits)
            expired += 1
        refused = []
        while self.labels:
            label = next(iter(self.labels.values()))
            if label.time is None or now - label.time <= limits.milliseconds:
                break
            refused.append(self._give_up(label))
        return expired, refused

    def take_event(self, event: Event, limits: Limits) -> tuple[Label | None, Refused | None]:
        """The label that waits for an event, or why the event is a duplicate.

        An event that has its own label finds none: a label that came before it is refused.
        """
        assert event.id is not None
        if event.id in self.events or event.id in self.past:
            message = f"an event with the id {event.id!r} came before"
            return None, Refused(Reason.DUPLICATE_EVENT, message)
        early = self.labels.pop(event.id, None)
        if early is None:
            return None, None
        self._remember(event.id, early.label if event.label is None else event.label, limits)
        if event.label is None:
            return early, None
        return None, _repeated(early, event.label, early)

    def wait(self, id: str, waiting: Waiting, limits: Limits) -> int:
        """Let an event wait; returns how many others had to go."""
        self.events[id] = waiting
        if len(self.events) <= limits.count:
            return 0
        self._end(next(iter(self.events)), None, limits)
        return 1

    def take_label(self, label: Label, limits: Limits) -> Waiting | Refused | None:
        """The event that a label is for; or why it is refused; or nothing, as the label waits.

        Where another label has to go for it to wait, that one is refused.
        """
        if label.id in self.events:
            return self._end(label.id, label.label, limits)
        if label.id in self.past:
            known = self.past[label.id]
            if known is None:
                message = f"the event {label.id!r} waited for as long, or among as many, as may be"
                return Refused(Reason.LATE_LABEL, message)
            return _repeated(label, known)
        return self._let_wait(label, limits)

    def close(self) -> list[Refused]:
        """Refuse all labels that wait, as their key is about to be forgotten."""
        return [self._give_up(label) for label in list(self.labels.values())]

    def pack(self) -> bytes:
        """The room as bytes."""
        events = [
            (
                id,
                one.features.tobytes(),
                one.time,
                msgspec.structs.astuple(one.cause),
                one.seen,
                one.score,
                one.champion,
            )
            for id, one in self.events.items()
        ]
        labels = [
            (one.id, one.label, one.time, msgspec.structs.astuple(one.cause))
            for one in self.labels.values()
        ]
        return msgspec.msgpack.encode((events, labels, list(self.past.items())))

    @classmethod
    def unpack(cls, key: str, packed: bytes) -> "WaitingRoom":
        """The room of a key that was packed."""
        events, labels, past = msgspec.msgpack.decode(packed)
        return cls(
            {
                id: Waiting(np.frombuffer(features), time, Cause(*cause), *scored)
                for id, features, time, cause, *scored in events
            },
            {id: Label(key, id, label, Cause(*cause), time) for id, label, time, cause in labels},
            dict(past),
        )

    def _end(self, id: str, label: float | None, limits: Limits) -> Waiting:
        waiting = self.events.pop(id)
        self._remember(id, label, limits)
        return waiting

    def _let_wait(self, label: Label, limits: Limits) -> Refused | None:
        if label.id in self.labels:
            return _repeated(label, self.labels[label.id].label)
        if limits.count == 0:
            return Refused(Reason.UNKNOWN_LABEL, "no event waits for a label in this flow")
        self.labels[label.id] = label
        if len(self.labels) > limits.count:
            return self._give_up(next(iter(self.labels.values())))
        return None

    def _remember(self, id: str, label: float | None, limits: Limits) -> None:
        self.past[id] = label
        for oldest in list(islice(self.past, max(0, len(self.past) - limits.count))):
            del self.past[oldest]

    def _give_up(self, label: Label) -> Refused:
        del self.labels[label.id]
        message = (
            f"no event with the id {label.id!r} came for the label {label.label} of "
            f"{label.cause.topic}, partition {label.cause.partition}, offset {label.cause.offset}"
        )
        return Refused(Reason.UNKNOWN_LABEL, message, label)


def _repeated(label: Label, known: float, other: Label | None = None) -> Refused:
    """Why a label is refused whose event has one already."""
    if label.label == known:
        message = f"the label {known} of the event {label.id!r} is known already"
        return Refused(Reason.DUPLICATE_LABEL, message, other)
    message = f"the event {label.id!r} has the label {known} already, not {label.label}"
    return Refused(Reason.CONTRADICTING_LABEL, message, other)
