"""The latest judged predictions of the whole stream, in chunks that come from its partitions.

The chunks are ordered by their stamps: the time of the last record, its offset, the partition,
and how many labelled predictions that had. Whichever order chunks arrive in, the latest ones
are the same, and in the same order.
"""

import numpy as np
from numpy.typing import NDArray

from okl_flow.evaluating.sums import ENTRY, add_entries
from okl_flow.native import Array, native

__all__ = ["STAMP", "Recent"]

STAMP = 4
"""Numbers of a stamp."""


class Recent:
    """As many of the latest chunks as there is room for."""

    def __init__(self, room: int, chunk: int) -> None:
        self.chunk = chunk
        self._stamps = np.zeros((room, STAMP), dtype=np.int64)
        self._entries = np.zeros((room, chunk * ENTRY))
        self._order = np.zeros(room, dtype=np.int64)  # places by stamp, the earliest first
        self._held = 0

    def put(self, stamps: NDArray[np.int64], entries: Array) -> None:
        """Put in chunks; the earliest go if there is no room."""
        self._held = _put(stamps, entries, self._stamps, self._entries, self._order, self._held)

    @property
    def stamps(self) -> NDArray[np.int64]:
        """The stamps, in order."""
        return self._stamps[self._order[: self._held]]

    @property
    def entries(self) -> Array:
        """The judged predictions, in order."""
        return self._entries[self._order[: self._held]].reshape(-1, ENTRY)

    def latest(self, count: int) -> Array:
        """The latest judged predictions, as many as there are in whole chunks."""
        places = self._order[max(0, self._held - count // self.chunk) : self._held]
        return self._entries[places].reshape(-1, ENTRY)

    def fill_faded(self, classes: int, keep: float, row: Array) -> None:
        """Add all of them to a fading row."""
        _add_ordered(self._entries, self._order[: self._held], classes, keep, row)


@native
def _put(
    stamps: NDArray[np.int64],
    entries: Array,
    known_stamps: NDArray[np.int64],
    known_entries: Array,
    order: NDArray[np.int64],
    held: int,
) -> int:
    for i in range(stamps.shape[0]):
        position = held
        while position > 0 and _is_before(stamps[i], known_stamps[order[position - 1]]):
            position -= 1
        if held < order.shape[0]:
            place = held
            for j in range(held, position, -1):
                order[j] = order[j - 1]
            held += 1
        elif position == 0:
            continue
        else:
            place = order[0]
            position -= 1
            for j in range(position):
                order[j] = order[j + 1]
        order[position] = place
        known_stamps[place] = stamps[i]
        known_entries[place] = entries[i]
    return held


@native
def _is_before(stamp: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    for i in range(stamp.shape[0]):
        if stamp[i] != other[i]:
            return bool(stamp[i] < other[i])
    return False


@native
def _add_ordered(
    entries: Array, order: NDArray[np.int64], classes: int, keep: float, row: Array
) -> None:
    weight = 1.0
    for i in range(order.shape[0] - 1, -1, -1):
        weight = add_entries(row, classes, weight, keep, entries[order[i]].reshape(-1, ENTRY))
