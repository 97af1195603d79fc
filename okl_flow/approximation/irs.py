"""Incremental randomized sketching: a map that learns the kernel from two small sketches of it.

Paper: Zhang, Liao, "Incremental randomized sketching for online kernel learning", ICML 2019.
Deviations: the number of blocks need not divide the sketch size; the pseudo-inverse is the
exact one of the best approximation of rank k, where the paper's is a randomized one; the rows
that the sketches are made of are bounded in number: the oldest is taken out again, exactly.
In equation 4 of the paper the last transpose is one too many: features are Q' k(x).
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.descent import fill_features
from okl_flow.kernels import TOGETHER, Gaussian, Kernel, NativeKernel
from okl_flow.learner import check_dim, checked_features
from okl_flow.linalg import eigenpairs, pseudo_inverse
from okl_flow.native import Array, native
from okl_flow.parameters import check, part, whole
from okl_flow.rng import WORDS, Words, seeded
from okl_flow.sketches import Integers, draw_entries, drawn_first, sketch_rows, update_sketches
from okl_flow.state import Axes, State, allocate, is_full, make_room

__all__ = [
    "IRS",
    "IRSState",
    "SketchSizes",
    "begin_sketches",
    "check_sizes",
    "sketch_bytes_max",
    "sketch_projection",
    "sketch_sizes",
    "take_into_sketches",
]

_FLOAT_BYTES = 8
_ENTRY_BYTES = 4

# Eigen- and singular values below this share of the largest are taken for none. They carry
# round-off of some 1e-15 of it, and the pseudo-inverse passes that on 1e7 times larger at most.
_SHARE_SMALLEST = 1e-7


class SketchSizes(NamedTuple):
    """The sizes of the sketches, those left open filled in."""

    sketch: int  # s_p, columns of S_p
    landmarks: int  # s_m, columns of S_m
    rank: int  # k
    rows: int  # examples kept at most


@dataclass(slots=True)
class IRSState(State):
    """The rows, what S_p has drawn for them, the two sketches and the map they make.

    Once there are sketches, the landmarks are the first of the rows. The others follow, by age
    from `oldest` on, and from the end to the first of them.
    """

    rows: Annotated[Array, Axes("dim", "size")]  # stored examples, one per column
    entries: Annotated[
        Integers, Axes("size", "blocks", scalar_type=np.int32)
    ]  # a row's columns of S_p, counted from 1, with their signs
    phi_pp: Annotated[Array, Axes("sketch", "sketch")]  # S_p' K S_p
    phi_pm: Annotated[Array, Axes("sketch", "landmarks")]  # S_p' K S_m
    projection: Annotated[Array, Axes("landmarks", "rank")]  # Q: features = Q' kernel row
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator
    size: int  # rows stored
    rank: int  # features; 0 as long as there is no map
    oldest: int  # place of the row that goes next
    updates: int  # updates since the sketches were last made from the rows


@final
@dataclass(frozen=True, kw_only=True)
class IRS(FeatureMap, name="irs"):
    """Two sketches of the kernel matrix, kept up to date as rows come and go.

    With K the kernel matrix of the stored examples, S_p a sparse Johnson-Lindenstrauss
    transform (an entry of +-1/sqrt(block_count) in each block of a row, the rest 0) and S_m the
    choice of a few rows as landmarks, the sketches are Phi_pp = S_p' K S_p and
    Phi_pm = S_p' K S_m. With k(x) the kernel of x with each landmark, features(x) = Q' k(x),
    where Q = Phi_pm^+ V Sigma^1/2 of the largest eigenpairs of Phi_pp. Q Q' is, at this rank,
    the matrix F for which k(x)' F k(z) comes nearest to K on the stored examples, as seen
    through S_p.

    The first `budget` examples fill a buffer, from which landmarks and sketches are drawn. The
    landmarks stay. After that, each `update_every`-th example is taken into the sketches by
    changes of rank one, and stored; over `stored_rows` examples the oldest that is no landmark
    is first taken out of them.

    Parameters:
        budget: examples from which the first sketches are made (B). At least 1.
        sketch_size: columns of S_p (s_p); None for three quarters of the budget, as in the
            paper. The more rows share a column, the more of their kernel is noise: where the
            estimate itself is wanted, 1.5 times the budget halves its error. At least 1.
        landmark_count: landmarks (s_m), at most budget; None for half of it.
        rank: features at most (k), at most sketch_size and landmark_count; None for 0.4 of the
            budget.
        block_count: entries of S_p in each row (d), at most sketch_size. Columns that do not
            make up a whole block stay empty. At least 1.
        update_every: examples from one update to the next (rho). At least 1.
        stored_rows: examples kept at most, at least budget and above landmark_count; None for
            twice the budget.
        kernel: the kernel to stand in for (K).

    Cost: time O(landmark_count * (dim + rank)) for features, O(stored_rows * (dim +
    block_count)) for an update, and O(sketch_size^3) once per call that updates; memory
    O(stored_rows * dim + sketch_size^2).

    >>> irs = IRS(budget=40, landmark_count=40, rank=30, kernel=Gaussian(bandwidth=1.0))
    >>> state = irs.init(dim=1)
    >>> irs.update(state, [[0.05 * i] for i in range(40)])
    >>> irs.kernel_estimate(state, [[0.0]], [[0.5], [1.0]]).round(3)
    array([[0.882, 0.607]])
    """

    budget: int = whole(100, low=1)
    sketch_size: int | None = whole(None, low=1, optional=True)
    landmark_count: int | None = whole(None, low=1, optional=True)
    rank: int | None = whole(None, low=1, optional=True)
    block_count: int = whole(4, low=1)
    update_every: int = whole(1, low=1)
    stored_rows: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())

    def __post_init__(self) -> None:
        check(self)
        check_sizes(self)

    def init(self, dim: int, seed: int = 0) -> IRSState:
        """A state without examples, and so without features; `seed` starts the generator."""
        check_dim(dim)
        state = allocate(IRSState, dim=dim, blocks=self.block_count)
        state.words = seeded(seed)
        return state

    def update(self, state: IRSState, X: ArrayLike) -> None:
        """Fill the buffer, then take every `update_every`-th example into the sketches."""
        examples = checked_features(state, X)
        size = min(state.size + examples.shape[0], self.budget)
        filled = max(0, size - state.size)
        if filled > 0:
            while size > state.rows.shape[1]:
                make_room(state, self.budget)
            state.rows[:, state.size : size] = examples[:filled].T
            state.size = size
            if size == self.budget:
                begin_sketches(self, state)
        after = max(0, state.seen - self.budget)  # examples since the buffer was full
        due = examples[filled + (-after - 1) % self.update_every :: self.update_every]
        state.seen += examples.shape[0]
        if due.shape[0] > 0:
            take_into_sketches(self, state, due)
        if (filled > 0 and size == self.budget) or due.shape[0] > 0:
            state.projection = sketch_projection(self, state)
            state.rank = state.projection.shape[1]

    def take_still(self, state: IRSState, X: ArrayLike) -> int:
        """Take in examples up to the one that fills the buffer, or that makes a new map."""
        examples = checked_features(state, X)
        filling = self.budget - 1 - state.seen
        until_update = (self.budget - state.seen - 1) % self.update_every
        still: int = min(examples.shape[0], filling if filling >= 0 else until_update)
        self.update(state, examples[:still])
        return still

    def features(self, state: IRSState, X: ArrayLike) -> Array:
        """The features of examples, one line per row of X; none before the buffer is full."""
        return _features(
            self.kernel.native, state.rows, state.projection, checked_features(state, X)
        )

    @property
    def examples_needed(self) -> int:
        """Examples without which it has not the features that it will keep."""
        return self.budget

    @property
    def features_max(self) -> int:
        """The most features that it can have."""
        return sketch_sizes(self).rank

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return sketch_bytes_max(self, dim)


def sketch_sizes(owner: Any) -> SketchSizes:
    """The sizes that a map's or learner's parameters say, or leave to the budget."""
    sketch = owner.sketch_size or max(owner.block_count, 3 * owner.budget // 4)
    landmarks = owner.landmark_count or (owner.budget + 1) // 2
    rank = owner.rank or max(1, min(sketch, landmarks, 2 * owner.budget // 5))
    return SketchSizes(sketch, landmarks, rank, owner.stored_rows or 2 * owner.budget)


def check_sizes(owner: Any) -> None:
    """Refuse sizes that do not go together."""
    sizes = sketch_sizes(owner)
    for parameter, asked, most, limit in (
        ("landmark_count", sizes.landmarks, owner.budget, "the budget"),
        ("block_count", owner.block_count, sizes.sketch, "the sketch_size"),
        ("rank", sizes.rank, sizes.sketch, "the sketch_size"),
        ("rank", sizes.rank, sizes.landmarks, "the landmark_count"),
    ):
        if asked > most:
            raise ValueError(
                f"{owner.name}: {parameter} must be at most {limit} of {most}, not {asked}"
            )
    least = max(owner.budget, sizes.landmarks + 1)
    if sizes.rows < least:
        raise ValueError(
            f"{owner.name}: stored_rows must be at least {least}, as it holds the budget of "
            f"{owner.budget} and more than the {sizes.landmarks} landmarks, not {sizes.rows}"
        )


def sketch_bytes_max(owner: Any, dim: int) -> int:
    """The most bytes that the arrays of an IRSState can take."""
    sizes = sketch_sizes(owner)
    numbers: int = sizes.rows * dim + sizes.sketch * (sizes.sketch + sizes.landmarks) + WORDS
    numbers += sizes.landmarks * sizes.rank
    entries: int = sizes.rows * owner.block_count
    return numbers * _FLOAT_BYTES + entries * _ENTRY_BYTES


def begin_sketches(owner: Any, state: IRSState) -> NDArray[np.int64]:
    """Draw landmarks and S_p for the full buffer, and make the sketches.

    The landmarks move to the front; landmarks and others keep their order. Returns where each
    row was.
    """
    sizes = sketch_sizes(owner)
    order = drawn_first(state.words, state.size, sizes.landmarks)
    state.rows = np.ascontiguousarray(state.rows[:, order])
    draw_entries(state.words, sizes.sketch // owner.block_count, state.entries, 0, state.size)
    state.phi_pp = np.zeros((sizes.sketch, sizes.sketch))
    state.phi_pm = np.zeros((sizes.sketch, sizes.landmarks))
    sketch_rows(
        owner.kernel.native, state.rows, state.entries, state.size, state.phi_pp, state.phi_pm
    )
    state.oldest = sizes.landmarks
    return order


def take_into_sketches(owner: Any, state: IRSState, X: Array) -> None:
    """An update round for every row of X."""
    sizes = sketch_sizes(owner)
    t = 0
    while t < X.shape[0]:
        if state.size < sizes.rows and is_full(state):
            make_room(state, sizes.rows)
        t, state.size, state.oldest, state.updates = update_sketches(
            t,
            np.ascontiguousarray(X),
            owner.kernel.native,
            state.rows,
            state.entries,
            state.phi_pp,
            state.phi_pm,
            state.words,
            state.size,
            state.oldest,
            state.updates,
            sizes.rows,
        )


def sketch_projection(owner: Any, state: IRSState) -> Array:
    """The matrix Q of the map, from the sketches alone; features are Q' k(x).

    Q has a column per eigenpair of Phi_pp that counts. Sketches of zeros, or with overflow in
    them, have none: Q is then one column of zeros, and every feature 0.
    """
    rank = sketch_sizes(owner).rank
    nothing = np.zeros((state.phi_pm.shape[1], 1))
    if not (np.isfinite(state.phi_pp).all() and np.isfinite(state.phi_pm).all()):
        return nothing
    values, vectors = eigenpairs(0.5 * (state.phi_pp + state.phi_pp.T))
    kept = min(int(np.sum(values > _SHARE_SMALLEST * values[0])), rank) if values[0] > 0.0 else 0
    if kept == 0 or not state.phi_pm.any():
        return nothing
    inverse = pseudo_inverse(state.phi_pm, rank, _SHARE_SMALLEST)
    return np.ascontiguousarray(inverse @ (vectors[:, :kept] * np.sqrt(values[:kept])))


@native
def _features(kernel: NativeKernel, rows: Array, projection: Array, X: Array) -> Array:
    """The features of all rows of X."""
    features = np.empty((X.shape[0], projection.shape[1]))
    row = np.empty((TOGETHER, projection.shape[0]))
    for begin in range(0, X.shape[0], TOGETHER):
        end = min(begin + TOGETHER, X.shape[0])
        fill_features(kernel, rows, projection, False, X[begin:end], row, features[begin:end])
    return features
