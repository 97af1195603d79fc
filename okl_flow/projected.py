"""The Projectron's loop: mistakes are stored, or projected onto what is stored.

For every learner that learns in this way, whatever decides on its kernel.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from okl_flow.factor import add_projection, grow_factor, is_new, solve_lower, solve_upper
from okl_flow.kernels import NativeKernel, kernel_at, kernel_row
from okl_flow.native import Array, native
from okl_flow.state import Axes
from okl_flow.support import Expansion, correct, expand, put

__all__ = ["Projected", "learn_projected"]


@dataclass(slots=True)
class Projected(Expansion):
    """The examples kept, and their kernel matrix."""

    factor: Annotated[Array, Axes("size", "size")]  # L of K = L L', its upper triangle 0


@native
def learn_projected(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    factor: Array,
    size: int,
    kernel: NativeKernel,
    eta: float,
    budget: int,
) -> tuple[int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    z = np.empty(rows.shape[1])
    d = np.empty(rows.shape[1])
    step = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, X[t], row)
        expand(weights, row, size, scores[t])
        if not math.isnan(y[t]) and correct(scores[t], y[t], step):
            own = kernel_at(kernel, X[t])
            spanned = solve_lower(factor, size, row, z)
            if size < budget and is_new(own, spanned, eta):
                put(rows, weights, size, X[t], step)
                grow_factor(factor, size, z, own - spanned)
                size += 1
            else:
                solve_upper(factor, size, z, d)
                add_projection(weights, step, d, size)
        t += 1
    return t, size
