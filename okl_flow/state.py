"""What a learner remembers: a slotted dataclass of arrays and of whole or real numbers.

A state class says of each array what its axes are, and from that alone it is allocated, grown,
written to a snapshot and read back:

    rows: Annotated[Array, Axes("dim", "size")]

The axis "size" counts the examples held: such an array is kept longer than it is used, and
grows by doubling.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

__all__ = ["Axes", "State", "allocate", "array_axes", "make_room", "used"]


@dataclass(slots=True)
class State:
    """What every learner and every map remembers."""

    dim: int  # features of an event
    seen: int  # events taken in, with and without a label


AnyState = TypeVar("AnyState", bound=State)


class Axes(tuple[str | int, ...]):
    """The axes of an array field: each is a length or the name of one."""

    def __new__(cls, *axes: str | int) -> "Axes":
        """Axes("dim", "size") for what a tuple would take as (("dim", "size"),)."""
        return super().__new__(cls, axes)


ArrayFields = dict[str, tuple[Axes, "np.dtype[Any]"]]

_known: dict[type[State], ArrayFields] = {}


def array_axes(state_type: type[State]) -> ArrayFields:
    """The array fields of a state: axes and type of each."""
    if state_type in _known:
        return _known[state_type]
    found = _known[state_type] = {}
    for name, hint in get_type_hints(state_type, include_extras=True).items():
        if get_origin(hint) is Annotated:
            array_type, axes = get_args(hint)
            scalar_type = get_args(get_args(array_type)[1])[0]
            found[name] = (axes, np.dtype(scalar_type))
    return found


def allocate(state_type: type[AnyState], *, dim: int, **lengths: int) -> AnyState:
    """A state of zeros. Named axes take their lengths from `lengths`; others start at 0."""
    known = {"dim": dim, **lengths}
    arrays = array_axes(state_type)
    values: dict[str, Any] = {}
    for item in fields(state_type):
        if item.name in arrays:
            axes, scalar_type = arrays[item.name]
            shape = [axis if isinstance(axis, int) else known.get(axis, 0) for axis in axes]
            values[item.name] = np.zeros(shape, dtype=scalar_type)
        else:
            values[item.name] = 0.0 if item.type is float else known.get(item.name, 0)
    return state_type(**values)


def make_room(state: State, budget: int | None) -> None:
    """Double the room along the axis "size", up to the budget."""
    for name, (axes, scalar_type) in array_axes(type(state)).items():
        if "size" not in axes:
            continue
        held = getattr(state, name)
        room = max(1, 2 * held.shape[axes.index("size")])
        room = room if budget is None else min(room, budget)
        shape = [
            room if axis == "size" else length
            for axis, length in zip(axes, held.shape, strict=True)
        ]
        grown = np.zeros(shape, dtype=scalar_type)
        grown[tuple(slice(length) for length in held.shape)] = held
        setattr(state, name, grown)


def used(state: Any, name: str) -> NDArray[Any]:
    """The part of an array that is in use."""
    axes, _scalar_type = array_axes(type(state))[name]
    held: NDArray[Any] = getattr(state, name)
    return held[tuple(slice(state.size) if axis == "size" else slice(None) for axis in axes)]
