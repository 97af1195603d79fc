"""LIBSVM text: "label index:value index:value ... # comment", indices from 1 and ascending."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from okl_flow.formats.base import Chunk, Lines, Parser, found, number_in, rows_max
from okl_flow.labels import Raw

__all__ = ["DIM_MAX", "LibsvmParser", "LineError", "Rows", "read_line", "well_formed"]

DIM_MAX = 1_000_000
"""A higher index is taken for damage, as rows are kept with their zeros."""

_LINE = re.compile(
    rb"\s*+(?P<label>[^\s:#]++)(?P<pairs>(?:[ \t]++[0-9]++:[^\s:#_]++)*+)\s*+(?:#.*)?", re.DOTALL
)
_NOTHING = re.compile(rb"\s*+(?:#.*)?", re.DOTALL)
_TOKEN = re.compile(rb"\S+")


@dataclass(slots=True)
class Rows:
    """Rows without their zeros."""

    labels: list[Raw] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)  # features that each row lists
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


class LibsvmParser(Parser):
    """LIBSVM text. Features that a line does not list are 0.

    Where `dim` is None, a chunk is as wide as the highest index so far.
    """

    def __init__(self, dim: int | None = None) -> None:
        """`dim` is the highest index allowed, and the width of each chunk."""
        self.dim = dim
        self._width = dim or 1

    def chunks(self, lines: Lines, size: int) -> Iterator[Chunk]:
        """The events of all lines, at most `size` at a time."""
        while True:
            first = lines.number + 1
            held = list(islice(lines, rows_max(size, self._width)))
            if not held:
                return
            said = [
                (number, line)
                for number, line in enumerate(held, first)
                if _NOTHING.fullmatch(line) is None
            ]
            rows = well_formed((line for _number, line in said), self.dim)
            if rows is None:
                rows = self._careful(lines, said)
            yield from self._chunks(rows, said)

    def _chunks(self, rows: Rows, said: list[tuple[int, bytes]]) -> Iterator[Chunk]:
        """The rows with their zeros, in several chunks if they turn out very wide."""
        column = np.array(rows.indices, dtype=np.int64) - 1
        values = np.array(rows.values)
        ends = np.concatenate([[0], np.cumsum(rows.counts, dtype=np.int64)])
        self._width = max(self._width, int(column.max(initial=0)) + 1)
        size = rows_max(len(said), self._width)
        for begin in range(0, len(said), size):
            end = min(len(said), begin + size)
            listed = slice(ends[begin], ends[end])
            X = np.zeros((end - begin, self._width))
            row = np.repeat(np.arange(end - begin), rows.counts[begin:end])
            X[row, column[listed]] = values[listed]
            lines = said[begin:end]
            numbers = [number for number, _line in lines]
            yield Chunk(X, rows.labels[begin:end], numbers, _LabelPlace(lines))

    def _careful(self, lines: Lines, said: list[tuple[int, bytes]]) -> Rows:
        """The rows, or the error about the first thing that is wrong."""
        rows = Rows()
        for number, line in said:
            try:
                read_line(line, self.dim, rows)
            except LineError as fault:
                lines.fail(number, f"character {fault.position}", str(fault))
        return rows


class LineError(ValueError):
    """What is wrong with a line, and the character, from 1, at which it is."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def well_formed(lines: Iterable[bytes], dim: int | None) -> Rows | None:
    """The rows if all lines are well-formed, else None; `dim` is the highest index allowed."""
    rows = Rows()
    try:
        for line in lines:
            match = _LINE.fullmatch(line)
            if match is None:
                return None
            pairs = match["pairs"].replace(b":", b" ").split()
            rows.labels.append(match["label"])
            rows.counts.append(len(pairs) // 2)
            rows.indices += map(int, pairs[::2])
            rows.values += map(float, pairs[1::2])
        index = np.array(rows.indices, dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    most = DIM_MAX if dim is None else dim
    row = np.repeat(np.arange(len(rows.counts)), rows.counts)
    ascending = (np.diff(index) > 0) | (np.diff(row) > 0)
    in_range = index.min(initial=1) >= 1 and index.max(initial=1) <= most
    return rows if in_range and ascending.all() and np.isfinite(rows.values).all() else None


def read_line(line: bytes, dim: int | None, rows: Rows) -> None:
    """Add a line that is not blank to the rows, or raise a LineError about its first fault."""
    label, *features = _TOKEN.finditer(line.partition(b"#")[0])
    if b":" in label[0]:
        problem = f"expected a label before the features, {found(label[0])}"
        raise LineError(label.start() + 1, problem)
    rows.labels.append(label[0])
    rows.counts.append(len(features))
    before = 0
    for feature in features:
        index, value, problem = _feature(feature[0], before, dim)
        if problem:
            raise LineError(feature.start() + 1, f"{problem}, {found(feature[0])}")
        rows.indices.append(index)
        rows.values.append(value)
        before = index


def _feature(token: bytes, before: int, dim: int | None) -> tuple[int, float, str]:
    """Index and value of a feature, and what is wrong with it, if anything."""
    head, colon, tail = token.partition(b":")
    value = number_in(tail.decode("utf-8", "replace"))
    if not colon or not head.isdigit():
        return 0, value, "expected index:value"
    digits = head.lstrip(b"0") or b"0"
    index = int(digits) if len(digits) <= len(str(DIM_MAX)) else DIM_MAX + 1
    problem = ""
    if index < 1:
        problem = "expected an index of at least 1"
    elif dim is not None and index > dim:
        problem = f"expected an index of at most {dim}, the number of features"
    elif index > DIM_MAX:
        problem = f"expected an index of at most {DIM_MAX}"
    elif index <= before:
        problem = f"expected an index above {before}, as indices must ascend"
    elif math.isnan(value):
        problem = "expected a finite number after the colon"
    return index, value, problem


@dataclass(frozen=True, slots=True)
class _LabelPlace:
    """Where the label of a row is in its line."""

    lines: list[tuple[int, bytes]]

    def __call__(self, row: int) -> str:
        line = self.lines[row][1]
        return f"character {len(line) - len(line.lstrip()) + 1}"
