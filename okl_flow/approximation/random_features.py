"""Random Fourier features: waves along random directions, whose products average to a kernel.

Paper: Rahimi, Recht, "Random features for large-scale kernel machines", NIPS 2007.
Deviations: a cosine and a sine of each direction in place of one cosine with a random phase,
which has the smaller error and makes the estimate of K(x, x) exact.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.kernels import TOGETHER, Gaussian, Kernel, Laplacian, products, products_of_some
from okl_flow.learner import check_dim, checked_features
from okl_flow.native import Array, cosines_and_sines, inner, native
from okl_flow.parameters import check, part, whole
from okl_flow.rng import Words, draw_normals, draw_unit, seeded
from okl_flow.state import State, allocate

__all__ = [
    "RandomFourier",
    "RandomFourierState",
    "check_kernel",
    "fourier_directions",
    "fourier_features",
    "fourier_features_of_some",
]

_DIRECTIONS_KEPT = 32


@dataclass(slots=True)
class RandomFourierState(State):
    """A count of examples: the directions follow from the configuration."""


@final
@dataclass(frozen=True, kw_only=True)
class RandomFourier(FeatureMap, name="random_fourier"):
    """Random Fourier features: cosine and sine of x along random directions.

    With directions w drawn from the Fourier transform of the kernel, cos(w . (x - z)) is K(x, z)
    on average. The features are [cos(w_i . x)..., sin(w_i . x)...] / sqrt(feature_count), two per
    direction. The directions follow from kernel, feature_count and seed alone, and all states of
    a process share them; examples change nothing.

    Parameters:
        feature_count: directions (D); half the number of features. At least 1.
        kernel: the kernel to stand in for (K): gaussian or laplacian.
        seed: draws the directions. At least 0.

    Cost: time O(feature_count * dim) per example, no memory per state.

    >>> fourier = RandomFourier(feature_count=2000, kernel=Gaussian(bandwidth=1.0))
    >>> state = fourier.init(dim=2)
    >>> fourier.kernel_estimate(state, [[0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]).round(1)
    array([[1. , 0.6]])
    """

    feature_count: int = whole(100, low=1)
    kernel: Gaussian | Laplacian = part(Kernel, Gaussian())
    seed: int = whole(0, low=0)

    def __post_init__(self) -> None:
        check(self)
        check_kernel(self, Gaussian, Laplacian)

    def init(self, dim: int, seed: int = 0) -> RandomFourierState:
        """A state that has seen nothing; it draws nothing, so the seed plays no part."""
        check_dim(dim)
        return allocate(RandomFourierState, dim=dim)

    def update(self, state: RandomFourierState, X: ArrayLike) -> None:
        """Count the examples."""
        state.seen += checked_features(state, X).shape[0]

    def take_still(self, state: RandomFourierState, X: ArrayLike) -> int:
        """Count the examples: none changes the features."""
        self.update(state, X)
        return len(np.asarray(X))

    def features(self, state: RandomFourierState, X: ArrayLike) -> Array:
        """The features of examples, one line per row of X."""
        directions = fourier_directions(self.kernel, self.feature_count, state.dim, self.seed)
        return _features(directions, checked_features(state, X))

    @property
    def features_max(self) -> int:
        """The number of features."""
        return 2 * self.feature_count

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take: it has none."""
        return 0


def check_kernel(owner: Any, *allowed: type[Kernel]) -> None:
    """Refuse a kernel that the owner has no directions for."""
    if not isinstance(owner.kernel, allowed):
        raise ValueError(
            f"{owner.name}: kernel must be {' or '.join(kernel.name for kernel in allowed)}, "
            f"not {owner.kernel.name}: its random directions stand in for no other"
        )


@lru_cache(maxsize=_DIRECTIONS_KEPT)
def fourier_directions(
    kernel: Gaussian | Laplacian, feature_count: int, dim: int, seed: int
) -> Array:
    """The directions of a kernel, one per column, for all to read.

    They are drawn one direction after the other, so that more of them begin with the same ones.
    """
    drawn = np.empty((feature_count, dim))
    words = seeded(seed)
    if isinstance(kernel, Gaussian):
        draw_normals(words, drawn)
    else:
        _draw_cauchys(words, drawn)
    directions = np.ascontiguousarray(drawn.T / kernel.bandwidth)
    directions.flags.writeable = False
    return directions


@inner
def fourier_features(directions: Array, x: Array, angles: Array, features: Array) -> None:
    """Fill in features = [cos(angles), sin(angles)] / sqrt(D), angles[i] = x . directions[:, i]."""
    count = directions.shape[1]
    products(directions, count, x, angles)
    cosines_and_sines(angles, 1.0 / math.sqrt(count), features[:count], features[count:])


@inner
def fourier_features_of_some(directions: Array, X: Array, angles: Array, features: Array) -> None:
    """features[e] = `fourier_features` of X[e], for the up to four rows of X."""
    count = directions.shape[1]
    products_of_some(directions, count, X, angles)
    for e in range(X.shape[0]):
        own = features[e]
        cosines_and_sines(angles[e], 1.0 / math.sqrt(count), own[:count], own[count:])


@native
def _features(directions: Array, X: Array) -> Array:
    """The features of all rows of X."""
    features = np.empty((X.shape[0], 2 * directions.shape[1]))
    angles = np.empty((TOGETHER, directions.shape[1]))
    for begin in range(0, X.shape[0], TOGETHER):
        end = min(begin + TOGETHER, X.shape[0])
        fourier_features_of_some(directions, X[begin:end], angles, features[begin:end])
    return features


@native
def _draw_cauchys(words: Words, values: Array) -> None:
    """Fill `values` with independent standard Cauchy numbers."""
    flat = values.reshape(values.size)
    for i in range(flat.shape[0]):
        flat[i] = math.tan(math.pi * (draw_unit(words) - 0.5))
