"""The adaptive Nyström map: its landmarks follow the stream as the centres of online k-means.

Paper: Si, Kumar, Li, "Nonlinear online learning with adaptive Nyström approximation", 2018
(OANA).
Deviations: the landmarks are the first examples of the stream in place of random ones. The
eigenpairs follow a moved landmark by two changes of rank one, the second of the two ways in the
paper, and all of them exactly: its first way, power rounds from the old eigenvectors, is no
cheaper with the care that small eigenvalues need, and leaves an error. `landmark_memory`,
`landmark_ttl` and `counting` are the paper's future work.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.approximation.nystrom import check_rank
from okl_flow.eigen import change_line
from okl_flow.kernels import (
    TOGETHER,
    Gaussian,
    Kernel,
    NativeKernel,
    kernel_matrix,
    kernel_row,
    squared_distances,
)
from okl_flow.learner import check_dim, checked_features
from okl_flow.linalg import decompose
from okl_flow.native import Array, inner, matrix_products, native
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.state import Axes, State, allocate, make_room

__all__ = [
    "OANA",
    "NativeFollowing",
    "OANAState",
    "fill_features",
    "fill_roots",
    "following_of",
    "landmark_to_move",
    "move_landmark",
    "rank_most",
]

NativeFollowing = tuple[float, float, float, bool]

_FLOAT_BYTES = 8

# Eigenvalues below this share of the largest are lost in round-off, as in `nystrom`.
_EIGENVALUE_FLOOR = 1e-10

# A full eigen-decomposition costs four changes. Taken once in so many moves it hides among them,
# and round-off gathers to no more than some 1e-14 of the largest eigenvalue.
_MOVES_BETWEEN = 128

# A change that leaves eigenvalues so much smaller than those that it went through leaves their
# round-off behind as well.
_SHRINKAGE_MOST = 0.01


@dataclass(slots=True)
class OANAState(State):
    """The landmarks, how they came to be where they are, and the map that they make."""

    rows: Annotated[Array, Axes("dim", "size")]  # landmarks, one per column
    counts: Annotated[Array, Axes("size")]  # examples that a landmark is the mean of
    nearest_at: Annotated[Array, Axes("size")]  # number of the example last nearest to it
    values: Annotated[Array, Axes("size")]  # eigenvalues of the landmarks' kernel matrix
    vectors: Annotated[Array, Axes("size", "size")]  # its eigenvectors, one per column
    size: int  # landmarks held
    rank: int  # features
    moves: int  # landmarks moved


@final
@dataclass(frozen=True, kw_only=True)
class OANA(FeatureMap, name="oana"):
    """The Nyström map on landmarks that follow the stream.

    The first `budget` examples become landmarks. From then on the landmark u nearest to an
    example x moves, if |x - u|^2 is at least `squared_distance`, to (N u + x) / (N + 1), with
    N the number of examples that it is the mean of. With the eigenpairs (values S, vectors V)
    of the landmarks' kernel matrix and k(x) the kernel of x with each of them, features(x) is
    S^-1/2 V' k(x), of the `rank` largest.

    Parameters:
        budget: landmarks (m). At least 1.
        rank: eigenpairs used, the largest (r); None uses four fifths of the budget. At least
            1, at most budget. Those whose eigenvalue is lost in round-off are not used.
        squared_distance: the square of the distance from which an example moves its nearest
            landmark (epsilon). At least 0, with which every example moves one.
        landmark_memory: most examples that a landmark counts as the mean of (cap on N), so
            that it keeps moving; None lets all freeze in the end. At least 1.
        landmark_ttl: a landmark that was nearest to none of so many examples jumps to the
            next example that would move another one, and begins anew; None for never. At
            least 1.
        counting: which examples a landmark counts: those that moved it, as in the paper, or
            all that it was nearest to. Landmarks in dense places then move less.
        kernel: the kernel to stand in for (K). Nearest is by Euclidean distance under all.

    Cost: time O(budget * (dim + rank)) per example, and O(budget^3) for one that moves a
    landmark; memory O(budget * (dim + budget)).

    >>> oana = OANA(budget=1, kernel=Gaussian(bandwidth=1.0), squared_distance=4.0)
    >>> state = oana.init(dim=1)
    >>> oana.update(state, [[0.0], [1.5], [2.0]])
    >>> oana.landmarks(state)
    array([[1.]])
    """

    budget: int = whole(100, low=1)
    rank: int | None = whole(None, low=1, optional=True)
    squared_distance: float = real(1.0, low=0.0)
    landmark_memory: int | None = whole(None, low=1, optional=True)
    landmark_ttl: int | None = whole(None, low=1, optional=True)
    counting: str = choice("moves", "examples")
    kernel: Kernel = part(Kernel, Gaussian())

    def __post_init__(self) -> None:
        check(self)
        check_rank(self)

    def init(self, dim: int, seed: int = 0) -> OANAState:
        """A state without landmarks, and so without features; nothing is drawn."""
        check_dim(dim)
        return allocate(OANAState, dim=dim)

    def update(self, state: OANAState, X: ArrayLike) -> None:
        """Make landmarks of the examples as long as there is room, then move them."""
        examples = checked_features(state, X)
        taken = min(self.budget - state.size, examples.shape[0])
        if taken > 0:
            self._add_landmarks(state, examples[:taken])
        if taken < examples.shape[0]:
            state.rank, state.moves = _follow(
                examples[taken:],
                state.seen + taken,
                self.kernel.native,
                following_of(self),
                rank_most(self),
                state.rows,
                state.counts,
                state.nearest_at,
                state.values,
                state.vectors,
                state.moves,
            )
        state.seen += examples.shape[0]

    def take_still(self, state: OANAState, X: ArrayLike) -> int:
        """Take in examples up to the first that moves a landmark, or makes one."""
        if state.size < self.budget:
            return 0
        examples = checked_features(state, X)
        still = _take_still(
            examples,
            state.seen,
            following_of(self),
            state.rows,
            state.counts,
            state.nearest_at,
        )
        state.seen += still
        return int(still)

    def features(self, state: OANAState, X: ArrayLike) -> Array:
        """The features of examples, one line per row of X."""
        examples = checked_features(state, X)
        return _features(
            self.kernel.native, state.rows, state.values, state.vectors, state.rank, examples
        )

    def landmarks(self, state: OANAState) -> Array:
        """The landmarks, one per line."""
        return state.rows[:, : state.size].T.copy()

    def eigenpairs(self, state: OANAState) -> tuple[Array, Array]:
        """The eigenvalues that the features use, the largest first, and their eigenvectors."""
        return state.values[: state.rank].copy(), state.vectors[:, : state.rank].copy()

    @property
    def examples_needed(self) -> int:
        """Examples without which it has not the features that it will keep."""
        return self.budget

    @property
    def features_max(self) -> int:
        """The most features that it can have."""
        return rank_most(self)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return self.budget * (dim + self.budget + 3) * _FLOAT_BYTES

    def _add_landmarks(self, state: OANAState, examples: Array) -> None:
        size = state.size + examples.shape[0]
        while size > state.rows.shape[1]:
            make_room(state, self.budget)
        state.rows[:, state.size : size] = examples.T
        state.counts[state.size : size] = 1.0
        state.nearest_at[state.size : size] = np.arange(state.size + 1, size + 1)
        state.size = size
        state.values, state.vectors = np.zeros(size), np.zeros((size, size))
        decompose(kernel_matrix(self.kernel.native, state.rows, size), state.values, state.vectors)
        state.rank = fill_roots(state.values, rank_most(self), np.zeros(size))


def rank_most(owner: Any) -> int:
    """The rank asked for, or four fifths of the budget."""
    return int(max(1, 4 * owner.budget // 5) if owner.rank is None else owner.rank)


def following_of(owner: Any) -> NativeFollowing:
    """How landmarks follow the stream, as a native loop takes it."""
    memory, ttl = (
        math.inf if most is None else float(most)
        for most in (owner.landmark_memory, owner.landmark_ttl)
    )
    return owner.squared_distance, memory, ttl, owner.counting == "examples"


@native
def landmark_to_move(
    following: NativeFollowing,
    rows: Array,
    counts: Array,
    nearest_at: Array,
    x: Array,
    number: int,
    squares: Array,
    target: Array,
) -> int:
    """Which landmark moves on example `number`, and to what `target`; -1 if none does.

    `squares` are the squared distances of x. Counts and times are brought up to date; the
    landmark stays for `move_landmark`.
    """
    enough, memory, ttl, counts_all = following
    nearest = np.argmin(squares)
    nearest_at[nearest] = number
    if squares[nearest] < enough:
        if counts_all:
            counts[nearest] = min(counts[nearest] + 1.0, memory)
        return -1
    stalest = np.argmin(nearest_at)
    if number - nearest_at[stalest] > ttl:
        nearest_at[stalest] = number
        counts[stalest] = 1.0
        target[:] = x
        return int(stalest)
    count = counts[nearest]
    for j in range(x.shape[0]):
        target[j] = (count * rows[j, nearest] + x[j]) / (count + 1.0)
    counts[nearest] = min(count + 1.0, memory)
    return int(nearest)


@native
def move_landmark(
    kernel: NativeKernel,
    rows: Array,
    values: Array,
    vectors: Array,
    place: int,
    target: Array,
    moves: int,
) -> None:
    """Move a landmark, and the eigenpairs with it; `moves` counts those until now."""
    size = rows.shape[1]
    before, change = np.empty(size), np.empty(size)
    kernel_row(kernel, rows, size, rows[:, place].copy(), before)
    rows[:, place] = target
    kernel_row(kernel, rows, size, target, change)
    largest = values[0]
    length = 0.0
    for i in range(size):
        change[i] -= before[i]
        length = max(length, abs(change[i]))
    change[place] *= 0.5
    # A largest eigenvalue of 0 may stand for a matrix with an overflow. From an overflow in the
    # change come eigenvalues that are no numbers and above nothing.
    kept = largest > 0.0 and (moves + 1) % _MOVES_BETWEEN != 0
    if kept:
        change_line(values, vectors, place, change)
        kept = values[0] > _SHRINKAGE_MOST * max(largest, length)
    if not kept:
        decompose(kernel_matrix(kernel, rows, size), values, vectors)


@inner
def fill_roots(values: Array, most: int, roots: Array) -> int:
    """The rank, which is at most `most`, and that many roots of the eigenvalues."""
    rank, most = 0, min(most, values.shape[0])
    while rank < most and values[rank] > _EIGENVALUE_FLOOR * values[0]:
        roots[rank] = math.sqrt(values[rank])
        rank += 1
    return rank


@inner
def fill_features(
    vectors: Array, roots: Array, rank: int, similar: Array, count: int, features: Array
) -> None:
    """The features of a few examples, from the kernel of each with each landmark."""
    matrix_products(similar, count, vectors, features)
    for e in range(count):
        for j in range(rank):
            features[e, j] /= roots[j]


@native
def _follow(
    X: Array,
    seen: int,
    kernel: NativeKernel,
    following: NativeFollowing,
    most: int,
    rows: Array,
    counts: Array,
    nearest_at: Array,
    values: Array,
    vectors: Array,
    moves: int,
) -> tuple[int, int]:
    """Let the landmarks follow the rows of X. Returns the rank and the moves."""
    squares, target = np.empty(rows.shape[1]), np.empty(rows.shape[0])
    for t in range(X.shape[0]):
        squared_distances(rows, rows.shape[1], X[t], squares)
        place = landmark_to_move(
            following, rows, counts, nearest_at, X[t], seen + t + 1, squares, target
        )
        if place >= 0:
            move_landmark(kernel, rows, values, vectors, place, target, moves)
            moves += 1
    return fill_roots(values, most, squares), moves


@native
def _take_still(
    X: Array, seen: int, following: NativeFollowing, rows: Array, counts: Array, nearest_at: Array
) -> int:
    """Take in rows of X up to the first that is far enough from all landmarks to move one."""
    squares, target = np.empty(rows.shape[1]), np.empty(rows.shape[0])
    for t in range(X.shape[0]):
        squared_distances(rows, rows.shape[1], X[t], squares)
        if squares[np.argmin(squares)] >= following[0]:
            return t
        landmark_to_move(following, rows, counts, nearest_at, X[t], seen + t + 1, squares, target)
    return len(X)


@native
def _features(
    kernel: NativeKernel, rows: Array, values: Array, vectors: Array, rank: int, X: Array
) -> Array:
    """The features of all rows of X."""
    size = vectors.shape[0]
    features = np.empty((X.shape[0], rank))
    similar, some, roots = np.empty((TOGETHER, size)), np.empty((TOGETHER, size)), np.empty(size)
    fill_roots(values, rank, roots)
    for begin in range(0, X.shape[0], TOGETHER):
        count = min(TOGETHER, X.shape[0] - begin)
        for e in range(count):
            kernel_row(kernel, rows, size, X[begin + e], similar[e])
        fill_features(vectors, roots, rank, similar, count, some)
        features[begin : begin + count] = some[:count, :rank]
    return features
