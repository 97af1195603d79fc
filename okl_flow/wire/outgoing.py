"""Predictions, reports, alarms and rejects as bytes, and back."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import numpy as np

from okl_flow.events import Cause, Outgoing, Prediction, Reason, Reject
from okl_flow.parameters import nearest
from okl_flow.wire.writing import Writer, plain

__all__ = [
    "ORIGINAL_BYTES_MAX",
    "OUTGOING_FORMATS",
    "Encoded",
    "Encoder",
    "decode_outgoing",
    "seems_json",
]

OUTGOING_FORMATS = ("json", "msgpack")

ORIGINAL_BYTES_MAX = 500_000
"""So much of a rejected record is written: as base64 text it fits into a topic's default limit."""

_NOWHERE = Cause("", -1, -1)
_REFUSALS = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """A record as bytes, with its key for Kafka."""

    key: bytes | None
    value: bytes
    cause: Cause | None = None  # that of the record, by which a sink knows a replay; None: a timer
    event: Cause | None = None  # where its event came from, if the cause is the label


class Encoder:
    """Writes records, each as one object with its fields and its type.

    What a format cannot hold comes out as a `Reject` with the reason "unwritable" in its
    place; nothing raises, and nothing is lost. Of the original of a reject the first 500,000
    bytes are written, as no topic would take the largest ones.

    Parameters:
        format: "json", where numbers that are not finite are null and bytes are base64 text,
            "msgpack", which holds both as they are, or an object: AvroWriter, ConfluentWriter.

    >>> cause = Cause("events", 0, 7)
    >>> [encoded] = Encoder()([Reject(Reason.KEY, "no key", cause)])
    >>> encoded.value
    b'{"type":"reject","reason":"key","message":"no key","cause":{"topic":"events",...'
    """

    def __init__(self, format: str | Writer = "json") -> None:
        self._encode: Callable[[Any], bytes]
        if isinstance(format, Writer):
            self._encode = format.encoder()
        elif _known(format) == "json":
            self._encode = msgspec.json.Encoder(enc_hook=plain).encode
        else:
            self._encode = msgspec.msgpack.Encoder(enc_hook=plain).encode

    def __call__(self, records: Sequence[Outgoing]) -> list[Encoded]:
        """The records as bytes, in their order."""
        encode = self._encode
        kinds = set(map(type, records))
        if Reject in kinds:
            records = [_bounded(record) for record in records]
        try:
            if kinds == {Prediction}:
                return [
                    Encoded(one.key.encode(), encode(one), one.cause, one.event)
                    for one in cast(Sequence[Prediction], records)
                ]
            return [_encoded(record, encode(record)) for record in records]
        except _REFUSALS:
            return [self._one(record) for record in records]

    def _one(self, record: Outgoing) -> Encoded:
        try:
            return _encoded(record, self._encode(record))
        except _REFUSALS as error:
            reject = _unwritable(record, error)
        try:
            return Encoded(_key(reject), self._encode(reject), record.cause, _event(record))
        except _REFUSALS:
            reject = msgspec.structs.replace(reject, cause=_NOWHERE, ordinal=0)
            return Encoded(_key(reject), self._encode(reject))


def decode_outgoing(value: bytes, format: str | Writer = "json") -> Outgoing:
    """The record that an `Encoder` has made bytes of; a score that is null is NaN.

    Raises a ValueError about anything else.
    """
    if isinstance(format, Writer):
        return format.decode(value)
    try:
        return _TYPED[_known(format)](value)
    except msgspec.ValidationError:
        record = _UNTYPED[format](value)
        if not (isinstance(record, dict) and record.get("type") == "prediction"):
            raise
        for number in ("score", "predicted"):
            record[number] = _with_nan(record.get(number, ""))
        return msgspec.convert(record, Prediction)


def seems_json(value: bytes) -> bool:
    r"""Whether a record is JSON and not MessagePack, by how it begins.

    >>> seems_json(b' {"type":"report"}'), seems_json(b"\x8b\xa4type")
    (True, False)
    """
    return value.lstrip().startswith(b"{")


_TYPED: dict[str, Callable[[bytes], Outgoing]] = {
    "json": msgspec.json.Decoder(Outgoing).decode,
    "msgpack": msgspec.msgpack.Decoder(Outgoing).decode,
}
_UNTYPED: dict[str, Callable[[bytes], Any]] = {
    "json": msgspec.json.Decoder().decode,
    "msgpack": msgspec.msgpack.Decoder().decode,
}


def _with_nan(number: Any) -> Any:
    """A number, or a list of numbers, with NaN for each null."""
    if isinstance(number, list):
        return [np.nan if one is None else one for one in number]
    return np.nan if number is None else number


def _encoded(record: Outgoing, value: bytes) -> Encoded:
    return Encoded(_key(record), value, record.cause, _event(record))


def _event(record: Outgoing) -> Cause | None:
    return record.event if isinstance(record, Prediction) else None


def _key(record: Outgoing) -> bytes | None:
    """The key for Kafka: whose it is, or what it is about, so that the last one can be kept."""
    if isinstance(record, (Prediction, Reject)):
        return None if record.key is None else record.key.encode()
    return f"{record.step}/{record.subject}/{record.name}".encode()


def _bounded(record: Outgoing) -> Outgoing:
    """A record that is not larger than what came in by much."""
    if type(record) is not Reject or record.original is None:
        return record
    size = len(record.original)
    if size <= ORIGINAL_BYTES_MAX:
        return record
    return msgspec.structs.replace(
        record,
        message=f"{record.message}; of {size} bytes the first {ORIGINAL_BYTES_MAX} are kept",
        original=record.original[:ORIGINAL_BYTES_MAX],
    )


def _unwritable(record: Outgoing, error: Exception) -> Reject:
    """The reject in place of a record that cannot be written, with nothing unwritable in it."""
    key = getattr(record, "key", None)
    id = getattr(record, "id", None)
    return Reject(
        Reason.UNWRITABLE,
        _clean(f"a {type(record).__name__.lower()} cannot be written: {error}"),
        record.cause or _NOWHERE,
        key if key is None else _clean(key),
        id if id is None else _clean(id),
        ordinal=record.ordinal,
    )


def _clean(text: Any) -> str:
    """A text without what UTF-8 cannot hold."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def _known(format: str) -> str:
    if format not in OUTGOING_FORMATS:
        known = ", ".join(map(repr, OUTGOING_FORMATS)) + " or an object such as AvroWriter"
        hint = nearest(format, OUTGOING_FORMATS) if isinstance(format, str) else ""
        raise ValueError(f"format must be {known}, not {format!r}{hint}")
    return format
