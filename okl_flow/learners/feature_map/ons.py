"""The online Newton step in the features of any map: each step knows the losses' curvature so far.

Paper: Hazan, Agarwal, Kale, "Logarithmic regret algorithms for online convex optimization",
Machine Learning, 2007 (ONS).
Deviations: the curvature of the loss itself in place of the outer product of gradients, and a step
that weighs the loss in place of its tangent. With the square loss this is recursive least squares;
in trials on three files it made fewer mistakes at nearly every setting, and there is no step size
to find. Such a step never goes beyond the least of the loss, so that there is no projection.
Forgetting is added, and with it that curvature comes back where no event brings any. The function
goes along where a map gets its landmarks, and where it changes.
"""

import copy
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.approximation.irs import IRS
from okl_flow.approximation.nystrom import IncrementalNystrom
from okl_flow.approximation.oana import OANA
from okl_flow.approximation.random_features import RandomFourier
from okl_flow.curvature import (
    NativeStep,
    carried_over,
    curvature_entries,
    fresh_curvature,
    newton_step,
)
from okl_flow.factor import grow_factor, is_new, solve_lower
from okl_flow.kernels import NativeKernel, kernel_at, kernel_row
from okl_flow.learner import Learner, check_dim, checked_features, shaped, stepped
from okl_flow.linalg import ridge_fit
from okl_flow.losses import Loss
from okl_flow.native import Array, native, padded
from okl_flow.newton import fitting_newton_loss
from okl_flow.parameters import check, part, real
from okl_flow.state import Axes, State, allocate, make_room
from okl_flow.support import expand
from okl_flow.tasks import Binary, Task

__all__ = ["ONS", "ONSState"]

_FLOAT_BYTES = 8

# Events whose features are computed in one go: enough to make the calls cheap, and few enough for
# their features to stay in the cache.
_TOGETHER = 64

# The ridge of a change of features, as a share of the mean square of a new feature.
_RIDGE_SHARE = 1e-12

_WITH_CURVATURE = ("square", "squared_hinge", "logistic")


@dataclass(slots=True)
class ONSState(State):
    """Stage one: examples and their factor. Both stages: weights and curvature of the features."""

    map: Any  # the state of the map, which has seen nothing before stage two
    rows: Annotated[Array, Axes("dim", "size")]  # examples of stage one, one per column
    factor: Annotated[Array, Axes("size", "size")]  # L, LL' = their kernel matrix
    weights: Annotated[Array, Axes("outputs", "features")]
    triangle: Annotated[Array, Axes("entries")]  # U of the curvature
    variances: Annotated[Array, Axes("features")]  # and V
    size: int  # examples of stage one; 0 in stage two
    features: int  # features; in stage one as many as examples
    entries: int  # numbers of U
    learned: int  # events that came with a label and brought curvature


