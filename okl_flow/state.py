"""What a learner remembers: a slotted dataclass of arrays and of whole or real numbers.

A state class says of each array what its axes are, and from that alone it is allocated, grown,
written to a snapshot and read back:

    rows: Annotated[Array, Axes("dim", "size")]

A field of a state may also be a state of its own, that of a map inside a learner, say, or a list
of states.

An axis that is named like a number of the state, "size" above all, is used up to that number:
such an array may be kept longer than it is used, and grows by doubling.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Axes",
    "ObjectState",
    "State",
    "allocate",
    "array_axes",
    "inner_states",
    "is_full",
    "make_room",
    "numbers_within",
    "used",
]


@dataclass(slots=True)
class State:
    """What every learner and every map remembers."""

    dim: int  # features of an event
    seen: int  # events taken in, with and without a label


@dataclass(slots=True)
class ObjectState(State):
    """A state that holds another library's object: it can be pickled, but has no snapshot."""

    held: Any


AnyState = TypeVar("AnyState", bound=State)


class Axes(tuple[str | int, ...]):
    """The axes of an array field, each a length or the name of one, and what it is made of."""

    scalar_type: "np.dtype[Any]"

    def __new__(cls, *axes: str | int, scalar_type: type[np.generic] = np.float64) -> "Axes":
        """Axes("dim", "size") for what a tuple would take as (("dim", "size"),)."""
        made = super().__new__(cls, axes)
        made.scalar_type = np.dtype(scalar_type)
        return made


_known: dict[type[State], dict[str, Axes]] = {}


def array_axes(state_type: type[State]) -> dict[str, Axes]:
    """The array fields of a state."""
    if state_type in _known:
        return _known[state_type]
    hints = get_type_hints(state_type, include_extras=True)
    _known[state_type] = {
        name: next(item for item in hint.__metadata__ if isinstance(item, Axes))
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
    }
    return _known[state_type]


def inner_states(state: State, path: str = "") -> Iterator[tuple[str, State]]:
    """A state and the states inside it, each with its path: "" and, say, "map." or "a.0."."""
    yield path, state
    for item in fields(state):
        value = getattr(state, item.name)
        if isinstance(value, State):
            yield from inner_states(value, f"{path}{item.name}.")
        elif isinstance(value, list):
            for number, one in enumerate(value):
                yield from inner_states(one, f"{path}{item.name}.{number}.")


def numbers_within(numbers: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Of numbers by path and name, those of the state at a path, by what is left of their names."""
    return {
        name.removeprefix(path): value for name, value in numbers.items() if name.startswith(path)
    }


def allocate(state_type: type[AnyState], *, dim: int, **given: Any) -> AnyState:
    """A state of zeros. Named axes take their lengths from those given; others start at 0.

    Numbers and inner states may be given too.
    """
    known = {"dim": dim, **given}
    values: dict[str, Any] = {}
    for name, axes, scalar_type, default in _plan_of(state_type):
        if axes is None:
            values[name] = known.get(name, default)
        else:
            shape = [axis if isinstance(axis, int) else known.get(axis, 0) for axis in axes]
            values[name] = np.zeros(shape, scalar_type)
    return state_type(**values)


_Plan = list[tuple[str, Axes | None, Any, float]]

_plans: dict[type[State], _Plan] = {}


def _plan_of(state_type: type[State]) -> _Plan:
    """Of each field its axes and type if it is an array, and what it is by default if not."""
    if state_type not in _plans:
        arrays = array_axes(state_type)
        _plans[state_type] = [
            (
                item.name,
                arrays.get(item.name),
                arrays[item.name].scalar_type if item.name in arrays else None,
                0.0 if item.type is float else 0,
            )
            for item in fields(state_type)
        ]
    return _plans[state_type]


def is_full(state: State, axis: str = "size") -> bool:
    """Whether no array that grows along an axis has room left there."""
    return all(
        getattr(state, name).shape[axes.index(axis)] == getattr(state, axis)
        for name, axes in array_axes(type(state)).items()
        if axis in axes
    )


def make_room(state: State, most: int | None, axis: str = "size") -> None:
    """Double the room along an axis, up to the most that it may have."""
    for name, axes in array_axes(type(state)).items():
        if axis not in axes:
            continue
        held = getattr(state, name)
        room = max(1, 2 * held.shape[axes.index(axis)])
        room = room if most is None else min(room, most)
        shape = list(held.shape)
        for place, own in enumerate(axes):
            if own == axis:
                shape[place] = room
        grown = np.zeros(shape, axes.scalar_type)
        grown[tuple(map(slice, held.shape))] = held
        setattr(state, name, grown)


def used(state: Any, name: str) -> NDArray[Any]:
    """The part of an array that is in use."""
    axes = array_axes(type(state))[name]
    held: NDArray[Any] = getattr(state, name)
    return held[tuple(slice(getattr(state, str(axis), None)) for axis in axes)]
