"""What a flow has written, once each, and what of it came again."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from okl_flow.events import Alarm, Cause, Prediction, Reject, Report
from okl_flow.wire import decode_outgoing

__all__ = ["Outputs", "TornError"]

Place = tuple[Cause, int]
"""What names an output: its cause and its ordinal."""


class TornError(RuntimeError):
    """Something was written that is no record of a flow."""


@dataclass
class Outputs:
    """The predictions, rejects, reports and alarms of a flow, as far as they are known.

    >>> from okl_flow.events import Reason
    >>> from okl_flow.operators.encode import Encoder
    >>> [one] = Encoder()([Reject(Reason.KEY, "no key", Cause("events", 0, 7))])
    >>> outputs = Outputs()
    >>> outputs.take([one.value, one.value])
    >>> len(outputs.rejects), outputs.repeats, outputs.changed
    (1, 1, [])
    """

    predictions: dict[Place, Prediction] = field(default_factory=dict)
    rejects: dict[Place, Reject] = field(default_factory=dict)
    alarms: dict[tuple[str, str, Cause | None], Alarm] = field(default_factory=dict)
    report: Report | None = None  # the last one about the whole stream
    rates: dict[float, float] = field(default_factory=dict)  # of mistakes lately, by labels so far
    causes: set[Cause] = field(default_factory=set)  # of predictions and rejects
    keys: set[str] = field(default_factory=set)
    repeats: int = 0  # predictions and rejects that came again
    changed: list[Place] = field(default_factory=list)  # those that came again and were different
    _values: dict[Place, bytes] = field(default_factory=dict)

    def take(self, values: Iterable[bytes | None]) -> None:
        """Take in what was written; a TornError says what is no record of a flow."""
        for value in values:
            try:
                self._take(value or b"", decode_outgoing(value or b""))
            except msgspec.MsgspecError as error:
                raise TornError(f"the flow has written {value!r:.80}: {error}") from None

    @property
    def reasons(self) -> Counter[str]:
        """How many rejects there are of each reason."""
        return Counter(one.reason.value for one in self.rejects.values())

    def _take(self, value: bytes, record: object) -> None:
        if isinstance(record, Prediction):
            if self._is_new((record.cause, record.ordinal), value):
                self.predictions[record.cause, record.ordinal] = record
                self.keys.add(record.key)
        elif isinstance(record, Reject):
            if self._is_new((record.cause, record.ordinal), value):
                self.rejects[record.cause, record.ordinal] = record
        elif isinstance(record, Alarm):
            self.alarms[record.subject, record.name, record.cause] = record
        elif isinstance(record, Report) and record.subject == "stream":
            self.report, values = record, record.values
            labelled, lately = values.get("labelled"), values.get("window_mistake_rate")
            if labelled is not None and lately is not None:
                self.rates[labelled] = lately

    def _is_new(self, place: Place, value: bytes) -> bool:
        if place not in self._values:
            self._values[place] = value
            self.causes.add(place[0])
            return True
        self.repeats += 1
        if self._values[place] != value:
            self.changed.append(place)
        return False
