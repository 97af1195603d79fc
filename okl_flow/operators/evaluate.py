"""The operator `evaluate`: how good predictions are, for single keys and as a whole.

Predictions enter; reports and alarms leave. Two steps share the work, so that it spreads over
workers: the first keeps the figures of each partition of keys, and tells the second, after
fixed numbers of labelled predictions, what the whole stream's figures are made of. Both keep
short rows of numbers. After a resume they go on as if they had never stopped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import StatefulBatchLogic

from okl_flow import meters
from okl_flow.evaluating.columns import Columns, by_partition, columns_of, joined
from okl_flow.evaluating.drift import FINDINGS, Drift
from okl_flow.evaluating.partition import Chunks, PartitionFigures, Tail
from okl_flow.evaluating.reporting import key_events, key_values
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.whole import Moment, WholeFigures
from okl_flow.events import Alarm, Cause, Prediction, Report
from okl_flow.placing import engine_key
from okl_flow.tasks import Task

__all__ = ["EvaluateOut", "evaluate"]

Told = Chunks | Tail
Said = Report | Alarm

_WHOLE = "stream"


@dataclass(frozen=True)
class EvaluateOut:
    """Streams that come out of `evaluate`."""

    reports: Stream[Report]
    alarms: Stream[Alarm]


@operator
def evaluate(
    step_id: str,
    predictions: Stream[Prediction],
    *,
    task: Task | str = "binary",
    window: int = 1000,
    fading: int = 1000,
    report_every: int = 1000,
    report_at_end: bool = False,
    keys: str = "worst",
    keys_reported: int = 20,
    key_lists_every: int = 5,
    key_report_every: int = 100,
    keys_in_memory: int = 16384,
    drift: Drift | str | None = "page_hinkley",
    confidence: float = 0.95,
    partitions: int = 64,
) -> EvaluateOut:
    """Evaluate predictions as they come: how good they are, for single keys and as a whole.

    Figures are over all labelled predictions so far, over a sliding window, and fading;
    docs/monitoring.md explains them, and what holds when the work is spread.

    Parameters:
        predictions: of one learner; those of a key in their order.
        task: that of the learner: binary, multiclass, regression, or such a task.
        window: labelled predictions in the sliding window.
        fading: labelled predictions after which the weight of one has fallen to 1/e.
        report_every: labelled predictions between two reports of the whole stream.
        report_at_end: whether to report everything when the input ends, or the job is stopped.
        keys: worst: with some reports of the stream, one for each of the worst and of the
            busiest keys; all: one for every key, after every `key_report_every` of its labels;
            none.
        keys_reported: how many of the worst keys, and of the busiest.
        key_lists_every: reports of the stream until the worst and busiest keys are reported.
        key_report_every: labelled predictions of a key between two reports of it, of all keys.
        keys_in_memory: keys whose figures are kept; those with the most predictions.
        drift: detector that watches the errors of each key in memory, and of the whole stream:
            page_hinkley, adwin, or such a detector; None for none.
        confidence: of each interval.
        partitions: of the keys; the same as in the step that made the predictions.
    """
    settings = Settings.of(
        task,
        drift,
        window=window,
        fading=fading,
        report_every=report_every,
        keys=keys,
        keys_reported=keys_reported,
        key_lists_every=key_lists_every,
        key_report_every=key_report_every,
        keys_in_memory=keys_in_memory,
        confidence=confidence,
        partitions=partitions,
    )
    sorted_out = op.flat_map_batch("columns", predictions, _sorter(settings))
    parts = op.stateful_batch(
        "partition",
        sorted_out,
        lambda resumed: _PartitionLogic(step_id, settings, resumed, at_end=report_at_end),
    )
    told = op.filter_map("told", parts, _told)
    wholes = op.stateful_batch(
        "whole", told, lambda resumed: _WholeLogic(step_id, settings, resumed)
    )
    said = op.merge("said", parts, wholes)
    return EvaluateOut(
        op.filter_map("reports", said, _report_of), op.filter_map("alarms", said, _alarm_of)
    )


Part = tuple[int, Columns]


def _sorter(settings: Settings) -> Callable[[list[Prediction]], Iterator[tuple[str, Part]]]:
    """Predictions to columns, by the partition of their keys."""

    def by_engine_key(predictions: list[Prediction]) -> Iterator[tuple[str, Part]]:
        columns = columns_of(predictions, settings.task)
        for partition, part in by_partition(columns, settings.partitions):
            yield engine_key(partition), (partition, part)

    return by_engine_key


class _PartitionLogic(StatefulBatchLogic[Part, Said | Told, bytes]):
    """The figures of one partition of keys; says what its keys have to say, and tells the rest."""

    def __init__(self, step: str, settings: Settings, resumed: bytes | None, *, at_end: bool):
        self.step = step
        self.settings = settings
        self.at_end = at_end
        # Which partition this is only the first batch tells.
        self.figures = PartitionFigures.restored(settings, resumed) if resumed else None

    def on_batch(self, values: list[Part]) -> tuple[list[Said | Told], bool]:
        """Take in the predictions of the partition that have come."""
        if self.figures is None:
            self.figures = PartitionFigures(self.settings, values[0][0])
        columns = joined([part for _partition, part in values])
        taken = self.figures.take(columns)
        out: list[Said | Told] = [*taken.chunks]
        for place, row in taken.due:
            key, cause, time = columns.keys[place], columns.causes[place], columns.times[place]
            figures = key_values(self.settings, row)
            out.append(
                Report(self.step, "key", key, key_events(row), figures, cause, time, ordinal=1)
            )
        for ring in taken.rings:
            where = (columns.causes[ring.place], columns.times[ring.place])
            out.append(_alarm(self.step, "key", columns.keys[ring.place], ring.findings, *where))
        return out, StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Said | Told], bool]:
        """Tell what is not told yet, if it is wanted."""
        tails = [self.figures.tail()] if self.at_end and self.figures else []
        return [*tails], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """The figures as bytes."""
        assert self.figures is not None, "a partition without predictions has no logic"
        return self.figures.packed()


class _WholeLogic(StatefulBatchLogic[Told, Said, bytes]):
    """The figures of the whole stream, from what the partitions tell."""

    def __init__(self, step: str, settings: Settings, resumed: bytes | None):
        self.step = step
        self.settings = settings
        self.figures = (
            WholeFigures.restored(settings, resumed) if resumed else WholeFigures(settings)
        )
        self.tails: dict[int, Tail] = {}

    def on_batch(self, values: list[Told]) -> tuple[list[Said], bool]:
        """Take in what partitions tell."""
        chunks = [told for told in values if isinstance(told, Chunks)]
        self.tails.update({told.partition: told for told in values if isinstance(told, Tail)})
        moments = self.figures.take(chunks) if chunks else ()
        return [said for one in moments for said in self._said(one)], StatefulBatchLogic.RETAIN

    def on_eof(self) -> tuple[list[Said], bool]:
        """Report everything, if the partitions have told what they had left."""
        moment = self.figures.last_moment(self.tails)
        self.tails = {}
        return (self._said(moment) if moment else []), StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """The figures as bytes; what was told for the end of the input is no part of them."""
        return self.figures.packed()

    def _said(self, moment: Moment) -> list[Said]:
        if moment.findings:
            return [
                _alarm(self.step, "stream", "", findings, moment.cause, moment.time, 1 + number)
                for number, findings in enumerate(moment.findings)
            ]
        meters.evaluated(self.step, moment.values)
        where = (moment.cause, moment.time)
        said: list[Said] = [Report(self.step, "stream", "", moment.events, moment.values, *where)]
        for ordinal, (name, row, ranks) in enumerate(moment.listed, 1):
            values = {**key_values(self.settings, row), **ranks}
            said.append(Report(self.step, "key", name, key_events(row), values, *where, ordinal))
        return said


def _alarm(
    step: str,
    subject: str,
    name: str,
    findings: list[float],
    cause: Cause | None,
    time: int | None,
    ordinal: int = 0,
) -> Alarm:
    values = dict(zip(FINDINGS, findings, strict=True))
    whose = f"the key {name!r}" if subject == "key" else "the stream"
    message = f"the mean error of {whose} rose from {values['before']:.4g} to {values['after']:.4g}"
    return Alarm(step, subject, name, "drift", message, {**values}, cause, time, ordinal)


def _told(item: tuple[str, Said | Told]) -> tuple[str, Told] | None:
    return (_WHOLE, item[1]) if isinstance(item[1], Chunks | Tail) else None


def _report_of(item: tuple[str, Said | Told]) -> Report | None:
    return item[1] if isinstance(item[1], Report) else None


def _alarm_of(item: tuple[str, Said | Told]) -> Alarm | None:
    return item[1] if isinstance(item[1], Alarm) else None
