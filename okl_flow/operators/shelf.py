"""What a partition holds of each key in memory, as columns: a key's place in them is its slot.

An object for each of a million keys, and lists inside it, lie all over the memory, and Python's
garbage collection walks through them. Columns are read and written by native loops, many keys
at once.
"""

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import native

__all__ = [
    "NEVER",
    "NOTHING",
    "Shelf",
    "fit",
    "gather",
    "group",
    "note_events",
    "note_times",
    "pick",
]

Memory = NDArray[np.int64]
Marks = NDArray[np.uint8]

NEVER = -(2**63)
"""In place of a time where there is none."""

NOTHING = -1  # in place of a state

_FIRST_SLOTS = 16
_GROWTH = 1.5
_FREE, _IDLE, _USED = range(3)
_EMPTY = 0, NEVER, 0, 0, NOTHING  # events, times, dims, versions and groups of an empty slot
_COLUMNS = len(_EMPTY)


class Shelf:
    """The columns, and which slots of them are in use.

    The numbers of a slot lie side by side: of a million keys each is then one look into memory
    that no cache holds, and not six. `changed` is gone through as a whole, and lies alone.
    """

    events: Memory  # that the key has had
    times: Memory  # of its latest event
    dims: Memory  # features of its events; 0 before
    versions: Memory  # last written in; 0 for never
    groups: Memory  # scratch of `group`
    states: Memory  # as the keepers know them, a line per learner
    changed: NDArray[np.bool_]  # since it was written

    def __init__(self, learners: int) -> None:
        self.names: list[str] = []  # the keys; an empty one where there is none
        self._empty = np.array([*_EMPTY, *[NOTHING] * learners])
        self._numbers = np.empty((0, self._empty.shape[0]), np.int64)
        self.changed, self._marks = np.empty(0, np.bool_), np.empty(0, np.uint8)
        self._free: list[int] = []
        self._hand = 0  # goes round the slots in search of those not used since it last came by
        self._grow(_FIRST_SLOTS)

    def take(self, key: str) -> int:
        """A slot for a key, of which nothing is known."""
        if self._free:
            slot = self._free.pop()
            self.names[slot] = key
        else:
            slot = _number(len(self.names))
            self.names.append(key)
            if slot == self.changed.shape[0]:
                self._grow(int(_GROWTH * slot))
        self._marks[slot] = _USED
        return slot

    def free(self, slots: Memory) -> None:
        """Take slots back."""
        self._numbers[slots] = self._empty
        self.changed[slots], self._marks[slots] = False, _FREE
        for slot in slots.tolist():
            self.names[slot] = ""
            self._free.append(slot)

    def use(self, slots: Memory) -> None:
        """Let the hand pass over slots once."""
        self._marks[slots] = _USED

    def unused(self, count: int) -> Memory:
        """So many slots, of keys that were not used for long; there must be as many keys."""
        found = np.empty(count, np.int64)
        self._hand = pick(self._marks, len(self.names), self._hand, found)
        return found

    def _grow(self, room: int) -> None:
        held, changed, marks = self._numbers, self.changed, self._marks
        self._numbers = np.tile(self._empty, (room, 1))
        self._numbers[: held.shape[0]] = held
        self.events, self.times, self.dims, self.versions, self.groups = self._numbers.T[:_COLUMNS]
        self.states = self._numbers.T[_COLUMNS:]
        self.changed, self._marks = np.zeros(room, np.bool_), np.full(room, _FREE, np.uint8)
        self.changed[: changed.shape[0]], self._marks[: marks.shape[0]] = changed, marks


_numbers: list[int] = []


def _number(slot: int) -> int:
    """The slot as the one object that all shelves have of it."""
    if slot >= len(_numbers):
        _numbers.extend(range(len(_numbers), 2 * slot + 1))
    return _numbers[slot]


@native
def fit(slots: Memory, dims: Memory, otherwise: int, dim: int) -> bool:
    """Whether keys may have events of so many features; new ones those of `otherwise`, if any."""
    for slot in slots:
        wanted = dims[slot] if dims[slot] else otherwise
        if wanted and wanted != dim:
            return False
    return True


@native
def group(rows: Memory, groups: Memory, slots: Memory, ends: Memory, order: Memory) -> int:
    """Put together the rows of each key, given by its slot; returns how many keys there are.

    The slot of each key, where its rows end, and which rows these are. `groups` is -1 all over.
    """
    count = 0
    for slot in rows:
        if groups[slot] < 0:
            groups[slot], slots[count], ends[count] = count, slot, 0
            count += 1
        ends[groups[slot]] += 1
    begin = 0
    for i in range(count):
        begin, ends[i] = begin + ends[i], begin
    for t in range(rows.shape[0]):
        place = groups[rows[t]]
        order[ends[place]] = t
        ends[place] += 1
    for i in range(count):
        groups[slots[i]] = NOTHING
    return count


@native
def note_events(
    slots: Memory,
    ends: Memory,
    dim: int,
    events: Memory,
    dims: Memory,
    changed: NDArray[np.bool_],
    seen: Memory,
) -> tuple[int, int]:
    """Count the rows of keys, those of one up to its end; how many keys are new, and changed.

    seen[t] = events of its key before row t.
    """
    fresh, touched, begin = 0, 0, 0
    for i in range(slots.shape[0]):
        slot = slots[i]
        if not events[slot]:
            dims[slot] = dim
            fresh += 1
        if not changed[slot]:
            changed[slot] = True
            touched += 1
        for t in range(begin, ends[i]):
            seen[t] = events[slot]
            events[slot] += 1
        begin = ends[i]
    return fresh, touched


@native
def note_times(slots: Memory, ends: Memory, given: Memory, times: Memory) -> int:
    """Take note of the times of rows, those of a key up to its end; the latest of them."""
    latest, begin = NEVER, 0
    for i in range(slots.shape[0]):
        own = NEVER
        for t in range(begin, ends[i]):
            own = max(own, given[t])
        times[slots[i]] = max(times[slots[i]], own)
        latest, begin = max(latest, own), ends[i]
    return latest


@native
def gather(states: Memory, slots: Memory, found: Memory) -> bool:
    """Fill in the states of keys, a line per learner; whether all have some."""
    complete = True
    for k in range(states.shape[0]):
        for i in range(slots.shape[0]):
            found[k, i] = states[k, slots[i]]
            complete &= found[k, i] != NOTHING
    return complete


@native
def pick(marks: Marks, count: int, hand: int, found: Memory) -> int:
    """Go round: what was used is passed over once, and what was not is picked."""
    picked = 0
    while picked < found.shape[0]:
        hand = hand + 1 if hand + 1 < count else 0
        if marks[hand] == _USED:
            marks[hand] = _IDLE
        elif marks[hand] == _IDLE:
            marks[hand] = _FREE
            found[picked] = hand
            picked += 1
    return hand
