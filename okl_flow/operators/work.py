"""What there is to score and learn in a batch of items, as columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from okl_flow.blocks import Memory
from okl_flow.events import Event, Label
from okl_flow.native import Array
from okl_flow.operators.models import Entry
from okl_flow.waiting import Waiting

__all__ = ["Row", "Work", "matrix_of", "work_of"]

Row = tuple[int, Event | Label, Array, float | None, int, int | None, Waiting | None]
"""One score to make, and one label to learn if there is one: its place in the batch; the event or
label that it is about; the features; the label; how many events the model saw before; the time of
the event; the event that is to wait for its label, or that has waited. A plain tuple, as there is
one per event."""


class Work(NamedTuple):
    """Rows of events of one number of features, those of one key together."""

    slots: Memory  # of the keys
    ends: Memory  # where the rows of each key end
    places: Sequence[int]  # of each row in the batch
    items: Sequence[Event | Label]  # what each row is about
    X: Array
    y: Array  # NaN for no label
    labels: Sequence[float | None]
    seen: Sequence[int]  # events that the model saw before
    times: Sequence[int | None]
    waiting: Sequence[Waiting | None] | None  # None if no row has to do with one that waits

    @property
    def in_order(self) -> bool:
        """Whether the rows stand in the order of their items."""
        return isinstance(self.places, range)


def matrix_of(features: Sequence[Array]) -> Array:
    """The features of events, of which each has as many, as a matrix of floats."""
    return np.concatenate(features, dtype=np.float64).reshape(len(features), -1)


def work_of(found: Sequence[tuple[str, Entry, list[Row]]]) -> list[Work]:
    """The rows of entries, by how many features they have."""
    by_dim: dict[int, list[tuple[str, Entry, list[Row]]]] = {}
    for one in found:
        by_dim.setdefault(one[2][0][2].shape[0], []).append(one)
    return [_columns(one) for one in by_dim.values()]


def _columns(found: Sequence[tuple[str, Entry, list[Row]]]) -> Work:
    rows = [row for _key, _entry, own in found for row in own]
    places, items, features, labels, seen, times, waiting = zip(*rows, strict=True)
    return Work(
        np.array([entry.slot for _key, entry, _rows in found], dtype=np.int64),
        np.cumsum([len(own) for _key, _entry, own in found]),
        places,
        items,
        matrix_of(features),
        np.array(labels, dtype=np.float64),
        labels,
        seen,
        times,
        waiting if any(one is not None for one in waiting) else None,
    )
