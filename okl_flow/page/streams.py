"""The reports of the whole stream, step by step."""

import math
from collections import deque
from typing import Any

from okl_flow.events import Report
from okl_flow.page.keys import Figures, error_name
from okl_flow.page.series import Series

__all__ = ["FIGURES_MAX", "FIXED", "Row", "Stream"]

FIGURES_MAX = 100
"""Figures of a report that are kept."""

FIXED = ("place", "labelled", "written", "events")
"""The first columns of all curves."""

_FIXED = len(FIXED) - 1  # beside the place, which a series adds
_FIGURES = (
    "mistake_rate",
    "rmse",
    "mae",
    "loss",
    "balanced_accuracy",
    "f1",
    "kappa",
    "auc",
    "r2",
)
_OVERS = ("", "window_", "fading_", "baseline_", "window_baseline_")
_ENDS = ("", "_low", "_high")
_SPAN_MS = 60_000
_LATELY_MIN = 2  # make a distance

Row = list[float]


class Stream:
    """What one step reports of the whole stream, now and before."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.values: Figures = {}
        self.events = 0
        self.written = 0  # when the latest report was
        self.time: int | None = None  # of the latest event that it covers
        self.series = Series(_FIXED)
        self._names: tuple[str, ...] = ()
        self._lately: deque[tuple[int, int]] = deque()  # moments, and events until then

    def take(self, report: Report, written: int) -> None:
        """Take in a report."""
        values = dict(list(report.values.items())[:FIGURES_MAX])
        self.values, self.events = values, report.events
        self.written, self.time = written, report.time
        names = tuple(values)
        if names != self._names:
            self._names = names
            self.series = Series(_FIXED + len(names), epoch=self.series.epoch + 1)
        labelled = values.get("labelled")
        progress = report.events if labelled is None else labelled
        numbers = (math.nan if one is None else one for one in values.values())
        self.series.add([progress, written, report.events, *numbers])
        self._measure(written, report.events)

    def _measure(self, written: int, events: int) -> None:
        lately = self._lately
        if lately and (written < lately[-1][0] or events < lately[-1][1]):
            lately.clear()
        lately.append((written, events))
        while len(lately) > _LATELY_MIN and lately[1][0] <= written - _SPAN_MS:
            lately.popleft()

    @property
    def rate(self) -> float | None:
        """Events a second between the reports of the latest minute."""
        if len(self._lately) < _LATELY_MIN:
            return None
        (begin, before), (end, now) = self._lately[0], self._lately[-1]
        return 1000.0 * (now - before) / (end - begin) if end > begin else None

    def shown(self) -> dict[str, Any]:
        """The latest report."""
        return {
            "step": self.step,
            "figure": error_name(self.values),
            "figures": [name for name in _FIGURES if self._curves(name)],
            "values": self.values,
            "events": self.events,
            "written": self.written,
            "time": self.time,
            "rate": self.rate,
            "runs": self.series.runs,
        }

    def curves(self, figure: str, after: int = 0) -> tuple[list[str], list[Row]]:
        """What is known of a figure: the names of the columns, and rows after a place."""
        names = self._curves(figure)
        columns = [*range(1 + _FIXED), *(1 + _FIXED + self._names.index(name) for name in names)]
        rows = self.series.rows(after)
        return [*FIXED, *names], [[row[column] for column in columns] for row in rows]

    def _curves(self, figure: str) -> list[str]:
        wanted = (f"{over}{figure}{end}" for over in _OVERS for end in _ENDS)
        return [name for name in wanted if name in self._names]
