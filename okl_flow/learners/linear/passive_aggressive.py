"""Passive-aggressive learning: the shortest step that mends the loss, of a linear function.

Paper: Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, "Online passive-aggressive algorithms",
Journal of Machine Learning Research, 2006 (PA, PA-I and PA-II).
Deviations: with several classes each has a function and takes a step of its own, where the
paper's step moves the two classes that are confused most.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.learner import Learner, Loop, check_dim, checked_features, looped, shaped
from okl_flow.losses import EpsilonInsensitive, Hinge, Loss, NativeLoss, loss_slope, loss_value
from okl_flow.native import Array, add_scaled, dot, native
from okl_flow.parameters import check, choice, part, real
from okl_flow.state import Axes, State, allocate
from okl_flow.support import expand
from okl_flow.tasks import Binary, Regression, Task, target

__all__ = ["PassiveAggressive", "PassiveAggressiveState"]

_FLOAT_BYTES = 8


@dataclass(slots=True)
class PassiveAggressiveState(State):
    """The linear function."""

    weights: Annotated[Array, Axes("outputs", "dim")]  # a weight per output and feature


@final
@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(Learner):
    """Passive-aggressive: does nothing without a loss, and else just enough to have none.

    The score has no constant: add a feature that is always 1 for one. The baseline of the kernel
    learners.

    Formula:
        f(x) = w . x, l_t its loss; w <- w + tau y_t x_t, in regression sign(y_t - f(x_t)) for y_t
        tau = l_t / |x_t|^2 (pa), min(C, l_t / |x_t|^2) (pa1), l_t / (|x_t|^2 + 1 / (2 C)) (pa2)

    Parameters:
        variant: how steps are held back: pa1, pa2, or pa for not at all.
        aggressiveness: how far one event may move the weights (C); 1 by default, and none under
            "pa", which has no such limit. Above 0.
        loss: hinge in classification, epsilon_insensitive in regression, and no other.
        task: binary, multiclass or regression.

    Cost: time and memory O(dim) per event and per key.

    >>> learner = PassiveAggressive(variant="pa")
    >>> state = learner.init(dim=2)
    >>> learner.step(state, [[3.0, 4.0], [3.0, 4.0]], [1.0, 1.0])
    array([0., 1.])
    """

    name: ClassVar[str] = "passive_aggressive"
    variant: str = choice("pa1", "pa", "pa2")
    aggressiveness: float | None = real(None, above=0.0, optional=True)
    loss: Loss = part(Loss, None)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "aggressiveness", _own_aggressiveness(self))
        object.__setattr__(self, "loss", _own_loss(self))

    def init(self, dim: int, seed: int = 0) -> PassiveAggressiveState:
        """A state of zero weights; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(PassiveAggressiveState, dim=dim, outputs=self.task.outputs)

    def score(self, state: PassiveAggressiveState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = np.empty((features.shape[0], self.task.outputs))
        _score(features, scores, state.weights)
        return shaped(self.task, scores)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        C = self.aggressiveness or math.inf
        longest = C if self.variant == "pa1" else math.inf
        slack = 0.5 / C if self.variant == "pa2" else 0.0
        return Loop(_learn, takes=("weights",), rules=(self.loss.native, longest, slack))

    def step(self, state: PassiveAggressiveState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int:
        """The bytes that the arrays of one state take."""
        return self.task.outputs * dim * _FLOAT_BYTES


@native
def _score(X: Array, scores: Array, weights: Array) -> None:
    """The scores of all rows of X."""
    for t in range(X.shape[0]):
        expand(weights, X[t], X.shape[1], scores[t])


@native
def _learn(
    begin: int,
    X: Array,
    y: Array,
    scores: Array,
    weights: Array,
    loss: NativeLoss,
    longest: float,
    slack: float,
) -> tuple[int]:
    """Go through the events from one on: tau = min(longest, l / (|x|^2 + slack))."""
    dim = X.shape[1]
    for t in range(begin, X.shape[0]):
        expand(weights, X[t], dim, scores[t])
        if math.isnan(y[t]):
            continue
        square = dot(X[t], X[t], dim)
        for c in range(weights.shape[0]):
            goal = target(y[t], c, weights.shape[0])
            cost = loss_value(loss, scores[t, c], goal)
            if cost > 0.0:
                tau = min(longest, cost / (square + slack))
                # "pa" would go infinitely far along an x that is 0 or as good as 0.
                if math.isfinite(tau):
                    slope = loss_slope(loss, scores[t, c], goal)
                    add_scaled(-tau * slope, X[t], weights[c], dim)
    return (X.shape[0],)


def _own_aggressiveness(learner: PassiveAggressive) -> float | None:
    """The limit on steps, by default 1; refused by the variant that has none."""
    if learner.variant == "pa":
        if learner.aggressiveness is not None:
            raise ValueError(
                f"{learner.name}: aggressiveness plays no part in variant pa and must be None "
                f"there, not {learner.aggressiveness!r}; variants pa1 and pa2 take it"
            )
        return None
    return 1.0 if learner.aggressiveness is None else learner.aggressiveness


def _own_loss(learner: PassiveAggressive) -> Loss:
    """The loss that the step is derived from; refused if it is another."""
    fit: type[Loss] = EpsilonInsensitive if isinstance(learner.task, Regression) else Hinge
    if learner.loss is None:
        return fit()
    if isinstance(learner.loss, fit):
        return learner.loss
    raise ValueError(
        f"{learner.name}: its steps under {learner.task.name} are those of the loss {fit.name}, "
        f"not of {learner.loss.name}"
    )
