"""Blocks of words written as `okl_flow.packing` writes their states, and read from that."""

import numpy as np

from okl_flow.blocks import Memory, Tables, used_of, words_of
from okl_flow.native import native
from okl_flow.packing import Bytes

__all__ = ["fill_block", "measure_packed", "pack_blocks", "read_head"]

_NARROW, _WIDE = 0, 1  # forms of packed numbers
_NARROW_BYTES, _WORD_BYTES, _LENGTH_BYTES = 4, 8, 4
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


@native
def measure_packed(ints: Memory, places: Memory, tables: Tables, ends: Memory) -> int:
    """ends[i + 1] = where block i ends among the packed ones, ends[0] being 0; the last of them."""
    counted, is_float, shapes = tables.counted, tables.is_float, tables.shapes
    wide = 1 + _WORD_BYTES * is_float.shape[0] + _LENGTH_BYTES * tables.lengths.shape[0]
    narrow = wide
    for n in range(is_float.shape[0]):
        narrow -= 0 if is_float[n] else _WORD_BYTES - _NARROW_BYTES
    ends[0] = 0
    for i in range(places.shape[0]):
        at = places[i]
        size = narrow if _is_narrow(ints, at + counted.shape[0], is_float) else wide
        for k in range(shapes.shape[0]):
            count = _WORD_BYTES
            for axis in range(shapes.shape[1]):
                count *= used_of(ints, at, shapes[k, axis], counted)
            size += count
        ends[i + 1] = ends[i] + size
    return int(ends[places.shape[0]])


@native
def _is_narrow(ints: Memory, at: int, is_float: Memory) -> bool:
    """Whether all whole numbers have 32 bits."""
    for n in range(is_float.shape[0]):
        if not is_float[n] and not _INT32_MIN <= ints[at + n] <= _INT32_MAX:
            return False
    return True


@native
def pack_blocks(
    ints: Memory, held: Bytes, places: Memory, tables: Tables, ends: Memory, out: Bytes
) -> None:
    """Write blocks as `okl_flow.packing` writes their states; `held` are the bytes of `ints`."""
    counted, is_float, shapes = tables.counted, tables.is_float, tables.shapes
    lengths = tables.lengths
    axis_count, number_count = counted.shape[0], is_float.shape[0]
    for i in range(places.shape[0]):
        at, to = places[i], ends[i]
        narrow = _is_narrow(ints, at + axis_count, is_float)
        out[to] = _NARROW if narrow else _WIDE
        to += 1
        for n in range(number_count):
            size = _NARROW_BYTES if narrow and not is_float[n] else _WORD_BYTES
            to = _copied(held, _WORD_BYTES * (at + axis_count + n), size, out, to)
        for k in range(lengths.shape[0]):
            to = _copied(held, _WORD_BYTES * (at + lengths[k]), _LENGTH_BYTES, out, to)
        line = at + axis_count + number_count
        for k in range(shapes.shape[0]):
            width, lines = ints[at + shapes[k, 2]], ints[at + shapes[k, 1]]
            size = _WORD_BYTES * used_of(ints, at, shapes[k, 2], counted)
            used = used_of(ints, at, shapes[k, 1], counted)
            for _ in range(used_of(ints, at, shapes[k, 0], counted)):
                for b in range(used):
                    to = _copied(held, _WORD_BYTES * (line + b * width), size, out, to)
                line += lines * width
            line += (
                (ints[at + shapes[k, 0]] - used_of(ints, at, shapes[k, 0], counted)) * lines * width
            )


@native
def _copied(held: Bytes, begin: int, size: int, out: Bytes, to: int) -> int:
    """Copy bytes, of which a number has its lowest first; where the next ones go."""
    for place in range(size):
        out[to + place] = held[begin + place]
    return to + size


@native
def read_head(packed: Bytes, begin: int, tables: Tables, head: Memory) -> int:
    """Fill in rooms and numbers of a packed state, and say where its arrays begin.

    It is -1 if the bytes are cut, or not of a form that blocks have.
    """
    counted, is_float, lengths = tables.counted, tables.is_float, tables.lengths
    axis_count = counted.shape[0]
    at = begin + 1
    if at > packed.shape[0] or packed[begin] > _WIDE:
        return -1
    for n in range(is_float.shape[0]):
        narrow = packed[begin] == _NARROW and not is_float[n]
        size = _NARROW_BYTES if narrow else _WORD_BYTES
        if at + size > packed.shape[0]:
            return -1
        head[axis_count + n] = _number_at(packed, at, size)
        at += size
    if at + _LENGTH_BYTES * lengths.shape[0] > packed.shape[0]:
        return -1
    for axis in range(axis_count):
        head[axis] = (
            tables.constants[axis] if counted[axis] < 0 else head[axis_count + counted[axis]]
        )
    for k in range(lengths.shape[0]):
        head[lengths[k]] = _number_at(packed, at, _LENGTH_BYTES)
        at += _LENGTH_BYTES
    for axis in range(axis_count):
        if not 0 <= head[axis] <= packed.shape[0]:
            return -1
    end = at + _WORD_BYTES * words_of(head, 0, tables.shapes, 0)
    return at if end <= packed.shape[0] else -1


@native
def _number_at(packed: Bytes, at: int, size: int) -> int:
    """A whole number of so many bytes, the lowest first."""
    number = np.int64(0)
    for place in range(size):
        number |= np.int64(packed[at + place]) << (8 * place)
    if size == _NARROW_BYTES and number > _INT32_MAX:
        number -= np.int64(1 << 32)
    return int(number)


@native
def fill_block(
    packed: Bytes, begin: int, head: Memory, ints: Memory, held: Bytes, place: int, words: int
) -> int:
    """Write a block, from its head and its packed arrays; where those end."""
    for word in range(head.shape[0]):
        ints[place + word] = head[word]
    size: int = _WORD_BYTES * (words - head.shape[0])
    _copied(packed, begin, size, held, _WORD_BYTES * (place + head.shape[0]))
    return begin + size
