"""A learner as a River estimator: events are dictionaries, labels whatever can be a key.

A learner has a fixed number of columns, and River's events have names, which come and go. The
rule is: columns go to names as they appear, a name that is missing is 0, and how many columns
there are is decided once, so that memory stays bounded.

- `dim=None`: as many columns as the first learned event has names; names that come later are
  passed over.
- `dim=N`: names that appear get the columns that are left. Once all are taken, further names
  share them: each is added, with a sign, to a column, both from a hash of its name that is the
  same in every process. Up to N names nothing is shared.
"""

from collections.abc import Hashable, Iterator, Mapping
from hashlib import blake2b
from math import isfinite, isnan
from random import SystemRandom
from typing import Any, ClassVar

import numpy as np
from river import base

from okl_flow.adapters.probability import has_probabilities, probabilities, scaled, why_none
from okl_flow.factory import make_learner
from okl_flow.learner import Learner, check_dim
from okl_flow.native import Array
from okl_flow.tasks import Binary, Multiclass, Regression, Task

__all__ = ["River", "RiverClassifier", "RiverRegressor"]

_SEEDS = 2**32
_HASH_BYTES = 8
_SHOWN = 10

Event = Mapping[Any, Any]


def River(  # noqa: N802 - it stands for the two classes
    learner: Learner, dim: int | None = None, seed: int | None = 0
) -> "RiverClassifier | RiverRegressor":
    """The River estimator that a learner's task asks for.

    >>> from okl_flow import make_learner
    >>> River(make_learner("kogd", task="regression", budget=10)).predict_one({"age": 30})
    0.0
    """
    chosen = RiverRegressor if isinstance(learner.task, Regression) else RiverClassifier
    return chosen(learner, dim, seed)


class _Adapted(base.Estimator):
    """What both estimators share: the columns, and the learner's state."""

    _regresses: ClassVar[bool]

    def __init__(self, learner: Learner, dim: int | None = None, seed: int | None = 0) -> None:
        if isinstance(learner.task, Regression) != self._regresses:
            does = "regress" if self._regresses else "classify"
            raise ValueError(
                f"learner must {does}, and the task of {learner.name} is {learner.task.name}"
            )
        if dim is not None:
            check_dim(dim)
        self.learner = learner
        self.dim = dim
        self.seed = seed
        self._columns: dict[Hashable, int] = {}
        self._state: Any = None

    def _scores(self, x: Event) -> Array | None:
        """The scores of an event, one per output; None before the first learned event."""
        if self._state is None:
            return None
        return self.learner.score(self._state, self._row(x, self._columns)).ravel()

    def _learn(self, x: Event, code: float) -> None:
        """Learn one event; nothing changes if it is refused."""
        state, columns = self._state, self._columns
        if state is None:
            dim = len(x) if self.dim is None else self.dim
            if dim == 0:
                raise ValueError("the first event has no features, and dim was not given")
            seed = SystemRandom().randrange(_SEEDS) if self.seed is None else self.seed
            state = self.learner.init(dim, seed=seed)
        if len(columns) < state.dim:
            columns = _with_names(columns, x, state.dim)
        self.learner.step(state, self._row(x, columns, state.dim), [code])
        self._state, self._columns = state, columns

    def _row(self, x: Event, columns: dict[Hashable, int], dim: int | None = None) -> Array:
        """The event as the learner takes it."""
        dim = self._state.dim if dim is None else dim
        shared = self.dim is not None and len(columns) == dim
        row = [0.0] * dim
        for name, value in x.items():
            column, sign = columns.get(name), 1.0
            if column is None:
                if not shared:
                    continue
                column, sign = _hashed(name, dim)
            try:
                number = sign * value
                allowed = isfinite(number)
            except (TypeError, ValueError, OverflowError):
                allowed = False
            if not allowed:
                raise ValueError(f"feature {name!r} must be a finite number, not {value!r:.80}")
            row[column] += number
        return np.array([row])


