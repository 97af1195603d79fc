"""Tasks: what the labels of a stream are, and how many scores an event gets."""

import math
from abc import abstractmethod
from dataclasses import dataclass

from okl_flow.native import Array, first_infinite, inner, native
from okl_flow.parameters import Part, check, whole

__all__ = ["Binary", "Multiclass", "Regression", "Task", "target"]


class Task(Part):
    """The family of tasks."""

    @property
    def outputs(self) -> int:
        """Scores per event."""
        return 1

    @abstractmethod
    def first_refused(self, y: Array) -> int:
        """Position of the first label that the task does not know; -1 if there is none."""

    @property
    @abstractmethod
    def labels(self) -> str:
        """The labels of the task, in words."""


@dataclass(frozen=True)
class Binary(Task, name="binary"):
    """Two classes, labelled -1 and +1; the sign of the one score is the predicted class."""

    def first_refused(self, y: Array) -> int:
        """Position of the first label that the task does not know; -1 if there is none."""
        return _first_not_sign(y)

    @property
    def labels(self) -> str:
        """The labels of the task, in words."""
        return "-1 or +1"


@dataclass(frozen=True)
class Multiclass(Task, name="multiclass"):
    """Classes labelled 0, 1, 2 and so on, one score each; the highest score is the prediction.

    Parameters:
        classes: number of classes. At least 2.
    """

    classes: int = whole(3, low=2)

    def __post_init__(self) -> None:
        check(self)

    @property
    def outputs(self) -> int:
        """Scores per event."""
        return self.classes

    def first_refused(self, y: Array) -> int:
        """Position of the first label that the task does not know; -1 if there is none."""
        return _first_not_class(y, self.classes)

    @property
    def labels(self) -> str:
        """The labels of the task, in words."""
        return f"a class from 0 to {self.classes - 1}"


@dataclass(frozen=True)
class Regression(Task, name="regression"):
    """Labels that are any finite number, estimated by the one score."""

    def first_refused(self, y: Array) -> int:
        """Position of the first label that the task does not know; -1 if there is none."""
        return first_infinite(y)

    @property
    def labels(self) -> str:
        """The labels of the task, in words."""
        return "a finite number"


@inner
def target(y: float, output: int, outputs: int) -> float:
    """What score number `output` should be: y itself, or +1 for its own class and -1 else."""
    if outputs == 1:
        return y
    return 1.0 if int(y) == output else -1.0


@native
def _first_not_sign(y: Array) -> int:
    for i in range(y.shape[0]):
        if not (y[i] == 1.0 or y[i] == -1.0 or math.isnan(y[i])):
            return i
    return -1


@native
def _first_not_class(y: Array, classes: int) -> int:
    for i in range(y.shape[0]):
        known = 0.0 <= y[i] < classes and y[i] == math.floor(y[i])
        if not (known or math.isnan(y[i])):
            return i
    return -1
