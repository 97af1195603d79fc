"""Which items no model could take, and what is wrong with them: said before anything is done."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from okl_flow.events import Event, Forget, Incoming, Reason
from okl_flow.learner import Learner
from okl_flow.native import Array, native

__all__ = ["FEATURE_MAX", "all_fit", "diverged", "other_dim", "refusals"]

FEATURE_MAX = 1e30
"""A larger feature is refused, as its powers would be infinite and spoil a model for ever."""


def refusals(
    learners: Sequence[Learner], items: Sequence[Incoming]
) -> Iterator[tuple[int, tuple[Reason, str]]]:
    """The items that not all models could take: by their place, why, and what is wrong.

    The learners have one task.
    """
    task, may_miss = learners[0].task, all(learner.may_miss for learner in learners)
    events = [(at, item.features) for at, item in enumerate(items) if isinstance(item, Event)]
    if events:
        values = np.concatenate([features for _at, features in events])
        largest = np.max(np.abs(values), initial=0.0)
        if not largest <= FEATURE_MAX:
            for at, features in events:
                wrong = _wrong_feature(features, may_miss)
                if wrong is not None:
                    yield at, (Reason.FEATURES, wrong)
    labels = [
        (at, item.label)
        for at, item in enumerate(items)
        if not isinstance(item, Forget) and item.label is not None
    ]
    known = np.array([label for _at, label in labels], dtype=np.float64)
    if task.first_refused(known) >= 0 or np.isnan(known).any():
        for at, label in labels:
            if math.isnan(label) or task.first_refused(np.array([label])) >= 0:
                message = f"a label must be {task.labels}; this one is {label}"
                yield at, (Reason.LABEL, message)


def all_fit(learners: Sequence[Learner], X: Array, y: Array) -> bool:
    """Whether all models could take all of these events, NaN being no label.

    Missing features do not count as such: they are looked at more closely by `refusals`.
    """
    return _all_below(X, FEATURE_MAX) and learners[0].task.first_refused(y) < 0


@native
def _all_below(X: Array, largest: float) -> bool:
    values = X.reshape(X.size)
    for i in range(values.shape[0]):
        if not abs(values[i]) <= largest:
            return False
    return True


def _wrong_feature(features: Array, may_miss: bool) -> str | None:
    """What is wrong with the first feature that no model could take."""
    wrong = ~(np.abs(features) <= FEATURE_MAX)
    if may_miss:
        wrong &= ~np.isnan(features)
    if not wrong.any():
        return None
    place = int(np.argmax(wrong))
    if math.isnan(features[place]):
        return (
            f'feature {place} is missing; a learner with missing="mean" puts the mean so far '
            "in its place"
        )
    return (
        f"feature {place} is {features[place]}: none may be beyond {FEATURE_MAX:g}, as its powers "
        "would spoil the model for ever"
    )


def other_dim(event: Event, dim: int) -> str:
    """What is wrong with an event of another number of features."""
    return f"{event.features.shape[0]} features, where this key's model takes {dim}"


def diverged(score: float | list[float]) -> str:
    """What is wrong with a score that is not finite."""
    return (
        f"the score is {score}: the model of this key has diverged. Lower the learning rate, or "
        'let it be found with learning_rate="auto", and forget the key so that it begins anew'
    )
