"""Figures of keys, for as many keys as there is room; the others are counted by an estimate.

Which keys keep their room is decided as in the space-saving summary of frequent items: a key
that is not in the table takes over the place of the key with the lowest count, and its count.
So a count is never too low, it is too high by at most what was taken over, and every key with
more than its share of the predictions (all, divided by the places) is in the table. The figures
of a key begin anew when it comes in, and are exact from there on.

Paper: Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in
data streams", International Conference on Database Theory, 2005.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from okl_flow.evaluating.columns import LABEL, LOSS, PREDICTED, Columns
from okl_flow.evaluating.drift import FINDINGS, NativeDrift, watch
from okl_flow.evaluating.intervals import mean_radius, wilson
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.sums import COUNT, ERROR, FOURTH, add, baseline_of, fade
from okl_flow.native import Array, native

__all__ = ["EVENTS", "HEAD", "KeyTable", "Listed", "OVER", "SEEN", "Ring", "listed_width"]

SEEN, OVER, EVENTS = range(3)
"""First numbers of a key's row: its count, by how much it may be too high, its predictions
since it came in. Then come its sums, its fading sums, and its detector."""
HEAD = 3

# A key is as bad as the lower end of its interval, at four standard deviations: the worst of
# very many keys must not be one that had bad luck.
_DEVIATIONS = 4.0

_FIRST_ROWS = 4


def listed_width(settings: Settings) -> int:
    """Numbers of a key's row without its detector."""
    return HEAD + 2 * settings.width


@dataclass(slots=True)
class Listed:
    """Keys, their rows without the detector, and how bad each is."""

    names: list[str]
    rows: Array
    badness: Array


@dataclass(slots=True)
class Ring:
    """An alarm of a key's detector."""

    place: int  # of the prediction
    findings: list[float]


class KeyTable:
    """The figures of the keys of one partition."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.names: list[str] = []
        width = listed_width(settings) + settings.drift_size
        self.rows = np.zeros((0, width))
        # Where the search for the lowest count goes on, and that count: a count only grows, so
        # one round through the table serves as many searches as there are keys with that count.
        self.search = np.zeros(2, dtype=np.int64)
        self._slots: dict[str, int] = {}
        self._nobody = np.zeros(0, dtype=np.int64)
        self._rung_at = np.zeros(0, dtype=np.int64)
        self._findings = np.zeros((1, len(FINDINGS)))

    def take(self, columns: Columns) -> tuple[list[Ring], list[tuple[int, Array]]]:
        """Take in predictions: the alarms, and the rows of keys that are due, by position."""
        count, names = len(columns), columns.keys
        if not count:
            return [], []
        slots = [self._slots.get(key, -1) for key in names]
        if -1 not in slots:  # nobody comes or goes: each prediction may have a number of its own
            return self._taken(columns, np.arange(count), np.array(slots), self._nobody)
        local: dict[str, int] = {}
        ids = np.array([local.setdefault(key, len(local)) for key in names])
        slot_of = np.array([self._slots.get(key, -1) for key in local])
        self._make_room(len(self.names) + int(np.count_nonzero(slot_of < 0)))
        owner = np.full(self.rows.shape[0], -1)
        found = self._taken(columns, ids, slot_of, owner)
        self._rename(list(local), owner)
        return found

    def _taken(
        self,
        columns: Columns,
        ids: NDArray[np.int64],
        slot_of: NDArray[np.int64],
        owner: NDArray[np.int64],
    ) -> tuple[list[Ring], list[tuple[int, Array]]]:
        settings = self.settings
        count = len(columns)
        due_every = settings.key_report_every if settings.keys == "all" else 0
        due_at = np.empty(count if due_every else 0, dtype=np.int64)
        due_rows = np.empty((due_at.shape[0], listed_width(settings)))
        if count > self._rung_at.shape[0]:
            self._rung_at = np.empty(2 * count, dtype=np.int64)
            self._findings = np.empty((2 * count + 1, len(FINDINGS)))
        rung, due = _take(
            self.rows,
            len(self.names),
            self.search,
            ids,
            slot_of,
            owner,
            columns.numbers,
            settings.classes,
            settings.keep,
            settings.native_drift,
            due_every,
            self._rung_at,
            self._findings,
            due_at,
            due_rows,
        )
        rings = [Ring(int(self._rung_at[i]), self._findings[i].tolist()) for i in range(rung)]
        return rings, [(int(due_at[i]), due_rows[i]) for i in range(due)]

    def _make_room(self, wanted: int) -> None:
        """Double the rows until there are as many as wanted, or as allowed."""
        wanted = min(wanted, self.settings.slots)
        room = self.rows.shape[0]
        if wanted <= room:
            return
        while room < wanted:
            room = max(_FIRST_ROWS, 2 * room)
        grown = np.zeros((min(room, self.settings.slots), self.rows.shape[1]))
        grown[: len(self.names)] = self.rows[: len(self.names)]
        self.rows = grown

    def _rename(self, keys: list[str], owner: NDArray[np.int64]) -> None:
        """Enter the keys that own a slot now and did not before."""
        for slot in np.flatnonzero(owner >= 0).tolist():
            key = keys[owner[slot]]
            if slot < len(self.names) and self.names[slot] == key:
                continue
            if slot < len(self.names) and self._slots.get(self.names[slot]) == slot:
                del self._slots[self.names[slot]]
            if slot >= len(self.names):
                self.names.extend([""] * (slot + 1 - len(self.names)))
            self.names[slot] = key
            self._slots[key] = slot
        assert len(self.names) == len(self._slots), "a slot has no key, or two"

    def listed(self) -> Listed:
        """The worst keys and the busiest, as many of each as are reported."""
        settings = self.settings
        rows = self.rows[: len(self.names), : listed_width(settings)]
        badness = np.empty(len(self.names))
        _fill_badness(rows, settings.classes, badness)
        most = settings.keys_reported
        if len(self.names) <= most:
            return Listed(list(self.names), rows.copy(), badness)
        worst = np.argsort(-badness, kind="stable")[:most]
        busiest = np.argsort(-rows[:, SEEN], kind="stable")[:most]
        is_chosen = np.zeros(len(self.names), dtype=np.bool_)
        is_chosen[worst] = is_chosen[busiest] = True
        chosen = np.flatnonzero(is_chosen)
        return Listed([self.names[i] for i in chosen.tolist()], rows[chosen], badness[chosen])

    def packed(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain data to be kept."""
        arrays = {"key_rows": self.rows[: len(self.names)], "key_search": self.search}
        return arrays, {"key_names": self.names}

    def restore(self, arrays: dict[str, NDArray[Any]], plain: dict[str, Any]) -> None:
        """Go on from what `packed` gave."""
        self.rows = arrays["key_rows"]
        self.search = arrays["key_search"]
        self.names = plain["key_names"]
        self._slots = {name: slot for slot, name in enumerate(self.names)}


