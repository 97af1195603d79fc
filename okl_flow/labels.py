"""Labels as files have them, and as learners take them.

A file may call its classes -1 and +1, 0 and 1, true and false, or by any words or numbers. Of
two classes the one that sorts first is -1 and the other +1; of more they are 0, 1, 2 and so on
in that order: by value if all are numbers, else by the alphabet.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from okl_flow.native import Array
from okl_flow.parameters import nearest
from okl_flow.tasks import Binary, Multiclass, Regression, Task

__all__ = ["Label", "LabelCoder", "LabelError", "LabelsFound", "canonical", "decide", "shown"]

Label = float | str
"""A label as it is compared: 1, +1, 1.0 and true are one label."""

Raw = bytes | str | int | float | bool | None
"""A label as a parser hands it on."""

CLASSES_MAX = 10_000
"""More distinct labels than this are not classes."""

GUESSED_CLASSES_MAX = 50
"""More distinct numbers than this are taken for regression, unless one says otherwise."""

_TWO = 2
_SHOWN = 10
_TRUTH = {"true": 1.0, "false": 0.0}


class LabelError(ValueError):
    """A label that does not fit, and its position among those given."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def canonical(raw: Raw) -> Label | None:
    """The label that a text or value stands for; None if it says that there is none.

    >>> canonical(b"+1"), canonical("spam"), canonical(True), canonical(""), canonical("nan")
    (1.0, 'spam', 1.0, None, None)
    """
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "backslashreplace")
    if raw is None:
        return None
    if not isinstance(raw, str):
        return _as_float(raw)
    text = raw.strip()
    word = text.lower()
    if word in ("", "nan"):
        return None
    if word in _TRUTH:
        return _TRUTH[word]
    try:
        value = math.inf if "_" in text else float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _as_float(number: float) -> float:
    """A number of any kind; a whole number beyond all floats is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def shown(labels: Iterable[Label]) -> str:
    """Labels as a message lists them: not too many.

    >>> shown([1.0, 2.5, "spam"])
    '1, 2.5, spam'
    """
    words = [f"{label:.15g}" if isinstance(label, float) else label for label in labels]
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _sorted(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Distinct labels in the order of their codes."""
    distinct = set(labels)
    if all(isinstance(label, float) for label in distinct):
        return tuple(sorted(distinct))
    return tuple(sorted(distinct, key=lambda label: shown([label])))


@dataclass(slots=True)
class LabelsFound:
    """The distinct labels of a stream, gathered in bounded memory."""

    labelled: int = 0
    numbers: bool = True  # all of them are numbers
    too_many: bool = False  # there are more than CLASSES_MAX
    distinct: set[Label] = field(default_factory=set)

    def add(self, raws: Sequence[Raw]) -> None:
        """Take in the labels of further events."""
        for raw in raws:
            label = canonical(raw)
            if label is not None:
                self.labelled += 1
                self.numbers &= isinstance(label, float)
                if len(self.distinct) <= CLASSES_MAX:
                    self.distinct.add(label)
        self.too_many = len(self.distinct) > CLASSES_MAX

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels in the order of their codes."""
        return _sorted(self.distinct)


def decide(found: LabelsFound) -> tuple[str, str]:
    """The task that the labels speak of, and why, in words.

    >>> decide(LabelsFound(labelled=9, distinct={1.0, 2.0, 3.0}))
    ('multiclass', '3 labels: 1, 2, 3')
    """
    count = len(found.distinct)
    if not found.labelled:
        raise ValueError("no event has a label")
    if count == _TWO:
        return "binary", f"2 labels: {shown(found.classes)}"
    if count == 1:
        raise ValueError(
            f"the only label is {shown(found.distinct)}, so it cannot be told what the task is; "
            "give the task, and the labels of a classification"
        )
    whole = all(isinstance(label, str) or label.is_integer() for label in found.distinct)
    if count <= GUESSED_CLASSES_MAX and whole:
        return "multiclass", f"{count} labels: {shown(found.classes)}"
    if not found.numbers:
        words = [label for label in found.classes if isinstance(label, str)]
        raise ValueError(
            f"some labels are no numbers ({shown(words)}), and there are {count} distinct ones, "
            f"more than {GUESSED_CLASSES_MAX}; give the task if it is multiclass"
        )
    many = f"more than {CLASSES_MAX:,}" if found.too_many else f"{count:,}"
    return "regression", f"{many} different labels"


class LabelCoder:
    """Turns labels into what a task's learners take; NaN where there is none.

    >>> coder = LabelCoder.of("binary", ["ham", "spam"])
    >>> coder.codes_of(["spam", "", "ham"])
    array([ 1., nan, -1.])
    """

    def __init__(self, task: Task, codes: dict[Label, float] | None) -> None:
        """`codes` says the number of each label; None for a regression."""
        self.task = task
        self._codes = codes
        self._known: dict[Raw, float] = {}

    @classmethod
    def of(cls, task: str, labels: Iterable[Label] | None = None) -> "LabelCoder":
        """The coder of a task. Without labels, a binary one understands -1 or 0, and 1."""
        if task == "regression":
            return cls(Regression(), None)
        if task == "binary" and labels is None:
            return cls(Binary(), {-1.0: -1.0, 0.0: -1.0, 1.0: 1.0})
        if task not in ("binary", "multiclass"):
            hint = nearest(task, ("binary", "multiclass", "regression"))
            raise ValueError(
                f"there is no task {task!r}{hint}; known: binary, multiclass, regression"
            )
        if labels is None:
            raise ValueError("the labels of a multiclass task must be known beforehand")
        classes = _sorted(labels)
        if task == "binary":
            if len(classes) == 1 and classes[0] in (-1.0, 0.0, 1.0):
                return cls.of("binary")
            if len(classes) != _TWO:
                raise ValueError(
                    f"a binary task has 2 labels, and here are {len(classes)}: {shown(classes)}"
                )
            return cls(Binary(), {classes[0]: -1.0, classes[1]: 1.0})
        if not _TWO <= len(classes) <= CLASSES_MAX:
            raise ValueError(
                f"a multiclass task has 2 to {CLASSES_MAX} labels, and here are "
                f"{len(classes)}: {shown(classes)}"
            )
        task_of_classes = Multiclass(classes=len(classes))
        return cls(task_of_classes, {label: float(code) for code, label in enumerate(classes)})

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels in the order of their codes; none for a regression."""
        return tuple(self._codes or ())

    def codes_of(self, raws: Sequence[Raw]) -> Array:
        """The numbers of labels; a LabelError names the first that does not fit."""
        try:
            return np.array([self._known[raw] for raw in raws], dtype=np.float64)
        except KeyError:
            return np.array([self._code(raw, at) for at, raw in enumerate(raws)], dtype=np.float64)

    def _code(self, raw: Raw, position: int) -> float:
        label = canonical(raw)
        if label is None:
            self._known[raw] = math.nan
            return math.nan
        if self._codes is None:
            if isinstance(label, str) or not math.isfinite(label):
                problem = f"expected a finite number as label, found {shown([label])!r:.60}"
                raise LabelError(position, problem)
            return label
        if label not in self._codes:
            raise LabelError(
                position,
                f"expected one of the labels {shown(self._codes)}, found {shown([label])!r:.60}",
            )
        if isinstance(self.task, Binary) and len(self._codes) > _TWO and label != 1.0:
            # Both -1 and 0 may be the lower class; the one that comes first rules out the other.
            del self._codes[-1.0 if label == 0.0 else 0.0]
        self._known[raw] = self._codes[label]
        return self._codes[label]
