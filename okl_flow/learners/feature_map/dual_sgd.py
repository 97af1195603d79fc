"""Dual-space gradient descent: examples that must go leave their weight to random features.

Paper: Le, Nguyen, Nguyen, Phung, "Dual space gradient descent for online learning", NIPS 2016
(DualSGD, with its merging of one example at a time).
Deviations: the example that goes is chosen among those that were there before, so the newest
always stays; losses of unbounded slope are refused, since the first steps, of 1/regularization,
would overshoot further each time.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from okl_flow.approximation.random_features import (
    check_kernel,
    fourier_directions,
    fourier_features,
)
from okl_flow.kernels import Gaussian, Kernel, Laplacian, NativeKernel, kernel_row
from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    checked_features,
    fitting_loss,
    looped,
    shaped,
)
from okl_flow.losses import EpsilonInsensitive, Loss, NativeLoss, Square, SquaredHinge
from okl_flow.native import Array, add_scaled, dot, inner, native
from okl_flow.parameters import check, part, real, whole
from okl_flow.state import Axes, allocate
from okl_flow.support import Expansion, descend, expand, expansion_bytes_max, put
from okl_flow.tasks import Binary, Regression, Task

__all__ = ["DualSGD", "DualSGDState"]

_INTS = NDArray[np.int64]


@dataclass(slots=True)
class DualSGDState(Expansion):
    """Examples, the weights of the features that stand in for those gone, and all their ages.

    All weights are kept without the factor 1 / (regularization * learned) of the scores.
    """

    arrivals: Annotated[
        _INTS, Axes("size", scalar_type=np.int64)
    ]  # `learned` when each example came
    feature_weights: Annotated[Array, Axes("outputs", "features")]  # w, cosines first
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class DualSGD(Learner):
    """Dual-space gradient descent: a budget of examples, and random features for the rest.

    The function after t labelled events is minus the sum of all slopes so far, each on the
    kernel with its example, over t * regularization: descent on the regularised loss with
    steps of 1 / (regularization * t). Once the budget is full, a newcomer takes the place of the
    example of least weight (of these, the oldest), whose kernel is from then on estimated by
    random Fourier features: nothing that was learned is lost.

    It settles: not for drifting streams.

    Formula:
        f(x) = -(sum_i g_i K(x_i, x) + v . phi(x)) / (lambda t), g_t = l'(f(x_t), y_t)
        the example of least |g_i| makes way: v <- v + g_i phi(x_i), with phi as in fogd

    Parameters:
        budget: examples kept (B). At least 1.
        feature_count: directions of the random features (D). At least 1.
        kernel: similarity of two examples (K): gaussian or laplacian.
        loss: what a score costs (l), with a bounded slope; hinge by default,
            epsilon_insensitive in regression.
        regularization: weight of the squared norm (lambda); its inverse is the size of the
            first step. Above 0.
        seed: draws the directions. At least 0.
        task: binary, multiclass or regression.

    Cost: time O((budget + feature_count) * dim) per event, memory O(budget * dim +
    feature_count) per key.

    >>> learner = DualSGD(budget=1, kernel=Gaussian(bandwidth=1.0), regularization=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.5], [0.5]], [1.0, 1.0, 1.0])
    array([0., 2., 1.])
    """

    name: ClassVar[str] = "dual_sgd"
    budget: int = whole(100, low=1)
    feature_count: int = whole(200, low=1)
    kernel: Gaussian | Laplacian = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    regularization: float = real(0.001, above=0.0)
    seed: int = whole(0, low=0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_kernel(self, Gaussian, Laplacian)
        object.__setattr__(self, "loss", _bounded_loss(self))

    def init(self, dim: int, seed: int = 0) -> DualSGDState:
        """A state without examples; the directions have a seed of their own."""
        check_dim(dim)
        return allocate(
            DualSGDState, dim=dim, outputs=self.task.outputs, features=2 * self.feature_count
        )

    def score(self, state: DualSGDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        scores = _scores(
            checked_features(state, X),
            self.kernel.native,
            self._directions(state.dim),
            state.rows,
            state.weights,
            state.size,
            state.feature_weights,
            state.learned,
            self.regularization,
            self.budget,
        )
        return shaped(self.task, scores)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        return Loop(
            _learn,
            takes=("rows", "weights", "arrivals", "size", "feature_weights", "learned"),
            rules=(
                self.kernel.native,
                self._directions(dim),
                self.loss.native,
                self.regularization,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: DualSGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        outputs = self.task.outputs
        besides = self.budget + outputs * 2 * self.feature_count
        return expansion_bytes_max(dim, outputs, self.budget, besides=besides)

    def _directions(self, dim: int) -> Array:
        return fourier_directions(self.kernel, self.feature_count, dim, self.seed)


@native
def _scores(
    X: Array,
    kernel: NativeKernel,
    directions: Array,
    rows: Array,
    weights: Array,
    size: int,
    feature_weights: Array,
    learned: int,
    lam: float,
    budget: int,
) -> Array:
    """The scores of all rows of X."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    row = np.empty(rows.shape[1])
    angles = np.empty(directions.shape[1])
    features = np.empty(feature_weights.shape[1])
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, size, X[t], row)
        expand(weights, row, size, scores[t])
        if size == budget:
            fourier_features(directions, X[t], angles, features)
            _add_estimates(feature_weights, features, scores[t])
        _divide(scores[t], lam * max(learned, 1))
    return scores


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    arrivals: _INTS,
    size: int,
    feature_weights: Array,
    learned: int,
    kernel: NativeKernel,
    directions: Array,
    loss: NativeLoss,
    lam: float,
    budget: int,
) -> tuple[int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    angles = np.empty(directions.shape[1])
    features = np.empty(feature_weights.shape[1])
    gone = np.empty(rows.shape[0])
    weight = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, X[t], row)
        expand(weights, row, size, scores[t])
        if size == budget:
            fourier_features(directions, X[t], angles, features)
            _add_estimates(feature_weights, features, scores[t])
        _divide(scores[t], lam * max(learned, 1))
        if not math.isnan(y[t]):
            learned += 1
            if descend(loss, scores[t], y[t], 1.0, weight):
                if size < budget:
                    place, size = size, size + 1
                else:
                    place = _lightest(weights, arrivals, size)
                    for j in range(rows.shape[0]):
                        gone[j] = rows[j, place]
                    fourier_features(directions, gone, angles, features)
                    for c in range(weights.shape[0]):
                        count = features.shape[0]
                        add_scaled(weights[c, place], features, feature_weights[c], count)
                put(rows, weights, place, X[t], weight)
                arrivals[place] = learned
        t += 1
    return t, size, learned


