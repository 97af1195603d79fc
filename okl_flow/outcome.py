"""What scores say: the label that they stand for, how probable it is, and what they cost."""

import math
from typing import NamedTuple

import numpy as np

from okl_flow.learner import Learner, loss_of
from okl_flow.losses import Logistic, NativeLoss, loss_value
from okl_flow.native import Array, exponential, native
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
    lines = scores.reshape(labels.shape[0], learner.task.outputs)
    found = Outcome(*np.full((3, labels.shape[0]), math.nan))
    if isinstance(learner.task, Regression):
        found.predicted[:] = scores
    else:
        _classify(lines, isinstance(loss, Logistic), found.predicted, found.probability)
    _cost(lines, labels, loss.native, found.loss)
    return found


@native
def _classify(scores: Array, knows: bool, predicted: Array, probability: Array) -> None:
    outputs = scores.shape[1]
    for t in range(scores.shape[0]):
        if outputs == 1:
            predicted[t] = 1.0 if scores[t, 0] > 0.0 else -1.0
            if knows:
                probability[t] = 1.0 / (1.0 + exponential(-abs(scores[t, 0])))
            continue
        best, total = 0, 0.0
        for c in range(outputs):
            best = c if scores[t, c] > scores[t, best] else best
            total += 1.0 / (1.0 + exponential(-scores[t, c]))
        predicted[t] = best
        if knows:
            own = 1.0 / (1.0 + exponential(-scores[t, best]))
            probability[t] = own / total if total > 0.0 else 1.0 / outputs


@native
def _cost(scores: Array, y: Array, loss: NativeLoss, losses: Array) -> None:
    """The loss of each event; in multiclass the mean of one class against the rest."""
    outputs = scores.shape[1]
    for t in range(scores.shape[0]):
        if math.isnan(y[t]):
            continue
        total = 0.0
        for c in range(outputs):
            total += loss_value(loss, scores[t, c], target(y[t], c, outputs))
        losses[t] = total / outputs
