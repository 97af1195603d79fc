"""The events of a data file as the records of docs/events.md, each for a message of its own.

JSON lines that are such records already stay as they are, byte for byte. A row of CSV and a flat
JSON object become one: members called key, id, time, label and type are what their names say,
all others are features. A line of LIBSVM text becomes sparse features.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import msgspec

from okl_flow.files import format_of, opened
from okl_flow.formats.base import DataError, Lines, found, number_in
from okl_flow.formats.libsvm import LineError, Rows, read_line
from okl_flow.labels import canonical

__all__ = ["Message", "Replay"]

_KEY, _LABEL = "key", "label"
_MEMBERS = (_KEY, "id", "time", _LABEL, "type")
_MISSING = ("", "nan", "null")
_encode = msgspec.json.Encoder().encode


class Message(NamedTuple):
    """What goes into a topic."""

    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A file to be replayed; "-" is standard input.

    Parameters:
        path: the file, gzipped or not.
        format: libsvm, csv or jsonl; by default what the suffix says.
        key: name of the column or member that is the key.
        label: name of the one that is the label.
    """

    path: str
    format: str | None = None
    key: str = _KEY
    label: str = _LABEL

    def __post_init__(self) -> None:
        if self._format == "libsvm" and (self.key, self.label) != (_KEY, _LABEL):
            raise DataError(f"{self.path}: LIBSVM text has no columns with names")
        if self.key == self.label:
            raise DataError(f"{self.path}: {self.key!r} cannot be both key and label")

    @property
    def _format(self) -> str:
        return self.format or format_of(self.path)

    def messages(self) -> Iterator[Message]:
        """The messages, in the order of the file."""
        name = "standard input" if self.path == "-" else self.path
        read = {"libsvm": self._libsvm, "csv": self._csv, "jsonl": self._jsonl}[self._format]
        with opened(self.path) as stream:
            yield from read(Lines(stream, name))

    def _jsonl(self, lines: Lines) -> Iterator[Message]:
        for line in lines:
            if not line.strip():
                continue
            try:
                record = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                lines.fail(lines.number, "", f"expected a JSON object: {error}")
            if not isinstance(record, dict):
                lines.fail(lines.number, "", f"expected a JSON object, {found(record)}")
            key = _key_of(record.get(self.key))
            if ("features" in record or "type" in record) and self.label == _LABEL:
                yield Message(key, line.rstrip(b"\r"))
                continue
            if self.label != _LABEL and self.label in record:
                record[_LABEL] = record.pop(self.label)
            if "features" not in record and "type" not in record:
                record = self._of_flat(record)
            yield Message(key, _encode(record))

    def _of_flat(self, record: dict[str, Any]) -> dict[str, Any]:
        """A record of an object whose members are features, but for some."""
        if self.key in record:
            record[_KEY] = record.pop(self.key)
        features = {name: value for name, value in record.items() if name not in _MEMBERS}
        own = {name: record[name] for name in _MEMBERS if name in record}
        return {**own, "features": features}

    def _csv(self, lines: Lines) -> Iterator[Message]:
        rows = csv.reader(_decoded(lines), strict=True, skipinitialspace=True)
        names: list[str] = []
        while True:
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                lines.fail(lines.number, "", f"expected comma-separated values: {error}")
            if not cells:
                continue
            if not names:
                names = self._header(lines, cells)
            elif len(cells) != len(names):
                problem = f"expected {len(names)} cells, as in the header, found {len(cells)}"
                lines.fail(lines.number, "", problem)
            else:
                yield self._of_row(lines, names, cells)

    def _header(self, lines: Lines, cells: Sequence[str]) -> list[str]:
        names = [cell.strip() for cell in cells]
        for what, name, usual in (("key", self.key, _KEY), ("label", self.label, _LABEL)):
            if name != usual and name not in names:
                listed = ", ".join(map(repr, names))
                lines.fail(1, "", f"no column is named {name!r}, to be the {what}; there {listed}")
            names = [what if one == name else one for one in names]
        if len(set(names)) < len(names):
            lines.fail(1, "", f"two columns have one name: {', '.join(names)}")
        return names

    def _of_row(self, lines: Lines, names: Sequence[str], cells: Sequence[str]) -> Message:
        record: dict[str, Any] = {}
        features: list[float | None] = []
        for name, cell in zip(names, cells, strict=True):
            text = cell.strip()
            if name in _MEMBERS:
                if text:
                    record[name] = _member(name, text)
                continue
            value = number_in(text)
            if text.lower() in _MISSING:
                features.append(None)
            elif math.isnan(value):
                lines.fail(lines.number, f"column {name!r}", f"expected a number, {found(text)}")
            else:
                features.append(value)
        if record.get("type", "event") == "event":
            record["features"] = features
        return Message(_key_of(record.get(_KEY)), _encode(record))

    def _libsvm(self, lines: Lines) -> Iterator[Message]:
        for line in lines:
            if not line.partition(b"#")[0].strip():
                continue
            rows = Rows()
            try:
                read_line(line, None, rows)
            except LineError as fault:
                lines.fail(lines.number, f"character {fault.position}", str(fault))
            features = {"indices": [at - 1 for at in rows.indices], "values": rows.values}
            record: dict[str, Any] = {"features": features}
            label = canonical(rows.labels[0])
            if label is not None:
                record[_LABEL] = label
            yield Message(None, _encode(record))


def _member(name: str, text: str) -> Any:
    """The value of a cell that is no feature."""
    if name == _LABEL:
        return canonical(text)
    return int(text) if name == "time" and text.lstrip("-").isdecimal() else text


def _key_of(value: object) -> bytes | None:
    """The key of a message; None where there is none, or none that can be one."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return None
    return str(value).encode("utf-8", "backslashreplace")


def _decoded(lines: Lines) -> Iterator[str]:
    for line in lines:
        try:
            yield line.decode() + "\n"
        except UnicodeDecodeError as error:
            _refuse_bytes(lines, error)


def _refuse_bytes(lines: Lines, error: UnicodeDecodeError) -> NoReturn:
    lines.fail(lines.number, f"byte {error.start + 1}", f"expected UTF-8: {error.reason}")
