"""States of one learner as short bytes, for a store that keeps the configuration once.

A snapshot of `okl_flow.snapshot` can go anywhere: it says what it holds. Where a million states
of one learner lie together they need not say it each, and packing leaves out all that the learner
tells: configuration, names, types. What is left are the numbers and the used part of each array.
`Packer.layout` says in plain data which these are, so that a store can tell whether what it holds
was packed by a version of the code with other fields.

    form, 1 byte | numbers | lengths that no number tells | arrays | states inside, likewise

Numbers and arrays lie as the processor has them; the layout names the order of its bytes.
"""

import json
import pickle
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from math import prod
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from okl_flow.learner import Learner
from okl_flow.state import ObjectState, State, array_axes, inner_states, used

__all__ = ["Bytes", "Packer", "PackingError", "Pieces", "packer_of"]

Bytes = NDArray[np.uint8]

_FORMAT = 1
_NARROW, _WIDE, _WORDS = range(3)  # whole numbers of 32 bits, of 64, and of any size
_LENGTH = struct.Struct("=I")
_LETTERS = {int: "q", float: "d"}


class PackingError(ValueError):
    """Bytes that are no packed state of the learner, and why."""


class Pieces(NamedTuple):
    """Packed states, or other pieces of bytes, one behind the other."""

    content: Bytes
    ends: NDArray[np.int64]  # of the pieces, behind a 0

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> "Pieces":
        """The pieces of a list."""
        ends = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum([len(piece) for piece in pieces], out=ends[1:])
        return cls(np.frombuffer(bytearray().join(pieces), np.uint8), ends)

    def list(self) -> "list[bytes]":
        """Each piece as bytes of its own."""
        content, ends = self.content.tobytes(), self.ends.tolist()
        return [content[begin:end] for begin, end in zip(ends, ends[1:], strict=False)]


class Packer:
    """Packs the states of one learner, and unpacks them.

    A state that was unpacked goes on exactly like the one that was packed, and is packed to the
    same bytes again; its arrays are cut to what is used. A state that holds another library's
    object is pickled with it: neither is then promised, as it is up to the object, and only
    bytes that one has packed oneself may be unpacked.

    >>> from okl_flow import make_learner
    >>> learner = make_learner("kogd", budget=10)
    >>> packer = packer_of(learner)
    >>> packed = packer.pack(learner.init(dim=24))
    >>> len(packed), packer.unpack(packed).dim
    (21, 24)
    """

    def __init__(self, plan: "_Plan") -> None:
        self._plan = plan

    @property
    def layout(self) -> list[Any]:
        """The numbers and arrays that are packed, in their order and with their types."""
        return [_FORMAT, *self._plan.layout()]

    @property
    def lengths(self) -> list[str]:
        """The axes whose length is packed, as no number tells it."""
        return list(self._plan._lengths) if isinstance(self._plan, _Fields) else []

    def pack(self, state: Any) -> bytes:
        """A state as bytes."""
        parts: list[bytes] = []
        self._plan.write(state, parts)
        return b"".join(parts)

    def unpack(self, packed: bytes) -> Any:
        """The state that was packed, with arrays of its own."""
        state, end = self.read(packed, 0)
        if end != len(packed):
            raise PackingError(f"the packed state has {len(packed) - end} bytes too many")
        return state

    def read(self, packed: bytes, begin: int) -> tuple[Any, int]:
        """The state that lies in the bytes from `begin` on, and where it ends."""
        try:
            return self._plan.read(packed, begin)
        except (struct.error, TypeError, ValueError, IndexError) as error:
            raise PackingError(
                f"the {len(packed) - begin} bytes are no packed state of this learner: {error}"
            ) from error

    def read_all(self, packed: bytes, begins: Sequence[int]) -> tuple[list[Any], list[int]]:
        """The states that lie in the bytes, each from a place on; and where they end."""
        found = [self.read(packed, begin) for begin in begins]
        return [state for state, _ in found], [end for _, end in found]


def packer_of(learner: Learner) -> Packer:
    """What packs the states of a learner."""
    return Packer(_plan_of(_sample(learner), learner.task.outputs))


