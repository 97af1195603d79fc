"""One state partition: its items in order, its reports, its snapshots. It knows no engine."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from okl_flow import meters
from okl_flow.chosen import chosen_by
from okl_flow.events import Alarm, Incoming, Prediction, Reject, Report
from okl_flow.operators.admission import Admission, Figures, Rules
from okl_flow.operators.batch import learned
from okl_flow.operators.models import Models

__all__ = ["Output", "Partition"]

_SWEEP_EVERY = 1024  # items
_SWEPT = 64  # stored records looked at


class Output(NamedTuple):
    """What some items made."""

    predictions: list[Prediction]
    rejects: list[Reject]
    reports: list[Report]
    alarms: list[Alarm]


class Partition:
    """The models of one state partition, and what becomes of its items."""

    def __init__(
        self,
        name: str,
        step: str,
        rules: Rules,
        models: Models,
        report_every: int,
        figures: bytes | None,
    ) -> None:
        """`figures` are those of a snapshot to go on from."""
        self._name = name
        self._step = step
        self._rules = rules
        self._models = models
        self._report_every = report_every
        self._asked = False  # whether there are requests, since the last snapshot
        self._figures = msgspec.msgpack.decode(figures, type=Figures) if figures else Figures()
        counts = self._figures.counts
        self._meter = meters.Meter(step, counts, models.__len__, models.size)

    def process(self, items: Sequence[Incoming]) -> list[Output]:
        """Score and learn the items, in order.

        They are cut where a report is due or idle keys are looked for, so that both depend on
        the number of the item alone.
        """
        outputs, begin = [], 0
        while begin < len(items):
            here, every = self._figures.items, self._report_every
            room = min(every - here % every, _SWEEP_EVERY - here % _SWEEP_EVERY)
            batch = items[begin : begin + room]
            admission = Admission(self._rules, self._models, self._figures, batch)
            begin += room
            self._figures.items += len(batch)
            if not self._asked:
                admission.answer(self._models.requests())
                self._asked = True
            works = admission.admit()
            predictions, alarms = learned(
                self._rules, self._models, self._step, admission, works, self._figures
            )
            if self._figures.items % _SWEEP_EVERY == 0:
                admission.forget_idle(_SWEPT)
            rejects, reports = admission.rejects(), []
            if self._figures.items % self._report_every == 0:
                reports.append(self._report(batch[-1]))
                reports.extend(self._chosen(batch[-1]))
            self._meter.predictions += len(predictions)
            outputs.append(Output(predictions, rejects, reports, alarms))
        self._models.trim()
        return outputs

    def snapshot(self) -> tuple[bytes, bytes]:
        """Write what has changed. What the engine keeps: the store's pointer, and our figures.

        It may do so when that is settled.
        """
        self._asked = False
        with meters.SNAPSHOT.labels(self._step).time():
            pointer = self._models.commit()
        return pointer, msgspec.msgpack.encode(self._figures, order="sorted")

    def settle(self) -> None:
        """Wait until what was written is on the disk."""
        self._models.settle()

    def _report(self, last: Incoming) -> Report:
        values: dict[str, float | None] = {
            name: float(number)
            for name, number in sorted((self._figures.counts | self._figures.sums).items())
        }
        return Report(
            self._step,
            "partition",
            self._name,
            self._figures.counts.get("events", 0),
            values,
            last.cause,
            last.time,
        )

    def _chosen(self, last: Incoming) -> Iterator[Report]:
        """What the model of one key has chosen, if it does: busy keys are told of more often."""
        record = self._models.record(last.key)
        if not record.states:
            return
        values: dict[str, float | None] = {}
        rules = self._rules
        for name, learner, state in zip(rules.names, rules.learners, record.states, strict=True):
            prefix = "" if len(rules.names) == 1 else f"{name}_"
            for parameter, value in chosen_by(learner, state).items():
                values[prefix + parameter] = value
        if values:
            yield Report(
                self._step, "key", last.key, record.events, values, last.cause, last.time, 1
            )
