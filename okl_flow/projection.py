"""Projection of an example onto a few others, which may be copies of each other or nearly so.

The coefficients are K^+ k, with K the kernel matrix of the few, K^+ its pseudo-inverse and k
their kernel with the example. K has ones on its diagonal.
"""

import math

import numpy as np

from okl_flow.native import Array, add_scaled, dot, inner

__all__ = ["project", "projection_space"]

# A matrix of n lines with ones on its diagonal has its smallest eigenvalue above det / e: the
# product of the others is at most (n / (n - 1))^(n - 1). With a determinant above this number
# all eigenvalues count, and a factor finds the coefficients to some 1e-10.
_DETERMINANT_SMALLEST = 1e-5

# Eigenvalues up to this share of the largest are taken for 0.
_EIGENVALUE_FLOOR = 1e-10

# Each round of rotations squares what is left beside the diagonal: six do for round-off.
_ROUNDS_MOST = 30
_NOTHING_LEFT = 1e-32


def projection_space(count: int) -> Array:
    """Room for `project` to work in, with up to `count` examples."""
    return np.empty((3, count, count))


@inner
def project(gram: Array, count: int, row: Array, coefficients: Array, space: Array) -> float:
    """Fill in the coefficients. Returns row' K^+ row, the part of K(x, x) that the few span."""
    if _factorize(gram, count, space[0]):
        return _solved(space[0], count, row, coefficients)
    values, vectors = space[0], space[1]
    for i in range(count):
        for j in range(count):
            values[i, j] = gram[i, j]
            vectors[i, j] = 1.0 if i == j else 0.0
    _diagonalize(values, vectors, count)
    largest = 0.0
    for i in range(count):
        largest = max(largest, values[i, i])
        coefficients[i] = 0.0
    spanned = 0.0
    for i in range(count):
        if values[i, i] > _EIGENVALUE_FLOOR * largest:
            along = dot(vectors[i], row, count)
            add_scaled(along / values[i, i], vectors[i], coefficients, count)
            spanned += along * (along / values[i, i])
    return spanned


@inner
def _factorize(gram: Array, count: int, factor: Array) -> bool:
    """L D L' = gram; whether the matrix is far enough from a singular one.

    D is on the diagonal of `factor`, L below it and D L' above it. There are no roots in it, and of
    so few examples each number is waited for by the next.
    """
    determinant = 1.0
    for i in range(count):
        rest = gram[i, i]
        for j in range(i):
            above = gram[i, j]
            for k in range(j):
                above -= factor[k, i] * factor[j, k]
            below = above / factor[j, j] if j > 0 else above  # the first of D is 1
            factor[j, i], factor[i, j] = above, below
            rest -= above * below
        determinant *= rest
        if not (rest > 0.0 and determinant > _DETERMINANT_SMALLEST):
            return False
        factor[i, i] = rest
    return True


@inner
def _solved(factor: Array, count: int, row: Array, coefficients: Array) -> float:
    """The coefficients and the spanned part, by the factor of K."""
    spanned = 0.0
    for i in range(count):
        own = row[i]
        for j in range(i):
            own -= factor[i, j] * coefficients[j]
        coefficients[i] = own
        spanned += own * (own / factor[i, i])
    for i in range(count - 1, -1, -1):
        own = coefficients[i] / factor[i, i]
        for j in range(i + 1, count):
            own -= factor[j, i] * coefficients[j]
        coefficients[i] = own
    return spanned


@inner
def _diagonalize(values: Array, vectors: Array, count: int) -> None:
    """Jacobi's rotations: the eigenvalues on the diagonal, their vectors in the lines."""
    for _ in range(_ROUNDS_MOST):
        beside = 0.0
        for i in range(count):
            beside += dot(values[i], values[i], i)
        if beside <= _NOTHING_LEFT * count:
            return
        for p in range(count):
            for q in range(p + 1, count):
                if values[p, q] != 0.0:
                    _rotate(values, vectors, count, p, q)


@inner
def _rotate(values: Array, vectors: Array, count: int, p: int, q: int) -> None:
    """Turn lines and columns p and q so that values[p, q] becomes 0."""
    theta = (values[q, q] - values[p, p]) / (2.0 * values[p, q])
    tangent = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for i in range(count):
        a, b = values[i, p], values[i, q]
        values[i, p], values[i, q] = cosine * a - sine * b, sine * a + cosine * b
    for i in range(count):
        a, b = values[p, i], values[q, i]
        values[p, i], values[q, i] = cosine * a - sine * b, sine * a + cosine * b
        a, b = vectors[p, i], vectors[q, i]
        vectors[p, i], vectors[q, i] = cosine * a - sine * b, sine * a + cosine * b
    values[p, q] = values[q, p] = 0.0
