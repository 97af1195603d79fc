"""What an operator keeps for one key, and how that is written to a store."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from okl_flow.lanes import put, word_at
from okl_flow.learner import Learner
from okl_flow.native import inner, native
from okl_flow.operators.shelf import NEVER, Memory
from okl_flow.packing import Bytes, PackingError, Pieces, packer_of

__all__ = ["Record", "RecordCodec", "RecordError"]

_FORMAT = 1
_TIMED, _LEARNED = 1, 2  # flags: there is a latest time; there are states
_HEAD = struct.Struct("<BBQqI")  # format, flags, events, time, bytes of the notes
_CHECKSUM = struct.Struct("<I")
_HEAD_BYTES, _CHECKSUM_BYTES = _HEAD.size, _CHECKSUM.size
_POLYNOMIAL = 0xEDB88320  # of CRC-32, its lowest power first
_ALL = np.uint64(0xFFFFFFFF)
_WORD = 8  # bytes that the checksum takes in at once
_SIDE = 4  # records that it takes them in of
_BYTE = np.uint64(0xFF)


class RecordError(ValueError):
    """A record that cannot be read or written, and why."""


@dataclass(slots=True)
class Record:
    """What is kept for one key."""

    states: list[Any] = field(default_factory=list)  # by learner; none before the first event
    events: int = 0  # events seen
    time: int | None = None  # latest event time, milliseconds since 1970
    notes: bytes = b""  # what the operator keeps beside: the events that wait for labels, say


class Reader(Protocol):
    """What makes states of packed bytes: a packer, or a keeper, whose own they are then."""

    def read_all(self, packed: bytes, begins: Sequence[int]) -> tuple[list[Any], list[int]]:
        """The states that lie in the bytes, each from a place on; and where they end."""


class RecordCodec:
    """Packs and unpacks the records of an operator with these learners.

        format, flags, events, time, length of the notes | notes | states | CRC-32

    >>> from okl_flow import make_learner
    >>> learner = make_learner("kogd", budget=10)
    >>> codec = RecordCodec([learner])
    >>> packed = codec.pack(Record([learner.init(dim=24)], events=3, time=1700000000000))
    >>> len(packed), codec.unpack(packed).events
    (47, 3)
    """

    def __init__(self, learners: Sequence[Learner], readers: Sequence[Reader] = ()) -> None:
        """States are read by the readers, or without them are objects of their own."""
        self.learners = list(learners)
        self._packers = [packer_of(learner) for learner in learners]
        self._readers = list(readers) or self._packers
        self.layout = [_FORMAT, *(packer.layout for packer in self._packers)]

    def pack(self, record: Record) -> bytes:
        """A record, whose states are objects of their own, as bytes."""
        if record.states and len(record.states) != len(self._packers):
            raise RecordError(
                f"a record has a state for each of {len(self._packers)} learners, or none; "
                f"this one has {len(record.states)}"
            )
        pairs = zip(self._packers, record.states, strict=False)
        states = [Pieces.of([packer.pack(state)]) for packer, state in pairs]
        time = NEVER if record.time is None else record.time
        try:
            events, times = np.array([[record.events], [time]], np.int64)
        except OverflowError as error:
            raise RecordError(
                "events and time of a record must be whole numbers of 64 bits, not "
                f"{record.events!r} and {record.time!r}"
            ) from error
        packed = self.pack_all(events, times, [Pieces.of([record.notes]), *states])
        return packed.content.tobytes()

    @staticmethod
    def pack_all(events: Memory, times: Memory, parts: Sequence[Pieces]) -> Pieces:
        """Records as bytes: `parts` are their notes, and then the states of each learner.

        A key without events may have no states: its pieces are empty then.
        """
        ends = np.arange(events.shape[0] + 1) * (_HEAD_BYTES + _CHECKSUM_BYTES)
        for part in parts:
            ends += part.ends
        out, at = np.empty(ends[-1], np.uint8), np.empty(events.shape[0], np.int64)
        _put_heads(events, times, parts[0].ends, ends, at, out)
        for part in parts:
            _put_pieces(part.content, part.ends, at, out)
        _seal(ends, _tables, out)
        return Pieces(out, ends)

    def unpack(self, packed: bytes) -> Record:
        """The record that was packed."""
        [record] = self.unpack_all([packed])
        return record

    def unpack_all(self, packed: Sequence[bytes]) -> list[Record]:
        """The records that were packed."""
        records, learned = list[Record](), list[Record]()
        begins, ends, before = list[int](), list[int](), 0
        for one in packed:
            end = self.check(one)
            events, time, begin, noted = _opened(one)
            at = begin + noted
            records.append(Record([], events, time, one[begin:at]))
            if one[1] & _LEARNED:
                learned.append(records[-1])
                begins.append(before + at)
                ends.append(before + end)
            elif at != end:
                raise _misfit(f"{end - at} bytes are left")
            before += len(one)
        content = b"".join(packed)
        try:
            for reader in self._readers if learned else ():
                states, begins = reader.read_all(content, begins)
                for record, state in zip(learned, states, strict=True):
                    record.states.append(state)
        except PackingError as error:
            raise _misfit(str(error)) from error
        for at, end in zip(begins, ends, strict=True):
            if at != end:
                raise _misfit(f"{abs(end - at)} bytes are {'left' if at < end else 'missing'}")
        return records

    @staticmethod
    def check(packed: bytes) -> int:
        """Refuse a damaged record; returns where its checksum begins."""
        end = len(packed) - _CHECKSUM_BYTES
        if end < _HEAD_BYTES or zlib.crc32(packed[:end]) != _CHECKSUM.unpack_from(packed, end)[0]:
            raise RecordError(
                f"the record is damaged or cut: its {len(packed)} bytes fail the check"
            )
        return end

    @staticmethod
    def head(packed: bytes) -> tuple[int, int | None, int]:
        """Events, latest time and bytes of a record; its checksum is not looked at."""
        if len(packed) < _HEAD_BYTES + _CHECKSUM_BYTES:
            raise RecordError(f"the record is cut: it has {len(packed)} bytes")
        events, time, _, _ = _opened(packed)
        return events, time, len(packed)


def _misfit(what: str) -> RecordError:
    return RecordError(f"the record does not fit the learners: {what}")


def _opened(packed: bytes) -> tuple[int, int | None, int, int]:
    """Events, latest time, where the notes begin, and their length."""
    form, flags, events, time, noted = _HEAD.unpack_from(packed)
    if form != _FORMAT:
        raise RecordError(f"the record has format {form}; this version of okl_flow reads {_FORMAT}")
    return events, time if flags & _TIMED else None, _HEAD.size, noted


def _tables_of_crc() -> NDArray[np.uint32]:
    """tables[k][b] = what a byte b does to the checksum that k other bytes follow."""
    tables = np.zeros((_WORD, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _bit in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        tables[0, byte] = value
    for lane in range(1, _WORD):
        before = tables[lane - 1]
        tables[lane] = tables[0, before & 0xFF] ^ before >> np.uint32(8)
    return tables


_tables = _tables_of_crc()


@native
def _put_heads(
    events: Memory, times: Memory, noted: Memory, ends: Memory, at: Memory, out: Bytes
) -> None:
    """Write the heads of all records, and say at[i] = where that of record i ends.

    noted[i + 1] = where its notes end among those of all.
    """
    for i in range(events.shape[0]):
        begin, size = ends[i], noted[i + 1] - noted[i]
        timed = times[i] != NEVER
        learned = ends[i + 1] - begin > _HEAD_BYTES + size + _CHECKSUM_BYTES
        out[begin] = _FORMAT
        out[begin + 1] = (_TIMED if timed else 0) | (_LEARNED if learned else 0)
        put(out, begin + 2, events[i])
        put(out, begin + 10, times[i] if timed else 0)
        put(out, begin + 18, np.uint32(size))
        at[i] = begin + _HEAD_BYTES


@native
def _put_pieces(content: Bytes, ends: Memory, at: Memory, out: Bytes) -> None:
    """Write piece i to at[i], which then is where it ends."""
    for i in range(at.shape[0]):
        to, place, end = at[i], ends[i], ends[i + 1]
        while place + _WORD <= end:
            put(out, to, word_at(content, place))
            to, place = to + _WORD, place + _WORD
        while place < end:
            out[to] = content[place]
            to, place = to + 1, place + 1
        at[i] = to


@native
def _seal(ends: Memory, tables: NDArray[np.uint32], out: Bytes) -> None:
    """Write the checksums of all records; ends[i + 1] = where record i ends.

    Each word of a record waits for the one before. So four records are taken in side by side as
    far as the shortest of them goes.
    """
    i, count = 0, ends.shape[0] - 1
    while i + _SIDE <= count:
        size = ends[i + 1] - ends[i]
        for k in range(i + 1, i + _SIDE):
            size = min(size, ends[k + 1] - ends[k])
        a, b, c, d = _ALL, _ALL, _ALL, _ALL
        done = (size - _CHECKSUM_BYTES) // _WORD * _WORD
        for at in range(0, done, _WORD):
            a = _with_word(a, word_at(out, ends[i] + at), tables)
            b = _with_word(b, word_at(out, ends[i + 1] + at), tables)
            c = _with_word(c, word_at(out, ends[i + 2] + at), tables)
            d = _with_word(d, word_at(out, ends[i + 3] + at), tables)
        for value in (a, b, c, d):
            _finish(value, ends[i] + done, ends[i + 1], tables, out)
            i += 1
    for k in range(i, count):
        _finish(_ALL, ends[k], ends[k + 1], tables, out)


@inner
def _finish(value: np.uint64, at: int, end: int, tables: NDArray[np.uint32], out: Bytes) -> None:
    """Take in the rest of a record, and write the checksum behind it."""
    last = end - _CHECKSUM_BYTES
    while at + _WORD <= last:
        value = _with_word(value, word_at(out, at), tables)
        at += _WORD
    while at < last:
        value = tables[0, (value ^ np.uint64(out[at])) & _BYTE] ^ (value >> np.uint64(8))
        at += 1
    put(out, last, np.uint32(value ^ _ALL))


@inner
def _with_word(value: np.uint64, word: np.uint64, tables: NDArray[np.uint32]) -> np.uint64:
    """What a checksum becomes by eight more bytes."""
    word ^= value
    found = np.uint64(0)
    for lane in range(_WORD):
        found ^= np.uint64(tables[_WORD - 1 - lane, (word >> np.uint64(8 * lane)) & _BYTE])
    return found
