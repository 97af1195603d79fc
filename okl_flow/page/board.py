"""All that is known of a job from what it writes, and which part of it changed when.

It knows of no clock, topic or browser: records go in with the time when they were written, and
plain values come out. What it keeps is bounded, and it says what it had to leave out.
"""

import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from okl_flow.events import Alarm, Outgoing, Reject, Report
from okl_flow.page.contest import Contest
from okl_flow.page.happenings import Alarms, Rejects
from okl_flow.page.keys import Key, Keys, curve_names
from okl_flow.page.pace import Pace
from okl_flow.page.series import Series
from okl_flow.page.streams import FIXED, Row, Stream

__all__ = ["Board"]

STEPS_MAX = 16
INPUTS_MAX = 16
_PARTITIONS_MAX = 4096
_LISTED = 20
_FOUND_MAX = 50


class Board:
    """What a job has told so far.

    Parts of it have numbers, which say when they changed last: `revision` counts all changes.

    >>> from okl_flow.events import Cause
    >>> board = Board()
    >>> values = {"labelled": 1000.0, "mistake_rate": 0.25, "window_mistake_rate": 0.2}
    >>> report = Report("job.evaluate", "stream", "", 1200, values, Cause("events", 0, 1199))
    >>> board.take(report, written=1769860800000)
    >>> board.changed(since=0)
    {'streams': 1}
    >>> board.part("streams")[0]["values"]["mistake_rate"]
    0.25
    >>> board.changed(since=board.revision)
    {}
    """

    def __init__(self) -> None:
        self.instance = secrets.token_hex(8)  # tells a board from the one before a restart
        self.revision = 0
        self.written = 0  # when the latest record was
        self.records = 0
        self.inputs: dict[str, None] = {}  # topics of the events that made the records
        self.pace = Pace()
        self._changed: dict[str, int] = {}
        self._streams: dict[str, Stream] = {}
        self._contests: dict[str, Contest] = {}
        self._counts: dict[tuple[str, str], Report] = {}
        self._keys = Keys()
        self._alarms = Alarms()
        self._rejects = Rejects()
        self._left_out: Counter[str] = Counter()
        self._makers: dict[str, Callable[[], Any]] = {
            "streams": lambda: [one.shown() for one in self._streams.values()],
            "keys": self._keys_shown,
            "contests": self._contests_shown,
            "counts": self._counts_shown,
            "alarms": self._alarms_shown,
            "rejects": self._rejects.by_reason,
            "pace": self.pace.shown,
            "left_out": lambda: dict(self._left_out),
        }

    def take(self, record: Outgoing, written: int) -> None:
        """Take in a record, and when it was written, in milliseconds since 1970."""
        self.records += 1
        self.written = max(self.written, written)
        cause = record.cause
        if cause is not None and cause.topic not in self.inputs and len(self.inputs) < INPUTS_MAX:
            self.inputs[cause.topic] = None
        if isinstance(record, Report):
            self._take_report(record, written)
        elif isinstance(record, Alarm):
            self._alarms.take(record, written)
            self._change("alarms")
        elif isinstance(record, Reject):
            self._rejects.take(record, written)
            self._change("rejects")

    def measure(self, moment: int, offsets: dict[tuple[str, int], tuple[int, int]]) -> None:
        """Take in how far the job is: of each partition its offset, and the end."""
        self.pace.take(moment, offsets)
        self._change("pace")

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count something that could not be taken in."""
        self._left_out[what] += count
        self._change("left_out")

    @property
    def flows(self) -> list[str]:
        """The names of the flows whose steps have reported."""
        steps = [*self._streams, *(step for step, _name in self._counts)]
        return list({step.partition(".")[0]: None for step in steps})

    def changed(self, since: int) -> dict[str, int]:
        """The parts that have changed after a revision, each with that of its latest change."""
        return {part: at for part, at in self._changed.items() if at > since}

    def part(self, name: str) -> Any:
        """A part as plain values: one of those that `changed` names."""
        return self._makers[name]()

    def curves(self, what: str, name: str, figure: str, after: int, epoch: int) -> dict[str, Any]:
        """Points of a curve: those after a place, or all where the epoch is another.

        What it may be of: "stream" or "contest", by the name of the step; "pace".
        """
        columns: Iterable[str] = ()
        series: Series | None = None
        rows: list[Row] = []
        if what == "stream" and name in self._streams:
            stream = self._streams[name]
            series = stream.series
            columns, rows = stream.curves(figure, after if epoch == series.epoch else 0)
        elif what == "contest" and name in self._contests:
            contest = self._contests[name]
            series, columns = contest.series, (*FIXED[:3], *contest.learners)
        elif what == "pace":
            series, columns = self.pace.series, ("place", "written", "lag", "read", "come")
        if series is None:
            return {"epoch": -1, "columns": [], "rows": [], "from": 0}
        begin = after if epoch == series.epoch else 0
        if what != "stream":
            rows = list(series.rows(begin))
        return {
            "epoch": series.epoch,
            "columns": list(columns),
            "rows": [_plain(row) for row in rows],
            "from": begin,
        }

    def found(self, step: str, text: str) -> dict[str, Any]:
        """Keys with a text in their names."""
        keys, count = self._keys.found(step, text, _FOUND_MAX)
        return {"keys": [_line(key) for key in keys], "count": count}

    def key(self, name: str) -> dict[str, Any]:
        """What is known of a key: its figures, what its model chose, and its alarms."""
        known = self._keys.named(name)
        return {
            "name": name,
            "steps": [_whole(key) for key in known],
            "alarms": self._alarms.latest(key=name),
        }

    def _take_report(self, report: Report, written: int) -> None:
        if report.subject == "key":
            if self._keys.take(report, written):
                self._change("keys")
            else:
                self.leave_out("reports of more steps")
        elif report.subject == "stream":
            stream = self._streams.get(report.step)
            if stream is None and len(self._streams) < STEPS_MAX:
                stream = self._streams[report.step] = Stream(report.step)
            if stream is None:
                self.leave_out("reports of more steps")
                return
            stream.take(report, written)
            self._change("streams")
        else:
            self._take_counts(report, written)

    def _take_counts(self, report: Report, written: int) -> None:
        place = (report.step, report.name)
        if place not in self._counts and len(self._counts) == _PARTITIONS_MAX:
            self.leave_out("reports of more partitions")
            return
        self._counts[place] = report
        self._change("counts")
        contest = self._contests.get(report.step) or Contest()
        if contest.take(report, written):
            self._contests[report.step] = contest
            self._change("contests")

    def _change(self, part: str) -> None:
        self.revision += 1
        self._changed[part] = self.revision

    def _keys_shown(self) -> dict[str, Any]:
        return {
            "dropped": self._keys.dropped,
            "steps": {
                step: {
                    "count": lists.known,
                    "listed": lists.listed,
                    "worst": [_line(key) for key in lists.worst],
                    "busiest": [_line(key) for key in lists.busiest],
                }
                for step, lists in self._keys.lists(_LISTED).items()
            },
        }

    def _contests_shown(self) -> list[dict[str, Any]]:
        return [{"step": step, **contest.shown()} for step, contest in self._contests.items()]

    def _counts_shown(self) -> dict[str, dict[str, float]]:
        """What the partitions of each step have counted, added up."""
        found: dict[str, dict[str, float]] = {}
        for (step, _name), report in self._counts.items():
            sums = found.setdefault(step, {})
            for name, value in report.values.items():
                sums[name] = sums.get(name, 0.0) + (value or 0.0)
        return found

    def _alarms_shown(self) -> dict[str, Any]:
        counts = [
            {"step": step, "kind": kind, "learner": learner, "count": count}
            for (step, kind, learner), count in self._alarms.counts.items()
        ]
        return {
            "latest": self._alarms.latest(100),
            "counts": counts,
            "dropped": self._alarms.dropped,
        }


_PARTS = ("error", "low", "high", "fading", "baseline", "fading_baseline")
"""What the figures of `curve_names` are called here, whichever error it is."""


def _line(key: Key) -> dict[str, Any]:
    """A key in a list."""
    values, error = key.values, key.error or ""
    return {
        "name": key.name,
        "events": key.events,
        "labelled": key.labelled,
        "written": key.written,
        "figure": error,
        **{part: values.get(name) for part, name in zip(_PARTS, curve_names(error), strict=True)},
    }


def _whole(key: Key) -> dict[str, Any]:
    """All that is known of a key in one step."""
    rows = [] if key.series is None else [_plain(row) for row in key.series.rows()]
    return {
        "step": key.step,
        "figure": key.error,
        "events": key.events,
        "written": key.written,
        "values": key.values,
        "columns": [*FIXED[:3], *_PARTS],
        "rows": rows,
    }


def _plain(row: list[float]) -> list[float | None]:
    """A row in few digits; None for what is not known."""
    return [
        None if math.isnan(one) else int(one) if one.is_integer() else float(f"{one:.6g}")
        for one in row
    ]
