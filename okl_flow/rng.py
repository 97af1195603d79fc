"""The random generator that lives in a state's integer array.

xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64 as its authors advise. Four
words of 64 bits are its whole state, so a native loop can draw and a snapshot is complete.
"""

import math

import numpy as np
from numpy.typing import NDArray

from okl_flow.lanes import LANES, lanes_below, running_below
from okl_flow.native import Array, dot, inner, native

__all__ = [
    "WORDS",
    "Words",
    "draw_below",
    "draw_by_weight",
    "draw_normals",
    "draw_unit",
    "seeded",
    "split",
    "sum_stretches",
]

WORDS = 4
Words = NDArray[np.uint64]

_MASK = (1 << 64) - 1
_UNIT = 2.0**-53
_EPSILON = 2.0**-52


def seeded(seed: int) -> Words:
    """The words of a fresh generator."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ValueError(f"seed must be a whole number, not {seed!r}")
    words = np.empty(WORDS, dtype=np.uint64)
    split(np.uint64(int(seed) & _MASK), words)
    return words


@inner
def split(seed: np.uint64, words: Words) -> None:
    """The words that splitmix64 makes of a seed."""
    for step in range(WORDS):
        seed += np.uint64(0x9E3779B97F4A7C15)
        z = seed
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[step] = z ^ (z >> np.uint64(31))


@inner
def _rotated(word: np.uint64, left: int) -> np.uint64:
    return (word << np.uint64(left)) | (word >> np.uint64(64 - left))


@inner
def _draw(words: Words) -> np.uint64:
    """The next 64 bits."""
    result: np.uint64 = _rotated(words[0] + words[3], 23) + words[0]
    shifted = words[1] << np.uint64(17)
    words[2] ^= words[0]
    words[3] ^= words[1]
    words[1] ^= words[2]
    words[0] ^= words[3]
    words[2] ^= shifted
    words[3] = _rotated(words[3], 45)
    return result


@inner
def draw_unit(words: Words) -> float:
    """A number from [0, 1), of 53 random bits."""
    return float(_draw(words) >> np.uint64(11)) * _UNIT


@inner
def draw_below(words: Words, count: int) -> int:
    """An integer from 0 to count - 1; for counts below 2**32 its bias is under 2**-21."""
    return int(draw_unit(words) * count)


@native
def draw_normals(words: Words, values: Array) -> None:
    """Fill `values` with independent standard normals, two to a pair of draws (Box-Muller)."""
    flat = values.reshape(values.size)
    for i in range(0, flat.shape[0], 2):
        radius = math.sqrt(-2.0 * math.log(1.0 - draw_unit(words)))
        angle = 2.0 * math.pi * draw_unit(words)
        flat[i] = radius * math.cos(angle)
        if i + 1 < flat.shape[0]:
            flat[i + 1] = radius * math.sin(angle)


@inner
def sum_stretches(weights: Array, ends: Array) -> float:
    """ends[b] = the sum of the first 8 * (b + 1) weights, or of all; the lengths are padded.

    Returns more than all round-off in a draw, of the chain and of `ends`: in halves of an epsilon
    of the total, the chain has at most 1.2 * size + 11 of it, and the way by `ends` 0.2 * size + 9.
    """
    total = 0.0
    stretches = weights.shape[0] // LANES
    for b in range(stretches):
        i = LANES * b
        left = (weights[i] + weights[i + 1]) + (weights[i + 2] + weights[i + 3])
        right = (weights[i + 4] + weights[i + 5]) + (weights[i + 6] + weights[i + 7])
        total += left + right
        ends[b] = total
    for b in range(stretches, ends.shape[0]):
        ends[b] = total
    return float((weights.shape[0] + LANES) * 2.0 * _EPSILON * total)


@inner
def draw_by_weight(
    words: Words, weights: Array, size: int, ones: Array, ends: Array, slack: float
) -> int:
    """A place, drawn in proportion to weights of at least 0; -1, and no draw, if all of them are 0.

    There are eight weights to each of `ends`, which `sum_stretches` made. The place is the first
    at which a random number times the total falls below 0, where one weight after the other is
    taken off. Such a chain waits for each of its terms. `ends` tell the same place, unless the
    number falls so near to the end of a weight's stretch that round-off decides: only then the
    chain is gone through.
    """
    total = ends[-1]
    if not total > slack:
        return _of_little(words, weights, size, ones)
    unit = draw_unit(words)
    goal = unit * total
    block = lanes_below(ends, ends.shape[0] // LANES, goal, slack)
    begin = ends[block - 1] if block > 0 else 0.0
    if block == 0 or goal - begin > slack:
        place = running_below(weights, LANES * block, goal - begin, slack)
        if place < LANES and place == running_below(weights, LANES * block, goal - begin, -slack):
            return int(LANES * block + place)
    return _walked(weights, size, ones, unit)


@inner
def _of_little(words: Words, weights: Array, size: int, ones: Array) -> int:
    """The draw, where round-off might be all there is."""
    if not dot(weights, ones, size) > 0.0:
        return -1
    return _walked(weights, size, ones, draw_unit(words))


@inner
def _walked(weights: Array, size: int, ones: Array, unit: float) -> int:
    """The place where the chain of subtractions falls below 0, or else the last with a weight."""
    place, rest = -1, unit * dot(weights, ones, size)
    for i in range(size):
        if weights[i] > 0.0:
            place = i
            rest -= weights[i]
            if rest < 0.0:
                break
    return place
