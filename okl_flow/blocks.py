"""Blocks of words that hold one state each, and the native loops that go through many of them.

    room of each axis | numbers | arrays, with the room that they have

All words have 8 bytes. `Layout` says which axes, numbers and arrays a learner's states have; the
native loops read it from its tables.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from okl_flow.lanes import fetch
from okl_flow.learner import Loop
from okl_flow.native import Array, inner, native, written
from okl_flow.rng import WORDS, Words, split
from okl_flow.state import State, array_axes

__all__ = [
    "Layout",
    "Memory",
    "Tables",
    "allocated",
    "drive_of",
    "fetch_ahead",
    "moved",
    "release_blocks",
    "seed_blocks",
    "used_of",
    "wider",
    "words_of",
]

Memory = NDArray[np.int64]

_ONE = 0  # the axis that every array has
_FIRST_ROOM = 2
_AHEAD = 8  # blocks that are brought near before it is their turn
_LINE = 8  # words that come into a cache together
_NEAR = 64  # words of a block that are asked for; the processor sees by itself how it goes on
_AXES_MAX = 3
_VIEWS = {"<f8": "floats", "<i8": "ints", "<u8": "words"}


class Tables(NamedTuple):
    """What native loops know of a layout."""

    counted: Memory  # of each axis the number that says how much of it is used, or -1
    constants: Memory  # of each axis its length, if that is always the same, or -1
    is_float: Memory  # of each number whether it is one with a point
    lengths: Memory  # the axes whose length is packed after the numbers
    shapes: NDArray[np.int64]  # of each array its three axes


class Layout:
    """Where everything lies in the blocks of a learner's states.

    Parameters:
        sample: a state.
        lengths: axes whose length stands behind the numbers in a packed state.
        outputs: scores per event.
    """

    def __init__(self, sample: State, lengths: list[str], outputs: int) -> None:
        arrays = array_axes(type(sample))
        self.numbers = [item.name for item in fields(sample) if item.name not in arrays]
        self.arrays = arrays
        names = dict.fromkeys([1, *(axis for axes in arrays.values() for axis in axes)])
        self.axes = list(names)
        known = {"outputs": outputs}
        self.tables = Tables(
            np.array([self._number(axis) for axis in self.axes]),
            np.array(
                [known.get(str(axis), -1) if isinstance(axis, str) else axis for axis in self.axes]
            ),
            np.array([isinstance(getattr(sample, name), float) for name in self.numbers], np.int64),
            np.array([self.axes.index(axis) for axis in lengths], np.int64),
            np.array([self._shape(axes) for axes in arrays.values()], np.int64).reshape(-1, 3),
        )

    @property
    def head(self) -> int:
        """Words before the arrays."""
        return len(self.axes) + len(self.numbers)

    def number_at(self, name: str) -> int:
        """Where a number stands, from the beginning of a block."""
        return len(self.axes) + self.numbers.index(name)

    def array_at(self, rooms: Memory, name: str) -> int:
        """Where an array begins, from the beginning of a block with these rooms."""
        before = list(self.arrays).index(name)
        return self.head + int(rooms[self.tables.shapes[:before]].prod(axis=1).sum())

    def limits(self, most: Mapping[str, int | None]) -> Memory:
        """Of each axis how far it may grow; -1 if it does not."""
        limits = np.full(len(self.axes), -1, dtype=np.int64)
        for axis, largest in most.items():
            limits[self.axes.index(axis)] = sys.maxsize if largest is None else largest
        return limits

    def _number(self, axis: str | int) -> int:
        return self.numbers.index(axis) if axis in self.numbers else -1

    def _shape(self, axes: tuple[str | int, ...]) -> list[int]:
        return [_ONE] * (_AXES_MAX - len(axes)) + [self.axes.index(axis) for axis in axes]

    def text(self, takes: tuple[str, ...]) -> str:
        """Two functions in Python: what a loop takes of a block, and what it gives back."""
        lines = ["def taken(ints, floats, words, at):"]
        lines += [f"    room{number} = ints[at + {number}]" for number in range(len(self.axes))]
        lines += [f"    end = at + {self.head}"]
        for name, axes in self.arrays.items():
            rooms = [f"room{self.axes.index(axis)}" for axis in axes]
            view = _VIEWS[axes.scalar_type.str]
            lines += [f"    begin, end = end, end + {' * '.join(rooms)}"]
            if name in takes:
                lines += [f"    {name} = {view}[begin:end].reshape(({', '.join(rooms)},))"]
        numbers = [name for name in takes if name not in self.arrays]
        lines += [f"    {name} = {self._place(name)}" for name in numbers]
        lines += [f"    return ({', '.join(takes)},)", ""]
        lines += ["def put(ints, floats, at, given, events):"]
        lines += [f"    {self._place(name)} = given[{1 + i}]" for i, name in enumerate(numbers)]
        lines += [f"    ints[at + {self.number_at('seen')}] += events"]
        return "\n".join([*lines, ""])

    def _place(self, name: str) -> str:
        is_float = self.tables.is_float[self.numbers.index(name)]
        return f"{'floats' if is_float else 'ints'}[at + {self.number_at(name)}]"


_drives: dict[tuple[Any, str], Callable[..., tuple[int, int]]] = {}


def drive_of(name: str, layout: Layout, loop: Loop) -> Callable[..., tuple[int, int]]:
    """The native loop over blocks around a learner's own loop.

    It is `_drive` below, for this loop and layout: compiled once, and kept on disk like others.
    """
    text = layout.text(loop.takes)
    if (loop.function, text) not in _drives:
        helpers = written(text, "taken", "put")
        parts = {**_drive.__globals__, **helpers, "learn": loop.function}
        own = FunctionType(_drive.__code__, parts, f"drive_{name}")
        own.__qualname__ = own.__name__
        _drives[loop.function, text] = native(own)
    return _drives[loop.function, text]


def _drive(
    numbers: Memory,
    places: Memory,
    nexts: Memory,
    stops: Memory,
    X: Array,
    y: Array,
    scores: Array,
    ints: Memory,
    floats: Array,
    words: Words,
    rules: tuple[Any, ...],
    tables: Tables,
    limits: Memory,
    free: Memory,
    end: int,
) -> tuple[int, int]:
    """Let each state go through its events, from the next one up to where it stops.

    One that has no room for the next gets more. Returns how many states are done, or -1 if one
    does not get on with more room; and where the blocks end. Where fewer are done than there are,
    the next one needs a larger block than there is memory for.

    `learn`, `taken` and `put` are no names of this file: `drive_of` gives each drive its own.
    """
    rooms, count = np.empty(limits.shape[0], np.int64), numbers.shape[0]
    found = np.empty(count, np.int64)
    for i in range(count):  # by itself: the processor then waits for many places at once
        found[i] = places[numbers[i]]
    for i in range(count):
        fetch_ahead(found, i, ints)
        at, stop = found[i], stops[i]
        is_wider = False
        while nexts[i] < stop:
            t = nexts[i]
            given = learn(  # type: ignore[name-defined] # noqa: F821
                t,
                X[:stop],
                y[:stop],
                scores,
                *(taken(ints, floats, words, at) + rules),  # type: ignore[name-defined] # noqa: F821
            )
            put(ints, floats, at, given, given[0] - t)  # type: ignore[name-defined] # noqa: F821
            nexts[i] = given[0]
            if given[0] == stop:
                break
            if given[0] == t and is_wider:
                return -1, end
            size = wider(ints, at, tables, limits, rooms)
            if end + size > ints.shape[0] or size >= free.shape[0]:
                return i, end
            at, end = moved(ints, at, tables, rooms, size, free, end)
            places[numbers[i]], is_wider = at, True
    return numbers.shape[0], end


@inner
def fetch_ahead(places: Memory, i: int, ints: Memory) -> None:
    """Have the block brought near whose turn is soon; at the first block all up to there.

    One of a million keys lies in no cache. Of a long block its beginning is asked for.
    """
    for k in range(i + _AHEAD if i else 0, min(i + _AHEAD + 1, places.shape[0])):
        for word in range(0, _NEAR, _LINE):
            fetch(ints, places[k] + word)


@inner
def used_of(ints: Memory, at: int, axis: int, counted: Memory) -> int:
    """How much of an axis is in use."""
    number = counted[axis]
    used: int = ints[at + axis] if number < 0 else ints[at + counted.shape[0] + number]
    return used


@inner
def words_of(ints: Memory, rooms_at: int, shapes: Memory, head: int) -> int:
    """Words of a block with the rooms that stand somewhere."""
    total = head
    for k in range(shapes.shape[0]):
        words = ints[rooms_at + shapes[k, 0]]
        total += words * ints[rooms_at + shapes[k, 1]] * ints[rooms_at + shapes[k, 2]]
    return total


@inner
def wider(ints: Memory, at: int, tables: Tables, limits: Memory, rooms: Memory) -> int:
    """Twice the room along each full axis that may grow, up to its limit; the words it takes.

    The first room is for two, so that a key's second event does not move what the first has made.
    """
    counted = tables.counted
    for axis in range(limits.shape[0]):
        room = ints[at + axis]
        if limits[axis] >= 0 and used_of(ints, at, axis, counted) == room:
            room = min(max(_FIRST_ROOM, 2 * room), limits[axis])
        rooms[axis] = room
    return words_of(rooms, 0, tables.shapes, counted.shape[0] + tables.is_float.shape[0])


@inner
def allocated(ints: Memory, free: Memory, size: int, end: int) -> tuple[int, int]:
    """Where a block of so many words may lie, and where the blocks end then.

    free[n] = a block of n words that is in no use, or -1; its first word says where the next is.
    """
    place = free[size]
    if place < 0:
        return end, end + size
    free[size] = ints[place]
    return place, end


@native
def release_blocks(ints: Memory, places: Memory, tables: Tables, free: Memory) -> None:
    """Let blocks be overwritten."""
    shapes, head = tables.shapes, tables.counted.shape[0] + tables.is_float.shape[0]
    for i in range(places.shape[0]):
        _release(ints, places[i], words_of(ints, places[i], shapes, head), free)


@inner
def _release(ints: Memory, place: int, size: int, free: Memory) -> None:
    ints[place] = free[size]
    free[size] = place


@inner
def moved(
    ints: Memory, here: int, tables: Tables, rooms: Memory, size: int, free: Memory, end: int
) -> tuple[int, int]:
    """Put a block where it has these rooms, `size` words in all; what is not in use there is 0.

    Returns where it lies, and where the blocks end then.
    """
    shapes, axis_count = tables.shapes, tables.counted.shape[0]
    head = axis_count + tables.is_float.shape[0]
    there, end = allocated(ints, free, size, end)
    for axis in range(axis_count):
        ints[there + axis] = rooms[axis]
    for word in range(axis_count, head):
        ints[there + word] = ints[here + word]
    begin, target = here + head, there + head
    for k in range(shapes.shape[0]):
        width, lines = ints[here + shapes[k, 2]], ints[here + shapes[k, 1]]
        broad, longer = rooms[shapes[k, 2]], rooms[shapes[k, 1]]
        stop = target + rooms[shapes[k, 0]] * longer * broad
        for word in range(target, stop):
            ints[word] = 0
        for a in range(ints[here + shapes[k, 0]]):
            for b in range(lines):
                line = target + (a * longer + b) * broad
                for c in range(width):
                    ints[line + c] = ints[begin + c]
                begin += width
        target = stop
    _release(ints, here, begin - here, free)
    return there, end


@native
def seed_blocks(words: Words, begins: Memory, seeds: Memory) -> None:
    """Write the words of fresh generators."""
    for i in range(begins.shape[0]):
        split(np.uint64(seeds[i]), words[begins[i] : begins[i] + WORDS])
