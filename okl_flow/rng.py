"""The random generator that lives in a state's integer array.

xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64 as its authors advise. Four
words of 64 bits are its whole state, so a native loop can draw and a snapshot is complete.
"""

import math

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import Array, native

__all__ = ["WORDS", "Words", "draw_below", "draw_normals", "draw_unit", "seeded"]

WORDS = 4
Words = NDArray[np.uint64]

_MASK = (1 << 64) - 1
_UNIT = 2.0**-53


def seeded(seed: int) -> Words:
    """The words of a fresh generator."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ValueError(f"seed must be a whole number, not {seed!r}")
    words = np.empty(WORDS, dtype=np.uint64)
    _split(np.uint64(int(seed) & _MASK), words)
    return words


@native
def _split(seed: np.uint64, words: Words) -> None:
    """The words that splitmix64 makes of a seed."""
    for step in range(WORDS):
        seed += np.uint64(0x9E3779B97F4A7C15)
        z = seed
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[step] = z ^ (z >> np.uint64(31))


@native
def _rotated(word: np.uint64, left: int) -> np.uint64:
    return (word << np.uint64(left)) | (word >> np.uint64(64 - left))


@native
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


@native
def draw_unit(words: Words) -> float:
    """A number from [0, 1), of 53 random bits."""
    return float(_draw(words) >> np.uint64(11)) * _UNIT


@native
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
