"""Figures of one partition of keys: its sums, its keys, and what it tells the whole stream.

After every so many labelled predictions, a chunk, a partition tells its sums so far and the
judged predictions of the chunk. So what it tells depends on its predictions alone, and not on
how they were cut into batches.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from okl_flow.evaluating import blob
from okl_flow.evaluating.columns import LABEL, LOSS, PREDICTED, SCORE, Columns
from okl_flow.evaluating.keys import KeyTable, Listed, Ring
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.sums import COUNT, ENTRY, add, baseline_of
from okl_flow.events import Cause
from okl_flow.native import Array, native

__all__ = ["Chunks", "PartitionFigures", "Tail", "Taken"]


@dataclass(slots=True)
class Chunks:
    """What a partition tells the whole stream: one chunk after the other."""

    partition: int
    # A row for each chunk: predictions of the partition up to its end, its sums there, and the
    # judged predictions of the chunk.
    rows: Array
    causes: list[Cause]  # of the last prediction of each
    times: list[int | None]
    listed: Listed | None  # the worst and busiest keys at the end of the last chunk, if due


@dataclass(slots=True)
class Tail:
    """What a partition has to tell at the end of the input, besides its chunks."""

    partition: int
    sums: Array
    events: float
    entries: Array  # judged predictions of the chunk that is not full
    cause: Cause | None  # of the last prediction with a label
    time: int | None
    listed: Listed | None


@dataclass(slots=True)
class Taken:
    """What came of a batch; positions count from the batch's first prediction."""

    chunks: list[Chunks]
    rings: list[Ring]
    due: list[tuple[int, Array]]


class PartitionFigures:
    """The figures of one partition of keys."""

    def __init__(self, settings: Settings, partition: int) -> None:
        self.settings = settings
        self.partition = partition
        self.sums = np.zeros(settings.width)
        self.open = np.zeros((settings.chunk, ENTRY))
        self.counts = np.zeros(2, dtype=np.int64)  # predictions; those in the open chunk
        self.last: tuple[Cause | None, int | None] = (None, None)
        self.table = KeyTable(settings) if settings.keys != "none" else None

    def take(self, columns: Columns) -> Taken:
        """Take in predictions, in their order."""
        if self.table is None:
            chunks = self._told(columns)
            return Taken([chunks] if chunks else [], [], [])
        taken = Taken([], [], [])
        for begin, end, at_mark in self._stretches(columns):
            part = columns if end - begin == len(columns) else columns.cut(begin, end)
            rings, due = self.table.take(part)
            chunks = self._told(part)
            if chunks:
                if at_mark:
                    chunks.listed = self.table.listed()
                taken.chunks.append(chunks)
            for ring in rings:
                ring.place += begin
            taken.rings += rings
            taken.due += [(begin + place, row) for place, row in due]
        return taken

    def _stretches(self, columns: Columns) -> list[tuple[int, int, bool]]:
        """Where to cut the batch, so that the worst and busiest keys are listed in time."""
        count, every = len(columns), self.settings.listed_every
        if self.settings.keys != "worst":
            return [(0, count, False)]
        before = int(self.sums[COUNT]) % every
        if before + count < every:
            return [(0, count, False)]
        labelled = np.flatnonzero(~np.isnan(columns.numbers[:, LABEL]))
        ends = (labelled[every - before - 1 :: every] + 1).tolist()
        begins = [0, *ends]
        stretches = [(begin, end, True) for begin, end in zip(begins, ends, strict=False)]
        if begins[-1] < count:
            stretches.append((begins[-1], count, False))
        return stretches

    def _told(self, columns: Columns) -> Chunks | None:
        """Take in predictions, and tell of the chunks that became full."""
        settings = self.settings
        most = (int(self.counts[1]) + len(columns)) // settings.chunk
        rows = np.empty((most, settings.told_width))
        ends = np.empty(most, dtype=np.int64)
        count, last = _take(
            columns.numbers, settings.classes, self.sums, self.counts, self.open, rows, ends
        )
        if last >= 0:
            self.last = columns.causes[last], columns.times[last]
        if not count:
            return None
        places = ends[:count].tolist()
        return Chunks(
            self.partition,
            rows[:count],
            [columns.causes[i] for i in places],
            [columns.times[i] for i in places],
            None,
        )

    def tail(self) -> Tail:
        """What is there besides the chunks told."""
        worst = self.table is not None and self.settings.keys == "worst"
        return Tail(
            self.partition,
            self.sums.copy(),
            float(self.counts[0]),
            self.open[: self.counts[1]].copy(),
            *self.last,
            self.table.listed() if worst and self.table else None,
        )

    def packed(self) -> bytes:
        """The figures as bytes."""
        arrays: dict[str, NDArray[Any]] = {
            "sums": self.sums,
            "open": self.open[: self.counts[1]],
            "counts": self.counts,
        }
        plain: dict[str, Any] = {"partition": self.partition, "last": self.last}
        if self.table is not None:
            key_arrays, key_plain = self.table.packed()
            arrays.update(key_arrays)
            plain.update(key_plain)
        return blob.pack(self.settings.described, arrays, **plain)

    @classmethod
    def restored(cls, settings: Settings, packed: bytes) -> "PartitionFigures":
        """The figures that `packed` gave, under the same settings."""
        arrays, plain = blob.unpack(packed, settings.described)
        figures = cls(settings, plain["partition"])
        figures.sums = arrays["sums"]
        figures.counts = arrays["counts"]
        figures.open[: figures.counts[1]] = arrays["open"]
        figures.last = msgspec.convert(plain["last"], tuple[Cause | None, int | None])
        if figures.table is not None:
            figures.table.restore(arrays, plain)
        return figures


@native
def _take(
    numbers: Array,
    classes: int,
    sums: Array,
    counts: NDArray[np.int64],
    open_chunk: Array,
    told: Array,
    ends: NDArray[np.int64],
) -> tuple[int, int]:
    """How many chunks became full, and where the last prediction with a label is."""
    full, last = 0, -1
    for i in range(numbers.shape[0]):
        counts[0] += 1
        label, predicted, loss = numbers[i, LABEL], numbers[i, PREDICTED], numbers[i, LOSS]
        if np.isnan(label):
            continue
        last = i
        baseline = baseline_of(sums, classes)
        add(sums, classes, 1.0, label, predicted, baseline, loss)
        entry = open_chunk[counts[1]]
        entry[0], entry[1], entry[2], entry[3] = label, predicted, baseline, loss
        entry[4] = numbers[i, SCORE]
        counts[1] += 1
        if counts[1] == open_chunk.shape[0]:
            told[full, 0] = counts[0]
            told[full, 1 : 1 + sums.shape[0]] = sums
            told[full, 1 + sums.shape[0] :] = open_chunk.ravel()
            ends[full] = i
            full += 1
            counts[1] = 0
    return full, last