@final
@dataclass(frozen=True, kw_only=True)
class ONS(Learner):
    """The online Newton step over a map: f_c(x) = w_c . features(x).

    A step divides the slope of the loss by the curvature A that the losses have had so far: it is
    short where much is known, long in directions that are new. With the square loss it is
    recursive least squares. Several outputs have one A, which grows by the mean of their h.

    A map that needs examples gets the first that are not in the span of those before; until it
    has enough, the learner steps in features of its own that express the kernel exactly, one more
    with each example. When the map changes, weights and A become those of the new features by
    least squares at the stored examples.

    The learner to begin with: it has the fewest mistakes on most files of the benchmarks, and no
    learning rate. For a drifting stream set `forgetting`.

    Formula:
        f(x) = w . phi(x), phi the features of the map; at first w = 0, A = alpha I
        q = phi' A^-1 phi, g and h the slope and the curvature of l at f(x_t) - q g
        w <- w - g A^-1 phi, A <- A + h phi phi', with phi = phi(x_t)

    Parameters:
        map: incremental_nystrom, random_fourier, oana or irs. Its parameters stand beside those
            of the learner: budget, kernel, bandwidth, feature_count and so on. It takes in
            labelled events, once they are learned.
        loss: what a score costs (l): logistic by default, square in regression, or squared_hinge.
        regularization: curvature in every direction from the start (alpha), above 0. The square
            loss has curvature 2, so that this is ridge regression with half of it.
        forgetting: what is left of A from one event to the next, 1 for all of it. At least 0.9.
            What directions without events lose of alpha is given back, and a little of their
            weights taken away, so that both stay bounded.
        task: binary, multiclass or regression.

    Cost: time O(features * (features + dim)) per event beside the map's own, O(features^3) when
    the map changes; memory O(features^2) per key, beside the map's own.

    >>> from okl_flow import make_learner
    >>> learner = make_learner("ons", kernel="linear", loss="square", regularization=1.0)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[1.0], [1.0], [1.0]], [1.0, 1.0, 1.0]).round(3)
    array([0.   , 0.667, 0.8  ])
    """

    name: ClassVar[str] = "ons"
    typical_width: ClassVar[float] = 2.0
    map: IncrementalNystrom | RandomFourier | OANA | IRS = part(FeatureMap, IncrementalNystrom())
    loss: Loss = part(Loss, None)
    regularization: float = real(0.01, above=0.0)
    forgetting: float = real(1.0, low=0.9, high=1.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.map, IncrementalNystrom | RandomFourier | OANA | IRS):
            raise ValueError(
                f"ons: map must be incremental_nystrom, random_fourier, oana or irs, not "
                f"{self.map.name}: its features must be bounded in number"
            )
        object.__setattr__(self, "loss", fitting_newton_loss(self, self.loss))
        if self.loss.name not in _WITH_CURVATURE:
            raise ValueError(
                f"ons: loss must be {', '.join(_WITH_CURVATURE)}, not {self.loss.name}, which has "
                "no curvature"
            )

    def init(self, dim: int, seed: int = 0) -> ONSState:
        """A state that has seen nothing; `seed` is the map's."""
        check_dim(dim)
        own_map = self.map.init(dim, seed)
        return allocate(ONSState, dim=dim, outputs=self.task.outputs, map=own_map)

    def score(self, state: ONSState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        events = checked_features(state, X)
        scores = np.zeros((events.shape[0], self.task.outputs))
        if self._is_gathering(state):
            _gathering_scores(
                events,
                scores,
                self.map.kernel.native,
                state.rows,
                state.factor,
                state.weights,
                state.size,
            )
        elif state.features > 0:
            for t in range(0, events.shape[0], _TOGETHER):
                features = self.map.features(state.map, events[t : t + _TOGETHER])
                _feature_scores(features, state.weights, scores[t : t + _TOGETHER])
        return shaped(self.task, scores)

    def step(self, state: ONSState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""

        def learn(t: int, events: Array, labels: Array, scores: Array) -> int:
            while t < events.shape[0] and self._is_gathering(state):
                t = self._gather(state, t, events, labels, scores)
            while t < events.shape[0]:
                end = min(t + _TOGETHER, events.shape[0])
                t += self._learn(state, events[t:end], labels[t:end], scores[t:end])
            return t

        return stepped(self, state, X, y, learn, most={})

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        features = max(self.map.examples_needed, self.map.features_max)
        own = curvature_entries(features) + features * (self.task.outputs + 1)
        own += self.map.examples_needed * (dim + self.map.examples_needed)
        return own * _FLOAT_BYTES + (self.map.state_bytes_max(dim) or 0)

    @property
    def _native_step(self) -> NativeStep:
        return self.loss.native, self.forgetting, self.regularization

    def _is_gathering(self, state: ONSState) -> bool:
        """Whether it is stage one: the map still waits for its examples."""
        return bool(state.map.seen < self.map.examples_needed)

    def _gather(self, state: ONSState, begin: int, X: Array, y: Array, scores: Array) -> int:
        """Go through the events of stage one from `begin` on, as far as there is room."""
        most = self.map.examples_needed
        if state.size == state.rows.shape[1]:
            make_room(state, most)
            make_room(state, most, "features")
            while state.triangle.shape[0] < curvature_entries(state.rows.shape[1]):
                make_room(state, curvature_entries(most), "entries")
        t, state.size, state.learned = _learn_gathering(
            begin,
            X,
            y,
            scores,
            self.map.kernel.native,
            state.rows,
            state.factor,
            state.weights,
            state.triangle,
            state.variances,
            state.size,
            most,
            state.learned,
            self._native_step,
        )
        state.features, state.entries = state.size, curvature_entries(state.size)
        if state.size == most:
            rows = np.ascontiguousarray(state.rows.T)
            self.map.update(state.map, rows)
            self._change_features(state, state.factor, self.map.features(state.map, rows))
            state.size = 0
            state.rows, state.factor = np.zeros((state.dim, 0)), np.zeros((0, 0))
        return t

    def _learn(self, state: ONSState, X: Array, y: Array, scores: Array) -> int:
        """Go through some events of stage two. Returns how many, which the map's change limits."""
        labelled = np.flatnonzero(~np.isnan(y))
        if labelled.size == 0 and state.features == 0:
            scores[:] = 0.0
            return len(X)
        features = self.map.features(state.map, X)
        if state.features == 0:
            self._begin(state, features.shape[1])
        still = self.map.take_still(state.map, X[labelled])
        end = int(labelled[still]) + 1 if still < labelled.size else len(X)
        state.learned = _learn_features(
            features[:end],
            y,
            scores,
            state.weights,
            state.triangle,
            state.variances,
            state.learned,
            self._native_step,
        )
        if still < labelled.size:
            before = copy.deepcopy(state.map)
            self.map.update(state.map, X[end - 1 : end])
            stored = np.ascontiguousarray(state.map.rows[:, : state.map.size].T)
            old, new = (self.map.features(own, stored) for own in (before, state.map))
            self._change_features(state, old, new)
        return end

    def _begin(self, state: ONSState, features: int) -> None:
        """Give weights and curvature to the features of a map that has them from the start."""
        state.features, state.entries = features, curvature_entries(features)
        state.weights = np.zeros((self.task.outputs, features))
        state.triangle, state.variances = fresh_curvature(features, self.regularization)

    def _change_features(self, state: ONSState, old: Array, new: Array) -> None:
        """Carry weights and curvature over, given the features of some examples in both maps."""
        change = np.ascontiguousarray(ridge_fit(new, old, _RIDGE_SHARE).T)
        state.weights = np.ascontiguousarray(state.weights[:, : old.shape[1]] @ change)
        state.triangle, state.variances = carried_over(
            state.triangle, state.variances, change, self.regularization
        )
        state.features, state.entries = new.shape[1], state.triangle.shape[0]


@native
def _learn_gathering(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    kernel: NativeKernel,
    rows: Array,
    factor: Array,
    weights: Array,
    triangle: Array,
    variances: Array,
    size: int,
    most: int,
    learned: int,
    step: NativeStep,
) -> tuple[int, int, int]:
    """Go through the events of stage one from t on, as far as there is room.

    Features are L^-1 k(x). Those of a stored example have nothing behind its own place, so that a
    new one changes none of them.
    """
    row, x = np.empty(rows.shape[1]), np.zeros(padded(rows.shape[1]))
    slopes, spare = np.empty(weights.shape[0]), np.empty((2, x.shape[0]))
    while t < X.shape[0] and size < most and size < rows.shape[1]:
        kernel_row(kernel, rows, size, X[t], row)
        spanned = solve_lower(factor, size, row, x)
        expand(weights, x, size, scores[t])
        if not math.isnan(y[t]):
            own = kernel_at(kernel, X[t])
            if own > 0.0 and is_new(own, spanned, 0.0):
                grow_factor(factor, size, x, own - spanned)
                x[size] = factor[size, size]
                variances[size] = 1.0 / step[2]
                rows[:, size] = X[t]
                size += 1
            learned = newton_step(
                step, scores[t], y[t], x, weights, triangle, variances, size, learned, slopes, spare
            )
        t += 1
    return t, size, learned


@native
def _gathering_scores(
    X: Array,
    scores: Array,
    kernel: NativeKernel,
    rows: Array,
    factor: Array,
    weights: Array,
    size: int,
) -> None:
    """The scores of all rows of X in stage one."""
    row, x = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, size, X[t], row)
        solve_lower(factor, size, row, x)
        expand(weights, x, size, scores[t])


@native
def _learn_features(
    features: Array,
    y: Array,
    scores: Array,
    weights: Array,
    triangle: Array,
    variances: Array,
    learned: int,
    step: NativeStep,
) -> int:
    """Go through the events with these features."""
    size = features.shape[1]
    x = np.zeros(padded(size))
    slopes, spare = np.empty(weights.shape[0]), np.empty((2, x.shape[0]))
    for t in range(features.shape[0]):
        x[:size] = features[t]
        expand(weights, x, size, scores[t])
        if not math.isnan(y[t]):
            learned = newton_step(
                step, scores[t], y[t], x, weights, triangle, variances, size, learned, slopes, spare
            )
    return learned


@native
def _feature_scores(features: Array, weights: Array, scores: Array) -> None:
    """The scores of the events with these features."""
    for t in range(features.shape[0]):
        expand(weights, features[t], features.shape[1], scores[t])
