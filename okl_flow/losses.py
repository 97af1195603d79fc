"""Losses: what a score costs once the label is known, and the slope that a learner follows.

In each formula f is the score and y the label: -1 or +1 in classification, any number in
regression.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from okl_flow.native import exponential, inner
from okl_flow.parameters import Part, check, real

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Logistic",
    "Loss",
    "NativeLoss",
    "Square",
    "SquaredHinge",
    "implicit_slope",
    "loss_slope",
    "loss_value",
]

NativeLoss = tuple[int, float]

_HINGE, _SQUARED_HINGE, _LOGISTIC, _SQUARE, _EPSILON_INSENSITIVE = range(5)

# Newton's method takes some five rounds, and one more for each factor e of a great spread.
_ROUNDS_MOST = 500
_NEAR_ENOUGH = 1e-15


class Loss(Part):
    """The family of losses."""

    classifies: ClassVar[bool] = True
    """Whether the loss suits labels -1 and +1."""
    regresses: ClassVar[bool] = False
    """Whether the loss suits real labels."""

    @property
    @abstractmethod
    def native(self) -> NativeLoss:
        """The loss as a native loop takes it."""


@dataclass(frozen=True)
class Hinge(Loss, name="hinge"):
    """max(0, 1 - y f), active where y f < 1, strictly."""

    @cached_property
    def native(self) -> NativeLoss:
        """The loss as a native loop takes it."""
        return _HINGE, 0.0


@dataclass(frozen=True)
class SquaredHinge(Loss, name="squared_hinge"):
    """max(0, 1 - y f)^2."""

    @cached_property
    def native(self) -> NativeLoss:
        """The loss as a native loop takes it."""
        return _SQUARED_HINGE, 0.0


@dataclass(frozen=True)
class Logistic(Loss, name="logistic"):
    """log(1 + exp(-y f))."""

    @cached_property
    def native(self) -> NativeLoss:
        """The loss as a native loop takes it."""
        return _LOGISTIC, 0.0


@dataclass(frozen=True)
class Square(Loss, name="square"):
    """(f - y)^2."""

    regresses: ClassVar[bool] = True

    @cached_property
    def native(self) -> NativeLoss:
        """The loss as a native loop takes it."""
        return _SQUARE, 0.0


@dataclass(frozen=True)
class EpsilonInsensitive(Loss, name="epsilon_insensitive"):
    """max(0, |f - y| - epsilon).

    Parameters:
        epsilon: error that costs nothing, in units of the label. At least 0.
    """

    classifies: ClassVar[bool] = False
    regresses: ClassVar[bool] = True
    epsilon: float = real(0.1, low=0.0)

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def native(self) -> NativeLoss:
        """The loss as a native loop takes it."""
        return _EPSILON_INSENSITIVE, self.epsilon


@inner
def loss_value(loss: NativeLoss, f: float, y: float) -> float:
    """Loss of score f under label y."""
    code, epsilon = loss
    if code == _SQUARE:
        return (f - y) * (f - y)
    if code == _EPSILON_INSENSITIVE:
        return max(0.0, abs(f - y) - epsilon)
    if code == _LOGISTIC:
        return max(0.0, -y * f) + math.log1p(exponential(-abs(y * f)))
    shortfall = max(0.0, 1.0 - y * f)
    return shortfall if code == _HINGE else shortfall * shortfall


@inner
def loss_slope(loss: NativeLoss, f: float, y: float) -> float:
    """Derivative of the loss in the score f; 0 where a hinge or a tube is not active."""
    code, epsilon = loss
    if code == _SQUARE:
        return 2.0 * (f - y)
    if code == _EPSILON_INSENSITIVE:
        error = f - y
        if abs(error) <= epsilon:
            return 0.0
        return 1.0 if error > 0.0 else -1.0
    if code == _LOGISTIC:
        return -y / (1.0 + exponential(y * f))
    shortfall = 1.0 - y * f
    if shortfall <= 0.0:
        return 0.0
    return -y if code == _HINGE else -2.0 * y * shortfall


@inner
def implicit_slope(loss: NativeLoss, f: float, y: float, spread: float) -> tuple[float, float]:
    """First and second derivative of the loss at the score g = f - spread * slope at g.

    That is the score after a step that weighs the loss itself, in place of its tangent at f,
    against the change of the function: it never goes beyond the least of the loss. Of the losses
    that have a second derivative: square, squared hinge and logistic.
    """
    code = loss[0]
    if code == _LOGISTIC:
        reluctance = 1.0 / (1.0 + exponential(_margin_after(y * f, spread)))
        return -y * reluctance, reluctance * (1.0 - reluctance)
    if code == _SQUARED_HINGE and y * f >= 1.0:
        return 0.0, 0.0
    return 2.0 * (f - y) / (1.0 + 2.0 * spread), 2.0


@inner
def _margin_after(margin: float, spread: float) -> float:
    """The root s of s = margin + spread / (1 + exp(s)), by Newton's method.

    The left side less the right one rises, convex below 0 and concave above, so that from 0 on
    every round comes nearer and none goes beyond the root.
    """
    s = max(0.0, margin)
    for _ in range(_ROUNDS_MOST):
        reluctance = 1.0 / (1.0 + exponential(s))
        excess = s - margin - spread * reluctance
        change = excess / (1.0 + spread * reluctance * (1.0 - reluctance))
        s -= change
        if abs(change) <= _NEAR_ENOUGH * max(1.0, abs(s)):
            break
    return s
