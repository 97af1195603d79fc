"""Reparameterised random features: the bandwidth of every input feature is learned as well.

Paper: Nguyen, Le, Bui, Phung, "Large-scale online kernel learning with random feature
reparameterization", IJCAI 2017 (RRF).
Deviations: no event moves a log scale by more than 0.1, and scales stay within a factor of 1000
of where they began; an event far out would otherwise take them to where nothing is learned any
more. Schedules are added.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.random_features import (
    check_kernel,
    fourier_directions,
    fourier_features,
)
from okl_flow.descent import move
from okl_flow.kernels import Gaussian, Kernel
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
from okl_flow.native import Array, dot, exponential, inner, native
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.state import Axes, State, allocate
from okl_flow.support import descend, expand
from okl_flow.tasks import Binary, Task

__all__ = ["RRF", "RRFState"]

_FLOAT_BYTES = 8
_UNIT_KERNEL = Gaussian(bandwidth=1.0)

# The gradient in log s grows with the event's features. On a sphere in 5 dimensions, at a
# scale_rate of 0.01, one event 1e6 times too long among 4,000 doubled the mistakes of the rest;
# with this limit it costs none.
_LOG_STEP_LARGEST = 0.1
_LOG_RANGE = math.log(1000.0)


@dataclass(slots=True)
class RRFState(State):
    """The weights of the features, and the scales of what they are features of."""

    weights: Annotated[Array, Axes("outputs", "features")]  # w, cosines first
    log_scales: Annotated[Array, Axes("dim")]  # log s; s is an inverse bandwidth
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class RRF(Learner):
    """Reparameterised random features: descent on feature weights and on bandwidths at once.

    The random directions of a Gaussian kernel are written as s * e_i, with e_i drawn once for
    all states from N(0, I) and one scale per input feature, s = 1 / bandwidth at first. Each
    step on the regularised loss moves the weights and, in proportion to `scale_rate`, log s,
    both at the score of the same event. Features that say nothing are faded out this way, and
    a bandwidth that was a bad guess is mended.

    For features of which some matter and others are noise. On a stream that travels the widths
    settle where they are worse than fixed ones: take `fogd` there.

    Formula:
        f(x) = w . phi(x), phi(x) = D^-1/2 (cos e_j . (s x), sin e_j . (s x)) for j = 1 ... D
        w <- (1 - eta lambda) w - eta l'(f(x_t), y_t) phi(x_t)
        log s <- log s - eta_s l'(f(x_t), y_t) df(x_t) / dlog s, with eta_s in the place of eta

    Parameters:
        feature_count: directions (D); half the number of features. At least 1.
        kernel: gaussian, with the bandwidth to begin with.
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step of the weights (eta). Above 0.
        scale_rate: size of the first step of log s; 0 leaves the scales alone. At least 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm of the weights (lambda). At least 0.
        seed: draws the directions. At least 0.
        task: binary, multiclass or regression.

    Cost: time O(feature_count * dim) per event, memory O(feature_count + dim) per key.

    >>> learner = RRF(feature_count=100, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.5]], [1.0, 1.0]).round(12)
    array([0. , 0.5])
    """

    name: ClassVar[str] = "rrf"
    feature_count: int = whole(200, low=1)
    kernel: Gaussian = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    scale_rate: float = real(0.001, low=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    seed: int = whole(0, low=0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_shrinkage(self)
        check_kernel(self, Gaussian)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> RRFState:
        """A state of zero weights and equal scales; the directions have a seed of their own."""
        check_dim(dim)
        state = allocate(
            RRFState, dim=dim, outputs=self.task.outputs, features=2 * self.feature_count
        )
        state.log_scales[:] = self._first_log_scale()
        return state

    def score(self, state: RRFState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = _scores(features, self._directions(state.dim), state.weights, state.log_scales)
        return shaped(self.task, scores)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        return Loop(
            _learn,
            takes=("weights", "log_scales", "learned"),
            rules=(
                self._directions(dim),
                self.loss.native,
                native_rate(self.schedule, self.learning_rate),
                self.scale_rate / self.learning_rate,
                self.regularization,
                self._first_log_scale(),
            ),
        )

    def step(self, state: RRFState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The bytes that the arrays of one state take."""
        return (self.task.outputs * 2 * self.feature_count + dim) * _FLOAT_BYTES

    def _directions(self, dim: int) -> Array:
        return fourier_directions(_UNIT_KERNEL, self.feature_count, dim, self.seed)

    def _first_log_scale(self) -> float:
        return -math.log(self.kernel.bandwidth)


@native
def _scores(X: Array, directions: Array, weights: Array, log_scales: Array) -> Array:
    """The scores of all rows of X."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    scaled = np.empty(X.shape[1])
    angles = np.empty(directions.shape[1])
    features = np.empty(weights.shape[1])
    for t in range(X.shape[0]):
        _rescale(log_scales, X[t], scaled)
        fourier_features(directions, scaled, angles, features)
        expand(weights, features, features.shape[0], scores[t])
    return scores


@native
def _learn(
    begin: int,
    X: Array,
    y: Array,
    scores: Array,
    weights: Array,
    log_scales: Array,
    learned: int,
    directions: Array,
    loss: NativeLoss,
    rate: NativeRate,
    scale_ratio: float,
    lam: float,
    first: float,
) -> tuple[int, int]:
    """Go through the events from one on."""
    scaled = np.empty(X.shape[1])
    angles = np.empty(directions.shape[1])
    features = np.empty(weights.shape[1])
    change = np.empty(weights.shape[0])
    pull = np.empty(directions.shape[1])
    for t in range(begin, X.shape[0]):
        _rescale(log_scales, X[t], scaled)
        fourier_features(directions, scaled, angles, features)
        expand(weights, features, features.shape[0], scores[t])
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            if descend(loss, scores[t], y[t], eta, change):
                _pull(weights, change, features, pull)
                for j in range(X.shape[1]):
                    step = scale_ratio * scaled[j] * dot(directions[j], pull, pull.shape[0])
                    step = min(max(step, -_LOG_STEP_LARGEST), _LOG_STEP_LARGEST)
                    moved = log_scales[j] + step
                    log_scales[j] = min(max(moved, first - _LOG_RANGE), first + _LOG_RANGE)
            move(weights, 1.0 - eta * lam, change, features)
    return X.shape[0], learned


@inner
def _rescale(log_scales: Array, x: Array, scaled: Array) -> None:
    """Fill in scaled = s * x."""
    for j in range(x.shape[0]):
        scaled[j] = exponential(log_scales[j]) * x[j]


@inner
def _pull(weights: Array, change: Array, features: Array, pull: Array) -> None:
    """pull[i] = sum over c of change[c] times the slope of score c in angle i."""
    count = pull.shape[0]
    for i in range(count):
        pull[i] = 0.0
    for c in range(weights.shape[0]):
        for i in range(count):
            slope = weights[c, count + i] * features[i] - weights[c, i] * features[count + i]
            pull[i] += change[c] * slope
