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

Vectors that go with U have as many numbers as there are features, then zeros up to a multiple of
eight.
"""

import numpy as np
import scipy.linalg

from okl_flow.lanes import LANES, line_steps, line_sums
from okl_flow.linalg import eigenpairs
from okl_flow.losses import NativeLoss, implicit_slope
from okl_flow.native import Array, add_scaled, native
from okl_flow.tasks import target

__all__ = [
    "NativeStep",
    "carried_over",
    "column_begin",
    "curvature_entries",
    "fade",
    "fresh_curvature",
    "newton_step",
    "padded",
    "refresh",
    "spread_along",
    "take_in",
    "triangle_of",
]

# Under forgetting a variance grows until it is refreshed. Beyond this it does not.
_VARIANCE_LARGEST = 1e100

# How far. Without it, weights that no event asks for wander off for ever: on one point under a
# forgetting of 0.9, to 1e4 within some million events. All the way costs accuracy.
_PULL = 0.1

# Beyond this the features of an event are lost to overflow, and it teaches nothing.
_SPREAD_LARGEST = 1e150
# Curvature that would be lost in its own square.
_CURVATURE_SMALLEST = 1e-100

NativeStep = tuple[NativeLoss, float, float]

_HALF_BLOCK = LANES // 2
_half_sums, _half_steps = line_sums(_HALF_BLOCK), line_steps(_HALF_BLOCK)


@native
def padded(size: int) -> int:
    """The length of a vector that goes with so many features: the next multiple of eight."""
    return (size + LANES - 1) // LANES * LANES


@native
def curvature_entries(size: int) -> int:
    """The numbers that U takes for so many features."""
    blocks = (size + LANES - 1) // LANES
    return LANES * LANES * blocks * (blocks + 1) // 2


def fresh_curvature(size: int, alpha: float) -> tuple[Array, Array]:
    """U and V of A = alpha I."""
    return np.zeros(curvature_entries(size)), np.full(size, 1.0 / alpha)


@native
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


@native
def take_in(
    triangle: Array,
    variances: Array,
    size: int,
    turned: Array,
    noise: float,
    scratch: Array,
    gain: Array,
) -> float:
    """Let A grow by x x' / noise, with `turned` as `spread_along` left it for x.

    `gain` becomes P x, with the P of before. `scratch` has room for two vectors. Returns noise +
    x' P x: a gain divided by that is one by the P of after.
    """
    factors, steps = scratch[0], scratch[1]
    total, first = noise, size
    for j in range(size):
        before = total
        steps[j] = variances[j] * turned[j]
        total += steps[j] * turned[j]
        variances[j] *= before / total
        factors[j] = -turned[j] / before
        gain[j] = 0.0
        if steps[j] != 0.0:
            first = min(first, j)
    for j in range(size, padded(size)):
        factors[j], steps[j], gain[j] = 0.0, 0.0, 0.0
    # Columns before the first number of `turned` have no part in it.
    for block in range(first // LANES, (size + LANES - 1) // LANES):
        _take_steps(triangle, block, factors, steps, gain)
    return total


@native
def _take_steps(triangle: Array, block: int, factors: Array, steps: Array, gain: Array) -> None:
    """Change the columns of a block: first what is above the block, then the block itself."""
    length, place = LANES * (block + 1), LANES * block
    begin = LANES * LANES * block * (block + 1) // 2
    for half in range(2):
        first = half * _HALF_BLOCK
        _half_steps(
            triangle, begin + first * length, length, block, factors, steps, place + first, gain
        )
    for j in range(place, place + LANES):
        column = begin + (j - place) * length
        for i in range(place, j):
            before = triangle[column + i]
            triangle[column + i] = before + factors[j] * gain[i]
            gain[i] += steps[j] * before
        gain[j] = steps[j]


@native
def fade(variances: Array, size: int, forgetting: float) -> None:
    """Multiply A by `forgetting`, a number up to 1."""
    for j in range(size):
        variances[j] = min(variances[j] / forgetting, _VARIANCE_LARGEST)


@native
def refresh(
    triangle: Array,
    variances: Array,
    size: int,
    forgetting: float,
    alpha: float,
    number: int,
    turned: Array,
    scratch: Array,
    gain: Array,
    weights: Array,
) -> None:
    """Give A back of alpha I what event `number` has made it forget, counted from 1.

    That is (1 - forgetting) alpha I at each event. It comes one feature after the other, each
    once in so many events as are remembered, or once in a round of all where they are more:
    alpha is what a feature that no event has then has on average. Each comes as an event of its
    own, with nothing but this feature, that would have its weight a little nearer to 0.
    """
    share = min(1.0, size * (1.0 - forgetting))  # features per event
    turn = int(number * share)
    if turn == int((number - 1) * share):
        return
    feature = turn % size
    for j in range(feature):
        turned[j] = 0.0
    turned[feature] = 1.0
    for j in range(feature + 1, size):
        turned[j] = triangle[column_begin(j) + feature]
    noise = share / (alpha * (1.0 - forgetting) * size)
    total = take_in(triangle, variances, size, turned, noise, scratch, gain)
    for c in range(weights.shape[0]):
        add_scaled(-_PULL * weights[c, feature] / total, gain, weights[c], size)


@native
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

    `step` is the loss, what is left of A from one event to the next, and alpha. `x` and the four
    lines of `spare` are as long as vectors that go with U; `slopes` has room for one per output.
    """
    loss, forgetting, alpha = step
    outputs = weights.shape[0]
    active = False
    for c in range(outputs):
        slope, curvature = implicit_slope(loss, scores[c], target(y, c, outputs), 0.0)
        active |= slope != 0.0 or curvature != 0.0
    if not active:
        return learned
    if forgetting < 1.0:
        fade(variances, size, forgetting)
        refresh(
            triangle, variances, size, forgetting, alpha, learned + 1, spare[2], spare, spare[3],
            weights,
        )  # fmt: skip
    spread = spread_along(triangle, variances, size, x, spare[2])
    if not spread <= _SPREAD_LARGEST:  # as NaN is not
        return learned + 1
    mean = 0.0
    for c in range(outputs):
        slopes[c], curvature = implicit_slope(loss, scores[c], target(y, c, outputs), spread)
        mean += curvature / outputs
    noise = 1.0 / max(mean, _CURVATURE_SMALLEST)
    take_in(triangle, variances, size, spare[2], noise, spare, spare[3])
    for c in range(outputs):
        add_scaled(-slopes[c], spare[3], weights[c], size)
    return learned + 1


@native
def column_begin(j: int) -> int:
    """Where column j of U begins."""
    block = j // LANES
    length = LANES * (block + 1)
    return LANES * block * length // 2 + (j - LANES * block) * length


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
