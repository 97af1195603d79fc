"""Predict, then learn: one model per key, in as many state partitions as were chosen.

What enters are events, labels and wishes to forget a key; what leaves are predictions, rejects
and reports. How keys are spread over partitions, and what is kept for them, is the affair of
`okl_flow.operators.keyed`.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bytewax.dataflow import Stream, operator

from okl_flow.events import Incoming, Label, Prediction, Reject, Report
from okl_flow.learner import Learner
from okl_flow.operators.keyed import Settings, keyed, picked

__all__ = ["PrequentialOut", "prequential"]


@dataclass(frozen=True)
class PrequentialOut:
    """What `prequential` makes of events."""

    predictions: Stream[Prediction]
    """The score of every event; and again with its label, where that came later."""
    rejects: Stream[Reject]
    """What could not be used."""
    reports: Stream[Report]
    """Counts of each state partition; and what the model of the latest key there has chosen, of
    a learner that finds its bandwidth, learning rate or forgetting by itself."""


@operator
def prequential(
    step_id: str,
    events: Stream[Incoming],
    learner: Learner,
    *,
    dim: int | None = None,
    labels: Stream[Label] | None = None,
    labels_wait: timedelta | None = timedelta(days=1),
    labels_wait_count: int = 100,
    partitions: int = 64,
    state_dir: Path | str | None = None,
    keys_in_memory: int = 100_000,
    forget_after: timedelta | None = None,
    warm_start: Path | str | None = None,
    report_every: int = 10_000,
    allow_unbounded: bool = False,
) -> PrequentialOut:
    """Score each event by the model of its key, then learn from its label.

    Every key has a model of its own, made when its first event comes. An event without a label
    is scored, and waits under its id for a `Label` with the same key and id, in the same stream
    or in `labels`; what is then reported, a second time and with the label, is the score that
    it got when it came.

    Parameters:
        events: what `decode` makes.
        learner: a learner of `make_learner`. One whose memory has no bound needs
            `allow_unbounded`.
        dim: features of every event; None lets the first event of each key say it.
        labels: labels from elsewhere. Their order among the events is not fixed, so that a
            second run of the same job may learn them at other moments.
        labels_wait: event time that an event waits for its label, or a label for its event;
            None for ever.
        labels_wait_count: how many events of one key may wait, and labels as well; what is
            over is refused. 0 if none come later.
        partitions: state partitions that the keys are spread over by Kafka's murmur2. At least
            the number of processes that the job will ever have; it cannot be changed later.
        state_dir: where the models are kept. Every process of the job has to reach it. Without
            one the engine keeps them all in its own snapshots: for some thousand keys.
        keys_in_memory: models held in memory, in all partitions together; the others are read
            from the state directory when their key has an event.
        forget_after: event time without an event after which a key's model is deleted, and
            the key begins anew.
        warm_start: a file of `snapshot.dumps`, with the state that every new key begins with.
        report_every: items after which a partition reports its counts.
        allow_unbounded: let a learner through whose memory grows for ever.

    """
    settings = Settings(
        step_id=step_id,
        learners={learner.name: learner},
        dim=dim,
        labels_wait=labels_wait,
        labels_wait_count=labels_wait_count,
        partitions=partitions,
        state_dir=state_dir,
        keys_in_memory=keys_in_memory,
        forget_after=forget_after,
        warm_start={} if warm_start is None else {learner.name: warm_start},
        report_every=report_every,
        allow_unbounded=allow_unbounded,
    )
    outputs = keyed(settings, events, labels)
    return PrequentialOut(
        picked("predictions", outputs), picked("rejects", outputs), picked("reports", outputs)
    )
