"""NOLANA: descent in the features of landmarks that follow the stream.

Paper: Si, Kumar, Li, "Nonlinear online learning with adaptive Nyström approximation", 2018
(NOLANA).
Deviations: until there are landmarks, kernel descent on the examples that become them; schedules
are added; the eigenpairs are exact, as `okl_flow.approximation.oana` says. With them the normal
matrix of the re-fit is diagonal.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.nystrom import check_rank
from okl_flow.approximation.oana import (
    NativeFollowing,
    fill_features,
    fill_roots,
    following_of,
    landmark_to_move,
    move_landmark,
    rank_most,
)
from okl_flow.descent import gradient_step, learn_examples
from okl_flow.kernels import (
    TOGETHER,
    Gaussian,
    Kernel,
    NativeKernel,
    kernel_matrix,
    kernel_row,
    kernel_row_from,
    products,
    squared_distances,
)
from okl_flow.learner import (
    Learner,
    check_dim,
    checked_features,
    fitting_loss,
    shaped,
    stepped,
)
from okl_flow.linalg import decompose
from okl_flow.losses import Loss, NativeLoss
from okl_flow.native import Array, dot, inner, native
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.state import Axes, allocate
from okl_flow.support import Expansion, expand, expansion_bytes_max, expansion_score
from okl_flow.tasks import Binary, Task

__all__ = ["NOLANA", "NOLANAState"]


@dataclass(slots=True)
class NOLANAState(Expansion):
    """Stage one: examples and their weights. Stage two: landmarks, map and feature weights.

    In stage two the first `rank` weights of each output are those of the features.
    """

    counts: Annotated[Array, Axes("landmarks")]  # examples that a landmark is the mean of
    nearest_at: Annotated[Array, Axes("landmarks")]  # labelled event last nearest to it
    values: Annotated[Array, Axes("landmarks")]  # eigenvalues of the landmarks' kernel matrix
    vectors: Annotated[Array, Axes("landmarks", "landmarks")]  # its eigenvectors, in columns
    learned: int  # events that came with a label
    landmarks: int  # the budget in stage two, 0 before
    rank: int  # features
    moves: int  # landmarks moved


@final
@dataclass(frozen=True, kw_only=True)
class NOLANA(Learner):
    """Nonlinear online learning with adaptive Nyström approximation.

    Stage one is `kogd` on the first `budget` labelled events, which then become landmarks; x is
    known by the features S^-1/2 V' k(x), with k(x) its kernel with each landmark and S, V the
    `rank` largest eigenpairs of the landmarks' kernel matrix. In stage two a labelled event
    first makes one gradient step in these features. Then, if x is far enough from the nearest
    landmark, that one moves as in the map `oana`, and the weights are fitted anew so that they
    keep what the function was at the landmarks, the moved one in its new place. An event
    without a label moves nothing.

    An event that moves a landmark costs a hundred times one that moves none: `squared_distance`
    keeps them rare. On a drifting stream set `landmark_memory` or `landmark_ttl`.

    Formula:
        f(x) = w . phi(x), phi(x) = S^-1/2 V' k(x)
        w <- (1 - eta lambda) w - eta l'(f(x_t), y_t) phi(x_t)
        if |x_t - c|^2 >= epsilon for the nearest landmark c, which is the mean of N events:
        c <- c + (x_t - c) / (N + 1), and w = argmin sum_z (w . phi(z) - f(z))^2 + theta |w|^2

    Parameters:
        budget: landmarks (m). At least 1.
        rank: features (r); None for four fifths of the budget. At least 1, at most budget.
        squared_distance: the square of the distance from which an event moves its nearest
            landmark (epsilon). At least 0, with which every event moves one.
        landmark_memory: most events that a landmark counts as the mean of (cap on N), so that
            it keeps moving; None lets all freeze in the end. At least 1.
        landmark_ttl: a landmark that was nearest to none of so many labelled events jumps to
            the next event that would move another one; None for never. At least 1.
        counting: which events a landmark counts: those that moved it, as in the paper, or all
            that it was nearest to (examples).
        refit_ridge: weight of the squared norm in the re-fit (theta). At least 0.
        kernel: similarity of two examples (K). Nearest is by Euclidean distance under all.
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step (eta). Above 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        task: binary, multiclass or regression.

    Cost: time O(budget * (dim + rank)) per event, and O(budget^3) for one that moves a
    landmark; memory O(budget * (dim + budget)) per key.

    >>> learner = NOLANA(budget=1, kernel=Gaussian(bandwidth=1.0), squared_distance=0.01)
    >>> state = learner.init(dim=1)
    >>> _ = learner.step(state, [[0.0], [1.0]], [1.0, 1.0])
    >>> state.rows
    array([[0.5]])
    """

    name: ClassVar[str] = "nolana"
    budget: int = whole(100, low=1)
    rank: int | None = whole(None, low=1, optional=True)
    squared_distance: float = real(1.0, low=0.0)
    landmark_memory: int | None = whole(None, low=1, optional=True)
    landmark_ttl: int | None = whole(None, low=1, optional=True)
    counting: str = choice("moves", "examples")
    refit_ridge: float = real(1e-8, low=0.0)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_rank(self)
        check_shrinkage(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> NOLANAState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(NOLANAState, dim=dim, outputs=self.task.outputs)

    def score(self, state: NOLANAState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        if state.landmarks == 0:
            return expansion_score(self, state, X)
        features = checked_features(state, X)
        scores = _scores(
            features,
            self.kernel.native,
            state.rows,
            state.weights,
            state.values,
            state.vectors,
            state.rank,
        )
        return shaped(self.task, scores)

    def step(self, state: NOLANAState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        rate = native_rate(self.schedule, self.learning_rate)

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            if state.landmarks == 0:
                t, state.size, state.learned = learn_examples(
                    t,
                    features,
                    labels,
                    scores,
                    self.kernel.native,
                    state.rows,
                    state.weights,
                    state.size,
                    state.learned,
                    self.loss.native,
                    rate,
                    self.regularization,
                    True,
                )
                if state.size < self.budget:
                    return t
                _begin_stage_two(self, state)
            state.learned, state.rank, state.moves = _learn_features(
                t,
                features,
                labels,
                scores,
                self.kernel.native,
                following_of(self),
                state.rows,
                state.weights,
                state.counts,
                state.nearest_at,
                state.values,
                state.vectors,
                state.learned,
                state.rank,
                state.moves,
                rank_most(self),
                self.refit_ridge,
                self.loss.native,
                rate,
                self.regularization,
            )
            return len(features)

        return stepped(self, state, X, y, learn)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        besides = self.budget * (self.budget + 3)
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=besides)


@native
def _learn_features(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    kernel: NativeKernel,
    following: NativeFollowing,
    rows: Array,
    weights: Array,
    counts: Array,
    nearest_at: Array,
    values: Array,
    vectors: Array,
    learned: int,
    rank: int,
    moves: int,
    most: int,
    ridge: float,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
) -> tuple[int, int, int]:
    """Go through the events of stage two from t on."""
    size = rows.shape[1]
    squares, similar = np.empty((TOGETHER, size)), np.empty((TOGETHER, size))
    some, roots = np.empty((TOGETHER, size)), np.empty(size)
    features = np.zeros(size)  # as many as there are weights; those from the rank on stay 0
    target, change = np.empty(rows.shape[0]), np.empty(weights.shape[0])
    kept = np.empty(weights.shape)  # the function at the landmarks
    fill_roots(values, most, roots)
    while t < X.shape[0]:
        count = min(TOGETHER, X.shape[0] - t)
        for e in range(count):
            squared_distances(rows, size, X[t + e], squares[e])
            kernel_row_from(kernel, squares[e], rows, size, X[t + e], similar[e])
        fill_features(vectors, roots, rank, similar, count, some)
        place = -1
        for e in range(count):
            features[:rank] = some[e, :rank]
            expand(weights, features, rank, scores[t])
            if not math.isnan(y[t]):
                learned += 1
                eta = rate_at(rate, learned)
                gradient_step(loss, scores[t], y[t], eta, lam, weights, features, change)
                place = landmark_to_move(
                    following, rows, counts, nearest_at, X[t], learned, squares[e], target
                )
            t += 1
            if place >= 0:
                break  # the features of the events after it are theirs no longer
        if place >= 0:
            _evaluate(weights, vectors, roots, rank, features, kept)
            kernel_row(kernel, rows, size, target, similar[0])
            fill_features(vectors, roots, rank, similar, 1, some)
            expand(weights, some[0], rank, change)
            kept[:, place] = change
            move_landmark(kernel, rows, values, vectors, place, target, moves)
            moves += 1
            rank = fill_roots(values, most, roots)
            _fit(kept, values, vectors, roots, rank, ridge, weights)
            features[:] = 0.0
    return learned, rank, moves


@inner
def _evaluate(
    weights: Array, vectors: Array, roots: Array, rank: int, scaled: Array, out: Array
) -> None:
    """out[c, i] = the function at landmark i, whose features are S^1/2 V' at i."""
    for c in range(weights.shape[0]):
        for j in range(rank):
            scaled[j] = weights[c, j] * roots[j]
        for i in range(vectors.shape[0]):
            out[c, i] = dot(vectors[i], scaled, rank)


