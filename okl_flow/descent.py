"""Gradient descent of learners with explicit features: f_c(x) = weights[c] . features(x).

Before such a learner has its features, it may descend on the examples themselves.
"""

import math

import numpy as np

from okl_flow.kernels import NativeKernel, kernel_row
from okl_flow.losses import NativeLoss
from okl_flow.native import Array, native, shrink_rows
from okl_flow.rates import NativeRate, rate_at
from okl_flow.support import descend, expand, put

__all__ = ["gradient_step", "learn_examples", "move"]


@native
def move(weights: Array, keep: float, change: Array, features: Array) -> None:
    """weights[c] = keep * weights[c] + change[c] * features, for every output c."""
    for c in range(weights.shape[0]):
        for i in range(features.shape[0]):
            weights[c, i] = keep * weights[c, i] + change[c] * features[i]


@native
def gradient_step(
    loss: NativeLoss,
    scores: Array,
    y: float,
    eta: float,
    lam: float,
    weights: Array,
    features: Array,
    change: Array,
) -> None:
    """One step on loss + lam/2 |weights|^2, at the scores that the features gave.

    `change` has room for a number per output.
    """
    descend(loss, scores, y, eta, change)
    move(weights, 1.0 - eta * lam, change, features)


@native
def learn_examples(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    kernel: NativeKernel,
    rows: Array,
    weights: Array,
    size: int,
    learned: int,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
    every: bool,
) -> tuple[int, int, int]:
    """Go through the events from t on by kernel descent, as far as there is room.

    Each labelled event with a loss is stored; under `every` those without a loss too.
    """
    row = np.empty(rows.shape[1])
    weight = np.empty(weights.shape[0])
    while t < X.shape[0] and size < rows.shape[1]:
        kernel_row(kernel, rows, size, X[t], row)
        expand(weights, row, size, scores[t])
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            shrink_rows(weights, 1.0 - eta * lam, size)
            if descend(loss, scores[t], y[t], eta, weight) or every:
                put(rows, weights, size, X[t], weight)
                size += 1
        t += 1
    return t, size, learned
