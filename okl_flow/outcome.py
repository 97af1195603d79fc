"""What scores say: the label that they stand for, how probable it is, and what they cost."""

import math
from typing import NamedTuple

import numpy as np

from okl_flow.learner import Learner, loss_of
from okl_flow.losses import Logistic, NativeLoss, loss_value
from okl_flow.native import Array, exponential, inner, native
from okl_flow.tasks import Regression, target

__all__ = ["Outcome", "outcome_of"]


class Outcome(NamedTuple):
    """What the scores of some events say, a number for each event; NaN for what is not known."""

    predicted: Array
    probability: Array
    loss: Array


def outcome_of(learner: Learner, scores: Array, labels: Array) -> Outcome:
    """What a learner's scores say, and what they cost under the labels; NaN is no label.

    The predicted label is the score itself in regression, the class with the first highest
    score in multiclass, and else +1 above 0 and -1 at 0 and below. Its probability is known to
    learners with the logistic loss.

    >>> from okl_flow import make_learner
    >>> learner = make_learner("fogd", loss="logistic")
    >>> predicted, probability, loss = outcome_of(learner, np.array([-2.0]), np.array([1.0]))
    >>> float(predicted[0]), round(float(probability[0]), 3), round(float(loss[0]), 3)
    (-1.0, 0.881, 2.127)
    """
    loss = loss_of(learner)
    count = labels.shape[0]
    found = Outcome(np.empty(count), np.empty(count), np.empty(count))
    _fill(
        scores.reshape(count, learner.task.outputs),
        labels,
        isinstance(learner.task, Regression),
        isinstance(loss, Logistic),
        loss.native,
        *found,
    )
    return found


@native
def _fill(
    scores: Array,
    y: Array,
    is_regression: bool,
    is_logistic: bool,
    loss: NativeLoss,
    predicted: Array,
    probability: Array,
    losses: Array,
) -> None:
    """What each event's scores say."""
    for t in range(scores.shape[0]):
        probability[t] = losses[t] = math.nan
        if is_regression:
            predicted[t] = scores[t, 0]
        else:
            predicted[t] = _class_of(scores, t)
            if is_logistic:
                probability[t] = _probability_of(scores, t, predicted[t])
        if not math.isnan(y[t]):
            losses[t] = _cost(scores, t, y[t], loss)


@inner
def _class_of(scores: Array, t: int) -> float:
    """The class that the scores of event t stand for."""
    if scores.shape[1] == 1:
        return 1.0 if scores[t, 0] > 0.0 else -1.0
    best = 0
    for c in range(scores.shape[1]):
        best = c if scores[t, c] > scores[t, best] else best
    return float(best)


@inner
def _probability_of(scores: Array, t: int, predicted: float) -> float:
    """How probable that class is under the logistic loss."""
    outputs = scores.shape[1]
    if outputs == 1:
        return 1.0 / (1.0 + exponential(-abs(scores[t, 0])))
    total = 0.0
    for c in range(outputs):
        total += 1.0 / (1.0 + exponential(-scores[t, c]))
    own = 1.0 / (1.0 + exponential(-scores[t, int(predicted)]))
    return own / total if total > 0.0 else 1.0 / outputs


@inner
def _cost(scores: Array, t: int, y: float, loss: NativeLoss) -> float:
    """The loss of event t under its label; in multiclass the mean of one class against the rest."""
    outputs: int = scores.shape[1]
    total = 0.0
    for c in range(outputs):
        total += loss_value(loss, scores[t, c], target(y, c, outputs))
    return total / outputs