@native
def _take(
    rows: Array,
    used: int,
    search: NDArray[np.int64],
    ids: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    owner: NDArray[np.int64],
    numbers: Array,
    classes: int,
    keep: float,
    drift: NativeDrift,
    due_every: int,
    rung_at: NDArray[np.int64],
    findings: Array,
    due_at: NDArray[np.int64],
    due_rows: Array,
) -> tuple[int, int]:
    """How many alarms and due rows. Keys are numbered by `ids`; `owner` tells whose a slot is."""
    width = (due_rows.shape[1] - HEAD) // 2
    rung, due = 0, 0
    if owner.shape[0]:
        for key in range(slot_of.shape[0]):
            if slot_of[key] >= 0:
                owner[slot_of[key]] = key
    for i in range(ids.shape[0]):
        slot = slot_of[ids[i]]
        if slot < 0:
            slot, used = _admit(rows, used, search)
            if owner[slot] >= 0:
                slot_of[owner[slot]] = -1
            owner[slot] = ids[i]
            slot_of[ids[i]] = slot
        row = rows[slot]
        row[SEEN] += 1.0
        row[EVENTS] += 1.0
        label, predicted, loss = numbers[i, LABEL], numbers[i, PREDICTED], numbers[i, LOSS]
        if np.isnan(label):
            continue
        sums = row[HEAD : HEAD + width]
        fading = row[HEAD + width : HEAD + 2 * width]
        baseline = baseline_of(sums, classes)
        error = add(sums, classes, 1.0, label, predicted, baseline, loss)
        fade(fading, classes, keep)
        add(fading, classes, 1.0, label, predicted, baseline, loss)
        if drift[0] and watch(drift, row[HEAD + 2 * width :], error, findings[rung]):
            rung_at[rung] = i
            rung += 1
        if due_every and sums[COUNT] % due_every == 0.0:
            due_at[due] = i
            due_rows[due] = row[: HEAD + 2 * width]
            due += 1
    return rung, due


@native
def _admit(rows: Array, used: int, search: NDArray[np.int64]) -> tuple[int, int]:
    """A row for a key that has none: a new one, or that with the lowest count."""
    if used < rows.shape[0]:
        rows[used] = 0.0
        return used, used + 1
    place, lowest = search[0], search[1]
    while rows[place, SEEN] != lowest:
        place += 1
        if place == used:
            lowest = int(rows[0, SEEN])
            for slot in range(1, used):
                lowest = min(lowest, int(rows[slot, SEEN]))
            place = 0
    search[0], search[1] = place, lowest
    rows[place] = 0.0
    rows[place, SEEN] = lowest
    rows[place, OVER] = lowest
    return place, used


@native
def _fill_badness(rows: Array, classes: int, out: Array) -> None:
    """How bad the keys are at least: the lower end of an interval for their mean error."""
    width = (rows.shape[1] - HEAD) // 2
    for i in range(rows.shape[0]):
        sums = rows[i, HEAD : HEAD + width]
        if classes:
            out[i] = wilson(sums[ERROR], sums[COUNT], _DEVIATIONS)[0]
        elif sums[COUNT] > 1.0:
            mean = sums[ERROR] / sums[COUNT]
            out[i] = mean - mean_radius(sums[ERROR], sums[FOURTH], sums[COUNT], 0.05)
        else:
            out[i] = -np.inf
