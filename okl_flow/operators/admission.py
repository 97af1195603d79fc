"""Admission of items to a state partition: what becomes of each, before anything is scored.

Items are gone through in order. An event is to be scored, and learned if it has a label; a label
finds the event that waits for it; a key begins anew; or the item is refused. What there is to
score and learn stands then in the rows of the entries, and `okl_flow.operators.batch` does it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from okl_flow.contest import Terms
from okl_flow.events import Event, Forget, Incoming, Label, Reason, Reject
from okl_flow.learner import Learner
from okl_flow.murmur import seed_of
from okl_flow.operators.models import Entry, Models, Row
from okl_flow.operators.record import Record
from okl_flow.operators.refusals import other_dim, refusals
from okl_flow.operators.requests import FORGET, Request, answered
from okl_flow.packing import Packer, packer_of
from okl_flow.waiting import Limits, Refused, Waiting, WaitingRoom

__all__ = ["Admission", "Figures", "Rules"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How a partition deals with its keys."""

    learners: tuple[Learner, ...]  # of one task
    names: tuple[str, ...]  # of the learners, as they are reported
    dim: int | None  # features; None for as many as a key's first event has
    limits: Limits  # of the wait for labels
    forget_after: int | None  # milliseconds without an event after which a key begins anew
    warm_starts: tuple[bytes | None, ...]  # packed states that new keys begin with
    terms: Terms | None = None  # of the contest between several learners
    packers: tuple[Packer, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "packers", tuple(map(packer_of, self.learners)))

    def begin(self, key: str, dim: int) -> list[Any]:
        """The states that a key begins with."""
        return [
            learner.init(dim, seed=seed_of(key)) if warm is None else packer.unpack(warm)
            for learner, packer, warm in zip(
                self.learners, self.packers, self.warm_starts, strict=True
            )
        ]


@dataclass(slots=True)
class Figures:
    """What a partition has done so far, for its reports."""

    items: int = 0
    newest: int | None = None  # latest time of any item
    counts: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, count: int = 1) -> None:
        """Count something."""
        self.counts[name] = self.counts.get(name, 0) + count


