"""Champion and challengers: what the partitions of `compare` report, added up."""

import math
from typing import Any

from okl_flow.events import Report
from okl_flow.page.keys import Figures
from okl_flow.page.series import Series

__all__ = ["Contest"]

_LEARNERS_MAX = 50
_PARTITIONS_MAX = 4096
_MISTAKES, _SQUARES = "mistakes_", "squared_error_"
_COUNTED = ("failures_", "promotion_", "challenger_ahead_")


class Contest:
    """The learners of one step, and how often each was wrong.

    A partition tells all that it has counted since its beginning. So what is true of the stream
    is the sum of what its partitions told last.
    """

    def __init__(self) -> None:
        self.learners: tuple[str, ...] = ()
        self.prefix = _MISTAKES  # or that of squared errors, in a regression
        self.series: Series | None = None
        self._latest: dict[str, Figures] = {}

    def take(self, report: Report, written: int) -> bool:
        """Take in the report of a partition; False if it has nothing of several learners."""
        learners, prefix = _learners_of(report.values)
        if len(learners) < 2 or len(learners) > _LEARNERS_MAX:  # noqa: PLR2004 (a pair)
            return False
        if learners != self.learners:
            self.learners, self.prefix, self._latest = learners, prefix, {}
            epoch = -1 if self.series is None else self.series.epoch
            self.series = Series(2 + len(learners), epoch=epoch + 1)
        if report.name not in self._latest and len(self._latest) == _PARTITIONS_MAX:
            return False
        self._latest[report.name] = report.values
        assert self.series is not None
        self.series.add([self._sum("labelled"), written, *(self.error(one) for one in learners)])
        return True

    def error(self, learner: str) -> float:
        """Mistake rate, or root mean squared error, over all labels so far."""
        judged = self._sum("labelled")
        if self.prefix == _SQUARES:
            judged -= self._sum(f"failures_{learner}")
        if judged <= 0.0:
            return math.nan
        mean = self._sum(self.prefix + learner) / judged
        return math.sqrt(mean) if self.prefix == _SQUARES else mean

    def table(self) -> list[dict[str, Any]]:
        """A line for each learner, the best first."""
        lines = [
            {
                "learner": learner,
                "error": None if math.isnan(self.error(learner)) else self.error(learner),
                **{prefix[:-1]: self._sum(prefix + learner) for prefix in _COUNTED},
            }
            for learner in self.learners
        ]
        return sorted(lines, key=lambda line: math.inf if line["error"] is None else line["error"])

    def shown(self) -> dict[str, Any]:
        """All of it."""
        return {
            "figure": "rmse" if self.prefix == _SQUARES else "mistake_rate",
            "labelled": self._sum("labelled"),
            "partitions": len(self._latest),
            "table": self.table(),
            "learners": self.learners,
        }

    def _sum(self, name: str) -> float:
        return sum(values.get(name) or 0.0 for values in self._latest.values())


def _learners_of(values: Figures) -> tuple[tuple[str, ...], str]:
    for prefix in (_SQUARES, _MISTAKES):
        found = tuple(
            sorted(name.removeprefix(prefix) for name in values if name.startswith(prefix))
        )
        if found:
            return found, prefix
    return (), _MISTAKES
