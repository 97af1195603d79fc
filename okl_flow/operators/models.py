"""The live models of one state partition, in front of the store that holds all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from okl_flow.blocks import Memory
from okl_flow.contest import Contest, Terms
from okl_flow.keeping import keeper_of
from okl_flow.learner import Learner
from okl_flow.murmur import seeds_of
from okl_flow.operators import notes
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.shelf import (
    NEVER,
    NOTHING,
    Shelf,
    fit,
    gather,
    group,
    note_events,
    note_times,
)
from okl_flow.operators.store import Request, Store
from okl_flow.packing import Pieces
from okl_flow.waiting import WaitingRoom

__all__ = ["AHEAD", "Entry", "Models"]

AHEAD = 768
"""Changed keys that are written ahead of a commit."""

_OFTEN = 1.25  # changes of a key between two commits, on average, above which they are not
_SPARE = 16  # part of the keys that goes beyond what has to, so that not each batch lets some go


@dataclass(slots=True)
class Entry:
    """What is kept for one key, while its items are looked at one by one."""

    slot: int
    events: int = 0
    time: int | None = None
    dim: int = 0  # features of its events; 0 before the first
    room: WaitingRoom | None = None
    touched: int = 0  # times that it was changed

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        return not (self.events or self.room)


class Models:
    """The keys in memory, as columns on a shelf, with their states and waiting rooms.

    What has changed is written at a commit, all at once. Where there is much of it, it is
    written ahead, for the commit that is to come.
    """

    def __init__(
        self,
        store: Store,
        learners: Sequence[Learner],
        live_max: int,
        terms: Terms | None = None,
        warm_starts: Sequence[bytes | None] = (),
    ) -> None:
        """`live_max` is how many keys may be in memory between two batches.

        `warm_starts` are packed states that new keys begin with, by learner.
        """
        self.keepers = [keeper_of(learner) for learner in learners]
        self.contests: dict[int, Contest] = {}  # by slot, where there are several learners
        self._rooms: dict[int, WaitingRoom] = {}  # likewise, where there are any
        self._terms = terms
        self._warm_starts = warm_starts or [None] * len(learners)
        self._store = store
        self._codec = RecordCodec(learners, self.keepers)
        self._live_max = live_max
        self._slots: dict[str, int] = {}  # of the keys in memory
        self._shelf = Shelf(len(learners))
        self._waiting = 0  # keys that have changed and are not yet written
        self._touched = 0  # times that a key was changed since the last commit
        self._distinct = 0  # keys of them that were written
        self._is_sparse = False  # whether few of them changed twice
        self._gone: list[int] = []  # slots which the batch at hand may still be at work on

    def __len__(self) -> int:
        """How many keys are in memory."""
        return len(self._slots)

    def size(self) -> int:
        """How many bytes the store has."""
        return self._store.size()

    def fetch(self, keys: Sequence[str]) -> Memory:
        """The slots of keys."""
        known = self._slots
        found = list(map(known.get, keys))
        if None in found:
            missing = [key for key in dict.fromkeys(keys) if key not in known]
            for key in missing:
                known[key] = self._shelf.take(key)
            pairs = zip(missing, self._store.read(missing), strict=True)
            self._open([(key, known[key], *stored) for key, stored in pairs if stored is not None])
            found = list(map(known.get, keys))
        slots = np.array(found, dtype=np.int64)
        self._shelf.use(slots)
        return slots

    def grouped(self, keys: Sequence[str]) -> tuple[Memory, Memory, Memory]:
        """The slots of keys without repetition; where the rows of each end, and which they are."""
        rows = self.fetch(keys)
        slots, ends, order = np.empty((3, rows.shape[0]), np.int64)
        count = group(rows, self._shelf.groups, slots, ends, order)
        return slots[:count], ends[:count], order

    def fit(self, slots: Memory, otherwise: int | None, dim: int) -> bool:
        """Whether keys may have plain events of so many features: nothing waits there."""
        if self._rooms and not self._rooms.keys().isdisjoint(slots.tolist()):
            return False
        return fit(slots, self._shelf.dims, otherwise or 0, dim)

    def note(self, slots: Memory, ends: Memory, dim: int) -> tuple[Memory, int]:
        """Count rows of keys. Of each row how many events its key had; and how many keys are new.

        The rows of a key go up to its end.
        """
        shelf, seen = self._shelf, np.empty(ends[-1], np.int64)
        fresh, changed = note_events(
            slots, ends, dim, shelf.events, shelf.dims, shelf.changed, seen
        )
        self._waiting += changed
        self._touched += slots.shape[0]
        return seen, fresh

    def note_times(self, slots: Memory, ends: Memory, times: Sequence[int | None]) -> int | None:
        """Take note of the times of rows; the latest of them."""
        given = np.array([NEVER if time is None else time for time in times], np.int64)
        latest = note_times(slots, ends, given, self._shelf.times)
        return None if latest == NEVER else latest

    def entries(self, keys: Sequence[str]) -> list[Entry]:
        """What is kept of keys, each of which is given once, to be looked at or changed."""
        slots, shelf = self.fetch(keys), self._shelf
        columns = (slots, shelf.events[slots], shelf.times[slots], shelf.dims[slots])
        return [
            Entry(slot, events, None if time == NEVER else time, dim, self._rooms.get(slot))
            for slot, events, time, dim in zip(*(one.tolist() for one in columns), strict=True)
        ]

    def keep(self, entries: Iterable[Entry]) -> None:
        """Take in what has become of entries."""
        shelf = self._shelf
        for entry in entries:
            if entry.room is not None:
                self._rooms[entry.slot] = entry.room
            if entry.touched:
                shelf.events[entry.slot] = entry.events
                shelf.times[entry.slot] = NEVER if entry.time is None else entry.time
                shelf.dims[entry.slot] = entry.dim
                self._touch(entry.slot, entry.touched)

    def renew(self, key: str) -> Entry:
        """An empty entry in place of the one of a key, which is forgotten."""
        old, shelf = self._slots[key], self._shelf
        self._gone.append(old)
        self._waiting -= int(shelf.changed[old])
        shelf.changed[old] = False
        slot = self._slots[key] = shelf.take(key)
        shelf.versions[slot] = shelf.versions[old]
        self._touch(slot, 0)
        return Entry(slot)

    def requests(self) -> list[Request]:
        """What the command line asks for, once; it is done with the next commit."""
        return self._store.requests()

    def states(self, slots: Memory, dim: int) -> Memory:
        """The states of keys, a line per learner; those that have none begin."""
        held, shelf = np.empty((len(self.keepers), slots.shape[0]), np.int64), self._shelf
        if not gather(shelf.states, slots, held):
            fresh = np.flatnonzero(held[0] == NOTHING)
            seeds = seeds_of([shelf.names[slot] for slot in slots[fresh].tolist()])
            for number, keeper in enumerate(self.keepers):
                warm = self._warm_starts[number]
                held[number, fresh] = shelf.states[number, slots[fresh]] = (
                    keeper.begin(dim, seeds)
                    if warm is None
                    else keeper.read_all(warm, [0] * len(seeds))[0]
                )
        return held

    def record(self, key: str) -> Record:
        """What is kept for a key, with the states of its learners to be looked at."""
        [entry] = self.entries([key])
        held = self._shelf.states[:, entry.slot].tolist()
        states = [
            keeper.state(number)
            for keeper, number in zip(self.keepers, held, strict=True)
            if number != NOTHING
        ]
        return Record(states, entry.events, entry.time)

    def put(self, key: str, record: Record) -> None:
        """Give a key other states, and the events and the time that they come with."""
        [entry] = self.entries([key])
        held = self._shelf.states[:, entry.slot]
        for number, (keeper, state) in enumerate(zip(self.keepers, record.states, strict=True)):
            if held[number] != NOTHING:
                keeper.drop([int(held[number])])
            held[number] = keeper.add(state)
        entry.events, entry.time, entry.dim = record.events, record.time, record.states[0].dim
        entry.touched = 1
        self.keep([entry])

    def trim(self) -> None:
        """Let keys go that were not used for long, if there are too many.

        Where few keys have a second event before the next commit, what has changed is written
        ahead of it: there are many keys then, and the commit is not to wait for all of them.
        """
        self._let_go()
        excess = len(self._slots) - self._live_max
        if excess > 0:
            spare = self._live_max // _SPARE
            going, shelf = self._shelf.unused(excess + spare), self._shelf
            self._write_ahead(going[shelf.changed[going]])
            names = [(shelf.names[slot], slot) for slot in going.tolist()]
            self._gone += [slot for key, slot in names if self._slots.pop(key, None) is not None]
            self._let_go()
        if self._is_sparse and self._waiting >= AHEAD:
            self._write_ahead(np.flatnonzero(self._shelf.changed))

    def commit(self) -> bytes:
        """Write all that changed as the next version; what the engine keeps to find it again."""
        self._let_go()
        slots = np.flatnonzero(self._shelf.changed)
        version = self._store.spill([], Pieces.of([]))
        pointer = self._store.commit(*self._changes(slots))
        self._written(slots, version)
        self._is_sparse = AHEAD <= self._distinct and self._touched <= _OFTEN * self._distinct
        self._touched = self._distinct = 0
        return pointer

    def settle(self) -> None:
        """Wait until what was committed is on the disk."""
        self._store.settle()

    def idle(self, count: int, before: int) -> list[str]:
        """Of the next so many stored keys, going round for ever, those idle since a time."""
        return [
            key
            for key, blob in self._store.sweep(count)
            if (time := self._codec.head(blob)[1]) is not None and time < before
        ]

    def _open(self, stored: Sequence[tuple[str, int, int, bytes]]) -> None:
        """Put what is stored on the shelf: keys, their slots, versions and packed records."""
        if not stored:
            return
        keys, slots, versions, packed = zip(*stored, strict=True)
        records = self._codec.unpack_all(packed)
        for key, slot, record in zip(keys, slots, records, strict=True):
            room, contest = notes.unpack(key, record.notes, self._terms)
            if room is not None:
                self._rooms[slot] = room
            if contest is not None:
                self.contests[slot] = contest
        shelf, at = self._shelf, np.array(slots)
        shelf.versions[at] = versions
        shelf.events[at] = [record.events for record in records]
        shelf.times[at] = [NEVER if record.time is None else record.time for record in records]
        states = [
            (slot, one.states) for slot, one in zip(slots, records, strict=True) if one.states
        ]
        if states:
            learned, held = [slot for slot, _ in states], np.array([own for _, own in states])
            shelf.states[:, learned] = held.T
            shelf.dims[learned] = [self.keepers[0].dim(number) for number in held[:, 0].tolist()]

    def _touch(self, slot: int, times: int) -> None:
        """Let a key be written at the next commit."""
        self._waiting += not self._shelf.changed[slot]
        self._shelf.changed[slot] = True
        self._touched += times

    def _empty(self, slots: Memory) -> list[int]:
        """Which of some slots have nothing to keep, by their places."""
        places = np.flatnonzero(self._shelf.events[slots] == 0).tolist()
        return [place for place in places if not self._rooms.get(int(slots[place]))]

    def _changes(self, slots: Memory) -> tuple[list[str], Pieces]:
        """What there is to be written of keys; of those with nothing to keep an empty record."""
        shelf, empty = self._shelf, self._empty(slots)
        if not empty:
            return self._names(slots), self._packed(slots)
        kept = np.ones(slots.shape[0], np.bool_)
        kept[empty] = False
        content, ends = self._packed(slots[kept])
        known = kept | (shelf.versions[slots] > 0)  # the others never came to the store
        ends = ends[np.append(0, np.cumsum(kept[known]))]
        return self._names(slots[known]), Pieces(content, ends)

    def _names(self, slots: Memory) -> list[str]:
        return list(map(self._shelf.names.__getitem__, slots.tolist()))

    def _packed(self, slots: Memory) -> Pieces:
        """The records of keys."""
        noted = Pieces(np.empty(0, np.uint8), np.zeros(slots.shape[0] + 1, np.int64))
        if self._rooms or self.contests:
            held = [(self._rooms.get(slot), self.contests.get(slot)) for slot in slots.tolist()]
            noted = Pieces.of([notes.pack(room, contest) for room, contest in held])
        shelf = self._shelf
        pairs = zip(self.keepers, shelf.states[:, slots], strict=True)
        states = [keeper.pack_all(numbers) for keeper, numbers in pairs]
        return self._codec.pack_all(shelf.events[slots], shelf.times[slots], [noted, *states])

    def _write_ahead(self, slots: Memory) -> None:
        if slots.shape[0]:
            self._written(slots, self._store.spill(*self._changes(slots)))

    def _written(self, slots: Memory, version: int) -> None:
        """Take note of the version that changed keys were written in."""
        shelf = self._shelf
        self._waiting -= slots.shape[0]
        self._distinct += int(np.count_nonzero(shelf.versions[slots] != version))
        shelf.changed[slots], shelf.versions[slots] = False, version
        for place in self._empty(slots):
            slot = int(slots[place])
            del self._slots[shelf.names[slot]]
            self._gone.append(slot)

    def _let_go(self) -> None:
        """Let shelf and keepers have back what is no longer anyone's."""
        if not self._gone:
            return
        slots = np.array(self._gone, dtype=np.int64)
        for keeper, numbers in zip(self.keepers, self._shelf.states[:, slots], strict=True):
            keeper.drop(numbers[numbers != NOTHING].tolist())
        for slot in self._gone:
            self._rooms.pop(slot, None)
            self.contests.pop(slot, None)
        self._shelf.free(slots)
        self._gone.clear()
