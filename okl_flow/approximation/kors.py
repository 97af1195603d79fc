"""Kernel online row sampling: the examples that the others do not make up for, with weights.

Paper: Calandriello, Lazaric, Valko, "Second-order kernel online convex optimization with
adaptive sketching", ICML, 2017 (KORS, Algorithm 2).
Deviations: equation 4 is used in the form q/(1 + q), with q taken over the dictionary without the
new example: the same number, without a difference of nearly equal ones. The `oversampling` (beta)
of the paper's theorem, 3 log(T / delta) / accuracy^2, is above 50 at any T and keeps nearly every
example; it is a parameter here, 1 by default. A budget may bound the dictionary, which then stays
as it is.
"""

import math
from dataclasses import dataclass
from typing import Annotated, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.approximation.nystrom import nystrom_features, nystrom_projection
from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_matrix, kernel_row
from okl_flow.learner import check_dim, checked_features
from okl_flow.native import Array, inner, native
from okl_flow.newton import append_line, rest_of, shorten, solve_scaled
from okl_flow.parameters import check, part, real, whole
from okl_flow.rng import WORDS, Words, draw_unit, seeded
from okl_flow.state import Axes, State, allocate, make_room

__all__ = ["KORS", "KORSState", "sampled", "sampled_by_row"]

_FLOAT_BYTES = 8


@dataclass(slots=True)
class KORSState(State):
    """The dictionary, the triangle of its curvature, and the map that it makes."""

    rows: Annotated[Array, Axes("dim", "size")]  # the dictionary, one example per column
    scales: Annotated[Array, Axes("size")]  # 1 / sqrt(probability) of each
    factor: Annotated[Array, Axes("size", "size")]  # R, R'R = S K S + alpha I
    projection: Annotated[Array, Axes("size", "rank")]  # M: features = M' kernel row
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator
    size: int  # examples in the dictionary
    rank: int  # features


