"""Compare: a champion and challengers on the same events, per key, and who is found to be better.

What enters are events, labels and wishes to forget a key; what leaves are the predictions of each
key's champion, rejects, reports of all learners and alarms. Kept for a key is a state of each
learner, its champion, and what the challengers have won and lost (`okl_flow.contest`). All of it
depends on the order of one key's events alone, so a resumed run decides as the first one did.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bytewax.dataflow import Stream, operator

from okl_flow.contest import Terms
from okl_flow.events import Alarm, Incoming, Label, Prediction, Reject, Report
from okl_flow.learner import Learner
from okl_flow.operators.keyed import Settings, keyed, picked

__all__ = ["CompareOut", "compare"]

_LEARNERS_MIN = 2


@dataclass(frozen=True)
class CompareOut:
    """What `compare` makes of events."""

    predictions: Stream[Prediction]
    """The score of every event by its key's champion; and again with its label, if that is late."""
    rejects: Stream[Reject]
    """What could not be used."""
    reports: Stream[Report]
    """Counts of each state partition, with what every learner got wrong."""
    alarms: Stream[Alarm]
    """Challengers that were found to be better, "promotion" or "challenger_ahead"."""


@operator
def compare(
    step_id: str,
    events: Stream[Incoming],
    learners: Mapping[str, Learner],
    champion: str,
    *,
    promote: str = "manual",
    confidence: float = 0.95,
    dim: int | None = None,
    labels: Stream[Label] | None = None,
    labels_wait: timedelta | None = timedelta(days=1),
    labels_wait_count: int = 100,
    partitions: int = 64,
    state_dir: Path | str | None = None,
    keys_in_memory: int = 100_000,
    forget_after: timedelta | None = None,
    warm_start: Mapping[str, Path | str] | None = None,
    report_every: int = 10_000,
    allow_unbounded: bool = False,
) -> CompareOut:
    """Score each event by every learner, report the champion's score, then let all learn.

    Every key has a champion of its own and tests the challengers on its own events. A challenger
    is found to be better when that could be chance with a probability of 1 - `confidence` at
    most, over all challengers and all moments at which one looks. It is about mistakes, in
    regression about which of two is nearer to the label.

    A challenger that fails has made a mistake, and the champion's prediction goes out all the
    same. If the champion fails the event is a reject. Other settings are those of `prequential`.

    Parameters:
        events: what `decode` makes.
        learners: all that are compared, by the names that predictions and reports give them. They
            have one task, and cannot be changed later. River models come in `adapters.FromRiver`.
        champion: which of them predicts. A job that is started again with another champion has
            that one for all keys, and the contests begin anew.
        promote: with "significant", a challenger that is found to be better is the key's
            champion from its next event on, and the contest begins anew. With "manual" an alarm
            tells it once, and nothing changes.
        confidence: above 0 and below 1.
        warm_start: files of `snapshot.dumps` by the names of learners, with the states that
            every new key begins with.

    """
    settings = Settings(
        step_id=step_id,
        learners=dict(sorted(learners.items())),
        dim=dim,
        labels_wait=labels_wait,
        labels_wait_count=labels_wait_count,
        partitions=partitions,
        state_dir=state_dir,
        keys_in_memory=keys_in_memory,
        forget_after=forget_after,
        warm_start=warm_start or {},
        report_every=report_every,
        allow_unbounded=allow_unbounded,
        terms=_terms(step_id, learners, champion, promote, confidence),
    )
    outputs = keyed(settings, events, labels)
    return CompareOut(
        picked("predictions", outputs),
        picked("rejects", outputs),
        picked("reports", outputs),
        picked("alarms", outputs),
    )


def _terms(
    step_id: str, learners: Mapping[str, Learner], champion: str, promote: str, confidence: float
) -> Terms:
    """What contests are about, or a ValueError that says what is wrong."""
    if len(learners) < _LEARNERS_MIN:
        raise ValueError(
            f"{step_id}: learners must be a champion and at least one challenger; there are only "
            f"{sorted(learners)}"
        )
    if champion not in learners:
        raise ValueError(
            f"{step_id}: champion must be one of the learners {sorted(learners)}, not {champion!r}"
        )
    if promote not in ("manual", "significant"):
        raise ValueError(f'{step_id}: promote must be "manual" or "significant", not {promote!r}')
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"{step_id}: confidence must be above 0 and below 1, not {confidence}")
    for name, learner in learners.items():
        if learner.task != learners[champion].task:
            raise ValueError(
                f"{step_id}: all learners must have one task; that of {champion} is "
                f"{learners[champion].task}, and that of {name} {learner.task}"
            )
    return Terms(
        len(learners), sorted(learners).index(champion), promote == "significant", confidence
    )
