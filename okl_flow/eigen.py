"""Eigenpairs of a symmetric matrix that are kept up while it changes by one line and column.

Such a change is the sum of two products of a vector with itself, one added and one taken away,
and after each the eigenvalues are the roots of a sum of fractions, one root between each two of
the old eigenvalues (Golub, "Some modified matrix eigenvalue problems", SIAM Review, 1973). The
roots are found with the fractions that are next to them taken exactly (Li, "Solving secular
equations stably and efficiently", 1993), as distances from the nearer old eigenvalue. The
eigenvectors are made of the numbers for which the roots found are exact (Gu and Eisenstat, "A
stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem",
1994), which keeps them at right angles however close eigenvalues come.

Nothing is deflated. What the textbook would leave out is moved instead by an amount lost in
round-off: eigenvalues that coincide are held a little apart, and no share is smaller than that.
"""

import math

import numpy as np
from numpy.typing import NDArray

from okl_flow.kernels import products
from okl_flow.native import Array, inner, matrix_products, native

__all__ = ["change_line"]

_EPSILON = 2.0**-52
_ROUNDS_MOST = 60

# A sum of some hundred fractions is known to no more than this share of its terms.
_CLOSE = 16.0 * _EPSILON

# After a step this short, seen from the nearer pole, the error is its square: none.
_LAST_STEP = 1e-7


@native
def change_line(values: Array, vectors: Array, place: int, change: Array) -> None:
    """Update eigenpairs, the largest first, to a matrix with e change' + change e' added.

    e is the unit vector of `place`: the line and the column there change by `change`, and the
    number where they cross by twice the change there.
    """
    size = values.shape[0]
    length = 0.0
    for i in range(size):
        length += change[i] * change[i]
    length = math.sqrt(length)
    if length == 0.0:
        return
    # e b' + b e' = (x x' - y y') / 2 for x, y = s e + b / s and s e - b / s. The length of b for
    # s^2 keeps both short.
    scale = math.sqrt(length)
    direction, share = np.empty(size), np.empty(size)
    turned = np.empty((size, size))
    for sign in (1.0, -1.0):
        for i in range(size):
            direction[i] = change[i] / scale * sign
        direction[place] += scale
        products(vectors, size, direction, share)
        _add_square(values, vectors, 0.5 * sign, share, turned)
        vectors, turned = turned, vectors  # after both signs, each is what it was


@native
def _add_square(values: Array, vectors: Array, factor: float, share: Array, turned: Array) -> None:
    """Update eigenpairs to a matrix with factor * x x' added; share is x in eigenvectors.

    The new eigenvectors go to `turned`.
    """
    size = values.shape[0]
    sign = 1.0 if factor > 0.0 else -1.0
    squared = 0.0
    for i in range(size):
        squared += share[i] * share[i]
    norm = math.sqrt(squared)
    weight = abs(factor) * squared
    poles, parts = np.empty(size), np.empty(size)
    # From here on eigenvalues rise: those of the negative matrix, if something is taken away.
    scale = weight
    for i in range(size):
        from_ = size - 1 - i if sign > 0.0 else i
        poles[i] = sign * values[from_]
        part = share[from_] / norm
        parts[i] = part if abs(part) > _EPSILON else math.copysign(_EPSILON, part)
        scale = max(scale, abs(poles[i]))
    for i in range(1, size):
        poles[i] = max(poles[i], poles[i - 1] + 2.0 * _EPSILON * scale)
    origins, offsets = np.empty(size), np.empty(size)
    _find_roots(poles, parts, weight, origins, offsets)
    rotation = np.empty((size, size))
    _fill_rotation(poles, parts, origins, offsets, sign > 0.0, rotation)
    matrix_products(vectors, size, rotation, turned)
    for i in range(size):
        values[size - 1 - i if sign > 0.0 else i] = sign * (origins[i] + offsets[i])


@native
def _find_roots(poles: Array, parts: Array, weight: float, origins: Array, offsets: Array) -> None:
    """The roots x of 1 + weight * sum_j parts[j]^2 / (poles[j] - x), one above each pole.

    Each is origins[i] + offsets[i], the origin being the pole that is nearer to it. A round
    goes through all roots that are not found yet, side by side.
    """
    size = poles.shape[0]
    squares, gaps = np.empty(size), np.empty(size)
    for i in range(size):
        squares[i] = weight * parts[i] * parts[i]
        gaps[i] = poles[i + 1] - poles[i] if i + 1 < size else weight
    low, high = np.empty(size), np.empty(size)
    sums = np.empty((4, size))
    active = np.arange(size)
    at, offset = poles.copy(), 0.5 * gaps
    _sum_fractions(poles, squares, active, size, at, offset, sums[0], sums[1], sums[2], sums[3])
    for i in range(size):
        offset[i] = _first_guess(
            poles, squares, gaps[i], i, 1.0 + sums[0, i] + sums[1, i], origins, low, high
        )
        at[i] = origins[i]
    count = size
    for _ in range(_ROUNDS_MOST):
        _sum_fractions(
            poles, squares, active, count, at, offset, sums[0], sums[1], sums[2], sums[3]
        )
        kept = 0
        for k in range(count):
            i, x = active[k], offset[k]
            offsets[i] = x
            value = 1.0 + sums[0, k] + sums[1, k]
            if abs(value) <= _CLOSE * (1.0 + abs(sums[0, k]) + abs(sums[1, k])):
                continue
            if value < 0.0:
                low[i] = x
            else:
                high[i] = x
            left = (poles[i] - at[k]) - x
            right = left + gaps[i] if at[k] == poles[i] else -x
            moved = x + _step(value, sums[2, k], sums[3, k], left, right)
            if not low[i] < moved < high[i]:
                moved = 0.5 * (low[i] + high[i])
            if not low[i] < moved < high[i]:
                continue
            offsets[i] = moved
            if abs(moved - x) > _LAST_STEP * min(-left, right):
                active[kept], at[kept], offset[kept] = i, at[k], moved
                kept += 1
        count = kept
        if count == 0:
            return


