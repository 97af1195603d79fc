"""What an operator keeps for one key, and how that is written to a store."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from okl_flow.learner import Learner
from okl_flow.packing import PackingError, packer_of

__all__ = ["Record", "RecordCodec", "RecordError"]

_FORMAT = 1
_TIMED, _LEARNED = 1, 2  # flags: there is a latest time; there are states
_HEAD = struct.Struct("<BBQqI")  # format, flags, events, time, bytes of the notes
_CHECKSUM = struct.Struct("<I")
_SMALLEST = _HEAD.size + _CHECKSUM.size


class RecordError(ValueError):
    """A record that cannot be read or written, and why."""


@dataclass(slots=True)
class Record:
    """What is kept for one key."""

    states: list[Any] = field(default_factory=list)  # of each learner; none before the first event
    events: int = 0  # events seen
    time: int | None = None  # latest event time, milliseconds since 1970
    notes: bytes = b""  # what the operator keeps beside: the events that wait for labels, say


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

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = list(learners)
        self._packers = [packer_of(learner) for learner in learners]
        self.layout = [_FORMAT, *(packer.layout for packer in self._packers)]

    def pack(self, record: Record) -> bytes:
        """A record as bytes."""
        if record.states and len(record.states) != len(self._packers):
            raise RecordError(
                f"a record has a state for each of {len(self._packers)} learners, or none; "
                f"this one has {len(record.states)}"
            )
        flags = (record.time is not None) | (_LEARNED if record.states else 0)
        try:
            head = _HEAD.pack(_FORMAT, flags, record.events, record.time or 0, len(record.notes))
        except struct.error as error:
            raise RecordError(
                "events and time of a record must be whole numbers of 64 bits, not "
                f"{record.events!r} and {record.time!r}"
            ) from error
        states = [
            packer.pack(state) for packer, state in zip(self._packers, record.states, strict=False)
        ]
        body = b"".join([head, record.notes, *states])
        return body + _CHECKSUM.pack(zlib.crc32(body))

    def unpack(self, packed: bytes) -> Record:
        """The record that was packed; its states have arrays of their own."""
        end = self.check(packed)
        events, time, begin, noted = _opened(packed)
        at = begin + noted
        states = []
        if packed[1] & _LEARNED:
            try:
                for packer in self._packers:
                    state, at = packer.read(packed, at)
                    states.append(state)
            except PackingError as error:
                raise RecordError(f"the record does not fit the learners: {error}") from error
        if at != end:
            raise RecordError(f"the record does not fit the learners: {end - at} bytes are left")
        return Record(states, events, time, packed[begin : begin + noted])

    @staticmethod
    def check(packed: bytes) -> int:
        """Refuse a damaged record; returns where its checksum begins."""
        end = len(packed) - _CHECKSUM.size
        if end < _HEAD.size or zlib.crc32(packed[:end]) != _CHECKSUM.unpack_from(packed, end)[0]:
            raise RecordError(
                f"the record is damaged or cut: its {len(packed)} bytes fail the check"
            )
        return end

    @staticmethod
    def head(packed: bytes) -> tuple[int, int | None, int]:
        """Events, latest time and bytes of a record; its checksum is not looked at."""
        if len(packed) < _SMALLEST:
            raise RecordError(f"the record is cut: it has {len(packed)} bytes")
        events, time, _, _ = _opened(packed)
        return events, time, len(packed)


def _opened(packed: bytes) -> tuple[int, int | None, int, int]:
    """Events, latest time, where the notes begin, and their length."""
    form, flags, events, time, noted = _HEAD.unpack_from(packed)
    if form != _FORMAT:
        raise RecordError(f"the record has format {form}; this version of okl_flow reads {_FORMAT}")
    return events, time if flags & _TIMED else None, _HEAD.size, noted
