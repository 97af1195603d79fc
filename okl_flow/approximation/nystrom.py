"""The Nyström map: an example is known by its kernel with a few landmarks.

Paper: Williams, Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
Deviations: the landmarks are the first examples of the stream in place of drawn ones, so that
the map is there as soon as they are (INys, the incremental form of the online learning papers).
"""

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.kernels import (
    Gaussian,
    Kernel,
    NativeKernel,
    kernel_matrix,
    kernel_row,
    products,
)
from okl_flow.learner import check_dim, checked_features
from okl_flow.linalg import eigenpairs
from okl_flow.native import Array, native
from okl_flow.parameters import check, part, whole
from okl_flow.state import Axes, State, allocate, make_room

__all__ = [
    "IncrementalNystrom",
    "IncrementalNystromState",
    "check_rank",
    "nystrom_features",
    "nystrom_projection",
]

_FLOAT_BYTES = 8

# Eigenvalues below this share of the largest are dropped. They carry round-off of some 1e-15 of
# it, and 1/sqrt(eigenvalue) passes that on to the features 1e5 times larger at most.
_EIGENVALUE_FLOOR = 1e-10


@dataclass(slots=True)
class IncrementalNystromState(State):
    """The landmarks and the map that they make."""

    rows: Annotated[Array, Axes("dim", "size")]  # landmarks, one per column
    projection: Annotated[Array, Axes("size", "rank")]  # M: features = M' kernel row
    size: int  # landmarks held
    rank: int  # features


@final
@dataclass(frozen=True, kw_only=True)
class IncrementalNystrom(FeatureMap, name="incremental_nystrom"):
    """The Nyström map on the first examples of a stream.

    The first `budget` examples become landmarks. With the eigenpairs (values S, vectors V) of
    their kernel matrix and k(x) the kernel of x with each of them, features(x) is
    S^-1/2 V' k(x). At full rank the estimate of the kernel is exact wherever one of the two
    examples is a landmark.

    Parameters:
        budget: landmarks (B). At least 1.
        rank: eigenpairs used, the largest (k); None uses all. At least 1, at most budget.
            Those whose eigenvalue is lost in round-off are not used.
        kernel: the kernel to stand in for (K).

    Cost: time O(budget * (dim + rank)) per example, and O(budget^3) for each update until
    the budget is full; memory O(budget * (dim + rank)).

    >>> nystrom = IncrementalNystrom(budget=2, kernel=Gaussian(bandwidth=1.0))
    >>> state = nystrom.init(dim=1)
    >>> nystrom.update(state, [[0.0], [1.0], [5.0]])
    >>> nystrom.kernel_estimate(state, [[0.0]], [[1.0], [2.0]]).round(3)
    array([[0.607, 0.135]])
    """

    budget: int = whole(100, low=1)
    rank: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())

    def __post_init__(self) -> None:
        check(self)
        check_rank(self)

    def init(self, dim: int, seed: int = 0) -> IncrementalNystromState:
        """A state without landmarks, and so without features; nothing is drawn."""
        check_dim(dim)
        return allocate(IncrementalNystromState, dim=dim)

    def update(self, state: IncrementalNystromState, X: ArrayLike) -> None:
        """Make landmarks of the examples, as long as there is room."""
        examples = checked_features(state, X)
        size = min(state.size + examples.shape[0], self.budget)
        if size > state.size:
            while size > state.rows.shape[1]:
                make_room(state, self.budget)
            state.rows[:, state.size : size] = examples[: size - state.size].T
            state.projection = nystrom_projection(
                kernel_matrix(self.kernel.native, state.rows, size), self.rank
            )
            state.size, state.rank = state.projection.shape
        state.seen += examples.shape[0]

    def take_still(self, state: IncrementalNystromState, X: ArrayLike) -> int:
        """Count the examples, once all landmarks are there: before, each makes another map."""
        if state.size < self.budget:
            return 0
        self.update(state, X)
        return len(np.asarray(X))

    def features(self, state: IncrementalNystromState, X: ArrayLike) -> Array:
        """The features of examples, one line per row of X."""
        return nystrom_features(
            self.kernel.native, state.rows, state.projection, checked_features(state, X)
        )

    @property
    def examples_needed(self) -> int:
        """Examples without which it has not the features that it will keep."""
        return self.budget

    @property
    def features_max(self) -> int:
        """The most features that it can have."""
        return self.rank or self.budget

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return self.budget * (dim + (self.rank or self.budget)) * _FLOAT_BYTES


def check_rank(owner: Any) -> None:
    """Refuse a rank that the budget cannot have."""
    if owner.rank is not None and owner.rank > owner.budget:
        raise ValueError(
            f"{owner.name}: rank must be at most the budget of {owner.budget}, or None, "
            f"not {owner.rank}"
        )


def nystrom_projection(gram: Array, rank: int | None) -> Array:
    """The matrix M of the map, V S^-1/2 of the kernel matrix's largest eigenpairs.

    M' k(x) are the features of x, and M M' inverts the kernel matrix as far as its rank goes.
    M has a column per eigenpair. A kernel matrix of zeros, or with overflow in it, has none to
    use: M is then one column of zeros, and every feature 0.
    """
    if not (np.isfinite(gram).all() and gram.any()):
        return np.zeros((gram.shape[0], 1))
    values, vectors = eigenpairs(gram)
    kept = min(int(np.sum(values > _EIGENVALUE_FLOOR * values[0])), rank or gram.shape[0])
    return np.ascontiguousarray(vectors[:, :kept] / np.sqrt(values[:kept]))


@native
def nystrom_features(kernel: NativeKernel, rows: Array, projection: Array, X: Array) -> Array:
    """The features of all rows of X."""
    size, rank = projection.shape
    features = np.empty((X.shape[0], rank))
    row = np.empty(size)
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, size, X[t], row)
        products(projection, rank, row, features[t])
    return features
