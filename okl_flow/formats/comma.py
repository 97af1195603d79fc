"""Comma-separated values: a header, then a row per line."""

import csv
import math
from collections.abc import Iterator

import numpy as np

from okl_flow.formats.base import Chunk, Lines, Parser, found, no_label, number_in, rows_max
from okl_flow.labels import Raw
from okl_flow.native import Array

__all__ = ["CsvParser"]

_MISSING = ("", "nan", "null")

Numbered = list[tuple[int, list[str]]]
"""The cells of some rows, with the numbers of their lines."""


class CsvParser(Parser):
    """Comma-separated values under a header. An empty label cell means that there is none."""

    def __init__(self, label: str, may_miss: bool) -> None:
        """`label` is the name of the label's column; `may_miss` lets features be missing."""
        self._label = label
        self._may_miss = may_miss
        self._at = 0
        self._columns: list[str] = []
        self._underscore = False  # in a line read since it was last set to False

    def chunks(self, lines: Lines, size: int) -> Iterator[Chunk]:
        """The events of all lines, at most `size` at a time."""
        rows = csv.reader(self._decoded(lines), strict=True, skipinitialspace=True)
        for number, cells in _next_rows(lines, rows, 1):
            self._take_header(lines, number, cells)
        while True:
            self._underscore = False
            held = _next_rows(lines, rows, rows_max(size, len(self._columns)))
            if not held:
                return
            X_and_labels = self._quick(held)
            if X_and_labels is None:
                X_and_labels = self._careful(lines, held)
            numbers = [number for number, _row in held]
            yield Chunk(*X_and_labels, numbers, lambda _row: self._place(self._at))

    def _decoded(self, lines: Lines) -> Iterator[str]:
        """The lines as text, with a note of underscores, which float() takes within numbers."""
        for line in lines:
            self._underscore |= b"_" in line
            try:
                yield line.decode() + "\n"
            except UnicodeDecodeError as error:
                problem = f"expected text in UTF-8, found the byte {line[error.start]:#x}"
                lines.fail(lines.number, f"byte {error.start + 1}", problem)

    def _take_header(self, lines: Lines, number: int, cells: list[str]) -> None:
        names = [cell.strip() for cell in cells]
        for at, name in enumerate(names):
            if name in names[:at]:
                lines.fail(number, f"column {at + 1}", f"a second column is named {name!r}")
        if self._label not in names:
            lines.fail(number, "", no_label("column", self._label, names))
        if len(names) == 1:
            lines.fail(number, "", f"there are no features, only the label {self._label!r}")
        self._columns = names
        self._at = names.index(self._label)
        self.names = tuple(name for name in names if name != self._label)
        self.dim = len(self.names)

    def _quick(self, held: Numbered) -> tuple[Array, list[Raw]] | None:
        """The events if all rows are well-formed, else None."""
        if self._underscore or {len(row) for _, row in held} != {len(self._columns)}:
            return None
        labels: list[Raw] = []
        values: list[float] = []
        try:
            for _number, row in held:
                labels.append(row[self._at])
                values += map(float, row[: self._at])
                values += map(float, row[self._at + 1 :])
        except ValueError:
            return None
        X = np.array(values).reshape(len(held), -1)
        return (X, labels) if np.isfinite(X).all() else None

    def _careful(self, lines: Lines, held: Numbered) -> tuple[Array, list[Raw]]:
        """The events, or the error about the first thing that is wrong."""
        labels: list[Raw] = []
        X = np.empty((len(held), len(self.names)))
        for t, (number, row) in enumerate(held):
            if len(row) != len(self._columns):
                problem = f"expected {len(self._columns)} cells as in the header, found {len(row)}"
                lines.fail(number, f"column {min(len(row), len(self._columns)) + 1}", problem)
            values = [number_in(cell) for cell in row]
            for at, value in enumerate(values):
                missing = self._may_miss and row[at].strip().lower() in _MISSING
                if math.isnan(value) and at != self._at and not missing:
                    problem = f"expected a finite number, {found(row[at])}"
                    lines.fail(number, self._place(at), problem)
            labels.append(row[self._at])
            X[t] = values[: self._at] + values[self._at + 1 :]
        return X, labels

    def _place(self, at: int) -> str:
        return f"column {at + 1} ({self._columns[at]!r})"


def _next_rows(lines: Lines, rows: Iterator[list[str]], count: int) -> Numbered:
    """Up to `count` further rows that are not blank."""
    held: Numbered = []
    try:
        for row in rows:
            if row:
                held.append((lines.number, row))
                if len(held) == count:
                    break
    except csv.Error as error:
        lines.fail(lines.number, "", f"expected comma-separated values: {error}")
    return held