def _sample(learner: Learner) -> Any:
    """A state with one of all states that may be inside it."""
    state = learner.init(1)
    while True:
        known = list(inner_states(state))
        numbers = {
            path + item.name: 1
            for path, part in known
            for item in fields(part)
            if item.name not in array_axes(type(part))
        }
        state = learner.blank(1, numbers)
        if len(list(inner_states(state))) == len(known):
            return state


class _Plan(Protocol):
    """How the states of one type are written and read."""

    def layout(self) -> list[Any]: ...

    def write(self, state: Any, parts: list[bytes]) -> None: ...

    def read(self, packed: bytes, begin: int) -> tuple[Any, int]: ...


class _Pickled:
    """The plan of a state that holds an object."""

    def layout(self) -> list[Any]:
        return ["pickle"]

    def write(self, state: Any, parts: list[bytes]) -> None:
        pickled = pickle.dumps(state, protocol=5)
        parts += (_LENGTH.pack(len(pickled)), pickled)

    def read(self, packed: bytes, begin: int) -> tuple[Any, int]:
        begin += _LENGTH.size
        end = begin + _LENGTH.unpack_from(packed, begin - _LENGTH.size)[0]
        if end > len(packed):
            raise PackingError(f"it is cut: {end - len(packed)} bytes are missing")
        return pickle.loads(packed[begin:end]), end


class _Numbers:
    """How the numbers of a state are written: in as few bytes as hold them all."""

    def __init__(self, kinds: Mapping[str, type], lengths: int) -> None:
        self._take: Callable[[Any], tuple[Any, ...]] = attrgetter(*kinds)
        wide = "".join(_LETTERS[kind] for kind in kinds.values())
        self._wide = struct.Struct(f"=B{wide}{lengths}I")
        self._narrow = struct.Struct(f"=B{wide.replace('q', 'i')}{lengths}I")

    def pack(self, state: Any, lengths: list[int]) -> tuple[tuple[Any, ...], bytes]:
        """The numbers of the state, and they and the lengths as bytes."""
        numbers = self._take(state)
        try:
            return numbers, self._narrow.pack(_NARROW, *numbers, *lengths)
        except struct.error:
            pass
        try:
            return numbers, self._wide.pack(_WIDE, *numbers, *lengths)
        except struct.error:
            words = json.dumps([*(_plain(number) for number in numbers), *lengths]).encode()
            return numbers, b"".join([bytes([_WORDS]), _LENGTH.pack(len(words)), words])

    def unpack(self, packed: bytes, begin: int) -> tuple[tuple[Any, ...], int]:
        """The numbers and the lengths, after them where they end."""
        form = packed[begin]
        if form == _NARROW:
            return self._narrow.unpack_from(packed, begin)[1:], begin + self._narrow.size
        if form == _WIDE:
            return self._wide.unpack_from(packed, begin)[1:], begin + self._wide.size
        if form != _WORDS:
            raise PackingError(f"there is no form {form} of numbers")
        begin += 1 + _LENGTH.size
        end = begin + _LENGTH.unpack_from(packed, begin - _LENGTH.size)[0]
        return tuple(json.loads(packed[begin:end])), end