@inner
def _first_guess(
    poles: Array,
    squares: Array,
    gap: float,
    i: int,
    middle: float,
    origins: Array,
    low: Array,
    high: Array,
) -> float:
    """Where to look for root i first, given the value in the middle between its poles.

    The two fractions beside the root are taken as they are, the others as in the middle.
    """
    half = 0.5 * gap
    last = i + 1 == poles.shape[0]
    above = 0.0 if last else squares[i + 1]
    if middle >= 0.0 or last:
        origins[i] = poles[i]
        low[i], high[i] = (0.0, half) if middle >= 0.0 else (half, gap)
        left = 0.0
    else:
        origins[i] = poles[i + 1]
        low[i], high[i] = -half, 0.0
        left = -gap
    right = left + gap
    rest = middle + (squares[i] - above) / half
    a = rest * (left + right) + squares[i] + above
    b = rest * left * right + squares[i] * right + above * left
    root = math.sqrt(max(a * a - 4.0 * b * rest, 0.0))
    x = 2.0 * b / (a + root) if a > 0.0 else (a - root) / (2.0 * rest)
    return float(x if low[i] < x < high[i] else 0.5 * (low[i] + high[i]))


@inner
def _sum_fractions(
    poles: Array,
    squares: Array,
    active: NDArray[np.int64],
    count: int,
    at: Array,
    offset: Array,
    below: Array,
    above: Array,
    below_slope: Array,
    above_slope: Array,
) -> None:
    """The fractions of the poles up to each root and of those above it, and their slopes."""
    for k in range(count):
        below[k] = above[k] = below_slope[k] = above_slope[k] = 0.0
    first = 0  # the roots from here on lie above the pole
    for j in range(poles.shape[0]):
        while first < count and active[first] < j:
            first += 1
        pole, square = poles[j], squares[j]
        for k in range(first):
            inverse = 1.0 / ((pole - at[k]) - offset[k])
            above[k] += square * inverse
            above_slope[k] += square * inverse * inverse
        for k in range(first, count):
            inverse = 1.0 / ((pole - at[k]) - offset[k])
            below[k] += square * inverse
            below_slope[k] += square * inverse * inverse


@inner
def _step(value: float, below: float, above: float, left: float, right: float) -> float:
    """The way to the root of the two fractions that match value and slopes at a point.

    `left` and `right` are the poles beside the root, seen from the point.
    """
    c = value - left * below - right * above
    a = (left + right) * value - left * right * (below + above)
    b = left * right * value
    root = math.sqrt(max(a * a - 4.0 * b * c, 0.0))
    if a <= 0.0:
        return (a - root) / (2.0 * c)
    return 2.0 * b / (a + root)


@native
def _fill_rotation(
    poles: Array, parts: Array, origins: Array, offsets: Array, reversed_: bool, rotation: Array
) -> None:
    """The new eigenvectors in the old ones, a column each; both reversed if asked for."""
    size = poles.shape[0]
    exact = np.ones(size)  # squares of the shares for which the roots are exact
    for i in range(size):
        for j in range(i + 1):
            gap = poles[i + 1] - poles[j] if i + 1 < size else 1.0
            exact[j] *= ((origins[i] - poles[j]) + offsets[i]) / gap
        for j in range(i + 1, size):
            exact[j] *= ((origins[i] - poles[j]) + offsets[i]) / (poles[i] - poles[j])
    lengths = np.zeros(size)
    for j in range(size):
        share = math.copysign(math.sqrt(max(exact[j], 0.0)), parts[j])
        line = rotation[size - 1 - j if reversed_ else j]
        for i in range(size):
            line[i] = share / ((poles[j] - origins[i]) - offsets[i])
            lengths[i] += line[i] * line[i]
    for i in range(size):
        lengths[i] = 1.0 / math.sqrt(lengths[i])
    for j in range(size):
        line = rotation[j]
        for i in range(size):
            line[i] *= lengths[i]
        if reversed_:
            for i in range(size // 2):
                line[i], line[size - 1 - i] = line[size - 1 - i], line[i]
