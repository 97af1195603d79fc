"""Compares what a flow has written with what an undisturbed run of it has written."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from okl_flow.demo.outputs import Outputs
from okl_flow.events import Cause, Prediction, Reject

__all__ = ["Verdict", "judged"]

_NOWHERE = Cause("", -1, -1)
_SHOWN = 3

Named = dict[tuple[str, str | None, bool], bytes]
"""Predictions by key, id, and whether it is a label that has caused them."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found; `hides_aborted` is whether the brokers show what was committed alone."""

    events: int
    predictions: int  # of the undisturbed run
    rejects: int  # of the undisturbed run
    repeats: int
    hides_aborted: bool
    lost: list[str] = field(default_factory=list)  # events that were not predicted
    missing: list[str] = field(default_factory=list)  # predictions and rejects
    wrong: list[str] = field(default_factory=list)  # those of no undisturbed run
    changed: list[str] = field(default_factory=list)  # repeats that say another thing

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost, wrong, or there twice where it must not be."""
        bad = self.lost or self.missing or self.wrong or self.changed
        return not bad and not (self.hides_aborted and self.repeats)

    def findings(self) -> list[tuple[bool, str]]:
        """What was looked for, whether it is as it should be, and what was found."""
        predicted = self.events - len(self.lost)
        return [
            (
                not self.lost,
                f"every event is predicted: {predicted:,} of {self.events:,}{_few(self.lost)}",
            ),
            self._about_differences(),
            self._about_repeats(),
        ]

    def _about_differences(self) -> tuple[bool, str]:
        made = f"{self.predictions:,} predictions and {self.rejects:,} rejects"
        if not self.missing and not self.wrong:
            return True, f"{made} are those of an undisturbed run, to the last bit"
        words = [
            f"{len(names):,} {what}{_few(names)}"
            for what, names in (("are missing", self.missing), ("are wrong", self.wrong))
            if names
        ]
        return False, f"an undisturbed run makes {made}; of these {'; '.join(words)}"

    def _about_repeats(self) -> tuple[bool, str]:
        if self.changed:
            return False, f"repeats differ from what they repeat{_few(self.changed)}"
        if not self.repeats:
            return True, "each of them is there once"
        again = f"{self.repeats:,} of them are there again, each the same to the byte"
        if self.hides_aborted:
            return False, f"{again}, for readers of what was committed"
        return True, (
            f"{again}: this mock of a broker does not hide what a killed process wrote and never "
            "committed, as Kafka does"
        )


def judged(
    found: Outputs, undisturbed: Outputs, ids: Sequence[str], *, hides_aborted: bool
) -> Verdict:
    """Compare the outputs of a run with those of an undisturbed one.

    Where records come from may differ, as one reads a topic and the other a file. All else has to
    be the same to the last bit, in predictions and in rejects.

    Parameters:
        found: what the run has written.
        undisturbed: what the other has written.
        ids: of all events.
        hides_aborted: whether the brokers hide what was not committed.
    """
    predicted = {one.id for one in found.predictions.values() if one.event is None}
    ours, theirs = _named(found.predictions.values()), _named(undisturbed.predictions.values())
    missing = [_called(name) for name in theirs.keys() - ours.keys()]
    wrong = [_called(name) for name, value in ours.items() if theirs.get(name) != value]
    # Predictions of one name would hide each other.
    wrong += ["predictions of one name"] * (len(found.predictions) - len(ours))
    refused, wanted = _said(found.rejects.values()), _said(undisturbed.rejects.values())
    return Verdict(
        events=len(ids),
        predictions=len(undisturbed.predictions),
        rejects=len(undisturbed.rejects),
        repeats=found.repeats,
        hides_aborted=hides_aborted,
        lost=[id for id in ids if id not in predicted],
        missing=sorted(missing) + _told(wanted - refused),
        wrong=sorted(wrong) + _told(refused - wanted),
        changed=[f"{cause.topic}, {cause.partition}, {cause.offset}" for cause, _ in found.changed],
    )


def _named(predictions: Iterable[Prediction]) -> Named:
    """Predictions by their names, without the places of their causes."""
    return {
        (one.key, one.id, one.event is not None): _encode(
            msgspec.structs.replace(one, cause=_NOWHERE, event=one.event and _NOWHERE)
        )
        for one in predictions
    }


def _called(name: tuple[str, str | None, bool]) -> str:
    key, id, by_label = name
    return f"{id} of {key}{', by its label' if by_label else ''}"


def _said(rejects: Iterable[Reject]) -> Counter[tuple[str, str, str | None, bytes | None]]:
    """What rejects say; a torn record has its key from the topic, and in a file it has none."""
    return Counter((one.reason.value, one.message, one.id, one.original) for one in rejects)


def _told(rejects: Counter[tuple[str, str, str | None, bytes | None]]) -> list[str]:
    return [f"a reject, {message}" for _reason, message, _id, _original in rejects.elements()]


def _few(names: Sequence[str]) -> str:
    """The first of what is wrong."""
    if not names:
        return ""
    more = f", and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f": {'; '.join(names[:_SHOWN])}{more}"
