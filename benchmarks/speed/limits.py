"""The least work that an event can be: native loops that do it, and nothing else.

They are the limits that the learners are measured beside: a kernel row, the matrix-vector
products of a map, a Fourier map. Each takes all events in one call, as the learners do.
"""

import time
from collections.abc import Callable

import numpy as np

from okl_flow.approximation.random_features import fourier_features
from okl_flow.kernels import NativeKernel, kernel_row, products
from okl_flow.native import Array, native

__all__ = ["bare_fourier", "bare_products", "bare_rows", "seconds"]


def seconds(work: Callable[[], object]) -> float:
    """The processor time of a piece of work, which others on the machine disturb the least."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


@native
def bare_rows(kernel: NativeKernel, rows: Array, X: Array) -> float:
    """The kernel rows of all events and nothing else."""
    row = np.empty(rows.shape[1])
    total = 0.0
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, rows.shape[1], X[t], row)
        total += row[0]
    return total


@native
def bare_products(matrix: Array, X: Array) -> float:
    """The product of a matrix, one column per entry of it, with each event."""
    product = np.empty(matrix.shape[1])
    total = 0.0
    for t in range(X.shape[0]):
        products(matrix, matrix.shape[1], X[t], product)
        total += product[0]
    return total


@native
def bare_fourier(directions: Array, X: Array) -> float:
    """The random Fourier features of all events and nothing else."""
    angles = np.empty(directions.shape[1])
    features = np.empty(2 * directions.shape[1])
    total = 0.0
    for t in range(X.shape[0]):
        fourier_features(directions, X[t], angles, features)
        total += features[0]
    return total
