"""Gradient descent of learners with explicit features: f_c(x) = weights[c] . features(x).

Before such a learner has its features, it may descend on the examples themselves.
"""

import math

import numpy as np

from okl_flow.kernels import NativeKernel, kernel_row
from okl_flow.losses import NativeLoss
from okl_flow.native import Array, lower_products, matrix_products, native, shrink_rows
from okl_flow.rates import NativeRate, rate_at
from okl_flow.support import descend, expand, put

__all__ = [
    "TOGETHER",
    "feature_scores",
    "fill_features",
    "gradient_step",
    "learn_examples",
    "learn_features",
    "move",
]

# The features of an event do not depend on what is learned from those before it, so four events
# read the map together: at full rank and a budget of 100, where it does not fit the fastest
# cache, an event's product with it costs 0.13 us instead of 0.4.
TOGETHER = 4


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
    pause_every: int,
) -> tuple[int, int]:
    """Go through the events from t on by descent in the features M' k(x), M the projection.

    k(x) is the kernel of x with the first of the rows, as many as M has lines; `lower` says that
    M has nothing above its diagonal. Stops before a labelled event, once it is scored, when a
    multiple of `pause_every` have been learned; 0 is for never.
    """
    similar = np.empty((TOGETHER, projection.shape[0]))
    features = np.empty((TOGETHER, projection.shape[1]))
    change = np.empty(weights.shape[0])
    while t < X.shape[0]:
        count = min(TOGETHER, X.shape[0] - t)
        fill_features(kernel, rows, projection, lower, X[t : t + count], similar, features)
        for e in range(count):
            expand(weights, features[e], features.shape[1], scores[t])
            if not math.isnan(y[t]):
                if pause_every > 0 and learned % pause_every == 0:
                    return t, learned
                learned += 1
                eta = rate_at(rate, learned)
                gradient_step(loss, scores[t], y[t], eta, lam, weights, features[e], change)
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
            expand(weights, features[e], features.shape[1], scores[begin + e])
    return scores


@native
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
    for e in range(X.shape[0]):
        kernel_row(kernel, rows, projection.shape[0], X[e], similar[e])
    if lower:
        lower_products(similar, X.shape[0], projection, features)
    else:
        matrix_products(similar, X.shape[0], projection, features)
