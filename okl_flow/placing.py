"""Which worker has which state partition: the one that reads the events of its keys, if one can.

The engine deals the parts of inputs and outputs out in turn, and the keys of a step by a hash of
their names. So the name of each state partition is chosen for its hash, such that partition `n`
is with worker `n` modulo their number, like part `n` of an input or an output. Producers that
place keys by murmur2, as those on the JVM do, then lead the events of a key to the worker that
has its model, where the number of workers divides that of the topic's partitions, of the state's,
and of an output's parts: no event crosses to another process, and no prediction.
"""

from functools import cache
from itertools import product
from string import ascii_lowercase

__all__ = ["TURNS", "engine_key", "partition_name", "slot_of", "worker_of"]

TURNS = 48
"""Numbers of workers that divide this have the partitions in turn; with others hashes decide."""

_MASK = (1 << 64) - 1
_BEGIN = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_STRING_END = b"\xff"  # which the engine's language puts behind a string that it hashes
_LAST_ROUNDS = 3


def slot_of(topic_partition: int) -> int:
    """The part of an input, as the engine sees it, that reads a topic's partition of this number.

    The same for all topics, so that events and labels of a key are read by one worker.
    """
    return topic_partition % TURNS


def partition_name(number: int) -> str:
    """What a state partition is called in reports, in messages, and in its directory.

    >>> partition_name(17)
    'p017'
    """
    return f"p{number:03d}"


@cache
def engine_key(partition: int) -> str:
    """The engine's name for a state partition, the same for ever.

    >>> engine_key(17), worker_of(engine_key(17), 2), worker_of(engine_key(17), 3)
    ('p017...', 1, 2)
    """
    for letters in product(ascii_lowercase, repeat=3):
        name = partition_name(partition) + "".join(letters)
        if worker_of(name, TURNS) == partition % TURNS:
            return name
    raise AssertionError("thousands of hashes that never have one of 48 remainders")


def worker_of(key: str, workers: int) -> int:
    """The worker that the engine gives a key of a step to."""
    return _siphash(key.encode() + _STRING_END) % workers


def _siphash(content: bytes) -> int:
    """SipHash-1-3 with a key of zeros."""
    whole = len(content) // 8 * 8
    last = content[whole:].ljust(7, b"\0") + bytes([len(content) & 0xFF])
    v = _BEGIN
    for at in range(0, whole, 8):
        v = _absorbed(v, int.from_bytes(content[at : at + 8], "little"))
    v = _absorbed(v, int.from_bytes(last, "little"))
    v = (v[0], v[1], v[2] ^ 0xFF, v[3])
    for _ in range(_LAST_ROUNDS):
        v = _round(*v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _absorbed(v: tuple[int, int, int, int], word: int) -> tuple[int, int, int, int]:
    a, b, c, d = _round(v[0], v[1], v[2], v[3] ^ word)
    return a ^ word, b, c, d


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a = (a + b) & _MASK
    b = _turned(b, 13) ^ a
    a = _turned(a, 32)
    c = (c + d) & _MASK
    d = _turned(d, 16) ^ c
    a = (a + d) & _MASK
    d = _turned(d, 21) ^ a
    c = (c + b) & _MASK
    b = _turned(b, 17) ^ c
    c = _turned(c, 32)
    return a, b, c, d


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK
