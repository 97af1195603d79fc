"""What is added up over predictions: one short row of numbers, and the figures it gives.

The same row serves for all predictions so far, for those in a window and for a fading past:
what differs is only what the row is multiplied by before the next prediction is added. Rows of
different keys or partitions can be merged.

In a classification the row has the count, the mistakes, those of the baseline, three numbers
for the loss, and then for each class how often it was the label, how often it was predicted,
and how often it was both. In a regression the errors take the place of the mistakes.
"""

import math
from functools import cache

import numpy as np

from okl_flow.native import Array, native
from okl_flow.tasks import Binary, Regression, Task

__all__ = [
    "ABSOLUTE",
    "BASELINE",
    "COUNT",
    "ENTRY",
    "ERROR",
    "FOURTH",
    "LOSS",
    "LOSSES",
    "LOSS_SQUARED",
    "add",
    "add_entries",
    "area_under_curve",
    "baseline_of",
    "class_positions",
    "classes_of",
    "fade",
    "figure_names",
    "fill_figures",
    "merge",
    "merge_all",
    "width_of",
]

COUNT, ERROR, BASELINE, LOSSES, LOSS, LOSS_SQUARED = range(6)
"""The first numbers of a row; ERROR is a sum of mistakes, or of squared errors."""
_TWO_CLASSES = 2
_COMMON = 6
ABSOLUTE, _BASELINE_ABSOLUTE, FOURTH, _MEAN, _SPREAD = range(6, 11)
_REGRESSION_WIDTH = 11

ENTRY = 5
"""Numbers of a judged prediction: label, what was predicted, baseline, loss, score."""
_ENTRY_LABEL, _ENTRY_PREDICTED, _ENTRY_BASELINE, _ENTRY_LOSS, _ENTRY_SCORE = range(ENTRY)


def classes_of(task: Task) -> int:
    """How many classes a task has; 0 in a regression."""
    return 0 if isinstance(task, Regression) else max(2, task.outputs)


def width_of(classes: int) -> int:
    """How many numbers a row has."""
    return _COMMON + 3 * classes if classes else _REGRESSION_WIDTH


def class_positions(task: Task, labels: Array) -> Array:
    """Labels as positions of classes from 0, which is what rows are indexed by."""
    return (labels + 1.0) / 2.0 if isinstance(task, Binary) else labels


@native
def baseline_of(row: Array, classes: int) -> float:
    """What the trivial baseline would predict next: the commonest label, or the mean label.

    Of equally common classes it is the first, and before any label the first class, or 0.
    """
    if classes == 0:
        return float(row[_MEAN])
    best = 0
    for c in range(1, classes):
        if row[_COMMON + c] > row[_COMMON + best]:
            best = c
    return float(best)


@native
def fade(row: Array, classes: int, keep: float) -> None:
    """Let all that was added weigh less: its share `keep`."""
    mean = row[_MEAN]
    for i in range(row.shape[0]):
        row[i] *= keep
    if classes == 0:
        row[_MEAN] = mean


@native
def add(
    row: Array,
    classes: int,
    weight: float,
    label: float,
    predicted: float,
    baseline: float,
    loss: float,
) -> float:
    """Add one prediction, and return its error: 1 or 0, or the absolute error.

    A loss of NaN is not known. What is predicted counts as wrong unless it is equal to the
    label, so NaN is wrong.
    """
    row[COUNT] += weight
    if not math.isnan(loss):
        row[LOSSES] += weight
        row[LOSS] += weight * loss
        row[LOSS_SQUARED] += weight * loss * loss
    if classes == 0:
        return _add_errors(row, weight, label, predicted, baseline)
    row[_COMMON + int(label)] += weight
    if 0.0 <= predicted < classes and predicted == math.floor(predicted):
        row[_COMMON + classes + int(predicted)] += weight
    if baseline != label:
        row[BASELINE] += weight
    if predicted == label:
        row[_COMMON + 2 * classes + int(label)] += weight
        return 0.0
    row[ERROR] += weight
    return 1.0


@native
def _add_errors(
    row: Array, weight: float, label: float, predicted: float, baseline: float
) -> float:
    """Add the errors of one estimate; an estimate that is no number has an infinite one."""
    error = abs(predicted - label)
    if math.isnan(error):
        error = math.inf
    squared = error * error
    row[ERROR] += weight * squared
    row[ABSOLUTE] += weight * error
    row[FOURTH] += weight * squared * squared
    missed = baseline - label
    row[BASELINE] += weight * missed * missed
    row[_BASELINE_ABSOLUTE] += weight * abs(missed)
    gap = label - row[_MEAN]
    row[_MEAN] += weight * gap / row[COUNT]
    row[_SPREAD] += weight * gap * (label - row[_MEAN])
    return error


