"""The interface of every learner.

A learner is a frozen configuration. What it has learned is a separate `State`, made by `init`,
read by `score` and changed in place by `step`. One learner serves any number of states: one
per user, device or key.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.losses import Hinge, Loss, Square
from okl_flow.native import Array, first_infinite, first_not_finite
from okl_flow.parameters import flat
from okl_flow.state import State, is_full, make_room
from okl_flow.tasks import Regression, Task

__all__ = [
    "Learner",
    "Loop",
    "check_dim",
    "checked_events",
    "checked_features",
    "fitting_loss",
    "looped",
    "loss_of",
    "refuse_task",
    "shaped",
    "stepped",
]


@dataclass(frozen=True, slots=True)
class Loop:
    """A native loop that goes through events, and what it is to be called with.

    It is called as function(t, X, y, scores, *takes, *rules). It goes through the events from
    number t on, writes their scores, and returns the number of the event that it did not get to,
    then the new values of the numbers among `takes`, in their order. It stops early, with all as
    it was before that event, where the state's arrays need more room.
    """

    function: Callable[..., tuple[Any, ...]]
    takes: tuple[str, ...]  # fields of the state
    rules: tuple[Any, ...]  # what the configuration comes to
    most: Mapping[str, int | None] | None = None  # how far each axis may grow, if one does
    seeds_words: bool = True  # whether the `words` of a new state are all that its seed decides


class Learner(ABC):
    """An online learner: scores events, and learns from the labelled ones, in their order.

    Subclasses are final frozen dataclasses that hold hyper-parameters only.
    """

    name: ClassVar[str]
    typical_width: ClassVar[float] = 0.5
    """The bandwidth that `Tuned` tries first, as a multiple of the median distance."""
    task: Task

    @abstractmethod
    def init(self, dim: int, seed: int = 0) -> Any:
        """A state that has seen nothing, for events of `dim` features.

        `seed` starts the state's random generator, if the learner draws at all.
        """

    @property
    def innermost(self) -> "Learner":
        """The learner itself, without what scales its features or finds its parameters."""
        return self

    @property
    def may_miss(self) -> bool:
        """Whether a feature may be NaN, for a value that is missing."""
        return False

    def loop(self, dim: int) -> Loop | None:
        """The native loop that is all of `step`; None if there is more to a step than one.

        The models of many keys are then stepped at once (`okl_flow.pool`).
        """
        return None

    def blank(self, dim: int, numbers: Mapping[str, Any]) -> Any:
        """A state for a snapshot to fill, with the inner states that its numbers tell of."""
        return self.init(dim)

    @abstractmethod
    def score(self, state: Any, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X. Changes nothing."""

    @abstractmethod
    def step(self, state: Any, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label; the scores are those before learning.

        Events are taken one by one, in order, however they are cut into batches. A label of
        NaN means that there is none: the event is only scored. Bad input raises a ValueError
        and leaves the state as it was.
        """

    @abstractmethod
    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None if nothing bounds them."""

    def describe(self) -> dict[str, Any]:
        """The configuration as names, numbers and words: what `make_learner` takes.

        >>> from okl_flow import make_learner
        >>> make_learner("kogd", budget=20, bandwidth=0.5).describe()
        {'learner': 'kogd', 'budget': 20, 'kernel': 'gaussian', 'bandwidth': 0.5, ...}
        """
        return {"learner": self.name, **flat(self)}


def check_dim(dim: int) -> None:
    """Refuse a number of features that is none."""
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        raise ValueError(f"dim must be a whole number at least 1, not {dim!r}")


def _as_floats(values: ArrayLike, what: str) -> Array:
    if isinstance(values, np.ndarray) and values.dtype.char == "d":
        if values.flags.writeable:
            return np.ascontiguousarray(values)
        return values.copy()  # for an array of another type every loop would be compiled again
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "fiubO":
            raise TypeError
        return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be real numbers, not {values!r:.80}") from None


def checked_features(state: State, X: ArrayLike, *, may_miss: bool = False) -> Array:
    """X as a C-contiguous matrix of finite numbers with the state's dimension.

    Under `may_miss` a number may also be NaN.
    """
    features = _as_floats(X, "X")
    if features.ndim != 2 or features.shape[1] != state.dim:  # noqa: PLR2004
        raise ValueError(
            f"X must have shape (events, {state.dim}), as this state was made for "
            f"{state.dim} features; it has shape {np.shape(X)}"
        )
    bad = first_infinite(features) if may_miss else first_not_finite(features)
    if bad >= 0:
        row, column = divmod(bad, state.dim)
        raise ValueError(
            f"X must be finite{' or NaN' if may_miss else ''}: row {row}, feature {column} is "
            f"{features[row, column]}"
        )
    return features


def checked_events(
    task: Task, state: State, X: ArrayLike, y: ArrayLike, *, may_miss: bool = False
) -> tuple[Array, Array]:
    """X and y as native loops take them, or a ValueError that says what is wrong."""
    features = checked_features(state, X, may_miss=may_miss)
    labels = _as_floats(y, "y")
    if labels.ndim != 1 or labels.shape[0] != features.shape[0]:
        raise ValueError(
            f"y must have shape ({features.shape[0]},), one label per row of X; "
            f"it has shape {np.shape(y)}"
        )
    bad = task.first_refused(labels)
    if bad >= 0:
        raise ValueError(
            f"y of a {task.name} task must be {task.labels} (NaN for no label): "
            f"row {bad} is {labels[bad]}"
        )
    return features, labels


def shaped(task: Task, scores: Array) -> Array:
    """Scores as the caller gets them: a column per class, or one number per event."""
    return scores if task.outputs > 1 else scores.ravel()


def stepped(
    learner: Learner,
    state: State,
    X: ArrayLike,
    y: ArrayLike,
    learn: Callable[[int, Array, Array, Array], int],
    most: Mapping[str, int | None] | None = None,
) -> Array:
    """Check the events, then let `learn` go through them and fill in their scores.

    `learn` takes the number of the event to begin with, the events, their labels and the
    scores, and returns the number of the event that it did not get to: it stops early where
    the state's arrays need more room. `most` says how far each axis may grow that does; it is
    "size", up to the budget, unless told otherwise.
    """
    features, labels = checked_events(learner.task, state, X, y)
    scores = np.empty((features.shape[0], learner.task.outputs))
    t = learn(0, features, labels, scores)
    while t < features.shape[0]:
        for axis, room in (most or {"size": getattr(learner, "budget")}).items():  # noqa: B009
            if is_full(state, axis):
                make_room(state, room, axis)
        stopped_at, t = t, learn(t, features, labels, scores)
        assert t > stopped_at, f"{learner.name} does not get past event {t}, with room for it"
    state.seen += features.shape[0]
    return shaped(learner.task, scores)


def looped(learner: Learner, state: State, X: ArrayLike, y: ArrayLike) -> Array:
    """The step of a learner that has a loop."""
    loop = learner.loop(state.dim)
    assert loop is not None, f"{learner.name} has no loop"

    def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
        taken = [getattr(state, name) for name in loop.takes]
        reached, *numbers = loop.function(t, features, labels, scores, *taken, *loop.rules)
        names = [
            name
            for name, value in zip(loop.takes, taken, strict=True)
            if not isinstance(value, np.ndarray)
        ]
        for name, number in zip(names, numbers, strict=True):
            setattr(state, name, number)
        return int(reached)

    return stepped(learner, state, X, y, learn, loop.most)


def refuse_task(learner: Learner, *refused: type[Task], reason: str) -> None:
    """Refuse a task that the learner's definition does not cover."""
    if isinstance(learner.task, refused):
        raise ValueError(f"{learner.name} does not do {learner.task.name}: {reason}")


def fitting_loss(learner: Learner, loss: Loss | None) -> Loss:
    """The loss of a learner, by default hinge, or square in regression; refused if unfit."""
    regresses = isinstance(learner.task, Regression)
    if loss is None:
        return Square() if regresses else Hinge()
    if loss.regresses if regresses else loss.classifies:
        return loss
    fit = [
        name
        for name, member in Loss.members.items()
        if (member.regresses if regresses else member.classifies)
    ]
    raise ValueError(
        f"{learner.name}: loss {loss.name} does not fit {learner.task.name}; use {', '.join(fit)}"
    )


def loss_of(learner: Learner) -> Loss:
    """The loss that a learner is measured by: its own, or hinge, or square in regression."""
    own = getattr(learner.innermost, "loss", None)
    if isinstance(own, Loss):
        return own
    return Square() if isinstance(learner.task, Regression) else Hinge()
