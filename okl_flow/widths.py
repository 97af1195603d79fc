"""Widths to choose among, and the width of a gaussian that descends with the weights.

Such a width moves as gamma = 1 / (2 bandwidth^2): by its logarithm (`bandwidth_step="relative"`),
or in gamma itself ("paper"), by max(bandwidth_rate / t, bandwidth_rate_min) times its slope
after t labelled events, and between bandwidth_min and bandwidth_max.
"""

import math
from typing import Any

import numpy as np

from okl_flow.kernels import Gaussian
from okl_flow.native import Array, exponential, inner

__all__ = [
    "WIDTH_STEPS",
    "NativeWidth",
    "bandwidth_grid",
    "check_grid",
    "check_width",
    "gamma_of",
    "moved",
    "native_width",
]

NativeWidth = tuple[bool, float, float, float, float]

WIDTH_STEPS = ("relative", "paper")


def check_grid(owner: Any) -> None:
    """Refuse bandwidths of which the widest is narrower than the narrowest."""
    if owner.bandwidth_max < owner.bandwidth_min:
        raise ValueError(
            f"{owner.name}: bandwidth_max must be at least the bandwidth_min of "
            f"{owner.bandwidth_min!r}, not {owner.bandwidth_max!r}"
        )


def bandwidth_grid(owner: Any) -> Array:
    """From bandwidth_min up to bandwidth_max, per_octave steps to each doubling."""
    octaves = math.log2(owner.bandwidth_max) - math.log2(owner.bandwidth_min)
    steps = np.arange(math.floor(owner.per_octave * octaves + 1e-9) + 1)
    grid: Array = owner.bandwidth_min * 2.0 ** (steps / owner.per_octave)
    return grid


def gamma_of(kernel: Gaussian) -> float:
    """The number by which a gaussian multiplies squared distances."""
    return -kernel.native[1]


def check_width(learner: Any) -> None:
    """Refuse a kernel that is no gaussian, or begins with a width that is out of bounds."""
    if not isinstance(learner.kernel, Gaussian):
        raise ValueError(
            f"{learner.name}: kernel must be gaussian, not {learner.kernel.name}: the width that "
            "it learns is that of a gaussian"
        )
    if not learner.bandwidth_min <= learner.kernel.bandwidth <= learner.bandwidth_max:
        raise ValueError(
            f"{learner.name}: bandwidth must lie between bandwidth_min and bandwidth_max, not "
            f"{learner.kernel.bandwidth!r} with {learner.bandwidth_min!r} and "
            f"{learner.bandwidth_max!r}"
        )


def native_width(learner: Any) -> NativeWidth:
    """How the width of a learner moves, as a native loop takes it."""
    return (
        learner.bandwidth_step == "relative",
        learner.bandwidth_rate,
        learner.bandwidth_rate_min,
        0.5 / (learner.bandwidth_max * learner.bandwidth_max),
        0.5 / (learner.bandwidth_min * learner.bandwidth_min),
    )


@inner
def moved(gamma: float, slope: float, width: NativeWidth, learned: int) -> float:
    """Gamma one step down the slope, within its bounds."""
    relative, rate, rate_min, gamma_min, gamma_max = width
    change = -max(rate / learned, rate_min) * slope
    stepped = gamma * exponential(change * gamma) if relative else gamma + change
    return min(max(stepped, gamma_min), gamma_max)