@native
def add_entries(row: Array, classes: int, weight: float, keep: float, entries: Array) -> float:
    """Add judged predictions, the last one first; each weighs `keep` times the one before.

    Returns the weight of the one that would come next.
    """
    for i in range(entries.shape[0] - 1, -1, -1):
        add(
            row,
            classes,
            weight,
            entries[i, _ENTRY_LABEL],
            entries[i, _ENTRY_PREDICTED],
            entries[i, _ENTRY_BASELINE],
            entries[i, _ENTRY_LOSS],
        )
        weight *= keep
    return weight


@native
def merge(row: Array, other: Array, classes: int) -> None:
    """Add another row to a row. Bits depend on the order in which rows are merged."""
    both = row[COUNT] + other[COUNT]
    mean, spread = 0.0, 0.0
    if classes == 0 and both > 0.0:
        gap = other[_MEAN] - row[_MEAN]
        mean = row[_MEAN] + gap * (other[COUNT] / both)
        spread = row[_SPREAD] + other[_SPREAD] + gap * gap * (row[COUNT] * other[COUNT] / both)
    for i in range(row.shape[0]):
        row[i] += other[i]
    if classes == 0:
        row[_MEAN] = mean
        row[_SPREAD] = spread


@native
def merge_all(rows: Array, classes: int, total: Array) -> None:
    """Add all rows to a row, the first one first."""
    for i in range(rows.shape[0]):
        merge(total, rows[i], classes)


_CLASS_NAMES = (
    "mistake_rate",
    "baseline_mistake_rate",
    "loss",
    "balanced_accuracy",
    "f1",
    "kappa",
)
_REGRESSION_NAMES = ("rmse", "baseline_rmse", "loss", "mae", "baseline_mae", "r2")


@cache
def figure_names(classes: int, prefix: str = "") -> tuple[str, ...]:
    """What `fill_figures` fills in, by name."""
    names = _CLASS_NAMES if classes else _REGRESSION_NAMES
    return tuple(prefix + name for name in names)


@native
def fill_figures(row: Array, classes: int, out: Array) -> None:
    """The figures of a row, NaN where there is nothing to divide by.

    F1 is that of the second class where there are two, and else the mean over the classes that
    occur as label or prediction. Balanced accuracy is the mean over those that occur as label.
    """
    count = row[COUNT]
    out[0] = row[ERROR] / count
    out[1] = row[BASELINE] / count
    out[2] = row[LOSS] / row[LOSSES]
    if classes == 0:
        out[0] = math.sqrt(out[0])
        out[1] = math.sqrt(out[1])
        out[3] = row[ABSOLUTE] / count
        out[4] = row[_BASELINE_ABSOLUTE] / count
        out[5] = 1.0 - row[ERROR] / row[_SPREAD] if row[_SPREAD] > 0.0 else math.nan
        return
    recalls, labelled, ratios, found, chance = 0.0, 0, 0.0, 0, 0.0
    for c in range(classes):
        truth = row[_COMMON + c]
        guessed = row[_COMMON + classes + c]
        hit = row[_COMMON + 2 * classes + c]
        chance += (truth / count) * (guessed / count)
        if truth > 0.0:
            recalls += hit / truth
            labelled += 1
        if truth + guessed > 0.0 and (classes > _TWO_CLASSES or c == 1):
            ratios += 2.0 * hit / (truth + guessed)
            found += 1
    out[3] = recalls / labelled
    out[4] = ratios / found
    out[5] = (1.0 - out[0] - chance) / (1.0 - chance) if chance < 1.0 else math.nan


@native
def area_under_curve(entries: Array) -> float:
    """The share of pairs of two classes whose scores are in the right order; ties count half."""
    order = np.argsort(entries[:, _ENTRY_SCORE], kind="mergesort")
    count = order.shape[0]
    positives, ranks = 0.0, 0.0
    begin = 0
    while begin < count:
        end, here = begin, 0.0
        score = entries[order[begin], _ENTRY_SCORE]
        while end < count and (end == begin or entries[order[end], _ENTRY_SCORE] == score):
            here += entries[order[end], _ENTRY_LABEL]
            end += 1
        ranks += here * (begin + 1 + end) / 2.0
        positives += here
        begin = end
    negatives = count - positives
    return float((ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives))
