"""Dense linear algebra for the rare heavy steps, on one thread.

From the import of this module on, BLAS takes one thread per process: more would slow down the
workers beside it, and would add up in an order that depends on their number.
"""

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from okl_flow.native import Array

__all__ = ["eigenpairs", "lower_factor"]

_one_thread = threadpool_limits(limits=1, user_api="blas")

# Components of an eigenvector that differ by less than this are of one size: which of them is
# the largest would be decided by round-off.
_SAME_SIZE = 1e-6


def eigenpairs(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, the largest first, and the eigenvectors in columns.

    LAPACK may return an eigenvector or its opposite. Here the first of the components of
    largest size is positive.
    """
    values, vectors = scipy.linalg.eigh(matrix, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    sizes = np.abs(vectors)
    leading = np.argmax(sizes >= (1.0 - _SAME_SIZE) * sizes.max(axis=0), axis=0)
    signs = np.sign(np.take_along_axis(vectors, leading[None], axis=0))
    return values, vectors * signs


def lower_factor(matrix: Array) -> Array:
    """L with L L' = matrix matrix' and nothing above its diagonal, of the matrix's shape.

    For a matrix with at least as many lines as columns: its columns, turned.
    """
    upper = scipy.linalg.qr(matrix.T, mode="r", check_finite=False)[0]
    return np.ascontiguousarray(upper.T)