class _Fields:
    """The plan of a state of numbers and arrays, and of states inside it."""

    def __init__(self, sample: State, outputs: int) -> None:
        state_type = type(sample)
        axes = array_axes(state_type)
        hints = get_type_hints(state_type)
        names = [item.name for item in fields(sample) if item.name not in axes]
        held = {name: getattr(sample, name) for name in names}
        self._inner = {
            name: _plan_of(one, outputs) for name, one in held.items() if isinstance(one, State)
        }
        self._lists = {
            name: _plan_of(one[0], outputs) for name, one in held.items() if isinstance(one, list)
        }
        kinds = {n: hints[n] for n in names if n not in self._inner and n not in self._lists}
        self._kinds = kinds
        # Wide items first, so that each array lies on a multiple of its items' size.
        self._axes = dict(sorted(axes.items(), key=lambda item: -item[1].scalar_type.itemsize))
        self._plan_shapes(outputs)
        self._type = state_type
        order = [*kinds, *self._lengths, *self._axes, *self._inner, *self._lists]
        self._in_order = itemgetter(*(order.index(item.name) for item in fields(sample)))

    def _plan_shapes(self, outputs: int) -> None:
        """Where each length of each array comes from: a number, a length packed, or neither."""
        all_axes = [
            (axis, name, along)
            for name, axes in self._axes.items()
            for along, axis in enumerate(axes)
        ]
        told: dict[str | int, int] = {"outputs": outputs, 1: 1}
        told |= {axis: axis for axis, _, _ in all_axes if isinstance(axis, int)}
        self._lengths: dict[str, tuple[str, int]] = {}
        for axis, name, along in all_axes:
            if isinstance(axis, str) and axis not in told and axis not in self._kinds:
                self._lengths[axis] = (name, along)
        self._told = tuple(told.values())
        self._numbers = _Numbers(self._kinds, len(self._lengths))
        places = {axis: at for at, axis in enumerate([*self._kinds, *self._lengths, *told])}
        self._trims = [
            (name, [(at, places[axis]) for at, axis in enumerate(axes) if axis in self._kinds])
            for name, axes in self._axes.items()
        ]
        self._shapes = [
            (
                itemgetter(*(places[axis] for axis in axes)),
                itemgetter(*(places[axis] for axis in (*axes, 1, 1))),  # always a tuple
                axes.scalar_type,
                axes.scalar_type.itemsize,
            )
            for axes in self._axes.values()
        ]

    def layout(self) -> list[Any]:
        return [
            [[name, kind.__name__] for name, kind in self._kinds.items()],
            [[name, axes.scalar_type.str, list(axes)] for name, axes in self._axes.items()],
            [[name, plan.layout()] for name, plan in self._inner.items()],
            [[name, plan.layout()] for name, plan in self._lists.items()],
        ]

    def write(self, state: Any, parts: list[bytes]) -> None:
        lengths = [getattr(state, name).shape[at] for name, at in self._lengths.values()]
        numbers, packed = self._numbers.pack(state, lengths)
        parts.append(packed)
        for name, trims in self._trims:
            held = getattr(state, name)
            for along, at in trims:
                if held.shape[along] != numbers[at]:
                    held = used(state, name)
                    break
            parts.append(held.tobytes())
        for name, plan in self._inner.items():
            plan.write(getattr(state, name), parts)
        for name, plan in self._lists.items():
            inner = getattr(state, name)
            parts.append(_LENGTH.pack(len(inner)))
            for one in inner:
                plan.write(one, parts)

    def read(self, packed: bytes, begin: int) -> tuple[Any, int]:
        numbers, begin = self._numbers.unpack(packed, begin)
        lengths = numbers + self._told
        size = 0
        for _, lengths_of, _, item_size in self._shapes:
            size += prod(lengths_of(lengths)) * item_size
        end = begin + size
        held = bytearray(packed[begin:end])  # of all arrays: one copy is faster than several
        values: list[Any] = list(numbers)
        at = 0
        for shape_of, _, scalar_type, _ in self._shapes:
            array: NDArray[Any] = np.ndarray(shape_of(lengths), scalar_type, held, at)
            at += array.nbytes
            values.append(array)
        for plan in self._inner.values():
            inner, end = plan.read(packed, end)
            values.append(inner)
        for plan in self._lists.values():
            count = _LENGTH.unpack_from(packed, end)[0]
            end += _LENGTH.size
            several = []
            for _ in range(count):
                inner, end = plan.read(packed, end)
                several.append(inner)
            values.append(several)
        return self._type(*self._in_order(values)), end


def _plan_of(sample: State, outputs: int) -> _Plan:
    """The plan for all states like a sample."""
    return _Pickled() if isinstance(sample, ObjectState) else _Fields(sample, outputs)


def _plain(number: Any) -> Any:
    """A number as JSON takes it, every bit of it."""
    return number.item() if isinstance(number, np.generic) else number
