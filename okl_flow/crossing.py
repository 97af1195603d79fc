"""Lists that go to another process, and are pickled by columns on the way.

Events go to the process that has their state partition, and outputs to the one that writes their
part of a topic. A pickle of each record on its own would cost more than to decode it. Within one
process nothing is pickled, and such a list is a list.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import astuple

from okl_flow.events import Cause
from okl_flow.native import Array

__all__ = ["Crossing"]

T = TypeVar("T")

Causes = tuple[int, list[int] | None, list[str], list[int], list[int]]
"""How many places there are for causes; the places where there is one, None for all; and their
fields."""


class Crossing(list[T]):
    """Records as the structs of `okl_flow.events` and `okl_flow.wire`, of one kind or several.

    >>> import pickle
    >>> from okl_flow.events import Event, Forget
    >>> causes = [Cause("events", 0, at) for at in range(2)]
    >>> some = Crossing([Forget("ann", causes[0]), Event("bob", np.array([0.5]), causes[1])])
    >>> pickle.loads(pickle.dumps(some))
    [Forget(key='ann', cause=...), Event(key='bob', features=array([0.5]), cause=..., label=None)]
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """The columns of each kind of records; and the kind of each record, if there are several.

        Kinds are known by their numbers, in the order in which they are first met.
        """
        kinds = dict.fromkeys(map(type, self))
        if len(kinds) == 1:
            return _list_of, ([_apart(next(iter(kinds)), self)], b"")
        numbers = {kind: number for number, kind in enumerate(kinds)}
        groups: list[list[T]] = [[] for _kind in kinds]
        for record in self:
            groups[numbers[type(record)]].append(record)
        order = bytes([numbers[type(record)] for record in self])
        return _list_of, (list(map(_apart, kinds, groups)), order)


def _apart(kind: Any, records: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A kind of records, and their fields by columns."""
    columns = zip(*map(astuple, records), strict=True)
    each = zip(kind.__struct_fields__, columns, strict=True)
    return kind, [_WAYS[name][0](column) if name in _WAYS else column for name, column in each]


def _together(kind: Any, columns: list[Any]) -> list[Any]:
    """The records that `_apart` has made columns of."""
    each = zip(kind.__struct_fields__, columns, strict=True)
    return list(map(kind, *[_WAYS[name][1](own) if name in _WAYS else own for name, own in each]))


def _list_of(groups: list[tuple[Any, list[Any]]], order: bytes) -> Crossing[Any]:
    if len(groups) == 1:
        return Crossing(_together(*groups[0]))
    left = [iter(_together(*group)) for group in groups]
    return Crossing([next(left[number]) for number in order])


def _features_apart(rows: Sequence[Array]) -> tuple[list[int], bytes]:
    return list(map(len, rows)), np.concatenate(rows, dtype=np.float64).tobytes()


def _features(apart: tuple[list[int], bytes]) -> Iterable[Array]:
    lengths, content = apart
    numbers = np.frombuffer(content)
    if len(set(lengths)) == 1:
        return numbers.reshape(len(lengths), lengths[0])
    return np.split(numbers, np.cumsum(lengths)[:-1])


def _causes_apart(causes: Sequence[Cause | None]) -> Causes:
    places = None
    if set(map(type, causes)) != {Cause}:
        places = [at for at, cause in enumerate(causes) if cause is not None]
    there = [cause for cause in causes if cause is not None]
    return (
        len(causes),
        places,
        [cause.topic for cause in there],
        [cause.partition for cause in there],
        [cause.offset for cause in there],
    )


def _causes(apart: Causes) -> list[Cause | None]:
    count, places, topics, partitions, offsets = apart
    there: list[Any] = list(map(Cause, topics, partitions, offsets))
    if places is None:
        return there
    causes: list[Cause | None] = [None] * count
    for place, cause in zip(places, there, strict=True):
        causes[place] = cause
    return causes


_WAYS: dict[str, tuple[Any, Any]] = {
    "features": (_features_apart, _features),
    "cause": (_causes_apart, _causes),
    "event": (_causes_apart, _causes),
}
"""How columns that are no plain values come apart, and together again, by the name of the field."""
