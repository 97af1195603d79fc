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

from okl_flow.native import Array, exponentials, native
from okl_flow.parameters import Part, check, real, whole

__all__ = [
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "NativeKernel",
    "Polynomial",
    "distances",
    "gaussian_of",
    "kernel_at",
    "kernel_matrix",
    "kernel_row",
    "kernel_row_from",
    "products",
    "squared_distances",
]

NativeKernel = tuple[int, float, float]

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


@native
def gaussian_of(gamma: float) -> NativeKernel:
    """The gaussian kernel exp(-gamma |x - z|^2), for a loop that chooses gamma itself."""
    return _GAUSSIAN, -gamma, 0.0


@native
def squared_distances(rows: Array, size: int, x: Array, out: Array) -> None:
    """out[i] = |x - rows[:, i]|^2, four features a round."""
    for i in range(size):
        out[i] = 0.0
    whole_rounds = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole_rounds, 4):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(size):
            d0 = rows[j, i] - x0
            d1 = rows[j + 1, i] - x1
            d2 = rows[j + 2, i] - x2
            d3 = rows[j + 3, i] - x3
            out[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for j in range(whole_rounds, x.shape[0]):
        x0 = x[j]
        for i in range(size):
            d0 = rows[j, i] - x0
            out[i] += d0 * d0


@native
def _absolute_distances(rows: Array, size: int, x: Array, out: Array) -> None:
    for i in range(size):
        out[i] = 0.0
    for j in range(x.shape[0]):
        xj = x[j]
        for i in range(size):
            out[i] += abs(rows[j, i] - xj)


@native
def distances(kernel: NativeKernel, rows: Array, size: int, x: Array, out: Array) -> None:
    """Fill in what a gaussian or laplacian takes the exponential of, times its second number."""
    if kernel[0] == _GAUSSIAN:
        squared_distances(rows, size, x, out)
    else:
        _absolute_distances(rows, size, x, out)


@native
def products(rows: Array, size: int, x: Array, out: Array) -> None:
    """out[i] = x . rows[:, i], four features a round."""
    for i in range(size):
        out[i] = 0.0
    whole_rounds = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole_rounds, 4):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(size):
            out[i] += (rows[j, i] * x0 + rows[j + 1, i] * x1) + (
                rows[j + 2, i] * x2 + rows[j + 3, i] * x3
            )
    for j in range(whole_rounds, x.shape[0]):
        x0 = x[j]
        for i in range(size):
            out[i] += rows[j, i] * x0


@native
def _raise_powers(degree: int, offset: float, out: Array, size: int) -> None:
    for i in range(size):
        base = out[i] + offset
        power = base
        for _ in range(degree - 1):
            power *= base
        out[i] = power


@native
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


@native
def kernel_row_from(
    kernel: NativeKernel, squares: Array, rows: Array, size: int, x: Array, out: Array
) -> None:
    """`kernel_row` where the squared distances are known, which spares a gaussian half the work."""
    code, first, _second = kernel
    if code != _GAUSSIAN:
        kernel_row(kernel, rows, size, x, out)
        return
    for i in range(size):
        out[i] = squares[i]
    exponentials(first, out, size)


@native
def kernel_matrix(kernel: NativeKernel, rows: Array, size: int) -> Array:
    """The kernel of every stored example with every other."""
    matrix = np.empty((size, size))
    for i in range(size):
        kernel_row(kernel, rows, size, rows[:, i].copy(), matrix[i])
    return matrix


@native
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
