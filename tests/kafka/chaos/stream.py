"""Seeded input: events of many keys, whose labels come at once, later, before, twice or never."""

import heapq
from dataclasses import dataclass, field

import msgspec
import numpy as np

DIM = 3
STEP_MS = 10  # of event time between two events
LATE = 3000  # events after which the latest label comes


@dataclass
class Input:
    """Records as (key, value, partition), for a topic each."""

    events: list = field(default_factory=list)
    labels: list = field(default_factory=list)  # those on a topic of their own


def stream(seed, events, keys, partitions, *, apart):
    """So many events, damaged ones among them; labels of later moments `apart` or not.

    All records of a key are in one partition.
    """
    rng = np.random.default_rng([11, seed])
    made, due = Input(), []
    places = {f"k{number}": number % partitions for number in range(keys)}
    names = list(places)

    def put(record, *, later=False):
        value = msgspec.json.encode(record)
        where = made.labels if later and apart else made.events
        where.append((record["key"].encode(), value, places[record["key"]]))

    for number in range(events):
        now = number * STEP_MS
        while due and due[0][0] <= number:
            _when, _order, record = heapq.heappop(due)
            put({**record, "time": now}, later=record.get("type") == "label")
        key = names[int(keys * rng.random() ** 2)]
        at_once, delayed = _of_one_event(rng, key, f"e{number}")
        for record in at_once:
            put({**record, "time": now}, later=record.get("type") == "label")
        for place, (delay, record) in enumerate(delayed):
            heapq.heappush(due, (number + 1 + delay, 2 * number + place, record))
        if rng.random() < 0.01:
            made.events.append((key.encode(), b"{damaged", places[key]))
        elif not apart and rng.random() < 0.01:  # with labels apart it would make some stray
            put({"key": key, "time": now, "type": "forget"})
    for _when, _order, record in sorted(due, key=lambda one: one[:2]):
        put({**record, "time": events * STEP_MS}, later=record.get("type") == "label")
    return made


def _of_one_event(rng, key, id):
    """Records of one event: those that come at once, and those that come later, with a delay."""
    x = rng.normal(size=DIM)
    y = 1 if x[0] + 0.3 * rng.normal() > 0 else -1
    event = {"key": key, "id": id, "features": x.tolist()}
    label = {"key": key, "id": id, "label": y, "type": "label"}
    late, again = rng.integers(LATE, size=2).tolist()
    longer = {**event, "features": [*event["features"], 1.0], "label": y}
    gap = {**event, "features": [None, *event["features"][1:]], "label": y}
    kinds = [
        (0.45, [{**event, "label": y}], []),
        (0.36, [event], [(late, label)]),
        (0.02, [event], [(late, label), (again, label)]),
        (0.01, [event], [(late, label), (again, {**label, "label": -y})]),
        (0.04, [label], [(late // 10, event)]),
        (0.09, [event], []),
        (0.01, [longer], []),
        (0.01, [gap], []),
        (0.01, [{**event, "label": 0.5}], []),
    ]
    _share, at_once, delayed = kinds[rng.choice(len(kinds), p=[one[0] for one in kinds])]
    return at_once, delayed
