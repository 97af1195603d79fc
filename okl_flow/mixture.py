"""Several scores of an event as one: averaged by weights that fall with mistakes and losses."""

import math

import numpy as np

from okl_flow.losses import Logistic, loss_value
from okl_flow.native import Array, exponential, native
from okl_flow.tasks import target

__all__ = ["BELIEF", "mix", "score_by_mean"]

BELIEF = 0.2  # what a candidate loses in log weight by a mistake, or by a place in the lists
_LOSS_SHARE = 0.25  # of the logistic loss that counts beside a mistake
_LOSS_MAX = 5.0
_BEHIND_MAX = 20.0  # in log weight; a candidate that is further behind has no hope
_ERROR_MAX = 9.0  # of the squared error, in units of the labels' variance
_LOGISTIC = Logistic().native


@native
def score_by_mean(y: Array, sums: Array, count: int, scores: Array) -> None:
    """Score each event by the mean of the targets before it."""
    for t in range(y.shape[0]):
        for c in range(sums.shape[0]):
            scores[t, c] = sums[c] / max(1, count)
        if not math.isnan(y[t]):
            count += 1
            for c in range(sums.shape[0]):
                sums[c] += target(y[t], c, sums.shape[0])


@native
def mix(
    each: Array, y: Array, regresses: bool, log_weights: Array, spread: Array, scores: Array
) -> None:
    """Average the scores of the candidates by their weights, and weigh them by the labels.

    A candidate whose score is not finite has no weight from then on, unless it is the last; nor
    has one that is too far behind another one. The last of all scores is the constant answer,
    for which nobody is dropped.
    """
    candidates, events, _outputs = each.shape
    for t in range(events):
        _drop_diverged(each[:, t], log_weights)
        _average(each[:, t], log_weights, scores[t])
        if math.isnan(y[t]):
            continue
        if regresses:
            spread[0] += 1.0
            gap = y[t] - spread[1]
            spread[1] += gap / spread[0]
            spread[2] += gap * (y[t] - spread[1])
        for k in range(candidates):
            if regresses:
                cost = _share_of_variance(each[k, t, 0] - y[t], spread)
            else:
                cost = _mistake_and_loss(each[k, t], y[t])
            log_weights[k] -= BELIEF * cost
        highest = np.max(log_weights[:-1])
        for k in range(candidates):
            if log_weights[k] < highest - _BEHIND_MAX:
                log_weights[k] = -math.inf


@native
def _drop_diverged(each: Array, log_weights: Array) -> None:
    """Take the weight of candidates that are not finite, as long as another is there."""
    alive = 0
    for k in range(each.shape[0]):
        alive += log_weights[k] > -math.inf
    for k in range(each.shape[0]):
        finite = True
        for c in range(each.shape[1]):
            finite = finite and math.isfinite(each[k, c])
        if not finite and alive > 1 and log_weights[k] > -math.inf:
            log_weights[k] = -math.inf
            alive -= 1


@native
def _average(each: Array, log_weights: Array, score: Array) -> None:
    """The mean of the candidates' scores by their weights."""
    highest = log_weights[0]
    for k in range(each.shape[0]):
        highest = max(highest, log_weights[k])
    total = 0.0
    for c in range(score.shape[0]):
        score[c] = 0.0
    for k in range(each.shape[0]):
        weight = exponential(log_weights[k] - highest)
        if weight > 0.0:
            total += weight
            for c in range(score.shape[0]):
                score[c] += weight * each[k, c]
    for c in range(score.shape[0]):
        score[c] /= total


@native
def _share_of_variance(error: float, spread: Array) -> float:
    """A squared error in units of the labels' variance so far."""
    if spread[2] <= 0.0:
        return 0.0
    return float(min(_ERROR_MAX, error * error * spread[0] / spread[2]))


@native
def _mistake_and_loss(scores: Array, y: float) -> float:
    """1 for a mistake, and a share of the logistic loss of each output."""
    loss, wrong = 0.0, False
    for c in range(scores.shape[0]):
        aim = target(y, c, scores.shape[0])
        loss += min(_LOSS_MAX, loss_value(_LOGISTIC, scores[c], aim))
        if scores.shape[0] == 1:
            wrong = aim * scores[0] <= 0.0
        elif aim < 0.0:
            wrong = wrong or scores[c] > scores[int(y)]
    return (1.0 if wrong else 0.0) + _LOSS_SHARE * loss