@inner
def _fit(
    kept: Array,
    values: Array,
    vectors: Array,
    roots: Array,
    rank: int,
    ridge: float,
    weights: Array,
) -> None:
    """The w that minimises |kept - Phi w|^2 + ridge |w|^2, Phi the landmarks' features.

    Phi = V S^1/2, so that the normal matrix is S + ridge.
    """
    for c in range(weights.shape[0]):
        weights[c] = 0.0
        products(vectors, rank, kept[c], weights[c])
        for j in range(rank):
            weights[c, j] *= roots[j] / (values[j] + ridge)


@native
def _scores(
    X: Array,
    kernel: NativeKernel,
    rows: Array,
    weights: Array,
    values: Array,
    vectors: Array,
    rank: int,
) -> Array:
    """The scores of all rows of X in stage two."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    size = rows.shape[1]
    similar, some, roots = np.empty((TOGETHER, size)), np.empty((TOGETHER, size)), np.empty(size)
    fill_roots(values, rank, roots)
    for begin in range(0, X.shape[0], TOGETHER):
        count = min(TOGETHER, X.shape[0] - begin)
        for e in range(count):
            kernel_row(kernel, rows, size, X[begin + e], similar[e])
        fill_features(vectors, roots, rank, similar, count, some)
        for e in range(count):
            expand(weights, some[e], rank, scores[begin + e])
    return scores


def _begin_stage_two(learner: NOLANA, state: NOLANAState) -> None:
    """Make landmarks of the examples kept, and give their weights to the features.

    f = sum_i a_i K(x_i, .) becomes w . features with w = a' K V S^-1/2 = a' V S^1/2.
    """
    size = state.landmarks = state.size
    state.counts, state.nearest_at = np.ones(size), np.full(size, float(state.learned))
    state.values, state.vectors = np.zeros(size), np.zeros((size, size))
    gram = kernel_matrix(learner.kernel.native, state.rows, size)
    decompose(gram, state.values, state.vectors)
    roots = np.zeros(size)
    state.rank = fill_roots(state.values, rank_most(learner), roots)
    kept = slice(state.rank)
    state.weights[:, kept] = (state.weights @ state.vectors[:, kept]) * roots[kept]
    state.weights[:, state.rank :] = 0.0
