"""Curvature in explicit features, kept as a factor of its inverse: two passes for an event.

The curvature is A = alpha I + sum_t c_t x_t x_t', over the features x_t of the events so far. Its
inverse is kept as P = U V U', with U an upper triangle of ones on its diagonal and V a diagonal
of positive numbers, the variances. Whatever an event brings, P stays symmetric, and it stays
positive as long as the variances do, which are only multiplied by numbers above 0 (Bierman,
"Factorization methods for discrete sequential estimation", 1977).

U is kept column by column, what is above the diagonal alone. Columns come in blocks of eight, and
all eight of a block are filled up with zeros to the length that the block's last one has, diagonal
included: the numbers of block b, eight columns of 8 (b + 1), follow those of block b - 1. A
feature that is new has no part in those before it: it appends a column of zeros.

P is also the covariance of the weights of a linear function: with alpha = 1 that of AROW, with the
noise of an event as its r.

Vectors that go with U have as many numbers as there are features, then zeros up to a multiple of
eight.
"""

import numpy as np
import scipy.linalg

from okl_flow.lanes import LANES, line_sums
from okl_flow.linalg import eigenpairs
from okl_flow.losses import NativeLoss, implicit_slope
from okl_flow.native import Array, add_scaled, inner
from okl_flow.tasks import target

__all__ = [
    "NativeStep",
    "carried_over",
    "column_begin",
    "curvature_entries",
    "drop_last_feature",
    "fade",
    "fresh_curvature",
    "newton_step",
    "refresh",
    "spread_along",
    "take_in",
    "triangle_of",
    "turn_features",
    "widened",
]

# Under forgetting a variance grows until it is refreshed. Beyond this it does not.
_VARIANCE_LARGEST = 1e100

# What a variance could only have underflowed to is taken for this, so that it can divide.
_VARIANCE_SMALLEST = 1e-300

# How far a refresh takes the weight of its feature towards 0. Without it, weights that no event
# asks for wander off for ever: on one point under a forgetting of 0.9, to 1e4 within some million
# events. All the way costs accuracy: on elec2, in z-scores so far, AROW with a forgetting of 0.97
# makes 15.5 % mistakes in place of 11.2.
_PULL = 0.1

# Beyond this the features of an event are lost to overflow, and it teaches nothing.
_SPREAD_LARGEST = 1e150
# Curvature that would be lost in its own square.
_CURVATURE_SMALLEST = 1e-100

NativeStep = tuple[NativeLoss, float, float]

_HALF_BLOCK = LANES // 2
_half_sums = line_sums(_HALF_BLOCK)


@inner
def curvature_entries(size: int) -> int:
    """The numbers that U takes for so many features."""
    blocks = (size + LANES - 1) // LANES
    return LANES * LANES * blocks * (blocks + 1) // 2


@inner
def column_begin(j: int) -> int:
    """Where column j of U begins."""
    block = j // LANES
    length = LANES * (block + 1)
    return LANES * block * length // 2 + (j - LANES * block) * length


def fresh_curvature(size: int, alpha: float) -> tuple[Array, Array]:
    """U and V of A = alpha I."""
    return np.zeros(curvature_entries(size)), np.full(size, 1.0 / alpha)


def widened(triangle: Array, size: int) -> Array:
    """U with room for so many features."""
    missing = curvature_entries(size) - triangle.shape[0]
    return np.append(triangle, np.zeros(missing)) if missing > 0 else triangle


