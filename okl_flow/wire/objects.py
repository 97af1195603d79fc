"""JSON and MessagePack: a record is an object with named members."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from okl_flow.events import Reason
from okl_flow.parameters import check, choice
from okl_flow.wire.features import Features, Reader
from okl_flow.wire.formats import EXPECTED, REFUSALS, Format, Parser, Wire, form_of, name_in
from okl_flow.wire.problems import Problem, explained, seen

__all__ = ["Json", "MessagePack"]


class _Whose(msgspec.Struct, gc=False):
    """Whose record it is: all that is read of one with other things wrong."""

    key: Any = None
    id: Any = None


@dataclass(frozen=True)
class _Objects(Format):
    """What the formats of objects have in common."""

    word: ClassVar[str]
    title: ClassVar[str]
    decoder: ClassVar[Callable[..., Any]]
    unknown: str = choice("ignore", "refuse")

    def __post_init__(self) -> None:
        check(self)

    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""
        if features is None:
            raise ValueError(
                f"features must be Columns, Names or Hashing for the format {self.word}, not None"
            )
        return _ObjectParser(self.title, self.decoder, self.unknown, features.reader())


@dataclass(frozen=True)
class Json(_Objects):
    """JSON: an object per record.

    Parameters:
        unknown: ignore members that a record has besides its own, or refuse them.
    """

    word, title, decoder = "json", "JSON", msgspec.json.Decoder


@dataclass(frozen=True)
class MessagePack(_Objects):
    """MessagePack: a map per record, with the members that JSON has; NaN is as good as nil.

    Parameters:
        unknown: ignore members that a record has besides its own, or refuse them.
    """

    word, title, decoder = "msgpack", "MessagePack", msgspec.msgpack.Decoder


class _ObjectParser(Parser):
    def __init__(
        self, name: str, decoder: Callable[..., Any], unknown: str, reader: Reader
    ) -> None:
        self._name = name
        form = form_of(reader, unknown == "refuse")
        self._decode: Callable[[bytes], Wire] = decoder(form).decode
        self._decode_anything: Callable[[bytes], Any] = decoder().decode
        self._decode_whose: Callable[[bytes], _Whose] = decoder(_Whose).decode
        self._names = reader.names
        self._expected = {**EXPECTED, "features": reader.expected}

    def parse_all(self, values: Sequence[bytes]) -> list[Wire | Problem]:
        """What the values are; an error if one is not of the format."""
        decode = self._decode
        return [decode(value) for value in values]

    def explain(self, value: bytes, error: Exception) -> Problem:
        """What is wrong with a value that has raised an error."""
        try:
            record = self._decode_anything(value)
        except REFUSALS:
            record = None
        if isinstance(error, msgspec.ValidationError):
            problem = explained(error, record, self._expected, self._names)
        else:
            detail = str(error).partition("malformed: ")[2] or str(error) or type(error).__name__
            message = f"expected {self._name}, {seen(value)}: {detail[:1].lower()}{detail[1:]}"
            problem = Problem(Reason.MALFORMED, message)
        try:
            whose = self._decode_whose(value)
        except REFUSALS:
            return problem
        problem.key, problem.id = name_in(whose.key), name_in(whose.id)
        return problem
