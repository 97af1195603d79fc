"""What probabilities the scores of a learner stand for, where its loss gives them a meaning.

The best score under the logistic loss is the log-odds of the class; under the square and the
squared hinge loss it is 2 p - 1. Under the hinge loss the best score is only the sign of the
likelier class, and learners that go by mistakes have no loss at all: from their scores no
probability can be told, and none is made up.
"""

import numpy as np
from scipy.special import expit

from okl_flow.learner import Learner
from okl_flow.losses import Logistic, Square, SquaredHinge
from okl_flow.native import Array

__all__ = ["has_probabilities", "probabilities", "why_none"]


def has_probabilities(learner: Learner) -> bool:
    """Whether a classifier's scores stand for probabilities."""
    return isinstance(getattr(learner.innermost, "loss", None), Logistic | Square | SquaredHinge)


def why_none(learner: Learner) -> str:
    """Why there are no probabilities, and what would give them."""
    loss = getattr(learner.innermost, "loss", None)
    reason = "no loss" if loss is None else f"the loss {loss.name}"
    return (
        f"{learner.name} has {reason}, under which a score is no probability; "
        "losses that give one are logistic, squared_hinge and square"
    )


def probabilities(learner: Learner, scores: Array) -> Array:
    """A column per class; each row adds up to 1.

    With several classes each score speaks of one class against the rest, and the probabilities
    are scaled to add up to 1; where all are 0, they are equal.
    """
    logistic = isinstance(getattr(learner.innermost, "loss", None), Logistic)
    share: Array = expit(scores) if logistic else np.clip((1.0 + scores) / 2.0, 0.0, 1.0)
    if scores.ndim == 1:
        return np.column_stack([1.0 - share, share])
    return scaled(share)


def scaled(share: Array) -> Array:
    """Rows that add up to 1, equal where there was nothing to scale."""
    total = share.sum(axis=1, keepdims=True)
    equal = np.full_like(share, 1.0 / share.shape[1])
    rows: Array = np.divide(share, total, out=equal, where=total > 0.0)
    return rows
