"""Predictions side by side: what the native loops take, and what workers send one another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from okl_flow.evaluating.sums import class_positions
from okl_flow.events import Cause, Prediction
from okl_flow.murmur import partitions_of
from okl_flow.native import Array
from okl_flow.tasks import Binary, Task

__all__ = [
    "LABEL",
    "LOSS",
    "PREDICTED",
    "SCORE",
    "Columns",
    "by_partition",
    "columns_of",
    "joined",
]


LABEL, PREDICTED, LOSS, SCORE = range(4)
"""Columns of the numbers."""

_WIDTH = 4


@dataclass(slots=True)
class Columns:
    """Predictions in their order."""

    # Label, what was predicted, loss, score. Classes are positions from 0; NaN for what is not
    # known; the score is that of a binary task.
    numbers: Array
    keys: list[str]
    causes: list[Cause]
    times: list[int | None]

    def __len__(self) -> int:
        return len(self.keys)

    def cut(self, begin: int, end: int) -> "Columns":
        """The predictions from one position to another."""
        return Columns(
            self.numbers[begin:end],
            self.keys[begin:end],
            self.causes[begin:end],
            self.times[begin:end],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Bytes: a pickle of each cause would cost more than all the rest."""
        return _columns, (self.numbers.tobytes(), _encode((self.keys, self.causes, self.times)))


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(tuple[list[str], list[Cause], list[int | None]])


def _columns(numbers: bytes, lists: bytes) -> Columns:
    return Columns(np.frombuffer(numbers).reshape(-1, _WIDTH).copy(), *_decoder.decode(lists))


def columns_of(predictions: Sequence[Prediction], task: Task) -> Columns:
    """Predictions as columns. A label that is none of the task's raises a ValueError."""
    labels = np.array([one.label for one in predictions], dtype=np.float64)
    causes = [one.cause for one in predictions]
    bad = task.first_refused(labels)
    if bad >= 0:
        raise ValueError(
            f"evaluate: labels of a {task.name} task must be {task.labels}, and the prediction "
            f"for {causes[bad]} has {labels[bad]}: give evaluate the task of the learner"
        )
    numbers = np.zeros((len(predictions), _WIDTH))
    numbers[:, LABEL] = class_positions(task, labels)
    predicted = np.array([one.predicted for one in predictions], dtype=np.float64)
    numbers[:, PREDICTED] = class_positions(task, predicted)
    numbers[:, LOSS] = [one.loss for one in predictions]
    if isinstance(task, Binary):
        numbers[:, SCORE] = [one.score for one in predictions]
    return Columns(
        numbers, [one.key for one in predictions], causes, [one.time for one in predictions]
    )


def by_partition(columns: Columns, partitions: int) -> Iterator[tuple[int, Columns]]:
    """The predictions of each partition of keys, in their order."""
    numbers = partitions_of(columns.keys, partitions)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    bounds = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    if not bounds.size:
        if len(columns):
            yield int(numbers[0]), columns
        return
    ordered = _reordered(columns, order)
    begin = 0
    for end in [*bounds.tolist(), len(columns)]:
        yield int(numbers[begin]), ordered.cut(begin, end)
        begin = end


def _reordered(columns: Columns, order: NDArray[np.int64]) -> Columns:
    places = order.tolist()
    return Columns(
        columns.numbers[order],
        [columns.keys[i] for i in places],
        [columns.causes[i] for i in places],
        [columns.times[i] for i in places],
    )


def joined(parts: Sequence[Columns]) -> Columns:
    """Columns one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Columns(
        np.concatenate([one.numbers for one in parts]),
        [key for one in parts for key in one.keys],
        [cause for one in parts for cause in one.causes],
        [time for one in parts for time in one.times],
    )
