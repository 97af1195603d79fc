"""The interface of every feature map.

A map is a frozen configuration; what it has gathered from the stream is a separate state. Its
features stand in for the kernel: features(x) . features(z) is its estimate of K(x, z).
"""

from abc import abstractmethod
from typing import Any

from numpy.typing import ArrayLike

from okl_flow.native import Array
from okl_flow.parameters import Part, flat

__all__ = ["FeatureMap"]


class FeatureMap(Part):
    """An explicit stand-in for a kernel that is gathered from a stream.

    Subclasses are final frozen dataclasses that hold parameters only. They are a family of parts,
    so that a learner may take a map as one of its parameters.
    """

    @abstractmethod
    def init(self, dim: int, seed: int = 0) -> Any:
        """A state that has seen nothing, for examples of `dim` features."""

    @abstractmethod
    def update(self, state: Any, X: ArrayLike) -> None:
        """Take in examples, one by one and in order."""

    @abstractmethod
    def take_still(self, state: Any, X: ArrayLike) -> int:
        """Take in examples as `update` does, up to the first that may change the features.

        Returns how many that are.
        """

    @abstractmethod
    def features(self, state: Any, X: ArrayLike) -> Array:
        """The features of examples, one line per row of X. Changes nothing."""

    @abstractmethod
    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None if nothing bounds them."""

    @property
    def examples_needed(self) -> int:
        """Examples without which it has no features, or not those that it will keep."""
        return 0

    @property
    def features_max(self) -> int | None:
        """The most features that it can have; None if nothing bounds them."""
        return None

    def kernel_estimate(self, state: Any, X: ArrayLike, Z: ArrayLike) -> Array:
        """Estimates of the kernel of every row of X with every row of Z."""
        estimate: Array = self.features(state, X) @ self.features(state, Z).T
        return estimate

    def describe(self) -> dict[str, Any]:
        """The configuration as names, numbers and words: what `make_map` takes."""
        return {"map": self.name, **flat(self)}