@inner
def spread_along(triangle: Array, variances: Array, size: int, x: Array, turned: Array) -> float:
    """The spread x' P x of an x, with U' x left in `turned`."""
    begin = 0
    for block in range((size + LANES - 1) // LANES):
        length = LANES * (block + 1)
        for half in range(2):
            place = LANES * block + half * _HALF_BLOCK
            _half_sums(triangle, begin, block + 1, x, turned, place)
            begin += _HALF_BLOCK * length
    spread = 0.0
    for j in range(size):
        turned[j] += x[j]
        spread += variances[j] * (turned[j] * turned[j])
    return spread


@inner
def take_in(
    triangle: Array, variances: Array, size: int, turned: Array, noise: float, gain: Array
) -> float:
    """Let A grow by x x' / noise, with `turned` as `spread_along` left it for x.

    `gain` becomes P x, with the P of before. Returns noise + x' P x: a gain divided by that is one
    by the P of after.
    """
    first = 0
    while first < size and variances[first] * turned[first] == 0.0:
        gain[first] = 0.0
        first += 1
    total, begin = noise, column_begin(first)
    for j in range(first, size):
        before = total
        step = variances[j] * turned[j]
        total += step * turned[j]
        variances[j] *= before / total
        factor, column = -turned[j] / before, triangle[begin : begin + j]
        for i in range(j):
            entry = column[i]
            column[i] = entry + factor * gain[i]
            gain[i] += step * entry
        gain[j] = step
        begin += LANES * (j // LANES + 1)
    return total


@inner
def fade(variances: Array, size: int, forgetting: float) -> None:
    """Multiply A by `forgetting`, a number up to 1."""
    for j in range(size):
        variances[j] = min(variances[j] / forgetting, _VARIANCE_LARGEST)


@inner
def refresh(
    triangle: Array,
    variances: Array,
    size: int,
    forgetting: float,
    alpha: float,
    number: int,
    most: float,
    turned: Array,
    gain: Array,
    weights: Array,
) -> None:
    """Give A back of alpha I what event `number` has made it forget, counted from 1.

    That is (1 - forgetting) alpha I at each event. It comes one feature after the other, each
    once in so many events as are remembered, or as often as `most` features per event allow:
    alpha is what a feature that no event has then has on average. Each comes as an event of its
    own, with nothing but this feature, that would have its weight a little nearer to 0.
    """
    share = min(most, size * (1.0 - forgetting))  # features per event
    for turn in range(int((number - 1) * share) + 1, int(number * share) + 1):
        feature = turn % size
        for j in range(feature):
            turned[j] = 0.0
        turned[feature] = 1.0
        for j in range(feature + 1, size):
            turned[j] = triangle[column_begin(j) + feature]
        noise = share / (alpha * (1.0 - forgetting) * size)
        total = take_in(triangle, variances, size, turned, noise, gain)
        for c in range(weights.shape[0]):
            add_scaled(-_PULL * weights[c, feature] / total, gain, weights[c], size)


@inner
def newton_step(
    step: NativeStep,
    scores: Array,
    y: float,
    x: Array,
    weights: Array,
    triangle: Array,
    variances: Array,
    size: int,
    learned: int,
    slopes: Array,
    spare: Array,
) -> int:
    """One step of f_c(x) = weights[c] . x on a loss, at the scores that x gave.

    With q = x' P x, g_c and h_c are the slope and the curvature of the loss at the score f_c - q
    g_c. The weights change by -g_c P x, then A grows by the mean h_c times x x'. An event without
    slope and curvature changes nothing; any other counts as learned, and the number of these is
    returned.

    `step` is the loss, what is left of A from one event to the next, and alpha. `x` and the two
    lines of `spare` are as long as vectors that go with U; `slopes` has room for one per output.
    """
    loss, forgetting, alpha = step
    outputs, turned, gain = weights.shape[0], spare[0], spare[1]
    active = False
    for c in range(outputs):
        slope, curvature = implicit_slope(loss, scores[c], target(y, c, outputs), 0.0)
        active |= slope != 0.0 or curvature != 0.0
    if not active:
        return learned
    if forgetting < 1.0:
        fade(variances, size, forgetting)
        refresh(
            triangle, variances, size, forgetting, alpha, learned + 1, 1.0, turned, gain, weights
        )
    spread = spread_along(triangle, variances, size, x, turned)
    if not spread <= _SPREAD_LARGEST:  # as NaN is not
        return learned + 1
    mean = 0.0
    for c in range(outputs):
        slopes[c], curvature = implicit_slope(loss, scores[c], target(y, c, outputs), spread)
        mean += curvature / outputs
    noise = 1.0 / max(mean, _CURVATURE_SMALLEST)
    take_in(triangle, variances, size, turned, noise, gain)
    for c in range(outputs):
        add_scaled(-slopes[c], gain, weights[c], size)
    return learned + 1


@inner
def turn_features(
    triangle: Array, variances: Array, size: int, k: int, cosine: float, sine: float
) -> None:
    """U and V once features k and k + 1 are turned into each other.

    Feature k becomes cosine * k + sine * (k + 1), and k + 1 cosine * (k + 1) - sine * k.
    """
    place = column_begin(k + 2) + k
    for j in range(k + 2, size):
        before, after = triangle[place], triangle[place + 1]
        triangle[place] = cosine * before + sine * after
        triangle[place + 1] = cosine * after - sine * before
        place += LANES * (j // LANES + 1)
    # Column k now reaches down to line k + 1, by -sine, and column k + 1 ends in `end`. The two
    # are mixed so that U is a triangle again, and the sum of v u u' over them stays.
    left, right = triangle[column_begin(k) :], triangle[column_begin(k + 1) :]
    top, end = cosine * right[k] + sine, cosine - sine * right[k]
    first, second = variances[k], variances[k + 1]
    total = max(sine * sine * first + end * end * second, _VARIANCE_SMALLEST)
    variances[k], variances[k + 1] = first * (second / total), total
    of_first, of_second = -sine * first / total, end * second / total
    for i in range(k):
        before, after = left[i], right[i]
        left[i] = end * before + sine * after
        right[i] = of_first * before + of_second * after
    right[k] = of_first * cosine + of_second * top


@inner
def drop_last_feature(triangle: Array, variances: Array, size: int, spare: Array) -> None:
    """Leave out feature size - 1: the P of the others stays, and a column of zeros.

    What P has in that column is put into those before it, the last of them first: as in
    `take_in`, with the signs turned round, so that variances only grow.
    """
    last = size - 1
    dropped, weight = triangle[column_begin(last) :], variances[last]
    for i in range(last):
        spare[i], dropped[i] = dropped[i], 0.0
    for j in range(last - 1, -1, -1):
        column, entry, before = triangle[column_begin(j) :], spare[j], variances[j]
        after = max(before + weight * entry * entry, _VARIANCE_SMALLEST)
        share = weight * entry / after
        variances[j] = after
        weight *= before / after
        for i in range(j):
            spare[i] -= entry * column[i]
            column[i] += share * spare[i]


def triangle_of(triangle: Array, size: int) -> Array:
    """U as a matrix."""
    matrix = np.eye(size)
    for j in range(size):
        begin = column_begin(j)
        matrix[:j, j] = triangle[begin : begin + j]
    return matrix


def carried_over(
    triangle: Array, variances: Array, change: Array, alpha: float
) -> tuple[Array, Array]:
    """U and V of the curvature in new features, where the old ones were change @ new ones.

    A becomes change' A change, and alpha I for what is new: for the part by which change' change
    falls short of I.
    """
    size, new_size = change.shape
    root = scipy.linalg.solve_triangular(
        triangle_of(triangle, size), change, unit_diagonal=True, check_finite=False
    )
    root /= np.sqrt(variances[:size])[:, None]
    values, vectors = eigenpairs(np.eye(new_size) - change.T @ change)
    missing = np.sqrt(alpha * np.maximum(values, 0.0))[:, None] * vectors.T
    upper = scipy.linalg.qr(np.vstack([root, missing]), mode="r", check_finite=False)[0]
    inverse = scipy.linalg.solve_triangular(upper[:new_size], np.eye(new_size), check_finite=False)
    diagonal = np.diagonal(inverse)
    columns = inverse / diagonal
    packed = np.zeros(curvature_entries(new_size))
    for j in range(new_size):
        begin = column_begin(j)
        packed[begin : begin + j] = columns[:j, j]
    return packed, diagonal * diagonal