@final
@dataclass(frozen=True, kw_only=True)
class KORS(FeatureMap, name="kors"):
    """Kernel online row sampling: a dictionary that an example enters as it is needed.

    With A the sum of phi phi' over all examples so far and regularization * I, the ridge leverage
    score of an example is phi' A^-1 phi: near 1 for one like no other, near 0 for one of many. It
    is estimated from the dictionary alone, from above. An example enters with probability
    oversampling times the estimate, at most 1, and then weighs 1 / probability; the dictionary's
    A is near that of all examples. Features are the Nyström features of the dictionary.

    Parameters:
        budget: examples in the dictionary at most; None for no bound. At least 1. Once it is
            full, nothing enters any more.
        kernel: the kernel to stand in for (K).
        regularization: what counts as little (alpha): the larger, the smaller the dictionary.
            Above 0.
        accuracy: by how much estimates are raised, to be above the scores (epsilon). Above 0, at
            most 1.
        oversampling: probability per estimated score (beta). Above 0.

    Cost: time O(budget * (budget + dim)) per example, and O(budget^3) for each update that the
    dictionary grows in; memory O(budget * (budget + dim)).

    >>> kors = KORS(kernel=Gaussian(bandwidth=1.0), oversampling=10.0)
    >>> state = kors.init(dim=1)
    >>> kors.update(state, [[0.0], [9.0], [9.0], [9.0], [9.0]])
    >>> rows, weights = kors.dictionary(state)
    >>> rows[:2].ravel(), weights[:2]
    (array([0., 9.]), array([1., 1.]))
    """

    budget: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    regularization: float = real(1.0, above=0.0)
    accuracy: float = real(0.5, above=0.0, high=1.0)
    oversampling: float = real(1.0, above=0.0)

    def __post_init__(self) -> None:
        check(self)

    def init(self, dim: int, seed: int = 0) -> KORSState:
        """A state without examples, and so without features; the seed starts the coins."""
        check_dim(dim)
        state = allocate(KORSState, dim=dim)
        state.words = seeded(seed)
        return state

    def update(self, state: KORSState, X: ArrayLike) -> None:
        """Let each example in, or not; the features follow at the end."""
        examples = checked_features(state, X)
        t, size = 0, state.size
        while t < examples.shape[0]:
            if size == state.rows.shape[1]:
                make_room(state, self.budget)
            t, size = _sample(
                t,
                examples,
                state.rows,
                state.scales,
                state.factor,
                size,
                state.words,
                self.kernel.native,
                self.regularization,
                self.accuracy,
                self.oversampling,
                self.budget or -1,
            )
        if size > state.size:
            gram = kernel_matrix(self.kernel.native, state.rows, size)
            state.projection = nystrom_projection(gram, None)
            state.size, state.rank = state.projection.shape
        state.seen += examples.shape[0]

    def take_still(self, state: KORSState, X: ArrayLike) -> int:
        """Count the examples, once the budget is full: before, a coin decides on each."""
        if state.size != self.budget:
            return 0
        self.update(state, X)
        return len(np.asarray(X))

    def features(self, state: KORSState, X: ArrayLike) -> Array:
        """The features of examples, one line per row of X."""
        return nystrom_features(
            self.kernel.native,
            state.rows,
            state.projection[: state.size],
            checked_features(state, X),
        )

    def dictionary(self, state: KORSState) -> tuple[Array, Array]:
        """The dictionary's examples, one per line, and their weights 1 / probability."""
        return state.rows[:, : state.size].T.copy(), state.scales[: state.size] ** 2

    @property
    def features_max(self) -> int | None:
        """The most features that it can have; None without a budget."""
        return self.budget

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without a budget."""
        if self.budget is None:
            return None
        return (self.budget * (dim + 1 + 2 * self.budget) + WORDS) * _FLOAT_BYTES


@inner
def sampled(
    kernel: NativeKernel,
    rows: Array,
    scales: Array,
    factor: Array,
    size: int,
    x: Array,
    scale: float,
    words: Words,
    alpha: float,
    accuracy: float,
    oversampling: float,
    budget: int,
    row: Array,
    z: Array,
) -> tuple[float, int]:
    """The probability of scale * x to enter the dictionary; a coin is flipped if it has room.

    Returns the probability, and how many examples the dictionary then has.
    """
    kernel_row(kernel, rows, size, x, row)
    return sampled_by_row(
        rows, scales, factor, size, x, kernel_at(kernel, x), scale, words, alpha, accuracy,
        oversampling, budget, row, z,
    )  # fmt: skip


@inner
def sampled_by_row(
    rows: Array,
    scales: Array,
    factor: Array,
    size: int,
    x: Array,
    own: float,
    scale: float,
    words: Words,
    alpha: float,
    accuracy: float,
    oversampling: float,
    budget: int,
    row: Array,
    z: Array,
) -> tuple[float, int]:
    """`sampled` where the kernel of x with the dictionary and with itself is known."""
    solve_scaled(factor, 0, scales, size, row, z)
    shorten(z, own, size)
    rest = rest_of(own, z, size)
    spread = scale * scale * rest / alpha
    probability = min(oversampling * (1.0 + accuracy) * (spread / (1.0 + spread)), 1.0)
    if size == budget or not draw_unit(words) < probability:
        return probability, size
    for j in range(x.shape[0]):
        rows[j, size] = x[j]
    scales[size] = scale / math.sqrt(probability)
    append_line(factor, size, size, scales[size], rest, alpha, z)
    return probability, size + 1


@native
def _sample(
    t: int,
    X: Array,
    rows: Array,
    scales: Array,
    factor: Array,
    size: int,
    words: Words,
    kernel: NativeKernel,
    alpha: float,
    accuracy: float,
    oversampling: float,
    budget: int,
) -> tuple[int, int]:
    """Go through the examples from t on; stop early where the arrays need more room."""
    row, z = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    while t < X.shape[0] and size != budget:
        if size == rows.shape[1]:
            return t, size
        size = sampled(
            kernel, rows, scales, factor, size, X[t], 1.0, words, alpha, accuracy, oversampling,
            budget, row, z,
        )[1]  # fmt: skip
        t += 1
    return X.shape[0], size
