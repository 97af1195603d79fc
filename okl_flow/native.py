"""The native toolbox: compiled loops, and the arithmetic they share.

Every sum here is written in the order in which it is to be added, and nothing allows the
compiler to reorder it. The same state and event therefore give the same bits on every
processor, in `score` as in `step`, which is what recovery relies on. Speed comes from loops
that run over stored examples or features side by side, where no order is at stake.
"""

import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray

from okl_flow.lanes import (
    LANES,
    as_bits,
    as_float,
    lane_least,
    lane_most,
    lane_sums,
)
from okl_flow.tiles import tile_products

__all__ = [
    "Array",
    "add_scaled",
    "cosines_and_sines",
    "count_missing",
    "dot",
    "exponential",
    "exponentials",
    "exponentials_of",
    "first_infinite",
    "first_not_finite",
    "first_up_to",
    "inner",
    "largest",
    "least",
    "lower_products",
    "matrix_products",
    "native",
    "padded",
    "shrink_rows",
    "written",
]

Array = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])


Stamp = tuple[tuple[str, int, int], ...]

_stamps: dict[int, Stamp] = {}


def native(function: Function) -> Function:
    """Compile a loop to machine code, kept on disk between processes.

    numba takes a cached loop for stale only when the loop's own file has changed. A loop
    also depends on the native helpers that its module imports, so their files count too.
    """
    return _compiled(function, _nrt=True)


def inner(function: Function) -> Function:
    """`native` for what a loop calls: a function that makes no array and returns numbers.

    numba counts the references to all arrays that a function touches, though its caller holds
    them. That takes time, and stands in the way of what the compiler would else move and merge.
    A function that counts none must not return an array: its caller would free it too early.

    It is copied to where it is called. A call would hand over each array as seven numbers, by way
    of memory: in loops of less than a microsecond these were up to half of the time.
    """
    returned = function.__annotations__["return"]
    strange = set(get_args(returned) or [returned]) - {None, bool, int, float, np.uint64}
    if strange:
        raise TypeError(f"{function.__name__} returns {returned}: an inner function gives numbers")
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: bool) -> Function:
    dispatcher: Any = njit(cache=True, error_model="numpy", nogil=True, **options)(function)
    files = {_stamp(function)}
    for helper in function.__globals__.values():
        files.update(_stamps.get(id(helper), ()))
        if hasattr(helper, "_defn"):  # an operation of okl_flow.lanes
            files.add(_stamp(helper._defn))
    _stamps[id(dispatcher)] = tuple(sorted(files))
    dispatcher._cache._cache_file._source_stamp = _stamps[id(dispatcher)]
    return cast(Function, dispatcher)


def written(text: str, *names: str) -> dict[str, Callable[..., Any]]:
    """Compile functions whose text was made up; they become part of the loops that call them.

    They are renamed by what they do: two loops that were compiled by two processes would else
    meet in a third one with functions of one name, and one of them get the other's.
    """
    made: dict[str, Any] = {}
    exec(text, made)
    stamp = zlib.crc32(text.encode())
    found = {}
    for name in names:
        function = made[name]
        function.__name__ = function.__qualname__ = f"{name}_{stamp:08x}"
        found[name] = njit(error_model="numpy", nogil=True)(function)
        _stamps[id(found[name])] = ((name, stamp, len(text)),)
    return found


def _stamp(function: Callable[..., Any]) -> tuple[str, int, int]:
    """What changes when the file changes in which a function is defined."""
    source = Path(function.__code__.co_filename)
    stat = source.stat()
    return source.name, stat.st_mtime_ns, stat.st_size


# Adding and taking away 1.5 * 2**52 rounds a float to the nearest integer, which then stands
# in its lowest bits.
_ROUND = 6755399441055744.0
_LOG2_E = 1.0 / math.log(2.0)
# ln 2 in two parts, the first with 32 significant bits: n * _LN2_HIGH is exact for |n| < 2**21.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_EXPONENT_BIAS = 1023
_MANTISSA_BITS = 52
_EXP_SMALLEST = -708.0
_EXP_LARGEST = 709.0
# The series of exp(r) for |r| <= ln(2)/2: the first term left out, r**13 / 13!, is below 2e-16.
# Series are added in pairs and pairs of pairs: in a chain each term waits for the one before.
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12 = (
    1.0 / math.factorial(k) for k in range(2, 13)
)


