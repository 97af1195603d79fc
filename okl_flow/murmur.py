"""Which partition a key belongs to: Kafka's murmur2, so that state and topics can be compared."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import native

__all__ = ["partition_of", "partitions_of", "partitions_of_bytes", "seeds_of"]

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_ALL = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_WORD = 4


def partition_of(key: str, partitions: int) -> int:
    """The partition of a key, as every JVM producer of Kafka places it.

    >>> partition_of("user-17", 64)
    44
    """
    return int(partitions_of([key], partitions)[0])


def partitions_of(keys: Sequence[str], partitions: int) -> NDArray[np.int64]:
    """The partitions of keys, in one native loop."""
    return (_hashes(keys) & _POSITIVE) % partitions


def partitions_of_bytes(keys: Sequence[bytes], partitions: int) -> NDArray[np.int64]:
    """The partitions of keys that are bytes already.

    >>> partitions_of_bytes([b"user-17", b""], 64).tolist()
    [44, ...]
    """
    return (_hashes_of(b"".join(keys), list(map(len, keys))) & _POSITIVE) % partitions


def seeds_of(keys: Sequence[str]) -> list[int]:
    """The seeds of the keys' own random numbers, the same for ever."""
    seeds: list[int] = _hashes(keys).tolist()
    return seeds


def _hashes(keys: Sequence[str]) -> NDArray[np.int64]:
    joined = "".join(keys)
    if joined.isascii():
        return _hashes_of(joined.encode(), list(map(len, keys)))
    each = [key.encode() for key in keys]
    return _hashes_of(b"".join(each), list(map(len, each)))


def _hashes_of(content: bytes, lengths: list[int]) -> NDArray[np.int64]:
    ends = np.cumsum(np.array(lengths, dtype=np.int64))
    hashes = np.empty(len(lengths), dtype=np.int64)
    # A copy, as for an array that cannot be written to the loop would be compiled again.
    _murmur2(np.frombuffer(content, dtype=np.uint8).astype(np.int64), ends, hashes)
    return hashes


@native
def _murmur2(
    content: NDArray[np.int64], ends: NDArray[np.int64], hashes: NDArray[np.int64]
) -> None:
    """The hash of each piece of the content. Whole numbers of 32 bits, held in 64."""
    begin = 0
    for i in range(ends.shape[0]):
        length = ends[i] - begin
        h = (_SEED ^ length) & _ALL
        words = length // _WORD
        for w in range(words):
            at = begin + _WORD * w
            k = content[at] | content[at + 1] << 8 | content[at + 2] << 16 | content[at + 3] << 24
            k = (k * _FACTOR) & _ALL
            k ^= k >> 24
            k = (k * _FACTOR) & _ALL
            h = ((h * _FACTOR) & _ALL) ^ k
        rest = begin + _WORD * words
        if ends[i] - rest > 0:
            for place in range(ends[i] - rest):
                h ^= content[rest + place] << 8 * place
            h = (h * _FACTOR) & _ALL
        h ^= h >> 13
        h = (h * _FACTOR) & _ALL
        hashes[i] = h ^ (h >> 15)
        begin = ends[i]
