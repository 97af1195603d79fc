"""The states of many keys in one piece of memory, stepped together by one native call.

A stream of many users brings one event of each at a time. One call of `step` for each of them
costs several times what the learner's loop does, and a million states of arrays of their own lie
spread all over the memory. A pool holds them side by side, each in a block of its own
(`okl_flow.blocks`), and runs the learner's own loop (`Learner.loop`) over the blocks.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from okl_flow.blocks import (
    Layout,
    Memory,
    allocated,
    drive_of,
    release_blocks,
    seed_blocks,
    wider,
)
from okl_flow.learner import Learner, Loop
from okl_flow.native import Array
from okl_flow.packed_blocks import pack_blocks, read_blocks
from okl_flow.packing import PackingError, Pieces, packer_of

__all__ = ["Pool"]

_FIRST_WORDS = 1 << 12
_FIRST_STATES = 1 << 4
_GROWTH = 1.125  # a large array stays where it is and gets more pages: little is copied
_WORDS = "words"


class Pool:
    """States of one learner, each known by a number.

    Parameters:
        learner: one that has a loop.

    >>> from okl_flow import make_learner
    >>> pool = Pool(make_learner("kogd", budget=10, learning_rate=0.5))
    >>> both = np.array(pool.begin(2, [1, 2]))
    >>> X = np.array([[0.5, 1.0], [0.5, 1.0], [3.0, 0.0]])
    >>> pool.step(both, np.array([2, 3]), X, np.array([1.0, 1.0, -1.0])).ravel().tolist()
    [0.0, 0.5, 0.0]
    >>> ann, bob = both.tolist()
    >>> pool.state(ann).seen, pool.state(bob).size
    (2, 1)
    """

    def __init__(self, learner: Learner) -> None:
        self.failures: dict[int, str] = {}  # there are none
        self._learner = learner
        self._packer = packer_of(learner)
        self._layout = Layout(learner.init(1), self._packer.lengths, learner.task.outputs)
        self._ways: dict[int, tuple[Loop, Callable[..., tuple[int, int]], Memory]] = {}  # by dim
        self._fresh: dict[int, Memory] = {}  # by dim: a block that has seen nothing
        self._hold(np.zeros(_FIRST_WORDS, dtype=np.int64))
        self._end = 0  # of the blocks that there are
        self._free: Memory = np.full(_FIRST_WORDS, -1)  # blocks that are in no use, by their size
        self._places: Memory = np.zeros(_FIRST_STATES, dtype=np.int64)  # of each state its block
        self._count = 0  # numbers ever given
        self._unused: list[int] = []  # numbers that were given back

    def begin(self, dim: int, seeds: Sequence[int]) -> list[int]:
        """States that have seen nothing, one for each seed; their numbers."""
        loop = self._way(dim)[0]
        if not loop.seeds_words:
            return [self.add(self._learner.init(dim, seed)) for seed in seeds]
        if dim not in self._fresh:
            self._fresh[dim] = self._block_of(self._learner.init(dim))
        fresh = self._fresh[dim]
        numbers = [self._number() for _seed in seeds]
        places = np.array([self._allocate(number, fresh.shape[0]) for number in numbers], np.int64)
        self._memory[places[:, None] + np.arange(fresh.shape[0])] = fresh
        if _WORDS in self._layout.arrays:
            begins = places + self._layout.array_at(fresh, _WORDS)
            seed_blocks(self._words, begins, np.array(seeds, dtype=np.int64))
        return numbers

    def step(self, numbers: Memory, ends: Memory, X: Array, y: Array) -> Array:
        """Let each state score and learn its events, and return the scores, a line per event.

        State i has the events from the end of those of state i - 1 up to ends[i]. All states are
        for the features of X, and none is there twice. What X and y hold is for the caller to
        have looked at: it is what the learner's task takes, and NaN for no label.
        """
        dim = self.dim(numbers[0])
        assert X.shape == (ends[-1], dim), f"{X.shape} are no features of these states"
        scores = np.empty((y.shape[0], self._learner.task.outputs))
        loop, drive, limits = self._way(dim)
        nexts = np.empty(ends.shape[0], np.int64)
        nexts[0], nexts[1:] = 0, ends[:-1]
        while True:
            done, self._end = drive(
                numbers,
                self._places,
                nexts,
                ends,
                X,
                y,
                scores,
                self._memory,
                self._floats,
                self._words,
                loop.rules,
                self._layout.tables,
                limits,
                self._free,
                self._end,
            )
            if done == numbers.shape[0]:
                return scores
            assert done >= 0, f"{self._learner.name} does not get on"
            place, rooms = int(self._places[numbers[done]]), np.empty_like(limits)
            self._reserve(wider(self._memory, place, self._layout.tables, limits, rooms))

    def dim(self, number: int) -> int:
        """Features of the events of a state."""
        return int(self._memory[self._places[number] + self._layout.number_at("dim")])

    def pack(self, number: int) -> bytes:
        """A state as the bytes that `okl_flow.packing` makes of it."""
        return self.pack_all(np.array([number])).content.tobytes()

    def pack_all(self, numbers: Memory) -> Pieces:
        """States as the bytes that `okl_flow.packing` makes of them; of one below 0 no bytes."""
        return Pieces(*pack_blocks(numbers, self._places, self._memory, self._layout.tables))

    def read_all(self, packed: bytes, begins: Sequence[int]) -> tuple[list[int], list[int]]:
        """Take in the states that lie in the bytes, each from a place on; and where they end."""
        found, ends = np.frombuffer(packed, dtype=np.uint8), np.array(begins, dtype=np.int64)
        numbers, done = [self._number() for _begin in begins], 0
        given = np.array(numbers, dtype=np.int64)
        while True:
            done, self._end, words = read_blocks(
                found,
                ends,
                done,
                given,
                self._places,
                self._memory,
                self._layout.tables,
                self._free,
                self._end,
            )
            if done == len(numbers):
                return numbers, ends.tolist()
            if words:
                self._reserve(words)
                continue
            try:  # it may be of another form, or the packer says what is wrong
                state, ends[done] = self._packer.read(packed, begins[done])
            except PackingError:
                self.drop(numbers[:done])
                self._unused += numbers[done:]
                raise
            self._put(numbers[done], self._block_of(state))
            done += 1

    def add(self, state: Any) -> int:
        """Take in a copy of a state; its number."""
        number = self._number()
        self._put(number, self._block_of(state))
        return number

    def state(self, number: int) -> Any:
        """A copy of a state, to be looked at."""
        return self._packer.unpack(self.pack(number))

    def drop(self, numbers: Iterable[int]) -> None:
        """Let go of states; their numbers will be given again."""
        which = list(numbers)
        release_blocks(self._memory, self._places[which], self._layout.tables, self._free)
        self._unused += which

    def _way(self, dim: int) -> tuple[Loop, Callable[..., tuple[int, int]], Memory]:
        """The learner's loop for so many features, what drives it, and how far axes may grow."""
        if dim not in self._ways:
            loop = self._learner.loop(dim)
            assert loop is not None, f"{self._learner.name} has no loop"
            drive = drive_of(self._learner.name, self._layout, loop)
            self._ways[dim] = loop, drive, self._layout.limits(loop.most or {})
        return self._ways[dim]

    def _block_of(self, state: Any) -> Memory:
        """The block of a state, with the room that its arrays have."""
        layout = self._layout
        rooms: dict[str | int, int] = {1: 1}
        arrays = [getattr(state, name) for name in layout.arrays]
        for axes, array in zip(layout.arrays.values(), arrays, strict=True):
            rooms.update(zip(axes, array.shape, strict=True))
        numbers = [
            np.array(getattr(state, name), dtype=float if is_float else np.int64)
            for name, is_float in zip(layout.numbers, layout.tables.is_float, strict=True)
        ]
        parts = [np.array([rooms[axis] for axis in layout.axes], dtype=np.int64), *numbers, *arrays]
        return np.concatenate([part.ravel().view(np.int64) for part in parts])

    def _hold(self, memory: Memory) -> None:
        """Let blocks lie in a memory, whose words may be whole numbers, floats or bits."""
        self._memory = memory
        self._floats, self._words = memory.view(np.float64), memory.view(np.uint64)

    def _number(self) -> int:
        """A number for a state."""
        if self._unused:
            return self._unused.pop()
        number = self._count
        self._count += 1
        if self._count > self._places.shape[0]:
            self._places.resize(int(_GROWTH * self._count))
        return number

    def _allocate(self, number: int, size: int) -> int:
        """A block of so many words for the state of a number; where it lies."""
        self._reserve(size)
        place, self._end = allocated(self._memory, self._free, size, self._end)
        self._places[number] = place
        return place

    def _put(self, number: int, block: Memory) -> None:
        """Give the state of a number a block, and write it."""
        place = self._allocate(number, block.shape[0])
        self._memory[place : place + block.shape[0]] = block

    def _reserve(self, size: int) -> None:
        """Have memory for one more block, of so many words."""
        if self._end + size > self._memory.shape[0]:
            del self._floats, self._words  # an array grows where it is if nobody looks into it
            self._memory.resize(max(self._end + size, int(_GROWTH * self._memory.shape[0])))
            self._hold(self._memory)
        if size >= self._free.shape[0]:
            free = np.full(2 * size, -1)
            free[: self._free.shape[0]] = self._free
            self._free = free
