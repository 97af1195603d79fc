"""What `prequential` is to do, once more: a plain loop, item by item, key by key, without Bytewax.

It shares nothing with the operator but the learner, the records and the seed of a key.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from okl_flow.events import Cause, Event, Forget, Label
from okl_flow.murmur import seeds_of


@dataclass
class Key:
    """Everything known of one key."""

    state: object = None
    events: int = 0
    time: int | None = None
    waiting: list = field(default_factory=list)  # (id, event, seen, score), the oldest first
    early: list = field(default_factory=list)  # labels, the oldest first
    past: list = field(default_factory=list)  # (id, label or None), the oldest first


class Oracle:
    """`predictions` and `rejects` grow by (key, what), in the order of the items."""

    def __init__(self, learner, *, count=100, wait=None, forget_after=None, dim=None):
        self.learner = learner
        self.count, self.wait, self.forget_after, self.dim = count, wait, forget_after, dim
        self.keys = {}
        self.predictions = []
        self.rejects = []

    def run(self, items):
        for item in items:
            self.take(item)
        return self

    def take(self, item):
        key = self.keys.setdefault(item.key, Key())
        if isinstance(item, Forget):
            self.forget(item, key)
            return
        reason = self.wrong(item, key)
        if reason:
            self.reject(item, reason)
            return
        if self.is_over(item, key):
            key = self.forget(item, key)
        if isinstance(item, Label) or (item.id is not None and self.count):
            self.expire(item, key)
        if isinstance(item, Event):
            self.take_event(item, key)
        else:
            self.take_label(item, key)

    def is_over(self, item, key):
        if None in (self.forget_after, key.time, item.time):
            return False
        return item.time - key.time > self.forget_after

    def wrong(self, item, key):
        if item.label is not None:
            if (
                math.isnan(item.label)
                or self.learner.task.first_refused(np.array([item.label])) >= 0
            ):
                return "label"
        if isinstance(item, Event):
            if not all(abs(x) <= 1e30 for x in item.features):
                return "features"
            expected = self.dim
            if expected is None and key.events and not self.is_over(item, key):
                expected = key.state.dim
            if expected is not None and len(item.features) != expected:
                return "features"
        return None

    def forget(self, item, key):
        for number, label in enumerate(key.early, 1):
            self.rejects.append((item.key, "unknown_label", label.id, item.cause.offset, number))
        self.keys[item.key] = Key()
        return self.keys[item.key]

    def expire(self, item, key):
        times = [time for time in (item.time, key.time) if time is not None]
        if self.wait is None or not times:
            return
        now = max(times)
        while key.waiting and key.waiting[0][1].time is not None:
            if now - key.waiting[0][1].time <= self.wait:
                break
            self.remember(key, key.waiting.pop(0)[0], None)
        number = 0
        while key.early and key.early[0].time is not None:
            if now - key.early[0].time <= self.wait:
                break
            number += 1
            label = key.early.pop(0)
            self.rejects.append((item.key, "unknown_label", label.id, item.cause.offset, number))

    def take_event(self, event, key):
        joined = []
        waits = False
        if event.id is not None and self.count:
            if event.id in [one[0] for one in key.waiting] + [one[0] for one in key.past]:
                self.reject(event, "duplicate_event")
                return
            early = [one for one in key.early if one.id == event.id]
            if early:
                key.early.remove(early[0])
                known = event.label
                if known is None:
                    joined, known = early, early[0].label
                else:
                    same = known == early[0].label
                    reason = "duplicate_label" if same else "contradicting_label"
                    self.rejects.append((event.key, reason, event.id, event.cause.offset, 1))
                self.remember(key, event.id, known)
            waits = event.label is None and not joined
        if key.state is None:
            key.state = self.learner.init(len(event.features), seed=seeds_of([event.key])[0])
        y = math.nan if event.label is None else event.label
        [score] = self.learner.step(key.state, event.features[None], np.array([y])).tolist()
        self.predict(event, score, event.label, key.events, event)
        for label in joined:
            self.learner.step(key.state, event.features[None], np.array([label.label]))
            self.predict(label, score, label.label, key.events, event)
        if waits:
            key.waiting.append((event.id, event, key.events, score))
            if len(key.waiting) > self.count:
                self.remember(key, key.waiting.pop(0)[0], None)
        key.events += 1
        self.note(event, key)

    def take_label(self, label, key):
        self.note(label, key)
        for place, (id, event, seen, score) in enumerate(key.waiting):
            if id == label.id:
                del key.waiting[place]
                self.remember(key, id, label.label)
                self.learner.step(key.state, event.features[None], np.array([label.label]))
                self.predict(label, score, label.label, seen, event)
                return
        for id, known in key.past:
            if id == label.id and known is None:
                self.reject(label, "late_label")
                return
        known = dict(key.past) | {one.id: one.label for one in key.early}
        if label.id in known:
            same = known[label.id] == label.label
            self.reject(label, "duplicate_label" if same else "contradicting_label")
        elif self.count == 0:
            self.reject(label, "unknown_label")
        else:
            key.early.append(label)
            if len(key.early) > self.count:
                gone = key.early.pop(0)
                self.rejects.append((label.key, "unknown_label", gone.id, label.cause.offset, 1))

    def remember(self, key, id, label):
        key.past = [*key.past, (id, label)][-self.count :]

    def note(self, item, key):
        if item.time is not None:
            key.time = item.time if key.time is None else max(key.time, item.time)

    def reject(self, item, reason):
        id = None if isinstance(item, Forget) else item.id
        self.rejects.append((item.key, reason, id, item.cause.offset, 0))

    def predict(self, cause, score, label, seen, event):
        came = None if cause is event else event.cause.offset
        self.predictions.append(
            (event.key, score, label, seen, cause.cause.offset, event.time, came)
        )


def as_oracle_says(predictions):
    return [
        (
            one.key,
            one.score,
            one.label,
            one.seen,
            one.cause.offset,
            one.time,
            one.event and one.event.offset,
        )
        for one in predictions
    ]


def rejects_as_oracle_says(rejects):
    return [(one.key, str(one.reason), one.id, one.cause.offset, one.ordinal) for one in rejects]


def mixed_stream(seed, count, *, keys=7, dim=3, timed=True):
    """Events with labels at once, later, before, twice, wrong or never; and damaged ones."""
    rng = np.random.default_rng(seed)
    items, open_ids, ids = [], {}, 0
    now = 0
    while len(items) < count:
        now += int(rng.integers(0, 100))
        time = now if timed and rng.random() < 0.9 else None
        key = f"k{int(rng.integers(keys))}"
        cause = Cause("t", 0, len(items))
        x = rng.normal(size=dim)
        y = 1.0 if x[0] + 0.3 * rng.normal() > 0 else -1.0
        kind = rng.random()
        if kind < 0.4:
            id = None if rng.random() < 0.5 else f"e{ids}"
            items.append(Event(key, x, cause, id, time, y))
            ids += 1
        elif kind < 0.6:
            items.append(Event(key, x, cause, f"e{ids}", time))
            open_ids.setdefault(key, []).append((f"e{ids}", y))
            ids += 1
        elif kind < 0.8 and open_ids.get(key):
            id, y = open_ids[key][int(rng.integers(len(open_ids[key])))]
            y = -y if rng.random() < 0.1 else y
            items.append(Label(key, id, y, cause, time))
        elif kind < 0.85:
            items.append(Label(key, f"e{ids + int(rng.integers(3))}", y, cause, time))
        elif kind < 0.88 and ids:
            items.append(Event(key, x, cause, f"e{int(rng.integers(ids))}", time))
        elif kind < 0.9:
            items.append(Event(key, rng.normal(size=dim + 1), cause, None, time, y))
        elif kind < 0.92:
            x[int(rng.integers(dim))] = rng.choice([np.nan, np.inf, 1e31])
            items.append(Event(key, x, cause, f"e{ids}", time, y))
        elif kind < 0.94:
            items.append(Event(key, x, cause, None, time, 0.5))
        elif kind < 0.945:
            items.append(Forget(key, cause, time))
        else:
            items.append(Event(key, x, cause, None, time))
    return items
