"""Running metrics: what the scores of a stream were worth, as plain values.

A metric is a record of counts and sums that takes in scores and labels batch by batch. Sums
are added in the order of the events, one by one, so a stream gives the same bits however it is
cut into batches. A label of NaN means that there is none: the event is counted and not judged.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from okl_flow.losses import Loss, NativeLoss, loss_value
from okl_flow.native import Array, native
from okl_flow.tasks import Binary, Multiclass, Regression, Task, target

__all__ = [
    "ClassificationMetrics",
    "Curve",
    "Metrics",
    "RegressionMetrics",
    "Window",
    "running_metrics",
]

CURVE_POINTS_MAX = 1000
_TWO_CLASSES = 2


@dataclass(slots=True)
class ClassificationMetrics:
    """Mistakes and losses of a binary or multiclass stream.

    A score that is not a number is a mistake by either rule.

    >>> from okl_flow import Hinge
    >>> metrics = ClassificationMetrics(np.zeros(2, dtype=np.int64))
    >>> metrics.update([0.0, 2.0, -0.5, 3.0], [1.0, 1.0, 1.0, np.nan], Hinge())
    array([ 1., 0., 1., nan])
    >>> metrics.mistake_rate, metrics.mistake_rate_papers, metrics.majority_rate
    (0.6666666666666666, 0.3333333333333333, 0.0)
    """

    counts: NDArray[np.int64]  # labels of each class; in binary of -1 and of +1
    events: int = 0  # with and without a label
    mistakes: int = 0  # y f <= 0, or the first highest score is not that of the class
    mistakes_papers: int = 0  # y f < 0, or another class has a higher score
    loss_sum: float = 0.0

    def update(self, scores: ArrayLike, y: ArrayLike, loss: Loss) -> Array:
        """Take in scores and their labels; 1 for each mistake, 0 for what was right.

        Scores are one number per event in a binary stream and a line of them, one per class,
        in a multiclass stream. An event without a label gets NaN.
        """
        given, labels = _matched(scores, y)
        if given.ndim == 1 and len(self.counts) != _TWO_CLASSES:
            raise ValueError(f"scores must have {len(self.counts)} columns, one for each class")
        if given.ndim > 1 and given.shape[1] != len(self.counts):
            raise ValueError(
                f"scores must have {len(self.counts)} columns, one for each class, "
                f"not {given.shape[1]}"
            )
        _refuse_labels(Binary() if given.ndim == 1 else Multiclass(len(self.counts)), labels)
        errors = np.empty(labels.shape[0])
        mistakes, mistakes_papers, self.loss_sum = _classified(
            given.reshape(labels.shape[0], -1) if labels.size else np.empty((0, 1)),
            labels,
            loss.native,
            self.counts,
            errors,
            self.loss_sum,
        )
        self.events += labels.shape[0]
        self.mistakes += mistakes
        self.mistakes_papers += mistakes_papers
        return errors

    @property
    def labelled(self) -> int:
        """Events that came with a label."""
        return int(self.counts.sum())

    @property
    def mistake_rate(self) -> float:
        """Share of labels that were missed; a score of exactly 0 misses."""
        return _share(self.mistakes, self.labelled)

    @property
    def mistake_rate_papers(self) -> float:
        """Share of labels that were missed, where a score of 0 or a tie counts as right."""
        return _share(self.mistakes_papers, self.labelled)

    @property
    def majority_rate(self) -> float:
        """Mistake rate of the best constant answer: the share outside the largest class."""
        return _share(self.labelled - int(self.counts.max()), self.labelled)

    @property
    def loss(self) -> float:
        """Mean loss; in multiclass that of one class against the rest, over all classes."""
        return _share(self.loss_sum, self.labelled)

    def values(self) -> dict[str, float]:
        """The rates and the loss by name; NaN before the first label."""
        return {
            "mistake_rate": self.mistake_rate,
            "mistake_rate_papers": self.mistake_rate_papers,
            "majority_rate": self.majority_rate,
            "loss": self.loss,
        }


@dataclass(slots=True)
class RegressionMetrics:
    """Errors of a regression stream, beside those of the mean of the labels so far.

    A score that is not a number has an infinite error.

    >>> from okl_flow import Square
    >>> metrics = RegressionMetrics()
    >>> metrics.update([0.0, 1.0], [3.0, 5.0], Square())
    array([ 9., 16.])
    >>> metrics.mae, round(metrics.rmse, 4), round(metrics.rmse_of_running_mean, 4)
    (3.5, 3.5355, 2.5495)
    """

    events: int = 0  # with and without a label
    labelled: int = 0
    squared_sum: float = 0.0  # of the errors of the scores
    absolute_sum: float = 0.0
    loss_sum: float = 0.0
    label_mean: float = 0.0  # of the labels so far; 0 before the first
    squared_sum_of_running_mean: float = 0.0  # of the errors of label_mean as a score

    def update(self, scores: ArrayLike, y: ArrayLike, loss: Loss) -> Array:
        """Take in scores and their labels; the squared error of each, NaN without a label."""
        given, labels = _matched(scores, y)
        if given.ndim != 1:
            raise ValueError(f"scores must be one number per event; their shape is {given.shape}")
        _refuse_labels(Regression(), labels)
        errors = np.empty(labels.shape[0])
        (
            self.labelled,
            self.squared_sum,
            self.absolute_sum,
            self.loss_sum,
            self.label_mean,
            self.squared_sum_of_running_mean,
        ) = _regressed(
            given,
            labels,
            loss.native,
            errors,
            self.labelled,
            self.squared_sum,
            self.absolute_sum,
            self.loss_sum,
            self.label_mean,
            self.squared_sum_of_running_mean,
        )
        self.events += labels.shape[0]
        return errors

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return math.sqrt(_share(self.squared_sum, self.labelled))

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return _share(self.absolute_sum, self.labelled)

    @property
    def rmse_of_running_mean(self) -> float:
        """What rmse would be if every score were the mean of the labels before it."""
        return math.sqrt(_share(self.squared_sum_of_running_mean, self.labelled))

    @property
    def loss(self) -> float:
        """Mean loss."""
        return _share(self.loss_sum, self.labelled)

    def values(self) -> dict[str, float]:
        """The errors and the loss by name; NaN before the first label."""
        return {
            "rmse": self.rmse,
            "mae": self.mae,
            "rmse_of_running_mean": self.rmse_of_running_mean,
            "loss": self.loss,
        }


Metrics = ClassificationMetrics | RegressionMetrics


def running_metrics(task: Task) -> Metrics:
    """Metrics of a task that have seen nothing."""
    if isinstance(task, Regression):
        return RegressionMetrics()
    return ClassificationMetrics(np.zeros(max(_TWO_CLASSES, task.outputs), dtype=np.int64))


@dataclass(slots=True)
class Window:
    """The mean of the last errors, as many as `held` has places.

    >>> window = Window(np.zeros(2))
    >>> window.update([1.0, 0.0, np.nan, 0.0])
    >>> window.mean
    0.0
    """

    held: Array  # the last errors; the n-th one ever lies at place n modulo the length
    count: int = 0  # errors taken in, without those that are NaN

    def __post_init__(self) -> None:
        if self.held.ndim != 1 or not self.held.size:
            raise ValueError(
                f"a window needs a length of at least 1; its shape is {self.held.shape}"
            )

    def update(self, errors: ArrayLike) -> None:
        """Take in errors, such as `update` of a metric returns; NaN is passed over."""
        given = np.asarray(errors, dtype=np.float64)
        given = given[~np.isnan(given)]
        length = self.held.shape[0]
        last = given[-length:]
        self.count += given.shape[0]
        self.held[np.arange(self.count - last.shape[0], self.count) % length] = last

    @property
    def mean(self) -> float:
        """Mean of what the window holds; NaN before the first error.

        It is added up anew each time: a running sum would keep the rounding of all that left.
        """
        size = min(self.count, self.held.shape[0])
        return _share(float(self.held[:size].sum()), size)


@dataclass(slots=True)
class Curve:
    """The error against the events: over all so far, and over a sliding window.

    Points are kept at equal distances. When there are too many, every other one goes, and from
    then on the distance is double, so a curve of any stream fits in constant memory.
    """

    window: Window
    events: list[int] = field(default_factory=list)  # where the points are
    cumulative: list[float] = field(default_factory=list)
    sliding: list[float] = field(default_factory=list)
    every: int = 1  # events from one point to the next
    seen: int = 0
    labelled: int = 0
    error_sum: float = 0.0

    def update(self, errors: ArrayLike) -> None:
        """Take in the errors of further events; NaN for an event without a label."""
        given = np.asarray(errors, dtype=np.float64)
        begin = 0
        while begin < given.shape[0]:
            end = min(given.shape[0], begin + self.every - self.seen % self.every)
            self._take(given[begin:end])
            if self.seen % self.every == 0:
                self._mark()
            begin = end

    def _take(self, errors: Array) -> None:
        labelled = errors[~np.isnan(errors)]
        self.window.update(labelled)
        self.seen += errors.shape[0]
        self.labelled += labelled.shape[0]
        # One by one, so that the sum does not depend on the batches.
        self.error_sum = float(np.add.accumulate([self.error_sum, *labelled])[-1])

    def _mark(self) -> None:
        self.events.append(self.seen)
        self.cumulative.append(_share(self.error_sum, self.labelled))
        self.sliding.append(self.window.mean)
        if len(self.events) > CURVE_POINTS_MAX:
            self.every *= 2
            for points in (self.events, self.cumulative, self.sliding):
                # The points at multiples of the new distance are the second, fourth and so on.
                del points[::2]


def _share(part: float, whole: int) -> float:
    return part / whole if whole else math.nan


def _matched(scores: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Scores and labels as contiguous arrays with a line of the first per number of the second."""
    given = np.ascontiguousarray(scores, dtype=np.float64)
    labels = np.ascontiguousarray(y, dtype=np.float64)
    if labels.ndim != 1 or given.ndim not in (1, 2) or given.shape[0] != labels.shape[0]:
        raise ValueError(
            f"there must be one label per event: scores have shape {given.shape}, "
            f"labels {labels.shape}"
        )
    return given, labels


