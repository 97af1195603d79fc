"""Admission of items to a state partition: what becomes of each, before anything is scored.

Items are gone through in order. An event is to be scored, and learned if it has a label; a label
finds the event that waits for it; a key begins anew; or the item is refused. What there is to
score and learn is then a piece of work, and `okl_flow.operators.batch` does it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import cast

import numpy as np

from okl_flow.blocks import Memory
from okl_flow.contest import Terms
from okl_flow.events import Event, Forget, Incoming, Label, Reason, Reject
from okl_flow.learner import Learner
from okl_flow.operators.models import Entry, Models
from okl_flow.operators.refusals import all_fit, other_dim, refusals
from okl_flow.operators.requests import FORGET, Request, answered
from okl_flow.operators.work import Row, Work, matrix_of, work_of
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
    terms: Terms | None = None  # of the contest between several learners


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
        self._rules = rules
        self._models = models
        self._figures = figures
        self._keys = [item.key for item in items]
        self._live: dict[str, Entry] = {}  # of keys whose items are looked at one by one
        self._rows: dict[str, tuple[Entry, list[Row]]] = {}  # of the entries at hand, by key
        self._past: list[tuple[str, Entry, list[Row]]] = []  # and of those that were forgotten
        self._refused: list[tuple[int, Reject]] = []

    def admit(self) -> list[Work]:
        """Decide what becomes of each item; what there is to score and learn then."""
        plain = self._plain()
        return self._each() if plain is None else [plain]

    def rejects(self) -> list[Reject]:
        """What was refused, in the order of the items, and from now on counted."""
        self._refused.sort(key=itemgetter(0))
        for _at, reject in self._refused:
            self._figures.add(f"rejected_{reject.reason}")
        return [reject for _at, reject in self._refused]

    def reject(self, at: int, reason: Reason, message: str, item: Incoming | None = None) -> None:
        """Refuse the item at a place, or one that became due there."""
        item = item or self.items[at]
        self._refused.append((at, Reject(reason, message, item.cause, item.key, _id_of(item))))

    def answer(self, requests: Sequence[Request]) -> None:
        """Do what the command line asks, before the first item and because of it."""
        keys = list(dict.fromkeys(request.key for request in requests))
        self._live = dict(zip(keys, self._models.entries(keys), strict=True))
        for request in requests:
            if request.kind == FORGET:
                self._forget(0, request.key)
                continue
            record = self._models.record(request.key)
            changed = answered(request, record, self._rules.learners)
            assert changed is not None
            self._models.put(request.key, changed)
            [self._live[request.key]] = self._models.entries([request.key])

    def forget_idle(self, count: int) -> None:
        """Forget those of some stored keys whose time is over, because of the last item."""
        limit, newest = self._rules.forget_after, self._figures.newest
        if limit is None or newest is None:
            return
        idle = self._models.idle(count, newest - limit)
        for key, entry in zip(idle, self._models.entries(idle), strict=True):
            if entry.time is not None and newest - entry.time > limit:
                self._live[key] = entry
                self._forget(len(self.items) - 1, key)

    def _plain(self) -> Work | None:
        """What `_each` comes to for events with labels, or without a wait for one; else None.

        Nearly all items of most jobs are such, and need not be looked at one by one.
        """
        rules, models = self._rules, self._models
        if rules.forget_after is not None or set(map(type, self.items)) != {Event}:
            return None
        events = cast(Sequence[Event], self.items)
        labels: Sequence[float | None] = [event.label for event in events]
        features = [event.features for event in events]
        dim, waits = len(features[0]), rules.limits.count and None in labels
        if waits:
            waits = any(event.label is None and event.id is not None for event in events)
        if waits or set(map(len, features)) != {dim}:
            return None
        slots, ends, order = models.grouped(self._keys)
        if not models.fit(slots, rules.dim, dim):
            return None
        X, y = matrix_of(features), np.array(labels, dtype=np.float64)  # None becomes NaN
        if not all_fit(rules.learners, X, y):
            return None
        times: Sequence[int | None] = [event.time for event in events]
        places: Sequence[int] = range(len(events))
        if 1 < slots.shape[0] < len(events):
            places = order.tolist()
            X, y = X.take(order, axis=0), y.take(order)
            events = [events[at] for at in places]
            labels = [labels[at] for at in places]
            times = [times[at] for at in places]
        seen = self._noted(slots, ends, dim, times)
        return Work(slots, ends, places, events, X, y, labels, seen, times, None)

    def _noted(
        self, slots: Memory, ends: Memory, dim: int, times: Sequence[int | None]
    ) -> list[int]:
        """Take note of the rows of keys; of each how many events its key had before."""
        seen, new = self._models.note(slots, ends, dim)
        self._figures.add("events", len(times))
        if new:
            self._figures.add("keys", new)
        self._note_newest(self._models.note_times(slots, ends, times))
        known: list[int] = seen.tolist()
        return known

    def _each(self) -> list[Work]:
        """Decide what becomes of each item, one after the other."""
        keys = list(dict.fromkeys(self._keys))
        self._live = dict(zip(keys, self._models.entries(keys), strict=True))
        bad = dict(refusals(self._rules.learners, self.items))
        for at, item in enumerate(self.items):
            entry = self._live[item.key]
            if isinstance(item, Forget):
                self._forget(at, item.key)
                continue
            if at in bad:
                self.reject(at, *bad[at])
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
                found = self._rows_of_event(at, item, entry)
            else:
                found = self._rows_of_label(at, item, entry)
            if found:
                self._rows.setdefault(item.key, (entry, []))[1].extend(found)
        self._models.keep(self._live.values())
        rows = [(key, *held) for key, held in self._rows.items()]
        return work_of([*self._past, *rows])

    def _is_over(self, entry: Entry, item: Event | Label) -> bool:
        """Whether a key was idle for so long that it begins anew."""
        limit, last = self._rules.forget_after, entry.time
        if limit is None or last is None or item.time is None:
            return False
        return item.time - last > limit

    def _forget(self, at: int, key: str) -> Entry:
        """Begin anew with a key; the labels that waited for events are refused."""
        entry = self._live[key]
        if key in self._rows:
            self._past.append((key, *self._rows.pop(key)))
        if entry.room is not None:
            self._reject_all(at, entry.room.close())
        if not entry.is_empty:
            self._figures.add("forgotten")
            entry = self._live[key] = self._models.renew(key)
        return entry

    def _rows_of_event(self, at: int, event: Event, entry: Entry) -> list[Row]:
        """What there is to do for an event, unless it is a duplicate; and for an early label."""
        limits, seen = self._rules.limits, entry.events
        waiting, joined = None, []
        if event.id is not None and limits.count and (entry.room or event.label is None):
            entry.room = room = entry.room or WaitingRoom()
            self._expire(at, event.time, entry)
            early, refused = room.take_event(event, limits)
            if refused is not None and refused.label is None:
                self.reject(at, refused.reason, refused.message)
                return []
            self._reject_all(at, [refused] if refused else [])
            if event.label is None:
                waiting = Waiting(event.features.copy(), event.time, event.cause, seen)
                if early is None:
                    self._figures.add("expired", room.wait(event.id, waiting, limits))
                else:
                    joined.append(self._joined(at, early, waiting))
        self._note_event(entry, event)
        row = at, event, event.features, event.label, seen, event.time, waiting
        return [row, *joined]

    def _joined(self, at: int, label: Label, waiting: Waiting) -> Row:
        """What there is to learn from a label whose event is here."""
        self._figures.add("joined")
        return at, label, waiting.features, label.label, waiting.seen, waiting.time, waiting

    def _rows_of_label(self, at: int, label: Label, entry: Entry) -> list[Row]:
        """What there is to learn from a label, if its event is here."""
        entry.room = entry.room or WaitingRoom()
        self._expire(at, label.time, entry)
        found = entry.room.take_label(label, self._rules.limits)
        self._note_time(entry, label.time)
        if isinstance(found, Refused):
            if found.label is None:
                self.reject(at, found.reason, found.message)
            else:
                self._reject_all(at, [found])
            return []
        return [] if found is None else [self._joined(at, label, found)]

    def _expire(self, at: int, time: int | None, entry: Entry) -> None:
        """Let go what has waited too long at the time of an item."""
        assert entry.room is not None
        times = [one for one in (time, entry.time) if one is not None]
        expired, refused = entry.room.expire(max(times, default=None), self._rules.limits)
        if expired:
            self._figures.add("expired", expired)
        self._reject_all(at, refused)

    def _note_event(self, entry: Entry, event: Event) -> None:
        """Count an event of a key."""
        if not entry.events:
            entry.dim = event.features.shape[0]
            self._figures.add("keys")
        entry.events += 1
        self._figures.add("events")
        self._note_time(entry, event.time)

    def _note_time(self, entry: Entry, time: int | None) -> None:
        """Take note of the time of an item of a key, which has changed."""
        entry.touched += 1
        if time is not None and (entry.time is None or time > entry.time):
            entry.time = time
        self._note_newest(time)

    def _note_newest(self, time: int | None) -> None:
        figures = self._figures
        if time is not None and (figures.newest is None or time > figures.newest):
            figures.newest = time

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
