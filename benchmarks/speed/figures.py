"""Figures of one form: what was measured, in which case, and from where to where the rounds went.

A line of `benchmarks/results/<part>.csv` is one figure. Its value is the median of the rounds, low
and high the least and the greatest of them. A ratio is made round by round, of what was measured
side by side. A figure of no rounds was counted: it comes out the same each time.
"""

import csv
import io
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from benchmarks.report import RESULTS

__all__ = ["Figure", "Figures", "parsed", "results", "shown"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures of a part."""

    part: str
    case: str
    measure: str
    value: float
    unit: str
    low: float
    high: float
    rounds: int


HEADER = [field.name for field in fields(Figure)]


class Figures:
    """The figures of a part, by case and measure."""

    def __init__(self, part: str, figures: Iterable[Figure] = ()) -> None:
        self.part = part
        self._found = {(one.case, one.measure): one for one in figures}

    def __iter__(self) -> Iterator[Figure]:
        return iter(self._found.values())

    def add(self, case: str, measure: str, unit: str, rounds: Sequence[float]) -> None:
        """What came of the rounds."""
        middle, low, high = statistics.median(rounds), min(rounds), max(rounds)
        self._add(Figure(self.part, case, measure, middle, unit, low, high, len(rounds)))

    def add_ratio(
        self, case: str, measure: str, rounds: Sequence[float], others: Sequence[float]
    ) -> None:
        """How many times the others it is, round by round."""
        self.add(case, measure, "×", [a / b for a, b in zip(rounds, others, strict=True)])

    def count(self, case: str, measure: str, unit: str, value: float) -> None:
        """What was counted, and would come out the same again."""
        self._add(Figure(self.part, case, measure, value, unit, value, value, 0))

    def get(self, case: str, measure: str) -> Figure | None:
        """The figure, if it was measured."""
        return self._found.get((case, measure))

    def value(self, case: str, measure: str) -> float:
        """The value of a figure that was measured."""
        return self._found[case, measure].value

    def text(self, case: str, measure: str) -> str:
        """The value as it stands in a table; a dash where nothing was measured."""
        found = self.get(case, measure)
        return "-" if found is None else shown(found.value)

    def spread(self, case: str, measure: str) -> str:
        """From where to where the rounds went."""
        found = self.get(case, measure)
        return "-" if found is None else f"{shown(found.low)} to {shown(found.high)}"

    def write(self, folder: Path) -> None:
        """Write them all into a folder."""
        with (folder / f"{self.part}.csv").open("w", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(HEADER)
            for one in self:
                lines.writerow([_digits(cell) for cell in astuple(one)])

    def _add(self, figure: Figure) -> None:
        if (figure.case, figure.measure) in self._found:
            raise ValueError(f"{figure.part}: there is {figure.case!r}, {figure.measure!r} already")
        self._found[figure.case, figure.measure] = figure


def parsed(part: str, text: str) -> Figures:
    """The figures of what `Figures.write` has written."""
    lines = csv.DictReader(io.StringIO(text))
    if lines.fieldnames != HEADER:
        raise ValueError(f"{part}.csv has the columns {lines.fieldnames}, not {HEADER}")
    return Figures(
        part,
        [
            Figure(
                line["part"],
                line["case"],
                line["measure"],
                float(line["value"]),
                line["unit"],
                float(line["low"]),
                float(line["high"]),
                int(line["rounds"]),
            )
            for line in lines
        ],
    )


def results(part: str, folder: Path = RESULTS) -> Figures:
    """The figures that a part has left in a folder; none if it has not run."""
    path = folder / f"{part}.csv"
    return parsed(part, path.read_text()) if path.exists() else Figures(part)


def shown(value: float) -> str:
    """A number with the digits that one can use."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:z.2f}"  # nothing below zero is -0.00


def _digits(cell: str | float) -> str:
    """Six digits of a number: noise is in the third."""
    return f"{float(f'{cell:.6g}'):.12g}" if isinstance(cell, float) else str(cell)