class Admission:
    """Items of one partition, their entries, and what was refused."""

    def __init__(
        self, rules: Rules, models: Models, figures: Figures, items: Sequence[Incoming]
    ) -> None:
        self.items = items
        self.touched: list[tuple[str, Entry]] = []  # with rows
        self._rules = rules
        self._models = models
        self._figures = figures
        self._live = models.fetch(dict.fromkeys([item.key for item in items]))
        self._bad = dict(refusals(rules.learners, items))
        self._refused: list[tuple[int, Reject]] = []

    def admit(self) -> None:
        """Decide what becomes of each item."""
        plain = self._plain()
        if plain:
            self._admit_plain(plain)
        else:
            self._admit_each()

    def rejects(self) -> list[Reject]:
        """What was refused, in the order of the items, and from now on counted."""
        self._refused.sort(key=itemgetter(0))
        for _at, reject in self._refused:
            self._figures.add(f"rejected_{reject.reason}")
        return [reject for _at, reject in self._refused]

    def reject(self, at: int, reason: Reason, message: str) -> None:
        """Refuse an item."""
        item = self.items[at]
        self._refused.append((at, Reject(reason, message, item.cause, item.key, _id_of(item))))

    def answer(self, requests: Sequence[Request]) -> None:
        """Do what the command line asks, before the first item and because of it."""
        self._live.update(self._models.fetch([request.key for request in requests]))
        for request in requests:
            entry = self._live[request.key]
            if request.kind == FORGET:
                self._forget(0, request.key)
                continue
            record = answered(request, entry.record, self._rules.learners)
            assert record is not None
            entry.record, entry.dim = record, record.states[0].dim
            self._models.touch(request.key, entry)

    def forget_idle(self, count: int) -> None:
        """Forget those of some stored keys whose time is over, because of the last item."""
        limit, newest = self._rules.forget_after, self._figures.newest
        if limit is None or newest is None:
            return
        idle = self._models.idle(count, newest - limit)
        for key, entry in self._models.fetch(idle).items():
            if entry.record.time is not None and newest - entry.record.time > limit:
                self._live[key] = entry
                self._forget(len(self.items) - 1, key)

    def _plain(self) -> list[Event]:
        """All items, if they are events with labels, or without a wait for one; else nothing.

        Nearly all items of most jobs are, and need not be looked at one by one.
        """
        rules, live = self._rules, self._live.values()
        events = [item for item in self.items if isinstance(item, Event)]
        if self._bad or rules.forget_after is not None or len(events) < len(self.items):
            return []
        if rules.limits.count and any(
            event.label is None and event.id is not None for event in events
        ):
            return []
        dims = {event.features.shape[0] for event in events}
        known = {entry.dim or rules.dim for entry in live} - {None}
        is_plain = len(dims | known) == 1 and all(entry.room is None for entry in live)
        return events if is_plain else []

    def _admit_plain(self, events: Sequence[Event]) -> None:
        """What `_admit_each` comes to for such events."""
        places: dict[str, list[int]] = {key: [] for key in self._live}
        for at, event in enumerate(events):
            places[event.key].append(at)
        for key, own in places.items():
            entry = self._live[key]
            mine = [events[at] for at in own]
            first = entry.record.events
            times = [event.time for event in mine]
            self._note_events(key, entry, mine[0].features.shape[0], times)
            entry.rows = [
                (at, event.features, event.label, seen, event.time, None)
                for at, event, seen in zip(own, mine, range(first, first + len(own)), strict=True)
            ]
            self.touched.append((key, entry))

    def _admit_each(self) -> None:
        """Decide what becomes of each item."""
        for at, item in enumerate(self.items):
            entry = self._live[item.key]
            if isinstance(item, Forget):
                self._forget(at, item.key)
                continue
            if at in self._bad:
                self.reject(at, *self._bad[at])
                continue
            over = self._is_over(entry, item)
            if isinstance(item, Event) and item.features.shape[0] != entry.dim:
                dim = self._rules.dim or (0 if over else entry.dim)
                if dim and item.features.shape[0] != dim:
                    self.reject(at, Reason.FEATURES, other_dim(item, dim))
                    continue
            if over:
                entry = self._forget(at, item.key)
            if isinstance(item, Event):
                row = self._row_of_event(at, item, entry)
            else:
                row = self._row_of_label(at, item, entry)
            if row is not None:
                if not entry.rows:
                    self.touched.append((item.key, entry))
                entry.rows.append(row)

    def _is_over(self, entry: Entry, item: Event | Label) -> bool:
        """Whether a key was idle for so long that it begins anew."""
        limit, last = self._rules.forget_after, entry.record.time
        if limit is None or last is None or item.time is None:
            return False
        return item.time - last > limit

    def _forget(self, at: int, key: str) -> Entry:
        """Begin anew with a key; the labels that waited for events are refused."""
        entry = self._live[key]
        if entry.room is not None:
            self._reject_all(at, entry.room.close())
        if not entry.is_empty:
            self._figures.add("forgotten")
            entry = self._live[key] = self._models.renew(key)
        return entry

    def _row_of_event(self, at: int, event: Event, entry: Entry) -> Row | None:
        """What there is to do for an event, unless it is a duplicate."""
        limits, record = self._rules.limits, entry.record
        label = event.label
        waiting = None
        if event.id is not None and limits.count and (entry.room is not None or label is None):
            entry.room = room = entry.room or WaitingRoom()
            self._expire(at, event.time, entry)
            early, refused = room.take_event(event, limits)
            if refused is not None and refused.label is None:
                self.reject(at, refused.reason, refused.message)
                return None
            self._reject_all(at, [refused] if refused else [])
            if early is not None:
                label = early.label
                self._figures.add("joined")
            if label is None:
                waiting = Waiting(event.features.copy(), event.time, record.events)
                self._figures.add("expired", room.wait(event.id, waiting, limits))
        self._note_events(event.key, entry, event.features.shape[0], [event.time])
        return at, event.features, label, record.events - 1, event.time, waiting

    def _row_of_label(self, at: int, label: Label, entry: Entry) -> Row | None:
        """What there is to learn from a label, if its event is here."""
        entry.room = entry.room or WaitingRoom()
        self._expire(at, label.time, entry)
        found = entry.room.take_label(label, self._rules.limits)
        if label.time is not None:
            self._note_time(entry.record, label.time)
        self._models.touch(label.key, entry)
        if isinstance(found, Refused):
            if found.label is None:
                self.reject(at, found.reason, found.message)
            else:
                self._reject_all(at, [found])
            return None
        if found is None:
            return None
        self._figures.add("joined")
        return at, found.features, label.label, found.seen, found.time, found

    def _expire(self, at: int, time: int | None, entry: Entry) -> None:
        """Let go what has waited too long at the time of an item."""
        assert entry.room is not None
        times = [one for one in (time, entry.record.time) if one is not None]
        expired, refused = entry.room.expire(max(times, default=None), self._rules.limits)
        if expired:
            self._figures.add("expired", expired)
        self._reject_all(at, refused)

    def _note_events(self, key: str, entry: Entry, dim: int, times: list[int | None]) -> None:
        """Count events of a key."""
        record = entry.record
        if not record.events:
            entry.dim = dim
            self._figures.add("keys")
        record.events += len(times)
        self._figures.add("events", len(times))
        for time in times:
            if time is not None:
                self._note_time(record, time)
        self._models.touch(key, entry)

    def _note_time(self, record: Record, time: int) -> None:
        if record.time is None or time > record.time:
            record.time = time
        if self._figures.newest is None or time > self._figures.newest:
            self._figures.newest = time

    def _reject_all(self, at: int, refused: Sequence[Refused]) -> None:
        """Refuse labels that came before, because of an item."""
        cause, key = self.items[at].cause, self.items[at].key
        for one in refused:
            assert one.label is not None
            ordinal = 1 + sum(place == at and reject.ordinal > 0 for place, reject in self._refused)
            reject = Reject(one.reason, one.message, cause, key, one.label.id, ordinal=ordinal)
            self._refused.append((at, reject))


def _id_of(item: Incoming) -> str | None:
    return None if isinstance(item, Forget) else item.id
