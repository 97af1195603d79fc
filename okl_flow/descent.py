"""Gradient descent on the weights of explicit features: f_c(x) = weights[c] . features(x)."""

from okl_flow.losses import NativeLoss
from okl_flow.native import Array, native
from okl_flow.support import descend

__all__ = ["gradient_step", "move"]


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
