"""Kernel recursive least squares: the least-squares fit so far, on the examples that are needed.

Paper: Engel, Mannor, Meir, "The kernel recursive least-squares algorithm", IEEE Transactions on
Signal Processing, 2004 (KRLS with the test of approximate linear dependency, Table 1).
Deviations: the paper minimises the squared errors alone, here `regularization` times |f|^2 is added
to them; towards 0 it is the paper's. The paper keeps the inverse of the kernel matrix, which
drifts, and the matrix P, which may lose its sign to round-off. Here the kept examples span
features z = L^-1 k(x), with L the growing Cholesky factor of their kernel matrix, in which
|f| = |w|: recursive least squares of f(x) = w . z, by a covariance that stays positive
(`okl_flow/curvature.py`). A kept example adds a feature that is 0 for those before it, which is
just what the test of dependency neglects. A full budget stops the growth: from then on every event
is projected onto the kept examples, and moves the weights only. A rest below 1e-10 K(x, x) counts
as 0, however small the dependency. `forgetting` is ours, and `replacement`: where the examples
travel, what is kept for good is soon out of place. On 20,000 events of `streams.wandering`, with a
bandwidth of 0.5 and a forgetting of 0.99, 36.3 % are mistakes without it and 12.2 % with it.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.curvature import (
    curvature_entries,
    drop_last_feature,
    fade,
    refresh,
    spread_along,
    take_in,
    turn_features,
    widened,
)
from okl_flow.factor import grow_factor, is_new, solve_lower
from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.learner import Learner, check_dim, checked_features, shaped, stepped
from okl_flow.native import Array, add_scaled, dot, inner, native, padded
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.state import Axes, allocate
from okl_flow.support import Expansion, expand, expansion_bytes_max, put
from okl_flow.tasks import Binary, Task, target

__all__ = ["KRLSALD", "KRLSALDState"]


@dataclass(slots=True)
class KRLSALDState(Expansion):
    """The examples kept, the factor of their kernel matrix, and the weights of its features.

    A weight is that of the feature which its example added, not of its kernel.
    """

    factor: Annotated[Array, Axes("size", "size")]  # L of K = L L', its upper triangle 0
    triangle: Annotated[Array, Axes("entries")]  # U of the weights' covariance
    variances: Annotated[Array, Axes("size")]  # and its V
    entries: int  # numbers of U
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class KRLSALD(Learner):
    """Kernel recursive least squares (KRLS-ALD): the ridge regression of all events so far.

    An example is kept if the kept ones do not express it nearly. Whether it is kept or not, the
    function is then the one with the least sum of squared errors over all events, each seen as
    the kept examples express it. There is no step size. In classification the labels -1 and +1
    are what is regressed on.

    There is no step size to find. For a concept that drifts set `forgetting` below 1; where the
    examples travel `replacement="oldest"` too.

    Formula:
        f(x) = w . z(x), z(x) = L^-1 k(x), LL' the kernel matrix of the kept examples
        w = argmin sum_t (w . z(x_t) - y_t)^2 + alpha |w|^2
        x_t is kept if K(x_t, x_t) - |z(x_t)|^2 > nu

    Parameters:
        budget: examples kept at most. At least 1.
        replacement: what makes way for an example that a full budget does not express: none, so
            that what is kept stays; or oldest, which goes with what only it has brought.
        kernel: similarity of two examples (k).
        dependency: squared distance from the span of the kept examples up to which an example
            counts as expressed (nu); K(x, x) is the largest there is. At least 0.
        regularization: weight of the function's squared norm beside the squared errors. Above 0.
        forgetting: what is left of an event's weight after another one, while the norm keeps
            its curvature and what no event asks for fades. At 1 nothing is forgotten. Above 0, at
            most 1.
        task: binary, multiclass or regression.

    Cost: time and memory O(budget * (budget + dim)) per event and per key.

    >>> learner = KRLSALD(kernel=Gaussian(bandwidth=1.0), regularization=1.0)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [0.0], [0.0]], [1.0, 1.0, 1.0]).round(3)
    array([0.   , 0.5  , 0.667])
    >>> state.size
    1
    """

    name: ClassVar[str] = "krls_ald"
    typical_width: ClassVar[float] = 2.0
    budget: int = whole(100, low=1)
    replacement: str = choice("none", "oldest")
    kernel: Kernel = part(Kernel, Gaussian())
    dependency: float = real(0.01, low=0.0)
    regularization: float = real(0.1, above=0.0)
    forgetting: float = real(1.0, above=0.0, high=1.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)

    def init(self, dim: int, seed: int = 0) -> KRLSALDState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(KRLSALDState, dim=dim, outputs=self.task.outputs)

    def score(self, state: KRLSALDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = _scores(
            features, self.kernel.native, state.rows, state.factor, state.weights, state.size
        )
        return shaped(self.task, scores)

    def step(self, state: KRLSALDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            state.triangle = widened(state.triangle, state.rows.shape[1])
            t, state.size, state.learned = _learn(
                t,
                features,
                labels,
                scores,
                state.rows,
                state.factor,
                state.weights,
                state.triangle,
                state.variances,
                state.size,
                state.learned,
                self.kernel.native,
                math.sqrt(self.dependency),
                self.regularization,
                self.forgetting,
                self.budget,
                self.replacement == "oldest",
            )
            state.entries = curvature_entries(state.size)
            return t

        return stepped(self, state, X, y, learn)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        besides = self.budget * (self.budget + 1) + curvature_entries(self.budget)
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=besides)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    factor: Array,
    weights: Array,
    triangle: Array,
    variances: Array,
    size: int,
    learned: int,
    kernel: NativeKernel,
    distance: float,
    lam: float,
    keep: float,
    budget: int,
    replaces: bool,
) -> tuple[int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    room = rows.shape[1]
    row, z = np.empty(room), np.zeros(padded(room))
    turned, gain, spare = np.empty(padded(room)), np.empty(room), np.empty((2, room))
    nothing = np.zeros(weights.shape[0])
    while t < X.shape[0]:
        if size == room and size != budget:
            break
        kernel_row(kernel, rows, size, X[t], row)
        spanned = solve_lower(factor, size, row, z)
        expand(weights, z, size, scores[t])
        if not math.isnan(y[t]):
            learned += 1
            if keep < 1.0:
                fade(variances, size, keep)
                refresh(
                    triangle, variances, size, keep, 1.0, learned, math.inf, turned, gain, weights
                )
            own = kernel_at(kernel, X[t])
            if (size < budget or replaces) and is_new(own, spanned, distance):
                if size == budget:
                    _drop_oldest(rows, factor, weights, triangle, variances, size, spare)
                    size -= 1
                    row[:size] = row[1 : size + 1]
                    spanned = solve_lower(factor, size, row, z)
                put(rows, weights, size, X[t], nothing)
                grow_factor(factor, size, z, own - spanned)
                variances[size] = 1.0
                z[size] = factor[size, size]
                size += 1
            if math.isfinite(spread_along(triangle, variances, size, z, turned)):
                total = take_in(triangle, variances, size, turned, lam, gain)
                for c in range(weights.shape[0]):
                    goal = target(y[t], c, weights.shape[0])
                    add_scaled((goal - dot(weights[c], z, size)) / total, gain, weights[c], size)
        t += 1
    return t, size, learned


@inner
def _drop_oldest(
    rows: Array,
    factor: Array,
    weights: Array,
    triangle: Array,
    variances: Array,
    size: int,
    spare: Array,
) -> None:
    """Take the first row out of L, and turn the features so that L is a triangle again.

    What the first example had for itself ends up in the last feature, which goes.
    """
    cosines, sines = spare[0], spare[1]
    for i in range(1, size):
        carried = factor[i, 0]
        for k in range(i - 1):
            other = factor[i, k + 1]
            factor[i - 1, k] = cosines[k] * carried + sines[k] * other
            carried = cosines[k] * other - sines[k] * carried
        k = i - 1
        length = math.sqrt(carried * carried + factor[i, i] * factor[i, i])
        cosine, sine = carried / length, factor[i, i] / length
        factor[k, k], cosines[k], sines[k] = length, cosine, sine
        turn_features(triangle, variances, size, k, cosine, sine)
        for c in range(weights.shape[0]):
            a, b = weights[c, k], weights[c, i]
            weights[c, k], weights[c, i] = cosine * a + sine * b, cosine * b - sine * a
        for j in range(rows.shape[0]):
            rows[j, k] = rows[j, i]
    drop_last_feature(triangle, variances, size, cosines)


@native
def _scores(
    X: Array, kernel: NativeKernel, rows: Array, factor: Array, weights: Array, size: int
) -> Array:
    """The scores of all rows of X, as `_learn` gives them."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    row, z = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, size, X[t], row)
        solve_lower(factor, size, row, z)
        expand(weights, z, size, scores[t])
    return scores
