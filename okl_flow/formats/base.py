"""What the parsers of text formats share: counted lines, chunks of events, and errors.

Each parser takes many lines at once along a short way that knows only well-formed ones. A
chunk with anything unusual in it goes a second time, line by line, along a careful way that
decides: it either finds nothing wrong or raises a DataError that names line and place.
"""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

import msgspec

from okl_flow.labels import Raw
from okl_flow.native import Array

__all__ = [
    "Chunk",
    "DataError",
    "Lines",
    "Parser",
    "Stream",
    "found",
    "no_label",
    "number_in",
    "rows_max",
]

_CELLS_MAX = 1 << 24  # numbers in one chunk, 128 MB: very wide rows come in smaller chunks
_BLOCK = 1 << 16
_BOM = b"\xef\xbb\xbf"
_SHOWN = 40
_BITS_SHOWN = 128  # of a whole number in decimal digits
_NAMES_SHOWN = 20


class DataError(ValueError):
    """Data that cannot be read: which file, which line, which place in it, and why."""


class Stream(Protocol):
    """What bytes can be read from."""

    def read1(self, size: int = ..., /) -> bytes:
        """At most `size` bytes, as soon as there are any; none at the end."""


def _split(stream: Stream) -> Iterator[bytes]:
    """The lines, without their ends. What comes before a damaged part is not lost."""
    begun = [stream.read1(_BLOCK).removeprefix(_BOM)]
    while block := stream.read1(_BLOCK):
        if b"\n" in block:
            *whole, rest = b"".join([*begun, block]).split(b"\n")
            begun = [rest]
            yield from whole
        else:
            begun.append(block)
    last = b"".join(begun)
    yield from last.removesuffix(b"\n").split(b"\n") if last else ()


class Lines:
    """The lines of an open file, counted, with errors that say where they are."""

    def __init__(self, stream: Stream, name: str) -> None:
        """`name` is what errors call the file."""
        self.name = name
        self.number = 0  # of the line last read; the first is 1
        self._lines = _split(stream)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            line = next(self._lines)
        except (EOFError, zlib.error, OSError) as error:
            self.fail(self.number + 1, "", f"cannot read on, the data are cut or damaged: {error}")
        self.number += 1
        return line

    def fail(self, number: int, place: str, message: str) -> NoReturn:
        """Raise the error about a place in a line."""
        where = f"{self.name}, line {number}" + (f", {place}" if place else "")
        raise DataError(f"{where}: {message}") from None


@dataclass(slots=True)
class Chunk:
    """Consecutive events of a file."""

    X: Array
    labels: list[Raw]
    numbers: list[int]  # the line that each event is from
    label_place: Callable[[int], str]  # where in its line the label of an event is


def found(value: object) -> str:
    """A piece of data as an error shows it.

    >>> found(b"1;5"), found(None)
    ("found '1;5'", 'found null')
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, (bool, dict, list)):
        value = msgspec.json.encode(value).decode()
        return f"found {cut(value)}"
    text = hex(value) if isinstance(value, int) and value.bit_length() > _BITS_SHOWN else str(value)
    return f"found {cut(text)!r}"


def cut(text: str) -> str:
    """A text, or its beginning if it is long."""
    return text[:_SHOWN] + ("..." if len(text) > _SHOWN else "")


def number_in(text: str) -> float:
    """The finite number that a text is; NaN if it is none."""
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


class Parser(ABC):
    """What the parsers share: how lines become chunks of a size.

    `names` are the features' names, where the format has them; `dim` is their number, which is
    None until something settles it.
    """

    dim: int | None = None
    names: tuple[str, ...] = ()

    @abstractmethod
    def chunks(self, lines: Lines, size: int) -> Iterator[Chunk]:
        """The events of all lines, about `size` at a time."""


def rows_max(size: int, width: int) -> int:
    """How many rows of a width make a chunk: `size`, or fewer if they are very wide."""
    return max(1, min(size, _CELLS_MAX // max(1, width)))


def no_label(kind: str, label: str, names: Sequence[str]) -> str:
    """Why there is no label, and which name it may be under."""
    listed = ", ".join(f"{cut(name)!r}" for name in names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    listed += f" and {more} more" if more > 0 else ""
    hint = "; name the one that is the label"
    if len(names) == 1 and any(other in names[0] for other in ";\t| "):
        hint = "; cells must be separated by commas"
    elif names and not any(math.isnan(number_in(name)) for name in names):
        hint = "; the first line must be a header with names"
    return f"no {kind} is named {label!r}; the {kind}s are {listed}{hint}"
