"""Kernels: how similar two examples are.

A kernel is a frozen value for the user and a triple of numbers for a native loop. Stored
examples lie one per *column*, so that a kernel row, the kernel of one event against all of
them, is computed for many examples side by side.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from okl_flow.lanes import LANES
from okl_flow.native import Array, exponentials, exponentials_of, inner, native
from okl_flow.parameters import Part, check, real, whole
from okl_flow.tiles import tile_distances, tile_dots

__all__ = [
    "TOGETHER",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "NativeKernel",
    "Polynomial",
    "distances",
    "distances_of_some",
    "gaussian_of",
    "kernel_at",
    "kernel_matrix",
    "kernel_row",
    "kernel_row_from",
    "kernel_rows",
    "products",
    "products_of_some",
    "squared_distance",
    "squared_distances",
]

NativeKernel = tuple[int, float, float]

# What does not depend on what was learned from the events before, four events read together: of
# a map at full rank and a budget of 100, which does not fit the fastest cache, an event's product
# costs 0.13 us instead of 0.4.
TOGETHER = 4

_GAUSSIAN, _LAPLACIAN, _POLYNOMIAL, _LINEAR = range(4)


class Kernel(Part):
    """The family of kernels."""

    is_normalized: ClassVar[bool] = False
    """Whether the kernel of every example with itself is 1."""

    @property
    @abstractmethod
    def native(self) -> NativeKernel:
        """The kernel as a native loop takes it."""


@dataclass(frozen=True)
class Gaussian(Kernel, name="gaussian"):
    """exp(-|x - z|^2 / (2 bandwidth^2)).

    Parameters:
        bandwidth: distance over which similarity fades (sigma). Above 0.
    """

    is_normalized: ClassVar[bool] = True
    bandwidth: float = real(1.0, above=0.0)

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def native(self) -> NativeKernel:
        """The kernel as a native loop takes it."""
        return _GAUSSIAN, -0.5 / (self.bandwidth * self.bandwidth), 0.0


@dataclass(frozen=True)
class Laplacian(Kernel, name="laplacian"):
    """exp(-|x - z|_1 / bandwidth), with the sum of absolute differences.

    Parameters:
        bandwidth: distance over which similarity fades. Above 0.
    """

    is_normalized: ClassVar[bool] = True
    bandwidth: float = real(1.0, above=0.0)

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def native(self) -> NativeKernel:
        """The kernel as a native loop takes it."""
        return _LAPLACIAN, -1.0 / self.bandwidth, 0.0


@dataclass(frozen=True)
class Polynomial(Kernel, name="polynomial"):
    """(x . z + offset)^degree.

    Parameters:
        degree: highest order of the products of features. At least 1.
        offset: weight of the lower orders. At least 0.
    """

    degree: int = whole(2, low=1)
    offset: float = real(1.0, low=0.0)

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def native(self) -> NativeKernel:
        """The kernel as a native loop takes it."""
        return _POLYNOMIAL, float(self.degree), self.offset


@dataclass(frozen=True)
class Linear(Kernel, name="linear"):
    """x . z, the kernel that is none."""

    @cached_property
    def native(self) -> NativeKernel:
        """The kernel as a native loop takes it."""
        return _LINEAR, 0.0, 0.0


@inner
def gaussian_of(gamma: float) -> NativeKernel:
    """The gaussian kernel exp(-gamma |x - z|^2), for a loop that chooses gamma itself."""
    return _GAUSSIAN, -gamma, 0.0


_distances_wide, _distances_narrow = tile_distances(1, 4), tile_distances(1, 1)
_dots_wide, _dots_narrow = tile_dots(1, 4), tile_dots(1, 1)
_WIDE = 4 * LANES
_four_wide, _four_narrow = tile_dots(TOGETHER, 2), tile_dots(TOGETHER, 1)
_four_apart_wide, _four_apart_narrow = tile_distances(TOGETHER, 2), tile_distances(TOGETHER, 1)
_FOUR_WIDE = 2 * LANES


@inner
def squared_distances(rows: Array, size: int, x: Array, out: Array) -> None:
    """out[i] = |x - rows[:, i]|^2, four features a round."""
    i = 0
    while i + _WIDE <= size:
        _distances_wide(x, rows, i, out)
        i += _WIDE
    while i < size and size >= LANES:
        i = min(i, size - LANES)  # the last tile may overlap the one before it
        _distances_narrow(x, rows, i, out)
        i += LANES
    whole_rounds = x.shape[0] - x.shape[0] % 4
    for place in range(i, size):
        total = 0.0
        for j in range(0, whole_rounds, 4):
            d0, d1 = rows[j, place] - x[j], rows[j + 1, place] - x[j + 1]
            d2, d3 = rows[j + 2, place] - x[j + 2], rows[j + 3, place] - x[j + 3]
            total += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
        for j in range(whole_rounds, x.shape[0]):
            d0 = rows[j, place] - x[j]
            total += d0 * d0
        out[place] = total


@inner
def distances_of_some(rows: Array, size: int, X: Array, out: Array) -> None:
    """out[e, i] = |X[e] - rows[:, i]|^2 as `squared_distances` has them, for up to four rows of X.

    Four read `rows` together.
    """
    if X.shape[0] < TOGETHER or size < LANES:
        for e in range(X.shape[0]):
            squared_distances(rows, size, X[e], out[e])
        return
    i = 0
    while i + _FOUR_WIDE <= size:
        _four_apart_wide(X, rows, i, out)
        i += _FOUR_WIDE
    while i < size:
        i = min(i, size - LANES)
        _four_apart_narrow(X, rows, i, out)
        i += LANES


@inner
def squared_distance(rows: Array, one: int, other: int) -> float:
    """|rows[:, one] - rows[:, other]|^2, four features a round."""
    total = 0.0
    whole_rounds = rows.shape[0] - rows.shape[0] % 4
    for j in range(0, whole_rounds, 4):
        d0, d1 = rows[j, one] - rows[j, other], rows[j + 1, one] - rows[j + 1, other]
        d2, d3 = rows[j + 2, one] - rows[j + 2, other], rows[j + 3, one] - rows[j + 3, other]
        total += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for j in range(whole_rounds, rows.shape[0]):
        d0 = rows[j, one] - rows[j, other]
        total += d0 * d0
    return total


@inner
def _absolute_distances(rows: Array, size: int, x: Array, out: Array) -> None:
    for i in range(size):
        out[i] = 0.0
    for j in range(x.shape[0]):
        xj = x[j]
        for i in range(size):
            out[i] += abs(rows[j, i] - xj)


@inner
def distances(kernel: NativeKernel, rows: Array, size: int, x: Array, out: Array) -> None:
    """Fill in what a gaussian or laplacian takes the exponential of, times its second number."""
    if kernel[0] == _GAUSSIAN:
        squared_distances(rows, size, x, out)
    else:
        _absolute_distances(rows, size, x, out)


@inner
def products(rows: Array, size: int, x: Array, out: Array) -> None:
    """out[i] = x . rows[:, i], four features a round."""
    i = 0
    while i + _WIDE <= size:
        _dots_wide(x, rows, i, out)
        i += _WIDE
    while i < size and size >= LANES:
        i = min(i, size - LANES)
        _dots_narrow(x, rows, i, out)
        i += LANES
    whole_rounds = x.shape[0] - x.shape[0] % 4
    for place in range(i, size):
        total = 0.0
        for j in range(0, whole_rounds, 4):
            total += (rows[j, place] * x[j] + rows[j + 1, place] * x[j + 1]) + (
                rows[j + 2, place] * x[j + 2] + rows[j + 3, place] * x[j + 3]
            )
        for j in range(whole_rounds, x.shape[0]):
            total += rows[j, place] * x[j]
        out[place] = total


@inner
def products_of_some(rows: Array, size: int, X: Array, out: Array) -> None:
    """out[e, i] = X[e] . rows[:, i] as `products` has them, for the up to four rows of X.

    Four read `rows` together.
    """
    if X.shape[0] < TOGETHER or size < LANES:
        for e in range(X.shape[0]):
            products(rows, size, X[e], out[e])
        return
    i = 0
    while i + _FOUR_WIDE <= size:
        _four_wide(X, rows, i, out)
        i += _FOUR_WIDE
    while i < size:
        i = min(i, size - LANES)
        _four_narrow(X, rows, i, out)
        i += LANES


@inner
def _raise_powers(degree: int, offset: float, out: Array, size: int) -> None:
    for i in range(size):
        base = out[i] + offset
        power = base
        for _ in range(degree - 1):
            power *= base
        out[i] = power


@inner
def kernel_row(kernel: NativeKernel, rows: Array, size: int, x: Array, out: Array) -> None:
    """out[i] = kernel of x and the stored example rows[:, i], for i < size."""
    code, first, second = kernel
    if code == _GAUSSIAN:
        squared_distances(rows, size, x, out)
        exponentials(first, out, size)
    elif code == _LAPLACIAN:
        _absolute_distances(rows, size, x, out)
        exponentials(first, out, size)
    else:
        products(rows, size, x, out)
        if code == _POLYNOMIAL:
            _raise_powers(int(first), second, out, size)


@inner
def kernel_rows(kernel: NativeKernel, rows: Array, X: Array, out: Array) -> None:
    """out[e] = kernel of X[e] and of as many stored examples as `out` is wide.

    The exponentials of all lines are taken in one go, which leaves over fewer than eight once.
    """
    code, first, _second = kernel
    size = out.shape[1]
    if code in (_GAUSSIAN, _LAPLACIAN):
        if code == _GAUSSIAN:
            distances_of_some(rows, size, X, out)
        else:
            for e in range(X.shape[0]):
                _absolute_distances(rows, size, X[e], out[e])
        exponentials(first, out.reshape(out.size), X.shape[0] * size)
    else:
        for e in range(X.shape[0]):
            kernel_row(kernel, rows, size, X[e], out[e])


@inner
def kernel_row_from(
    kernel: NativeKernel, squares: Array, rows: Array, size: int, x: Array, out: Array
) -> None:
    """`kernel_row` where the squared distances are known, which spares a gaussian half the work."""
    code, first, _second = kernel
    if code != _GAUSSIAN:
        kernel_row(kernel, rows, size, x, out)
        return
    exponentials_of(first, squares, size, out)


@native
def kernel_matrix(kernel: NativeKernel, rows: Array, size: int) -> Array:
    """The kernel of every stored example with every other."""
    matrix = np.empty((size, size))
    for i in range(size):
        kernel_row(kernel, rows, size, rows[:, i].copy(), matrix[i])
    return matrix


@inner
def kernel_at(kernel: NativeKernel, x: Array) -> float:
    """Kernel of x with itself: the bits that `kernel_row` gives for x among the rows."""
    code, first, second = kernel
    if code in (_GAUSSIAN, _LAPLACIAN):
        return 1.0
    total = 0.0
    whole_rounds = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole_rounds, 4):
        total += (x[j] * x[j] + x[j + 1] * x[j + 1]) + (x[j + 2] * x[j + 2] + x[j + 3] * x[j + 3])
    for j in range(whole_rounds, x.shape[0]):
        total += x[j] * x[j]
    if code == _LINEAR:
        return total
    power = total + second
    for _ in range(int(first) - 1):
        power *= total + second
    return power
