"""The Cholesky factor of a kernel matrix that only grows.

With K the kernel matrix of the stored examples, L is the lower triangle of positive diagonal
for which K = L L'. K^-1 is never formed: what it is applied to goes through two triangles,
each read one row after the other. A new example adds a row to L and changes none before it.
"""

import math

from okl_flow.native import Array, add_scaled, dot, inner

__all__ = ["add_projection", "grow_factor", "is_new", "solve_lower", "solve_upper"]

# K(x, x) and what the stored examples explain of it are known to some 1e-14 of K(x, x). A rest
# below this share of it is taken for none, whose root would be noise on the factor's diagonal.
_REST_SMALLEST = 1e-10


@inner
def solve_lower(factor: Array, size: int, row: Array, z: Array) -> float:
    """Solve L z = row. Returns z.z = row' K^-1 row.

    With the kernel row of x, that is the part of K(x, x) which the stored examples span.
    """
    for i in range(size):
        z[i] = (row[i] - dot(factor[i], z, i)) / factor[i, i]
    return dot(z, z, size)


@inner
def solve_upper(factor: Array, size: int, z: Array, d: Array) -> None:
    """Solve L' d = z, so that d = K^-1 row for the z that `solve_lower` made of row."""
    for i in range(size):
        d[i] = z[i]
    for i in range(size - 1, -1, -1):
        d[i] /= factor[i, i]
        add_scaled(-d[i], factor[i], d, i)


@inner
def is_new(own: float, spanned: float, threshold: float) -> bool:
    """Whether an x with K(x, x) = own is farther than the threshold from the stored examples."""
    rest = own - spanned
    return rest >= _REST_SMALLEST * own and math.sqrt(rest) > threshold


@inner
def grow_factor(factor: Array, size: int, z: Array, rest: float) -> None:
    """Give L the row of the example to be stored at `size`; rest is K(x, x) - z.z."""
    for i in range(size):
        factor[size, i] = z[i]
    factor[size, size] = math.sqrt(rest)


@inner
def add_projection(weights: Array, step: Array, d: Array, size: int) -> None:
    """weights[c, i] += step[c] * d[i] for every output c that has a step."""
    for c in range(weights.shape[0]):
        if step[c] != 0.0:
            add_scaled(step[c], d, weights[c], size)