class RiverClassifier(_Adapted, base.Classifier):
    """A learner of a binary or multiclass task as a River classifier.

    Labels are numbered as they appear; there may be as many as the task has classes. In a
    binary task True and 1 are the upper class, and False, 0 and -1 the lower one; of other
    labels the first that appears is the lower. Where the learner's loss is logistic,
    squared_hinge or square, `predict_proba_one` gives probabilities; otherwise it raises the
    NotImplementedError of River's classifiers that have none.

    Parameters:
        learner: a learner, such as `make_learner` gives.
        dim: number of columns. None: as many as the first event has names.
        seed: of the learner's state. None: drawn anew each time.

    Cost: that of the learner, and some microseconds to sort an event's names into columns.

    >>> from okl_flow import make_learner
    >>> model = RiverClassifier(make_learner("kogd", loss="logistic", budget=10))
    >>> for x, y in [({"a": 0.0}, "ham"), ({"a": 3.0}, "spam")]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 2.5})
    'spam'
    >>> round(sum(model.predict_proba_one({"a": 2.5}).values()), 12)
    1.0
    """

    _regresses = False

    def __init__(self, learner: Learner, dim: int | None = None, seed: int | None = 0) -> None:
        super().__init__(learner, dim, seed)
        self._codes: dict[Hashable, float] = {}

    def learn_one(self, x: Event, y: Any) -> None:
        """Learn from an event and its label."""
        codes = _with_label(self.learner.task, self._codes, y)
        self._learn(x, codes[y])
        self._codes = codes

    def predict_one(self, x: Event, **kwargs: Any) -> Any:
        """The likelier label, of those seen so far; a score of 0 is the lower class."""
        if isinstance(self.learner.task, Binary):
            scores = self._scores(x)
            wanted = 1.0 if scores is not None and scores[0] > 0.0 else -1.0
            known = _signs(self._codes)
            return known.get(wanted, next(iter(known.values())))
        scores = self._scores(x)
        if scores is None:
            return None
        return max(self._codes, key=lambda label: scores[int(self._codes[label])])

    def predict_proba_one(self, x: Event, **kwargs: Any) -> dict[Any, float]:
        """The probability of each label seen so far, where the learner's loss gives one."""
        if not has_probabilities(self.learner):
            raise NotImplementedError(why_none(self.learner))
        scores = self._scores(x)
        if isinstance(self.learner.task, Binary):
            known = _signs(self._codes)
            if len(known) == 1:
                return dict.fromkeys(known.values(), 1.0)
            lower, upper = probabilities(self.learner, np.zeros(1) if scores is None else scores)[0]
            return {known[-1.0]: float(lower), known[1.0]: float(upper)}
        if scores is None:
            return {}
        every = probabilities(self.learner, scores[None])
        shares = scaled(every[:, [int(code) for code in self._codes.values()]])[0]
        return dict(zip(self._codes, shares.tolist(), strict=True))

    @property
    def _multiclass(self) -> bool:
        return isinstance(self.learner.task, Multiclass)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for task in ({"task": "binary"}, {"task": "multiclass", "classes": 7}):
            yield {"learner": make_learner("nogd", budget=20, loss="logistic", **task)}


class RiverRegressor(_Adapted, base.Regressor):
    """A learner of a regression task as a River regressor.

    Parameters:
        learner: a learner, such as `make_learner` gives.
        dim: number of columns. None: as many as the first event has names.
        seed: of the learner's state. None: drawn anew each time.

    Cost: that of the learner, and some microseconds to sort an event's names into columns.

    >>> from okl_flow import make_learner
    >>> model = RiverRegressor(make_learner("kogd", task="regression", learning_rate=0.5))
    >>> model.learn_one({"a": 1.0}, 2.0)
    >>> model.predict_one({"a": 1.0})
    2.0
    """

    _regresses = True

    def learn_one(self, x: Event, y: Any) -> None:
        """Learn from an event and its label."""
        self._learn(x, y)

    def predict_one(self, x: Event) -> float:
        """The score of an event; 0 before the first label."""
        scores = self._scores(x)
        return 0.0 if scores is None else float(scores[0])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": make_learner("nogd", budget=20, task="regression")}


def _with_names(columns: dict[Hashable, int], x: Event, dim: int) -> dict[Hashable, int]:
    """The columns and those of an event's new names, in an order that is not the event's."""
    new = [name for name in x if name not in columns]
    if not new:
        return columns
    new.sort(key=lambda name: (type(name).__name__, str(name)))
    extended = dict(columns)
    for name in new[: dim - len(columns)]:
        extended[name] = len(extended)
    return extended


def _hashed(name: Hashable, dim: int) -> tuple[int, float]:
    """The column and the sign of a name that has no column of its own."""
    text = str(name) if isinstance(name, str) else f"{type(name).__name__} {name!r}"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    number = int.from_bytes(digest, "little")
    return (number >> 1) % dim, 1.0 if number & 1 else -1.0


def _with_label(task: Task, codes: dict[Hashable, float], y: Any) -> dict[Hashable, float]:
    """The codes of the labels, that of y among them."""
    if y is None or (isinstance(y, float) and isnan(y)):
        raise ValueError(f"an event to learn from needs a label, not {y!r}")
    if y in codes:
        return codes
    places = [-1.0, 1.0] if isinstance(task, Binary) else [float(c) for c in range(task.outputs)]
    free = [place for place in places if place not in codes.values()]
    if not free:
        known = ", ".join(repr(label) for label in list(codes)[:_SHOWN])
        raise ValueError(
            f"the label {y!r:.80} is one too many: a {task.name} task of {len(places)} classes "
            f"has seen {known}"
        )
    if not isinstance(task, Binary):
        return {**codes, y: free[0]}
    if isinstance(y, bool | np.bool_):
        if codes:
            return {**codes, y: free[0]}
        return {False: -1.0, True: 1.0}
    usual = {1: 1.0, 0: -1.0, -1: -1.0}.get(y, -1.0)
    return {**codes, y: usual if usual in free else free[0]}


def _signs(codes: dict[Hashable, float]) -> dict[float, Any]:
    """The label of each sign; False and True as long as no label has been seen."""
    return {code: label for label, code in codes.items()} or {-1.0: False, 1.0: True}