def _refuse_labels(task: Task, labels: Array) -> None:
    bad = task.first_refused(labels)
    if bad >= 0:
        raise ValueError(
            f"labels of a {task.name} task must be {task.labels} (NaN for no label): "
            f"number {bad} is {labels[bad]}"
        )


@native
def _classified(
    scores: Array,
    y: Array,
    loss: NativeLoss,
    counts: NDArray[np.int64],
    errors: Array,
    loss_sum: float,
) -> tuple[int, int, float]:
    """Judge the scores: mistakes by our rule and by the papers', and the new sum of losses.

    What is right is asked for, not what is wrong: no comparison with NaN holds, so it is wrong.
    """
    outputs = scores.shape[1]
    mistakes, mistakes_papers = 0, 0
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            errors[t] = math.nan
            continue
        if outputs == 1:
            counts[1 if y[t] > 0.0 else 0] += 1
            right = y[t] * scores[t, 0] > 0.0
            right_papers = y[t] * scores[t, 0] >= 0.0
        else:
            true = int(y[t])
            counts[true] += 1
            right, right_papers = True, True
            for c in range(outputs):
                right_papers &= scores[t, true] >= scores[t, c]
                right &= scores[t, true] > scores[t, c] or (
                    c >= true and scores[t, true] >= scores[t, c]
                )
        losses = 0.0
        for c in range(outputs):
            losses += loss_value(loss, scores[t, c], target(y[t], c, outputs))
        loss_sum += losses / outputs
        errors[t] = 0.0 if right else 1.0
        mistakes += 0 if right else 1
        mistakes_papers += 0 if right_papers else 1
    return mistakes, mistakes_papers, loss_sum


@native
def _regressed(
    scores: Array,
    y: Array,
    loss: NativeLoss,
    errors: Array,
    labelled: int,
    squared_sum: float,
    absolute_sum: float,
    loss_sum: float,
    label_mean: float,
    squared_sum_of_mean: float,
) -> tuple[int, float, float, float, float, float]:
    """Fill in the squared errors, and add to the sums."""
    for t in range(y.shape[0]):
        if math.isnan(y[t]):
            errors[t] = math.nan
            continue
        error = scores[t] - y[t]
        if math.isnan(error):
            error = math.inf
        errors[t] = error * error
        squared_sum += errors[t]
        absolute_sum += abs(error)
        loss_sum += loss_value(loss, scores[t], y[t])
        squared_sum_of_mean += (y[t] - label_mean) * (y[t] - label_mean)
        labelled += 1
        label_mean += (y[t] - label_mean) / labelled
    return labelled, squared_sum, absolute_sum, loss_sum, label_mean, squared_sum_of_mean
