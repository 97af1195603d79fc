"""The online Newton step in a kernel's space: curvature as a triangle, one solve per event.

The curvature is A = alpha I + sum_j D_j^2 phi_j phi_j', over stored examples j with scales D_j.
It is kept as the upper triangle R of positive diagonal with R'R = D K D + alpha I. For an x with
kernel row k to the stored examples, z solves R'z = D k; then

    phi' A^-1 phi = (K(x, x) - z.z) / alpha
    A^-1 phi = (phi - sum_j [R^-1 z]_j D_j phi_j) / alpha

A function is u = sum_i w_i phi_i + sum_j [R^-1 s]_j D_j phi_j, so that u(x) = w.k + s.z. What a
Newton step adds to u is an entry of w, or of s, or a multiple of z in s: nothing is divided by
alpha and taken away again, and no entry is ever computed anew.

Lines and columns of R follow the ring of places: the oldest example comes first, then those to
the right of it, then those from place 0 on. What lies before the diagonal in this order is not
used. R is read line by line, which is side by side in memory.
"""

import math
from typing import Any

from okl_flow.kernels import NativeKernel, kernel_at, kernel_row
from okl_flow.learner import Learner, fitting_loss
from okl_flow.losses import Logistic, Loss
from okl_flow.native import Array, dot, inner
from okl_flow.rates import NativeRate, native_rate
from okl_flow.tasks import Regression

__all__ = [
    "append_line",
    "clip_to",
    "curvature_of",
    "drop_line",
    "fitting_newton_loss",
    "is_sound",
    "newton_rate",
    "rest_of",
    "scale_of",
    "shorten",
    "slope_bound",
    "solve_scaled",
    "value_at",
]

# Slopes under which D would be lost in its own square are taken for none.
_SCALE_SMALLEST = 1e-100

# K(x, x) and z.z are known to some 1e-15 of K(x, x). Where less is left of it than this share,
# round-off decides what; a step that divides by it must not multiply the round-off of the next.
_REST_SMALLEST = 1e-11

# Examples a million times as long as others leave nothing but round-off of those, and a function
# of round-off may run away. Steps beyond this are not taken, so that it stays finite.
_STEP_LARGEST = 1e100


def slope_bound(loss: Loss, clip: float, label_bound: float) -> float:
    """The largest slope (L) of a loss for scores from -clip to clip."""
    match loss.name:
        case "square":
            return 2.0 * (clip + label_bound)
        case "squared_hinge":
            return 2.0 * (clip + 1.0)
        case "logistic":
            return 1.0 / (1.0 + math.exp(-clip))
    return 1.0


def curvature_of(loss: Loss, clip: float, label_bound: float) -> float:
    """The largest sigma with which the loss has its curvature; 0 for a loss without any.

    That is l(a) >= l(b) + l'(b) (a - b) + sigma/2 (l'(b) (a - b))^2 for all scores a, b from
    -clip to clip and labels of absolute value up to `label_bound`. For the square loss sigma is
    2 / L^2, with L the largest slope: 1 / (8 clip^2) where labels have the range of scores. A
    squared hinge is that parabola as far as a goes to the kink, and flatter beyond. For the
    logistic loss l'' / l'^2 is least at the largest slope, where it is exp(-clip).
    """
    match loss.name:
        case "square":
            return 2.0 / slope_bound(loss, clip, label_bound) ** 2
        case "squared_hinge":
            if clip <= 1.0:
                return 0.5 / (1.0 + clip) ** 2
            return (3.0 * clip - 1.0) / (8.0 * clip * clip * (1.0 + clip))
        case "logistic":
            return math.exp(-clip)
    return 0.0


def fitting_newton_loss(learner: Learner, loss: Loss | None) -> Loss:
    """The loss of a second-order learner: logistic by default, square in regression."""
    if loss is None and not isinstance(learner.task, Regression):
        return Logistic()
    return fitting_loss(learner, loss)


def newton_rate(learner: Any) -> NativeRate:
    """The step size eta_t: sigma, given or the loss's own; 1 / (L clip sqrt(t)) without any."""
    label_bound = learner.clip if isinstance(learner.task, Regression) else 1.0
    sigma = learner.curvature or curvature_of(learner.loss, learner.clip, label_bound)
    if sigma > 0.0:
        return native_rate("constant", sigma)
    slope = slope_bound(learner.loss, learner.clip, label_bound)
    return native_rate("inverse_sqrt", 1.0 / (slope * learner.clip))


@inner
def clip_to(value: float, most: float) -> float:
    """The number from -most to most that is nearest to a value."""
    return min(max(value, -most), most)


@inner
def scale_of(slope: float, eta: float) -> float:
    """D, the slope times the root of the step size; 0 if its square would vanish."""
    scale = slope * math.sqrt(eta)
    return scale if abs(scale) > _SCALE_SMALLEST else 0.0


@inner
def solve_scaled(
    factor: Array, oldest: int, scales: Array, size: int, row: Array, z: Array
) -> None:
    """Solve R'z = D row."""
    for i in range(size):
        z[i] = scales[i] * row[i]
    _solve_part(factor, oldest, size, oldest, z)
    _solve_part(factor, 0, oldest, 0, z)


