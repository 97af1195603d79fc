"""Fourier online gradient descent: linear learning on random features of a kernel.

Paper: Lu, Hoi, Wang, Zhao, Liu, "Large scale online kernel learning", Journal of Machine
Learning Research, 2016 (FOGD).
Deviations: features are divided by the root of feature_count, so that their products average to
the kernel and step sizes mean the same as with stored examples; regularization and schedules
are added.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.random_features import (
    check_kernel,
    fourier_directions,
    fourier_features_of_some,
)
from okl_flow.descent import gradient_step
from okl_flow.kernels import TOGETHER, Gaussian, Kernel, Laplacian
from okl_flow.lanes import line
from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    checked_features,
    fitting_loss,
    looped,
    shaped,
)
from okl_flow.losses import Loss, NativeLoss
from okl_flow.native import Array, native
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.state import Axes, State, allocate
from okl_flow.support import expand
from okl_flow.tasks import Binary, Task

__all__ = ["FOGD", "FOGDState"]

_FLOAT_BYTES = 8


@dataclass(slots=True)
class FOGDState(State):
    """The weights of the features; the directions follow from the configuration."""

    weights: Annotated[Array, Axes("outputs", "features")]  # w, cosines first
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class FOGD(Learner):
    """Fourier online gradient descent: no example is kept, only weights of random features.

    The features are cosine and sine of x along `feature_count` directions, drawn once for all
    states from the Fourier transform of the kernel. A step on the regularised loss is
    w <- (1 - learning_rate * regularization) w - learning_rate * slope * features.

    It keeps the least per key of all learners with a kernel, and stands streams that travel.

    Formula:
        f(x) = w . phi(x), phi(x) = D^-1/2 (cos v_j . x, sin v_j . x) for j = 1 ... D
        w <- (1 - eta lambda) w - eta l'(f(x_t), y_t) phi(x_t)

    Parameters:
        feature_count: directions (D); half the number of features. At least 1. The paper
            compares it at four times the budget of learners that keep examples.
        kernel: the kernel that the features stand in for: gaussian or laplacian.
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step (eta). Above 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        seed: draws the directions. At least 0.
        task: binary, multiclass or regression.

    Cost: time O(feature_count * dim) per event, memory O(feature_count) per key.

    >>> learner = FOGD(feature_count=100, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.5]], [1.0, 1.0]).round(12)
    array([0. , 0.5])
    """

    name: ClassVar[str] = "fogd"
    feature_count: int = whole(400, low=1)
    kernel: Gaussian | Laplacian = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    seed: int = whole(0, low=0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_shrinkage(self)
        check_kernel(self, Gaussian, Laplacian)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> FOGDState:
        """A state of zero weights; the directions have a seed of their own."""
        check_dim(dim)
        return allocate(
            FOGDState, dim=dim, outputs=self.task.outputs, features=2 * self.feature_count
        )

    def score(self, state: FOGDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        return shaped(self.task, _scores(features, self._directions(state.dim), state.weights))

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        rate = native_rate(self.schedule, self.learning_rate)
        return Loop(
            _learn,
            takes=("weights", "learned"),
            rules=(self._directions(dim), self.loss.native, rate, self.regularization),
        )

    def step(self, state: FOGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The bytes that the arrays of one state take."""
        return self.task.outputs * 2 * self.feature_count * _FLOAT_BYTES

    def _directions(self, dim: int) -> Array:
        return fourier_directions(self.kernel, self.feature_count, dim, self.seed)


@native
def _scores(X: Array, directions: Array, weights: Array) -> Array:
    """The scores of all rows of X."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    angles = np.empty((TOGETHER, directions.shape[1]))
    features = np.empty((TOGETHER, weights.shape[1]))
    for begin in range(0, X.shape[0], TOGETHER):
        some = X[begin : begin + TOGETHER]
        fourier_features_of_some(directions, some, angles, features)
        for e in range(some.shape[0]):
            expand(weights, line(features, e), weights.shape[1], line(scores, begin + e))
    return scores


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    weights: Array,
    learned: int,
    directions: Array,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
) -> tuple[int, int]:
    """Go through the events from t on; features do not depend on what is learned."""
    angles = np.empty((TOGETHER, directions.shape[1]))
    features = np.empty((TOGETHER, weights.shape[1]))
    change = np.empty(weights.shape[0])
    while t < X.shape[0]:
        some = X[t : t + TOGETHER]
        fourier_features_of_some(directions, some, angles, features)
        for e in range(some.shape[0]):
            own = line(features, e)
            expand(weights, own, weights.shape[1], line(scores, t))
            if not math.isnan(y[t]):
                learned += 1
                eta = rate_at(rate, learned)
                gradient_step(loss, line(scores, t), y[t], eta, lam, weights, own, change)
            t += 1
    return t, learned
