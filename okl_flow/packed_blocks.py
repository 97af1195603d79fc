"""Blocks of words written as `okl_flow.packing` writes their states, and read from that."""

import numpy as np

from okl_flow.blocks import Memory, Tables, allocated, fetch_ahead, used_of, words_of
from okl_flow.lanes import put, word_at
from okl_flow.native import inner, native
from okl_flow.packing import Bytes

__all__ = ["pack_blocks", "read_blocks"]

_NARROW, _WIDE = 0, 1  # forms of packed numbers
_NARROW_BYTES, _WORD_BYTES, _LENGTH_BYTES = 4, 8, 4
_NOWHERE = -1
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


@native
def pack_blocks(
    numbers: Memory, places: Memory, ints: Memory, tables: Tables
) -> tuple[Bytes, Memory]:
    """Blocks as `okl_flow.packing` writes their states, and behind a 0 where each of them ends.

    places[n] = where block n lies. A number below 0 is that of none, which takes no bytes.
    """
    count = numbers.shape[0]
    found, ends = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    for i in range(count):  # by itself: the processor then waits for many places at once
        found[i] = places[numbers[i]] if numbers[i] >= 0 else _NOWHERE
    out = np.empty(_measured(found, ints, tables, ends), np.uint8)
    _write(found, ints, tables, ends, out)
    return out, ends


@inner
def _measured(places: Memory, ints: Memory, tables: Tables, ends: Memory) -> int:
    """Fill in the ends of all blocks; the last of them."""
    counted, is_float, shapes = tables.counted, tables.is_float, tables.shapes
    wide = 1 + _WORD_BYTES * is_float.shape[0] + _LENGTH_BYTES * tables.lengths.shape[0]
    narrow = wide
    for n in range(is_float.shape[0]):
        narrow -= 0 if is_float[n] else _WORD_BYTES - _NARROW_BYTES
    ends[0] = 0
    for i in range(places.shape[0]):
        fetch_ahead(places, i, ints)
        size = 0
        if places[i] >= 0:
            at = places[i]
            size = narrow if _is_narrow(ints, at + counted.shape[0], is_float) else wide
            for k in range(shapes.shape[0]):
                words = _WORD_BYTES
                for axis in range(shapes.shape[1]):
                    words *= used_of(ints, at, shapes[k, axis], counted)
                size += words
        ends[i + 1] = ends[i] + size
    return int(ends[-1])


@inner
def _is_narrow(ints: Memory, at: int, is_float: Memory) -> bool:
    """Whether all whole numbers have 32 bits."""
    for n in range(is_float.shape[0]):
        if not is_float[n] and not _INT32_MIN <= ints[at + n] <= _INT32_MAX:
            return False
    return True


@inner
def _write(places: Memory, ints: Memory, tables: Tables, ends: Memory, out: Bytes) -> None:
    """Write all blocks."""
    counted, is_float, shapes = tables.counted, tables.is_float, tables.shapes
    axis_count, number_count = counted.shape[0], is_float.shape[0]
    for i in range(places.shape[0]):
        fetch_ahead(places, i, ints)
        if places[i] < 0:
            continue
        at = places[i]
        to = _put_head(ints, at, tables, out, ends[i])
        line = at + axis_count + number_count
        for k in range(shapes.shape[0]):
            lines, width = ints[at + shapes[k, 1]], ints[at + shapes[k, 2]]
            pages = used_of(ints, at, shapes[k, 0], counted)
            used = used_of(ints, at, shapes[k, 1], counted)
            size = used_of(ints, at, shapes[k, 2], counted)
            for _ in range(pages):
                for b in range(used):
                    for word in range(line + b * width, line + b * width + size):
                        put(out, to, ints[word])
                        to += _WORD_BYTES
                line += lines * width
            line += (ints[at + shapes[k, 0]] - pages) * lines * width


@inner
def _put_head(ints: Memory, at: int, tables: Tables, out: Bytes, to: int) -> int:
    """Write the numbers and lengths of a block; where its arrays go."""
    is_float, lengths = tables.is_float, tables.lengths
    begin = at + tables.counted.shape[0]
    narrow = _is_narrow(ints, begin, is_float)
    out[to] = _NARROW if narrow else _WIDE
    to += 1
    for n in range(is_float.shape[0]):
        if narrow and not is_float[n]:
            put(out, to, np.int32(ints[begin + n]))
            to += _NARROW_BYTES
        else:
            put(out, to, ints[begin + n])
            to += _WORD_BYTES
    for k in range(lengths.shape[0]):
        put(out, to, np.uint32(ints[at + lengths[k]]))
        to += _LENGTH_BYTES
    return to


@native
def read_blocks(
    packed: Bytes,
    begins: Memory,
    done: int,
    numbers: Memory,
    places: Memory,
    ints: Memory,
    tables: Tables,
    free: Memory,
    end: int,
) -> tuple[int, int, int]:
    """Give the states that are packed from begins[i] on, those behind `done`, blocks of their own.

    State i is to be known by numbers[i], and begins[i] is then where it ends. Returns how many are
    done; where the blocks end; and how many words the next one takes, for which there is no memory:
    0 if its bytes are cut, or not of a form that blocks have.
    """
    head = np.empty(tables.counted.shape[0] + tables.is_float.shape[0], np.int64)
    for i in range(done, begins.shape[0]):
        at = _read_head(packed, begins[i], tables, head)
        if at < 0:
            return i, end, 0
        words = words_of(head, 0, tables.shapes, head.shape[0])
        if end + words > ints.shape[0] or words >= free.shape[0]:
            return i, end, words
        place, end = allocated(ints, free, words, end)
        places[numbers[i]] = place
        begins[i] = _fill_block(packed, at, head, ints, place, words)
    return begins.shape[0], end, 0


@inner
def _read_head(packed: Bytes, begin: int, tables: Tables, head: Memory) -> int:
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


@inner
def _number_at(packed: Bytes, at: int, size: int) -> int:
    """A whole number of so many bytes, the lowest first."""
    number = np.int64(0)
    for place in range(size):
        number |= np.int64(packed[at + place]) << (8 * place)
    if size == _NARROW_BYTES and number > _INT32_MAX:
        number -= np.int64(1 << 32)
    return int(number)


@inner
def _fill_block(
    packed: Bytes, begin: int, head: Memory, ints: Memory, place: int, words: int
) -> int:
    """Write a block, from its head and its packed arrays; where those end."""
    for word in range(head.shape[0]):
        ints[place + word] = head[word]
    for word in range(head.shape[0], words):
        ints[place + word] = word_at(packed, begin)
        begin += _WORD_BYTES
    return begin
