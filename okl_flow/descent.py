"""Gradient descent of learners with explicit features: f_c(x) = weights[c] . features(x).

Before such a learner has its features, it may descend on the examples themselves.
"""

import math

import numpy as np

from okl_flow.kernels import TOGETHER, NativeKernel, kernel_row, kernel_rows
from okl_flow.lanes import line
from okl_flow.losses import NativeLoss
from okl_flow.native import Array, inner, lower_products, matrix_products, native, shrink_rows
from okl_flow.rates import NativeRate, rate_at
from okl_flow.support import descend, expand, put

__all__ = [
    "NEVER",
    "feature_scores",
    "fill_features",
    "gradient_step",
    "learn_examples",
    "learn_features",
    "move",
]

NEVER = -1
"""The `pause_at` of a descent that does not stop before the last event."""


@inner
def move(weights: Array, keep: float, change: Array, features: Array) -> None:
    """weights[c] = keep * weights[c] + change[c] * features, for every output c."""
    for c in range(weights.shape[0]):
        for i in range(features.shape[0]):
            weights[c, i] = keep * weights[c, i] + change[c] * features[i]


@inner
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
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            shrink_rows(weights, 1.0 - eta * lam, size)
            if descend(loss, line(scores, t), y[t], eta, weight) or every:
                put(rows, weights, size, line(X, t), weight)
                size += 1
        t += 1
    return t, size, learned


@native
def learn_features(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    kernel: NativeKernel,
    rows: Array,
    weights: Array,
    projection: Array,
    lower: bool,
    learned: int,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
    pause_at: int,
) -> tuple[int, int]:
    """Go through the events from t on by descent in the features M' k(x), M the projection.

    k(x) is the kernel of x with the first of the rows, as many as M has lines; `lower` says that
    M has nothing above its diagonal. Stops before a labelled event, once it is scored, when
    `pause_at` have been learned.
    """
    similar = np.empty((TOGETHER, projection.shape[0]))
    features = np.empty((TOGETHER, projection.shape[1]))
    change = np.empty(weights.shape[0])
    while t < X.shape[0]:
        count = min(TOGETHER, X.shape[0] - t)
        fill_features(kernel, rows, projection, lower, X[t : t + count], similar, features)
        for e in range(count):
            expand(weights, line(features, e), features.shape[1], line(scores, t))
            if not math.isnan(y[t]):
                if learned == pause_at:
                    return t, learned
                learned += 1
                eta = rate_at(rate, learned)
                gradient_step(
                    loss, line(scores, t), y[t], eta, lam, weights, line(features, e), change
                )
            t += 1
    return t, learned


@native
def feature_scores(
    X: Array, kernel: NativeKernel, rows: Array, weights: Array, projection: Array, lower: bool
) -> Array:
    """The scores of all rows of X, as `learn_features` gives them."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    similar = np.empty((TOGETHER, projection.shape[0]))
    features = np.empty((TOGETHER, projection.shape[1]))
    for begin in range(0, X.shape[0], TOGETHER):
        some = X[begin : begin + TOGETHER]
        fill_features(kernel, rows, projection, lower, some, similar, features)
        for e in range(some.shape[0]):
            expand(weights, line(features, e), features.shape[1], line(scores, begin + e))
    return scores


@inner
def fill_features(
    kernel: NativeKernel,
    rows: Array,
    projection: Array,
    lower: bool,
    X: Array,
    similar: Array,
    features: Array,
) -> None:
    """features[e] = M' k(X[e]) for the few rows of X, with room for their kernels in `similar`."""
    kernel_rows(kernel, rows, X, similar)
    if lower:
        lower_products(similar, X.shape[0], projection, features)
    else:
        matrix_products(similar, X.shape[0], projection, features)
