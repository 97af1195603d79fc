"""Features brought to one scale, by what a first pass over them has found.

>>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
>>> moments = Moments()
>>> moments.add(X)
>>> Rescaling("minmax", moments).apply(X)
array([[-1., 0.], [ 1., 0.]])
"""

import numpy as np

from okl_flow.native import Array
from okl_flow.parameters import nearest

__all__ = ["RESCALINGS", "Moments", "Rescaling"]

RESCALINGS = ("none", "minmax", "standard")


class Moments:
    """Smallest, largest, mean and deviation of each feature, gathered batch by batch.

    Batches may grow wider: a feature that comes late was 0 until then.
    """

    def __init__(self) -> None:
        self.count = 0
        self.minimum: Array = np.zeros(0)
        self.maximum: Array = np.zeros(0)
        self.mean: Array = np.zeros(0)
        self._squares: Array = np.zeros(0)  # sum of the squared distances from the mean

    @property
    def dim(self) -> int:
        """Features seen."""
        return len(self.mean)

    @property
    def deviation(self) -> Array:
        """Standard deviation of each feature, over all rows."""
        deviation: Array = np.sqrt(self._squares / max(1, self.count))
        return deviation

    def add(self, X: Array) -> None:
        """Take in rows of features (events, dim)."""
        if not X.size:
            return
        self._widen(X.shape[1])
        # Sums of squares of features beyond 1e154 overflow; `Rescaling` refuses them by name.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = X.mean(axis=0)
            squares = np.square(X - mean).sum(axis=0)
            # The mean and the squares of two parts together (Chan, Golub and LeVeque, 1979).
            share = X.shape[0] / (self.count + X.shape[0])
            gap = mean - self.mean
            self.mean = self.mean + gap * share
            self._squares = self._squares + squares + np.square(gap) * (share * self.count)
        first = self.count == 0
        self.minimum = X.min(axis=0) if first else np.minimum(self.minimum, X.min(axis=0))
        self.maximum = X.max(axis=0) if first else np.maximum(self.maximum, X.max(axis=0))
        self.count += X.shape[0]

    def _widen(self, width: int) -> None:
        late = max(0, width - self.dim)
        self.minimum = np.pad(self.minimum, (0, late))
        self.maximum = np.pad(self.maximum, (0, late))
        self.mean = np.pad(self.mean, (0, late))
        self._squares = np.pad(self._squares, (0, late))


class Rescaling:
    """A scale for each feature: "minmax" to [-1, 1], "standard" to mean 0 and deviation 1.

    Features that never change become 0. "none" leaves all as it is.
    """

    def __init__(self, kind: str, moments: Moments) -> None:
        """`moments` are those of the features to be rescaled."""
        if kind not in RESCALINGS:
            hint = nearest(kind, RESCALINGS)
            raise ValueError(
                f"there is no rescaling {kind!r}{hint}; known: {', '.join(RESCALINGS)}"
            )
        self.kind = kind
        self._low, self._high = moments.minimum, moments.maximum
        self._mean, self._deviation = moments.mean, moments.deviation
        # Told by the bounds: the deviation of a constant 0.1 is not 0 but a rounding error.
        self._constant = moments.minimum == moments.maximum
        with np.errstate(over="ignore"):
            width = self._high - self._low if kind == "minmax" else self._deviation
        beyond = np.flatnonzero(~np.isfinite(width))
        if kind != "none" and beyond.size:
            at = int(beyond[0])
            raise ValueError(
                f"feature {at + 1} cannot be rescaled: it goes from {self._low[at]:g} "
                f"to {self._high[at]:g}"
            )

    def apply(self, X: Array) -> Array:
        """The rows of features on their new scale."""
        if self.kind == "none":
            return X
        if self.kind == "minmax":
            width = np.where(self._constant, 1.0, self._high - self._low)
            scaled = 2.0 * ((X - self._low) / width) - 1.0
        else:
            scaled = (X - self._mean) / np.where(self._constant, 1.0, self._deviation)
        rescaled: Array = np.where(self._constant, 0.0, scaled)
        return rescaled
