"""JSON lines: an object per line."""

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

import msgspec
import numpy as np

from okl_flow.formats.base import Chunk, Lines, Parser, found, no_label, rows_max

__all__ = ["JsonlParser"]

_decode = msgspec.json.Decoder().decode
_NUMBERS = {int, float}
_LABELS = {int, float, bool, str, type(None)}
_BYTE = re.compile(r" \(byte (\d+)\)")
_PLACE = re.compile(r" \(byte \d+\)| - at `.*`")

Record = dict[str, Any]


class JsonlParser(Parser):
    """JSON lines: the features in a list or an object under "features", or flat in the record.

    The first record settles which of them, the features' names and their order.
    """

    def __init__(self, label: str, may_miss: bool) -> None:
        """`label` is the name of the label's field; `may_miss` lets features be null."""
        self._label = label
        self._values = _NUMBERS | {type(None)} if may_miss else _NUMBERS
        self._nested = False  # the features are under "features"
        self._listed = False  # and there in a list

    def chunks(self, lines: Lines, size: int) -> Iterator[Chunk]:
        """The events of all lines, at most `size` at a time."""
        while True:
            first = lines.number + 1
            held = list(islice(lines, rows_max(size, self.dim or 1)))
            if not held:
                return
            records = _records(lines, held, first)
            if records:
                if self.dim is None:
                    self._take_first(lines, *records[0])
                yield self._chunk(lines, records)

    def _take_first(self, lines: Lines, number: int, record: Record) -> None:
        """Let the first record settle what all must be like."""
        if self._label not in record:
            lines.fail(number, "", no_label("field", self._label, list(record)))
        features = record.get("features")
        self._nested = isinstance(features, (list, dict))
        self._listed = isinstance(features, list)
        if isinstance(features, list):
            self.dim = len(features)
        else:
            names = features if isinstance(features, dict) else record
            self.names = tuple(name for name in names if self._nested or name != self._label)
            self.dim = len(self.names)
        if not self.dim:
            lines.fail(number, "", "there are no features")

    def _chunk(self, lines: Lines, records: list[tuple[int, Record]]) -> Chunk:
        """The events of the records, or the error about the first that is not as it must be."""
        try:
            rows = [self._row(record) for _number, record in records]
            X = np.array(rows, dtype=np.float64)
            labels = [record[self._label] for _number, record in records]
            if not _LABELS.issuperset(map(type, labels)):
                raise TypeError("labels")
        except (KeyError, TypeError, OverflowError):
            for number, record in records:
                self._refuse(lines, number, record)
            raise
        numbers = [number for number, _record in records]
        return Chunk(X, labels, numbers, lambda _row: f"field {self._label!r}")

    def _row(self, record: Record) -> list[float]:
        """The features of a record in their order; an error of any kind if they are not right."""
        features = record["features"] if self._nested else record
        row = features if self._listed else [features[name] for name in self.names]
        expected = (self.dim or 0) + (0 if self._nested else 1)
        if type(row) is not list or len(features) != expected:
            raise TypeError("features")
        if not self._values.issuperset(map(type, row)):
            raise TypeError("values")
        return row

    def _refuse(self, lines: Lines, number: int, record: Record) -> None:
        """Raise the error about the first thing in a record that is not as it must be."""

        def fail(place: str, problem: str) -> NoReturn:
            lines.fail(number, place, problem)

        if self._label not in record:
            fail("", f"there is no field {self._label!r}; null says that an event has no label")
        if type(record[self._label]) not in _LABELS:
            fail(f"field {self._label!r}", f"expected a label, {found(record[self._label])}")
        features: Any = record.get("features") if self._nested else record
        if not isinstance(features, list if self._listed else dict):
            expected = "a list" if self._listed else "an object"
            problem = f"expected {expected}, as in the first record, {found(features)}"
            fail("field 'features'", problem)
        if isinstance(features, list):
            if len(features) != self.dim:
                problem = f"expected {self.dim}, as in the first record, found {len(features)}"
                fail("field 'features'", problem)
            named = {f"feature {at}": value for at, value in enumerate(features, 1)}
        else:
            own = {name for name in features if self._nested or name != self._label}
            for name in self.names:
                if name not in own:
                    fail("", f"feature {name!r} is missing, which the first record has")
            for name in own.difference(self.names):
                fail("", f"feature {name!r} is one that the first record does not have")
            named = {f"feature {name!r}": features[name] for name in self.names}
        for place, value in named.items():
            if not (value is None and type(None) in self._values or _is_finite(value)):
                fail(place, f"expected a finite number, {found(value)}")


def _records(lines: Lines, held: list[bytes], first: int) -> list[tuple[int, Record]]:
    """The objects in lines that are not blank, with the numbers of their lines."""
    records: list[tuple[int, Record]] = []
    for number, line in enumerate(held, first):
        try:
            record = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not line.strip():
                continue
            _refuse_json(lines, number, str(error))
        if type(record) is not dict:
            lines.fail(number, "", f"expected a JSON object, {found(record)}")
        records.append((number, record))
    return records


def _refuse_json(lines: Lines, number: int, reason: str) -> NoReturn:
    """Raise the error about a line that is no JSON, from the decoder's reason."""
    at = _BYTE.search(reason)
    # The decoder counts from 0, but names the byte after the first one that is too many.
    begin = 0 if "trailing characters" in reason else 1
    place = f"character {int(at[1]) + begin}" if at else ""
    lines.fail(number, place, f"expected a JSON object: {_PLACE.sub('', reason)}")


def _is_finite(value: object) -> bool:
    if type(value) not in _NUMBERS:
        return False
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False
