"""CSV rows: a record is a line, with the members and features in columns that have names."""

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from okl_flow.events import Reason
from okl_flow.formats.base import number_in
from okl_flow.parameters import nearest
from okl_flow.wire.features import Columns, Features, Hashing, Names, NamesReader
from okl_flow.wire.formats import (
    EXPECTED,
    NAME_LONGEST,
    TIME_FIRST,
    TIME_LAST,
    FaultError,
    Format,
    Parser,
    Wire,
)
from okl_flow.wire.problems import Problem, problem_at, seen

__all__ = ["Csv"]

_MISSING = ("", "nan", "null")
_KINDS = ("event", "label", "forget")


@dataclass(frozen=True)
class Csv(Format):
    """Comma-separated values: a row per record, without a header among them.

    A cell may stand in double quotes, and then hold commas; a row is one line. An empty cell is
    a member or a feature that is not there; so are nan and null where a number is expected.

    Parameters:
        columns: the names of all columns, in their order.
        key: name of the column of the key, and likewise
        id: of the id,
        time: of the time,
        label: of the label,
        type: of the words event, label or forget. Without it every row is an event.
        separator: what stands between cells: one character.

    The other columns are the features: numbers by their names, unless `features` is given.
    """

    columns: Sequence[str]
    key: str | None = None
    id: str | None = None
    time: str | None = None
    label: str | None = None
    type: str | None = None
    separator: str = ","

    def __post_init__(self) -> None:
        columns = () if isinstance(self.columns, str) else tuple(self.columns)
        if not columns or len(set(columns)) < len(columns):
            raise ValueError(f"Csv: columns must be distinct names, not {self.columns!r:.80}")
        object.__setattr__(self, "columns", columns)
        for member, column in self._members().items():
            if column not in columns:
                hint = nearest(column, columns)
                raise ValueError(f"Csv: {member} must be one of the columns, not {column!r}{hint}")
        if len(self._members()) > len(set(self._members().values())):
            raise ValueError("Csv: key, id, time, label and type must be different columns")
        if not self._others():
            raise ValueError("Csv: there must be a column for the features")
        if len(self.separator) != 1 or self.separator in '"\r\n':
            raise ValueError(f"Csv: separator must be one character, not {self.separator!r}")

    def features(self) -> Features | None:
        """The columns that are nothing else."""
        return Names(self._others())

    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""
        return _CsvParser(self, self._members(), self._picker(features))

    def _members(self) -> dict[str, str]:
        """The columns of the members that have one."""
        members = ("key", "id", "time", "label", "type")
        named = ((member, getattr(self, member)) for member in members)
        return {member: column for member, column in named if column is not None}

    def _others(self) -> list[str]:
        """The columns that are no member's."""
        return [column for column in self.columns if column not in self._members().values()]

    def _picker(self, features: Features | None) -> "Callable[[list[str]], Any]":
        """What makes features of the cells of a row, in the form that their reader expects."""
        others = self._others()
        if isinstance(features, Columns):
            if features.dim != len(others):
                raise ValueError(
                    f"Csv: features=Columns({features.dim}) does not fit the {len(others)} columns "
                    f"of features: {', '.join(others)}"
                )
            return _Numbers(self.columns, others)
        if isinstance(features, Hashing):
            at = [(name, self.columns.index(name)) for name in others]
            return lambda cells: {name: _number_or_text(cells[i]) for name, i in at}
        if not isinstance(features, Names):
            raise ValueError(f"features must be Columns, Names or Hashing, not {features!r:.80}")
        for name in features.names:
            if name not in others:
                hint = nearest(name, others)
                raise ValueError(f"Csv: no column of features is named {name!r}{hint}")
        reader = NamesReader(features)
        numbers = _Numbers(self.columns, [n for n in reader.order if reader.is_number(n)])
        texts = [self.columns.index(n) for n in reader.order if not reader.is_number(n)]
        if not texts:
            return lambda cells: reader.form(*numbers(cells))
        return lambda cells: reader.form(
            *numbers(cells), *[cells[at].strip() or None for at in texts]
        )


