"""The formats that records come in, and what their parsers have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec

from okl_flow.events import Reason
from okl_flow.wire.features import Features, Reader
from okl_flow.wire.problems import Problem, problem_at, seen

__all__ = [
    "EXPECTED",
    "FaultError",
    "NAME_LONGEST",
    "REFUSALS",
    "TIME_FIRST",
    "TIME_LAST",
    "Format",
    "Label",
    "Name",
    "Parser",
    "Time",
    "Wire",
    "form_of",
    "milliseconds",
    "name_in",
]

NAME_LONGEST = 1024
"""The most characters that a key or an id may have."""

TIME_FIRST, TIME_LAST = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999. Nanoseconds and microseconds that pass for milliseconds lie beyond."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_LONGEST)] | int | None
Time = Annotated[int, msgspec.Meta(ge=TIME_FIRST, le=TIME_LAST)] | str | None
Label = float | bool | str | None
Kind = Literal["event", "label", "forget"]

EXPECTED = {
    "key": f"a text of 1 to {NAME_LONGEST} characters, or a whole number",
    "id": f"a text of 1 to {NAME_LONGEST} characters, or a whole number",
    "time": "milliseconds since 1970, or a text such as '2026-01-31T12:00:00Z'",
    "label": "a number, true, false, a text or null",
    "type": "'event', 'label' or 'forget'",
    "features": "the features of an event",
}
"""What each member of a record should be, in words."""

REFUSALS = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)
"""What decoders raise about bytes that they do not understand."""

_ZONED = Annotated[datetime, msgspec.Meta(tz=True)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FaultError(ValueError):
    """What a parser raises about a value whose problem it knows."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Wire(msgspec.Struct, gc=False):
    """A record with its members as the format has them."""

    key: Name = None
    id: Name = None
    time: Time = None
    features: Any = None
    label: Label = None
    type: Kind = "event"


class Parser(ABC):
    """Makes records of bytes."""

    texts: bool = False
    """Whether the format has nothing but texts, in which labels are words."""
    placed: bool = False
    """Whether the id of a record is its place: topic, partition and offset."""

    def parse(self, values: Sequence[bytes | None]) -> list[Wire | Problem]:
        """What each of the values is; a tombstone asks that its key be forgotten."""
        present = [value for value in values if value is not None]
        if len(present) == len(values):
            try:
                return self.parse_all(present)
            except REFUSALS:
                pass
        return [self._parse_one(value) for value in values]

    def _parse_one(self, value: bytes | None) -> Wire | Problem:
        if value is None:
            return Wire(type="forget")
        try:
            return self.parse_all([value])[0]
        except FaultError as fault:
            return fault.problem
        except REFUSALS as error:
            return self.explain(value, error)

    @abstractmethod
    def parse_all(self, values: Sequence[bytes]) -> list[Wire | Problem]:
        """What the values are; an error if one is not of the format."""

    def key_of(self, octets: bytes) -> str | Problem:
        """The key that the key of a Kafka record is."""
        try:
            key = octets.decode()
        except UnicodeDecodeError:
            return problem_at("key", f"expected text in UTF-8, {seen(octets)}")
        if 0 < len(key) <= NAME_LONGEST:
            return key
        return problem_at("key", f"expected {EXPECTED['key']}, {seen(key)}")

    def explain(self, value: bytes, error: Exception) -> Problem:
        """What is wrong with a value that has raised an error other than a FaultError."""
        return Problem(Reason.MALFORMED, f"{error}, {seen(value)}")


class Format(ABC):
    """The choice of a format."""

    @abstractmethod
    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""

    def features(self) -> Features | None:
        """The features that the format itself tells of; None if they must be chosen."""
        return None


def form_of(reader: Reader, refuse: bool = False) -> type[Wire]:
    """A record with features as their reader has them; other members refused, or ignored."""
    fields = [(field.name, field.type, field.default) for field in msgspec.structs.fields(Wire)]
    form: Any = msgspec.defstruct(
        "Wire",
        [
            (field, reader.form | None if field == "features" else kind, default)
            for field, kind, default in fields
        ],
        forbid_unknown_fields=refuse,
        gc=False,
    )
    kind: type[Wire] = form
    return kind


def name_in(value: Any) -> str | None:
    """A key or id, if a value can be one."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    text = str(value) if whole or isinstance(value, str) else ""
    return text if 0 < len(text) <= NAME_LONGEST else None


def milliseconds(time: int | str) -> int | Problem:
    """The milliseconds since 1970 of a time as formats have it.

    >>> milliseconds("1970-01-01T01:00:00.25+01:00")
    250
    """
    if isinstance(time, str):
        try:
            time = (msgspec.convert(time, _ZONED) - _EPOCH) // timedelta(milliseconds=1)
        except (msgspec.ValidationError, OverflowError):
            return problem_at("time", f"expected {EXPECTED['time']}, {seen(time)}")
    if not TIME_FIRST <= time <= TIME_LAST:
        return problem_at("time", f"expected {EXPECTED['time']}, {seen(time)}")
    return time
