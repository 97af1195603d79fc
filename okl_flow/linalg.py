"""Dense linear algebra for the rare heavy steps, on one thread.

From the import of this module on, BLAS takes one thread per process: more would slow down the
workers beside it, and would add up in an order that depends on their number.
"""

import math

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from okl_flow.native import Array, native

__all__ = ["decompose", "eigenpairs", "lower_factor", "pseudo_inverse", "ridge_fit"]

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


def pseudo_inverse(matrix: Array, rank: int, share_smallest: float) -> Array:
    """The Moore-Penrose inverse of the nearest matrix of a rank at most.

    Singular values below a share of the largest count for none.
    """
    left, values, right = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    kept = min(int(np.sum(values > share_smallest * values[0])), rank)
    inverse: Array = (right[:kept].T / values[:kept]) @ left[:, :kept].T
    return inverse


def ridge_fit(features: Array, targets: Array, share: float) -> Array:
    """Weights, a column per column of targets, with features @ weights near the targets.

    They minimise |features @ weights - targets|^2 + ridge |weights|^2, where the ridge is a
    share of the mean square of a feature's column. Features of zeros get weights of zeros.
    """
    count = features.shape[1]
    ridge = share * float(np.sum(features * features)) / count
    if ridge == 0.0:
        return np.zeros((count, targets.shape[1]))
    stacked = np.vstack([features, np.sqrt(ridge) * np.eye(count)])
    orthonormal, upper = scipy.linalg.qr(stacked, mode="economic", check_finite=False)
    weights: Array = scipy.linalg.solve_triangular(
        upper, orthonormal[: features.shape[0]].T @ targets, check_finite=False
    )
    return weights


@native
def decompose(matrix: Array, values: Array, vectors: Array) -> None:
    """Eigenvalues of a symmetric matrix, the largest first, and the eigenvectors in columns.

    This one is for native loops; the signs are LAPACK's. A matrix with an overflow in it gets
    the eigenpairs of a matrix of zeros.
    """
    size = matrix.shape[0]
    finite = True
    for i in range(size):
        for j in range(size):
            finite &= math.isfinite(matrix[i, j])
    rising, columns = np.linalg.eigh(matrix if finite else np.zeros((size, size)))
    for i in range(size):
        values[i] = rising[size - 1 - i]
        for j in range(size):
            vectors[i, j] = columns[i, size - 1 - j]