class _Numbers:
    """The numbers in some cells of a row; None for one that is missing."""

    def __init__(self, columns: Sequence[str], names: Sequence[str]) -> None:
        self._places = [columns.index(name) for name in names]
        self._names = names

    def __call__(self, cells: list[str]) -> list[float | None]:
        """The numbers, or the problem with the first that is none."""
        held = [cells[at] for at in self._places]
        try:
            if not any(["_" in cell for cell in held]):
                return list(map(float, held))
        except ValueError:
            pass
        return [self._number(name, cell) for name, cell in zip(self._names, held, strict=True)]

    @staticmethod
    def _number(name: str, cell: str) -> float | None:
        if cell.strip().lower() in _MISSING:
            return None
        value = number_in(cell)
        if math.isnan(value):
            problem = f"expected a finite number, {seen(cell)}"
            raise FaultError(problem_at(f"features.{name}", problem))
        return value


def _number_or_text(cell: str) -> float | str | None:
    """What a cell holds that may hold either."""
    word = cell.strip()
    if word.lower() in _MISSING:
        return None
    value = number_in(word)
    return word if math.isnan(value) else value


class _CsvParser(Parser):
    texts = True

    def __init__(
        self, chosen: Csv, members: dict[str, str], pick: Callable[[list[str]], Any]
    ) -> None:
        self._separator = chosen.separator
        self._width = len(chosen.columns)
        self._pick = pick
        places = {member: chosen.columns.index(column) for member, column in members.items()}
        self._key, self._id = places.get("key"), places.get("id")
        self._time, self._label = places.get("time"), places.get("label")
        self._type = places.get("type")

    def parse_all(self, values: Sequence[bytes]) -> list[Wire | Problem]:
        """What the values are; an error if one is not of the format."""
        return [self._wire(self._cells(value)) for value in values]

    def _cells(self, value: bytes) -> list[str]:
        """The cells of a row, as many as there are columns."""
        try:
            text = value.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _malformed("expected text in UTF-8", value) from None
        cells = text.split(self._separator)
        if '"' in text:
            rows = csv.reader([text], delimiter=self._separator, strict=True, skipinitialspace=True)
            try:
                cells = next(rows, [])
            except csv.Error as error:
                raise _malformed(f"expected a row of CSV: {error}", value) from None
        if len(cells) != self._width:
            raise _malformed(f"expected {self._width} cells, found {len(cells)}", value)
        return cells

    def _wire(self, cells: list[str]) -> Wire:
        """A row as a record."""
        kind: Any = "event"
        if self._type is not None:
            kind = cells[self._type].strip() or "event"
            if kind not in _KINDS:
                raise FaultError(problem_at("type", f"expected {EXPECTED['type']}, {seen(kind)}"))
        return Wire(
            key=_name("key", cells, self._key),
            id=_name("id", cells, self._id),
            time=None if self._time is None else _time(cells[self._time].strip()),
            features=self._pick(cells) if kind == "event" else None,
            label=None if self._label is None else cells[self._label],
            type=kind,
        )


def _name(member: str, cells: list[str], at: int | None) -> str | None:
    """A key or an id; None where the cell is empty."""
    if at is None:
        return None
    text = cells[at].strip()
    if len(text) > NAME_LONGEST:
        raise FaultError(problem_at(member, f"expected {EXPECTED[member]}, {seen(text)}"))
    return text or None


def _time(text: str) -> int | str | None:
    """A time as a number, if the text is one that can be a time."""
    try:
        number = int(text)
    except ValueError:
        return text or None
    return number if TIME_FIRST <= number <= TIME_LAST and "_" not in text else text


def _malformed(message: str, value: bytes) -> FaultError:
    return FaultError(Problem(Reason.MALFORMED, f"{message}: {seen(value)}"))