@inner
def exponential(x: float) -> float:
    """exp(x) within 4e-16 of its value; 0 below -708, infinity above 709."""
    clipped = min(max(x, _EXP_SMALLEST), _EXP_LARGEST)
    shifted = clipped * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = (clipped - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (_E2 + r * _E3) + r2 * (_E4 + r * _E5)
    middle = (_E6 + r * _E7) + r2 * (_E8 + r * _E9)
    high = (_E10 + r * _E11) + r2 * _E12
    p = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))
    two_to_n = as_float((as_bits(shifted) + _EXPONENT_BIAS) << _MANTISSA_BITS)
    value = p * two_to_n
    value = 0.0 if x < _EXP_SMALLEST else value
    return math.inf if x > _EXP_LARGEST else value


@inner
def exponentials(factor: float, values: Array, size: int) -> None:
    """values[i] = exp(factor * values[i]) for i < size, side by side."""
    for i in range(size):
        values[i] = exponential(factor * values[i])


@inner
def exponentials_of(factor: float, values: Array, size: int, out: Array) -> None:
    """out[i] = exp(factor * values[i]) for i < size, side by side where `out` lies apart."""
    for i in range(size):
        out[i] = exponential(factor * values[i])


# pi/2 in three parts of 33 bits: n times each of the first two is exact for |n| < 2**20.
_HALF_PI_1 = 1.57079632673412561417e00
_HALF_PI_2 = 6.07710050630396597660e-11
_HALF_PI_3 = 2.02226624879595063154e-21
_TWO_OVER_PI = 2.0 / math.pi
_ANGLE_LARGEST = 1.0e6
# The series for |r| <= pi/4: the first terms left out, r**17 / 17! and r**18 / 18!, are
# below 5e-17.
_S3, _S5, _S7, _S9, _S11, _S13, _S15 = ((-1) ** k / math.factorial(2 * k + 1) for k in range(1, 8))
_C2, _C4, _C6, _C8, _C10, _C12, _C14, _C16 = (
    (-1) ** k / math.factorial(2 * k) for k in range(1, 9)
)


@inner
def cosines_and_sines(angles: Array, factor: float, cosines: Array, sines: Array) -> None:
    """Write factor * cos and factor * sin of every angle, side by side."""
    beyond = False
    for i in range(angles.shape[0]):
        beyond |= abs(angles[i]) > _ANGLE_LARGEST
    if beyond:
        for i in range(angles.shape[0]):
            cosines[i] = factor * math.cos(angles[i])
            sines[i] = factor * math.sin(angles[i])
        return
    for i in range(angles.shape[0]):
        shifted = angles[i] * _TWO_OVER_PI + _ROUND
        n = shifted - _ROUND
        quadrant = as_bits(shifted)
        r = ((angles[i] - n * _HALF_PI_1) - n * _HALF_PI_2) - n * _HALF_PI_3
        q = r * r
        q2 = q * q
        s = (_S11 + q * _S13) + q2 * _S15
        s = (_S3 + q * _S5) + q2 * ((_S7 + q * _S9) + q2 * s)
        s = r + r * q * s
        c = (_C10 + q * _C12) + q2 * (_C14 + q * _C16)
        c = (_C2 + q * _C4) + q2 * ((_C6 + q * _C8) + q2 * c)
        c = 1.0 + q * c
        swapped = (quadrant & 1) == 1
        cosine = s if swapped else c
        sine = c if swapped else s
        cosines[i] = -factor * cosine if ((quadrant + 1) & 2) == 2 else factor * cosine  # noqa: PLR2004
        sines[i] = -factor * sine if (quadrant & 2) == 2 else factor * sine  # noqa: PLR2004


@inner
def padded(size: int) -> int:
    """The length of a vector that is gone through by eights: the next multiple of eight."""
    return (size + LANES - 1) // LANES * LANES


@inner
def dot(a: Array, b: Array, size: int) -> float:
    """Sum of a[i] * b[i] for i < size: eight interleaved sums, then the rest in turn."""
    rounds = size // LANES
    rest = 0.0
    for i in range(LANES * rounds, size):
        rest += a[i] * b[i]
    return float(lane_sums(a, b, rounds) + rest)


