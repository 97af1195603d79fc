"""Predictions, reports, alarms and rejects as bytes, and back."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from okl_flow.events import Cause, Outgoing, Prediction, Reason, Reject
from okl_flow.parameters import nearest

__all__ = ["OUTGOING_FORMATS", "Encoded", "Encoder", "decode_outgoing"]

OUTGOING_FORMATS = ("json", "msgpack")

_NOWHERE = Cause("", -1, -1)
_REFUSALS = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """A record as bytes, with its key for Kafka."""

    key: bytes | None
    value: bytes


class Encoder:
    """Writes records, each as one object with its fields and its type.

    What a format cannot hold comes out as a `Reject` with the reason "unwritable" in its
    place; nothing raises, and nothing is lost.

    Parameters:
        format: "json", where numbers that are not finite are null and bytes are base64 text, or
            "msgpack", which holds both as they are.

    >>> cause = Cause("events", 0, 7)
    >>> [encoded] = Encoder()([Reject(Reason.KEY, "no key", cause)])
    >>> encoded.value
    b'{"type":"reject","reason":"key","message":"no key","cause":{"topic":"events",...'
    """

    def __init__(self, format: str = "json") -> None:
        self._encode: Callable[[Any], bytes] = (
            msgspec.json.Encoder(enc_hook=_plain)
            if _known(format) == "json"
            else msgspec.msgpack.Encoder(enc_hook=_plain)
        ).encode

    def __call__(self, records: Sequence[Outgoing]) -> list[Encoded]:
        """The records as bytes, in their order."""
        encode = self._encode
        try:
            return [Encoded(_key(record), encode(record)) for record in records]
        except _REFUSALS:
            return [self._one(record) for record in records]

    def _one(self, record: Outgoing) -> Encoded:
        try:
            return Encoded(_key(record), self._encode(record))
        except _REFUSALS as error:
            reject = _unwritable(record, error)
        try:
            return Encoded(_key(reject), self._encode(reject))
        except _REFUSALS:
            reject = msgspec.structs.replace(reject, cause=_NOWHERE, ordinal=0)
            return Encoded(_key(reject), self._encode(reject))


def decode_outgoing(value: bytes, format: str = "json") -> Outgoing:
    """The record that an `Encoder` has made bytes of; a score that is null is NaN.

    Raises a ValueError about anything else.
    """
    try:
        return _TYPED[_known(format)](value)
    except msgspec.ValidationError:
        record = _UNTYPED[format](value)
        if not (isinstance(record, dict) and record.get("type") == "prediction"):
            raise
        for number in ("score", "predicted"):
            record[number] = _with_nan(record.get(number, ""))
        return msgspec.convert(record, Prediction)


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


def _key(record: Outgoing) -> bytes | None:
    """The key for Kafka: whose it is, or what it is about, so that the last one can be kept."""
    if isinstance(record, (Prediction, Reject)):
        return None if record.key is None else record.key.encode()
    return f"{record.step}/{record.subject}/{record.name}".encode()


def _plain(value: Any) -> Any:
    """A number or an array of numpy as what the encoders know."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a value of the type {type(value).__name__} cannot be written")


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
        known = " or ".join(map(repr, OUTGOING_FORMATS))
        hint = nearest(format, OUTGOING_FORMATS) if isinstance(format, str) else ""
        raise ValueError(f"format must be {known}, not {format!r}{hint}")
    return format
