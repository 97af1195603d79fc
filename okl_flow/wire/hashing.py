"""Which column a name is hashed to: MurmurHash3 for 32 bits, the same for ever."""

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import Array, native

__all__ = ["add_hashed", "murmur3"]

Octets = NDArray[np.uint8]
Places = NDArray[np.int64]

_FIRST, _SECOND, _ADDED = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_MIX_1, _MIX_2 = 0x85EBCA6B, 0xC2B2AE35
_MASK = 0xFFFFFFFF
_SIGN = 0x80000000


@native
def _scrambled(block: int) -> int:
    block = (block * _FIRST) & _MASK
    block = ((block << 15) | (block >> 17)) & _MASK
    return (block * _SECOND) & _MASK


@native
def murmur3(octets: Octets, begin: int, end: int, seed: int) -> int:
    """MurmurHash3_x86_32 of octets[begin:end], as a number from 0 to 2**32 - 1.

    >>> murmur3(np.frombuffer(b"hello", np.uint8), 0, 5, 0)
    613153351
    """
    h = seed & _MASK
    whole = begin + (end - begin) // 4 * 4
    for i in range(begin, whole, 4):
        block = 0
        for k in range(4):
            block |= int(octets[i + k]) << (8 * k)
        h ^= _scrambled(block)
        h = ((h << 13) | (h >> 19)) & _MASK
        h = (h * 5 + _ADDED) & _MASK
    block = 0
    for i in range(whole, end):
        block |= int(octets[i]) << (8 * (i - whole))
    h ^= _scrambled(block)
    h ^= end - begin
    h ^= h >> 16
    h = (h * _MIX_1) & _MASK
    h ^= h >> 13
    h = (h * _MIX_2) & _MASK
    return h ^ (h >> 16)


@native
def add_hashed(
    octets: Octets, ends: Places, rows: Places, values: Array, seed: int, X: Array
) -> None:
    """Add each value, with the sign and in the column of its name, to its row of X.

    Name i ends at ends[i] and begins where the one before it ends. NaN adds nothing.
    """
    begin = 0
    for i in range(ends.shape[0]):
        if not np.isnan(values[i]):
            h = murmur3(octets, begin, ends[i], seed)
            size = (_MASK + 1 - h) if h & _SIGN else h  # of the hash as a signed number
            X[rows[i], size % X.shape[1]] += -values[i] if h & _SIGN else values[i]
        begin = ends[i]