@inner
def least(values: Array, size: int) -> float:
    """The least of at least one value; a NaN counts only if it is the first of them."""
    rounds = size // LANES
    found: float = lane_least(values, rounds) if rounds > 0 else values[0]
    for i in range(LANES * rounds, size):
        found = values[i] if values[i] < found else found
    return found


@inner
def largest(values: Array, size: int) -> float:
    """The largest of at least one value; a NaN counts only if it is the first of them."""
    rounds = size // LANES
    found: float = lane_most(values, rounds) if rounds > 0 else values[0]
    for i in range(LANES * rounds, size):
        found = values[i] if values[i] > found else found
    return found


@inner
def first_up_to(values: Array, size: int, limit: float) -> int:
    """The place of the first value that is not above a limit; there must be one."""
    place = 0
    while place + LANES <= size:
        above = True
        for i in range(LANES):
            above &= values[place + i] > limit
        if not above:
            break
        place += LANES
    while values[place] > limit:
        place += 1
    return place


_four_wide, _four_narrow = tile_products(4, 3), tile_products(4, 1)
_one_wide, _one_narrow = tile_products(1, 3), tile_products(1, 1)
_four_lower, _one_lower = tile_products(4, 3, lower=True), tile_products(1, 3, lower=True)
_WIDE = 3 * LANES


@inner
def lower_products(lines: Array, count: int, matrix: Array, out: Array) -> None:
    """out[e] = lines[e] @ matrix for e < count, of a matrix with zeros above its diagonal.

    Four lines at a time read the matrix together; how many there are changes no bit.
    """
    _fill_products(lines, count, True, matrix, out)


@inner
def matrix_products(lines: Array, count: int, matrix: Array, out: Array) -> None:
    """out[e] = lines[e] @ matrix for e < count, by the same tiles as `lower_products`."""
    _fill_products(lines, count, False, matrix, out)


@inner
def _fill_products(lines: Array, count: int, lower: bool, matrix: Array, out: Array) -> None:
    fours = count - count % 4
    for e in range(0, fours, 4):
        _fill_lines(lines, e, True, lower, matrix, out)
    for e in range(fours, count):
        _fill_lines(lines, e, False, lower, matrix, out)


@inner
def _fill_lines(lines: Array, e: int, four: bool, lower: bool, matrix: Array, out: Array) -> None:
    """Fill in one line of products or four, tile after tile."""
    size, width = matrix.shape
    c = 0
    while c + _WIDE <= width:
        if lower and four:
            _four_lower(lines, e, matrix, c, size, c, out)
        elif lower:
            _one_lower(lines, e, matrix, c, size, c, out)
        elif four:
            _four_wide(lines, e, matrix, 0, size, c, out)
        else:
            _one_wide(lines, e, matrix, 0, size, c, out)
        c += _WIDE
    while c < width and width >= LANES:
        c = min(c, width - LANES)  # the last tile may overlap the one before it
        begin = c if lower else 0
        if four:
            _four_narrow(lines, e, matrix, begin, size, c, out)
        else:
            _one_narrow(lines, e, matrix, begin, size, c, out)
        c += LANES
    for column in range(c, width):
        for line in range(e, e + 4 if four else e + 1):
            total = 0.0
            for i in range(column if lower else 0, size):
                total += lines[line, i] * matrix[i, column]
            out[line, column] = total


@inner
def add_scaled(factor: float, a: Array, total: Array, size: int) -> None:
    """total[i] += factor * a[i] for i < size."""
    for i in range(size):
        total[i] += factor * a[i]


@inner
def shrink_rows(values: Array, factor: float, size: int) -> None:
    """values[c, i] *= factor for every row c and i < size."""
    if factor == 1.0:
        return
    for c in range(values.shape[0]):
        for i in range(size):
            values[c, i] *= factor


@native
def first_infinite(values: Array) -> int:
    """Position, in reading order, of the first infinity; -1 if there is none."""
    flat = values.reshape(values.size)
    for i in range(flat.shape[0]):
        if math.isinf(flat[i]):
            return i
    return -1


@native
def count_missing(values: Array) -> int:
    """How many are NaN."""
    count = 0
    for i in range(values.shape[0]):
        count += math.isnan(values[i])
    return count


@native
def first_not_finite(values: Array) -> int:
    """Position, in reading order, of the first NaN or infinity; -1 if there is none."""
    flat = values.reshape(values.size)
    for i in range(flat.shape[0]):
        if not math.isfinite(flat[i]):
            return i
    return -1
