"""What an operator keeps for one key, and how that is written to a store."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from okl_flow.learner import Learner
from okl_flow.native import native
from okl_flow.operators.shelf import NEVER, Memory
from okl_flow.packing import Bytes, PackingError, Pieces, packer_of

__all__ = ["Record", "RecordCodec", "RecordError"]

_FORMAT = 1
_TIMED, _LEARNED = 1, 2  # flags: there is a latest time; there are states
_HEAD = struct.Struct("<BBQqI")  # format, flags, events, time, bytes of the notes
_CHECKSUM = struct.Struct("<I")
_HEAD_BYTES, _CHECKSUM_BYTES = _HEAD.size, _CHECKSUM.size
_POLYNOMIAL = 0xEDB88320  # of CRC-32, its lowest power first
_ALL = np.uint32(0xFFFFFFFF)
_LANES = 8  # bytes that the checksum takes in at once


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
    """What makes a state of packed bytes: a packer, or a keeper, whose own it is then."""

    def read(self, packed: bytes, begin: int) -> tuple[Any, int]:
        """The state that lies in the bytes from `begin` on; and where it ends."""


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
            events, times = np.array([record.events]), np.array([time], np.int64)
        except OverflowError as error:
            raise RecordError(
                "events and time of a record must be whole numbers of 64 bits, not "
                f"{record.events!r} and {record.time!r}"
            ) from error
        return self.pack_all(events, times, [Pieces.of([record.notes]), *states])[0]

    @staticmethod
    def pack_all(events: Memory, times: Memory, parts: Sequence[Pieces]) -> list[bytes]:
        """Records as bytes: `parts` are their notes, and then the states of each learner.

        A key without events may have no states: its pieces are empty then.
        """
        begins = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([part.content.shape[0] for part in parts], out=begins[1:])
        content = (
            parts[0].content if len(parts) == 1 else np.concatenate([p.content for p in parts])
        )
        ends = np.stack([part.ends for part in parts])
        bounds = np.empty(events.shape[0] + 1, np.int64)
        out = np.empty(_measure(ends, bounds), np.uint8)
        heads = np.stack([events, times]).view(np.uint8)
        _write(heads, events, times, content, begins, ends, bounds, _tables, out)
        return Pieces(out, bounds).list()

    def unpack(self, packed: bytes) -> Record:
        """The record that was packed."""
        end = self.check(packed)
        events, time, begin, noted = _opened(packed)
        at = begin + noted
        states = []
        if packed[1] & _LEARNED:
            try:
                for reader in self._readers:
                    state, at = reader.read(packed, at)
                    states.append(state)
            except PackingError as error:
                raise RecordError(f"the record does not fit the learners: {error}") from error
        if at != end:
            raise RecordError(f"the record does not fit the learners: {end - at} bytes are left")
        return Record(states, events, time, packed[begin : begin + noted])

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


def _opened(packed: bytes) -> tuple[int, int | None, int, int]:
    """Events, latest time, where the notes begin, and their length."""
    form, flags, events, time, noted = _HEAD.unpack_from(packed)
    if form != _FORMAT:
        raise RecordError(f"the record has format {form}; this version of okl_flow reads {_FORMAT}")
    return events, time if flags & _TIMED else None, _HEAD.size, noted


def _tables_of_crc() -> NDArray[np.uint32]:
    """tables[k][b] = what a byte b does to the checksum that k other bytes follow."""
    tables = np.zeros((_LANES, 256), np.uint32)
    for byte in range(256):
        value = byte
        for _bit in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        tables[0, byte] = value
    for lane in range(1, _LANES):
        before = tables[lane - 1]
        tables[lane] = tables[0, before & 0xFF] ^ before >> np.uint32(8)
    return tables


_tables = _tables_of_crc()


@native
def _measure(ends: Memory, bounds: Memory) -> int:
    """bounds[i + 1] = where record i ends, bounds[0] being 0; the last of them."""
    bounds[0] = 0
    for i in range(bounds.shape[0] - 1):
        size = _HEAD_BYTES + _CHECKSUM_BYTES
        for k in range(ends.shape[0]):
            size += ends[k, i + 1] - ends[k, i]
        bounds[i + 1] = bounds[i] + size
    return int(bounds[-1])


@native
def _write(
    heads: Bytes,
    events: Memory,
    times: Memory,
    content: Bytes,
    begins: Memory,
    ends: Memory,
    bounds: Memory,
    tables: NDArray[np.uint32],
    out: Bytes,
) -> None:
    """Write all records. `heads` are the bytes of `events` and `times`."""
    word = 8
    for i in range(events.shape[0]):
        at = bounds[i]
        noted = ends[0, i + 1] - ends[0, i]
        learned = ends[1:, i + 1].sum() > ends[1:, i].sum()
        out[at] = _FORMAT
        out[at + 1] = (_TIMED if times[i] != NEVER else 0) | (_LEARNED if learned else 0)
        for place in range(word):
            out[at + 2 + place] = heads[0, word * i + place]
            timed = times[i] != NEVER
            out[at + 10 + place] = heads[1, word * i + place] if timed else np.uint8(0)
        for place in range(_CHECKSUM_BYTES):
            out[at + 18 + place] = (noted >> (8 * place)) & 0xFF
        at += _HEAD_BYTES
        for k in range(ends.shape[0]):
            begin = begins[k] + ends[k, i]
            size = ends[k, i + 1] - ends[k, i]
            for place in range(size):
                out[at + place] = content[begin + place]
            at += size
        checksum = _crc(out, bounds[i], at, tables)
        for place in range(_CHECKSUM_BYTES):
            out[at + place] = (checksum >> np.uint32(8 * place)) & np.uint32(0xFF)


@native
def _crc(held: Bytes, begin: int, end: int, tables: NDArray[np.uint32]) -> np.uint32:
    """CRC-32 of bytes, eight of them at once: what zlib gives, without a call for each record."""
    value, at = _ALL, begin
    while at + _LANES <= end:
        found = np.uint32(0)
        for lane in range(4):
            low = (value >> np.uint32(8 * lane)) & np.uint32(0xFF)
            found ^= tables[7 - lane, low ^ held[at + lane]]
            found ^= tables[3 - lane, held[at + 4 + lane]]
        value = found
        at += _LANES
    while at < end:
        value = tables[0, (value ^ held[at]) & np.uint32(0xFF)] ^ (value >> np.uint32(8))
        at += 1
    return value ^ _ALL
