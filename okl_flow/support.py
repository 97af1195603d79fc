"""The bounded set of stored examples, and the function that they expand.

Stored examples are the columns of `rows`, kept feature by feature, so that a kernel row runs
over examples side by side. `weights` has a line per output c of the function
f_c(x) = sum_i weights[c, i] K(x, rows[:, i]).
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import NativeKernel, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import checked_features, shaped
from okl_flow.losses import NativeLoss, loss_slope
from okl_flow.native import Array, dot, inner, native
from okl_flow.state import Axes, State
from okl_flow.tasks import target

__all__ = [
    "Expansion",
    "correct",
    "descend",
    "expand",
    "expansion_bytes_max",
    "expansion_score",
    "expansion_scores",
    "place_after",
    "put",
]

_FLOAT_BYTES = 8


@dataclass(slots=True)
class Expansion(State):
    """A state that keeps examples."""

    rows: Annotated[Array, Axes("dim", "size")]  # stored examples, one per column
    weights: Annotated[Array, Axes("outputs", "size")]  # a weight per output and example
    size: int  # examples stored


@inner
def expand(weights: Array, row: Array, size: int, scores: Array) -> None:
    """scores[c] = sum over i < size of weights[c, i] * row[i]."""
    for c in range(weights.shape[0]):
        scores[c] = dot(weights[c], row, size)


@inner
def put(rows: Array, weights: Array, place: int, x: Array, weight: Array) -> None:
    """Store x with one weight per output at a place, over whatever was there."""
    for j in range(rows.shape[0]):
        rows[j, place] = x[j]
    for c in range(weights.shape[0]):
        weights[c, place] = weight[c]


@inner
def place_after(size: int, oldest: int, budget: int) -> tuple[int, int, int]:
    """Where a new example goes, then size and oldest: next to the others, or over the oldest.

    A budget below 0 is none.
    """
    if size < budget or budget < 0:
        return size, size + 1, oldest
    return oldest, size, (oldest + 1) % budget


@inner
def descend(loss: NativeLoss, scores: Array, y: float, eta: float, weight: Array) -> bool:
    """weight[c] = -eta * slope of the loss in scores[c]; whether any slope is not 0."""
    lossy = False
    for c in range(weight.shape[0]):
        slope = loss_slope(loss, scores[c], target(y, c, weight.shape[0]))
        weight[c] = -eta * slope
        lossy |= slope != 0.0
    return lossy


@inner
def correct(scores: Array, y: float, weight: Array) -> bool:
    """weight[c] = target of scores[c] if its sign is a mistake, else 0; whether any is."""
    mistaken = False
    for c in range(weight.shape[0]):
        sign = target(y, c, weight.shape[0])
        wrong = sign * scores[c] <= 0.0
        weight[c] = sign if wrong else 0.0
        mistaken |= wrong
    return mistaken


@native
def expansion_scores(
    kernel: NativeKernel, rows: Array, weights: Array, size: int, X: Array
) -> Array:
    """The scores of all rows of X under one expansion."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    row = np.empty(rows.shape[1])
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
    return scores


def expansion_score(
    learner: Any, state: Any, X: ArrayLike, kernel: NativeKernel | None = None
) -> Array:
    """What `score` of a learner is whose state is an expansion.

    In the learner's kernel, or in the one that its state has come to.
    """
    features = checked_features(state, X)
    kernel = learner.kernel.native if kernel is None else kernel
    scores = expansion_scores(kernel, state.rows, state.weights, state.size, features)
    return shaped(learner.task, scores)


def expansion_bytes_max(
    dim: int, outputs: int, budget: int | None, *, besides: int = 0
) -> int | None:
    """Bytes of `budget` stored examples, their weights and some numbers besides.

    None without a budget.
    """
    return None if budget is None else (budget * (dim + outputs) + besides) * _FLOAT_BYTES