@inner
def _add_estimates(feature_weights: Array, features: Array, scores: Array) -> None:
    """Add to every score what the examples gone have left."""
    for c in range(scores.shape[0]):
        scores[c] += dot(feature_weights[c], features, features.shape[0])


@inner
def _divide(scores: Array, divisor: float) -> None:
    for c in range(scores.shape[0]):
        scores[c] /= divisor


@inner
def _lightest(weights: Array, arrivals: _INTS, size: int) -> int:
    """Place of the example of least weight over all outputs; of equals, the oldest."""
    place = 0
    least = math.inf
    for i in range(size):
        total = 0.0
        for c in range(weights.shape[0]):
            total += abs(weights[c, i])
        if total < least or (total == least and arrivals[i] < arrivals[place]):
            place, least = i, total
    return place


def _bounded_loss(learner: DualSGD) -> Loss:
    """The loss of the learner, refused if its slope grows with the score."""
    loss = learner.loss
    if loss is None and isinstance(learner.task, Regression):
        loss = EpsilonInsensitive()
    loss = fitting_loss(learner, loss)
    if isinstance(loss, (Square, SquaredHinge)):
        raise ValueError(
            f"{learner.name}: loss {loss.name} has a slope without bound, under which steps of "
            "1 / (regularization * t) overshoot; use hinge, logistic or epsilon_insensitive"
        )
    return loss