@inner
def _solve_part(factor: Array, begin: int, end: int, wrapped: int, z: Array) -> None:
    """The part of a solve in which lines begin to end take part in what comes after each.

    After line i come i + 1 to end and then 0 to wrapped. Four lines at a time read z together.
    """
    i = begin
    while i + 4 <= end:
        a = z[i] / factor[i, i]
        b = (z[i + 1] - a * factor[i, i + 1]) / factor[i + 1, i + 1]
        c = z[i + 2] - (a * factor[i, i + 2] + b * factor[i + 1, i + 2])
        c /= factor[i + 2, i + 2]
        d = z[i + 3] - (a * factor[i, i + 3] + b * factor[i + 1, i + 3])
        d = (d - c * factor[i + 2, i + 3]) / factor[i + 3, i + 3]
        z[i], z[i + 1], z[i + 2], z[i + 3] = a, b, c, d
        _take_away(factor, i, a, b, c, d, i + 4, end, z)
        _take_away(factor, i, a, b, c, d, 0, wrapped, z)
        i += 4
    while i < end:
        a = z[i] / factor[i, i]
        z[i] = a
        for j in range(i + 1, end):
            z[j] -= a * factor[i, j]
        for j in range(wrapped):
            z[j] -= a * factor[i, j]
        i += 1


@inner
def _take_away(
    factor: Array, i: int, a: float, b: float, c: float, d: float, begin: int, end: int, z: Array
) -> None:
    """Take four solved numbers, times their lines, out of z from begin to end."""
    for j in range(begin, end):
        z[j] -= (a * factor[i, j] + b * factor[i + 1, j]) + (
            c * factor[i + 2, j] + d * factor[i + 3, j]
        )


@inner
def value_at(
    kernel: NativeKernel,
    rows: Array,
    scales: Array,
    weights: Array,
    solution: Array,
    factor: Array,
    oldest: int,
    size: int,
    x: Array,
    row: Array,
    z: Array,
) -> float:
    """u(x), with k in `row` and z on the way."""
    kernel_row(kernel, rows, size, x, row)
    solve_scaled(factor, oldest, scales, size, row, z)
    shorten(z, kernel_at(kernel, x), size)
    return float(dot(weights, row, size) + dot(solution, z, size))


@inner
def shorten(z: Array, own: float, size: int) -> None:
    """Cut z back to z.z <= K(x, x), which only round-off can violate.

    Beside examples of very different length it does, and each z makes a column of R that would
    multiply the error of those after it.
    """
    spanned = dot(z, z, size)
    if not spanned <= own:  # as NaN is not
        shorter = math.sqrt(own / spanned)
        for i in range(size):
            z[i] = shorter * z[i] if shorter > 0.0 else 0.0


@inner
def rest_of(own: float, z: Array, size: int) -> float:
    """K(x, x) - z.z, what the curvature has left of x."""
    return max(own - dot(z, z, size), _REST_SMALLEST * own)


@inner
def is_sound(weight: float, own: float) -> bool:
    """Whether a step can be taken: for an example of some length, and of finite size."""
    return own > 0.0 and abs(weight) * own <= _STEP_LARGEST


@inner
def append_line(
    factor: Array, place: int, size: int, scale: float, rest: float, alpha: float, z: Array
) -> float:
    """Give R the line and column of an example that comes last. Returns R's new diagonal."""
    for i in range(size):
        factor[i, place] = scale * z[i]
    factor[place, place] = math.sqrt(alpha + scale * scale * rest)
    return float(factor[place, place])


@inner
def drop_line(
    factor: Array, oldest: int, size: int, first: float, solution: Array, z: Array
) -> None:
    """Take the oldest example out of R, and of s and z, which are columns of R in all but name.

    Without its first line and column, R'R lacks the square of the first line: rotations put that
    line back into those after it, one at a time. `first` takes the place of s's first entry.
    What is left at the oldest place has no meaning.
    """
    carried, carried_z = first, z[oldest]
    for turn in range(1, size):
        i = (oldest + turn) % size
        diagonal, other = factor[i, i], factor[oldest, i]
        if other == 0.0:
            continue
        length = math.sqrt(diagonal * diagonal + other * other)
        cosine, sine = diagonal / length, other / length
        factor[i, i] = length
        if i > oldest:
            _rotate(factor, i, oldest, cosine, sine, i + 1, size)
            _rotate(factor, i, oldest, cosine, sine, 0, oldest)
        else:
            _rotate(factor, i, oldest, cosine, sine, i + 1, oldest)
        before, before_z = solution[i], z[i]
        solution[i] = cosine * before + sine * carried
        carried = cosine * carried - sine * before
        z[i] = cosine * before_z + sine * carried_z
        carried_z = cosine * carried_z - sine * before_z


@inner
def _rotate(
    factor: Array, i: int, other: int, cosine: float, sine: float, begin: int, end: int
) -> None:
    """Rotate two lines of R into each other, from begin to end."""
    for j in range(begin, end):
        before = factor[i, j]
        factor[i, j] = cosine * before + sine * factor[other, j]
        factor[other, j] = cosine * factor[other, j] - sine * before
