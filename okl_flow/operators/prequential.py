"""Predict, then learn: one model per key, in as many state partitions as were chosen.

What enters are events, labels and wishes to forget a key; what leaves are predictions, rejects
and reports. The engine's key is not the event's key but its state partition. A partition keeps
the models of its keys in a store, or without a state directory in the engine's snapshot, and
goes on from the version of the store that the engine resumes at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
from bytewax.dataflow import Stream, operator
from bytewax.operators import StatefulBatchLogic

from okl_flow import snapshot
from okl_flow.events import Incoming, Label, Prediction, Reject, Report
from okl_flow.learner import Learner
from okl_flow.murmur import partition_of, partitions_of
from okl_flow.operators.admission import Rules
from okl_flow.operators.models import Models
from okl_flow.operators.partition import Output, Partition
from okl_flow.operators.record import RecordCodec
from okl_flow.operators.store import MemoryStore, StateDirectory, Store
from okl_flow.packing import packer_of
from okl_flow.waiting import Limits

__all__ = ["PrequentialOut", "prequential"]


@dataclass(frozen=True)
class PrequentialOut:
    """What `prequential` makes of events."""

    predictions: Stream[Prediction]
    """The score of every event; and again with its label, where that came later."""
    rejects: Stream[Reject]
    """What could not be used."""
    reports: Stream[Report]
    """Counts of each state partition."""


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
    if learner.state_bytes_max(dim or 1) is None and not allow_unbounded:
        raise ValueError(
            f"{step_id}: the memory of {learner.name} has no bound as it is configured, and "
            "streams have no end: give it a budget, or say allow_unbounded=True"
        )
    for name, value, least in (
        ("partitions", partitions, 1),
        ("keys_in_memory", keys_in_memory, 1),
        ("report_every", report_every, 1),
        ("labels_wait_count", labels_wait_count, 0),
    ):
        if value < least:
            raise ValueError(f"{step_id}: {name} must be at least {least}, not {value}")
    packer = packer_of(learner)
    rules = Rules(
        learner=learner,
        packer=packer,
        dim=dim,
        limits=Limits(labels_wait_count, _milliseconds(step_id, "labels_wait", labels_wait)),
        forget_after=_milliseconds(step_id, "forget_after", forget_after),
        warm_start=None if warm_start is None else _warm(learner, dim, Path(warm_start)),
    )

    @cache
    def folder() -> StateDirectory:
        assert state_dir is not None
        return StateDirectory.open(
            Path(state_dir), step=step_id, partitions=partitions, learners=[learner]
        )

    def opened(number: int, pointer: bytes | None, figures: bytes | None) -> Partition:
        store: Store
        if state_dir is None:
            store = MemoryStore(pointer, partitions, [learner])
        else:
            store = folder().store(number, pointer)
        models = Models(store, RecordCodec([learner]), max(1, keys_in_memory // partitions))
        return Partition(names[number], step_id, rules, models, report_every, figures)

    def keyed(items: list[Incoming]) -> list[tuple[str, Incoming]]:
        numbers = partitions_of([item.key for item in items], partitions).tolist()
        return [(names[number], item) for number, item in zip(numbers, items, strict=True)]

    def logic(resumed: bytes | None) -> _Logic:
        return _Logic(opened, partitions, resumed)

    names = [f"p{number:03}" for number in range(partitions)]
    every = events if labels is None else op.merge("merge", events, labels)
    outputs = op.stateful_batch("learn", op.flat_map_batch("key", every, keyed), logic)
    return PrequentialOut(
        op.flat_map_batch("predictions", outputs, _all_of("predictions")),
        op.flat_map_batch("rejects", outputs, _all_of("rejects")),
        op.flat_map_batch("reports", outputs, _all_of("reports")),
    )


class _Logic(StatefulBatchLogic[Incoming, Output, bytes]):
    """A state partition, as the engine drives it."""

    def __init__(
        self,
        opened: Callable[[int, bytes | None, bytes | None], Partition],
        partitions: int,
        resumed: bytes | None,
    ) -> None:
        self._opened = opened
        self._partitions = partitions
        self._number = -1
        self._partition: Partition | None = None
        if resumed is not None:
            self._number, pointer, figures = msgspec.msgpack.decode(resumed)
            self._partition = opened(self._number, pointer, figures)

    def on_batch(self, values: list[Incoming]) -> tuple[list[Output], bool]:
        """Let the partition process the items. The first ones tell which partition it is."""
        if self._partition is None:
            self._number = partition_of(values[0].key, self._partitions)
            self._partition = self._opened(self._number, None, None)
        return self._partition.process(values), StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """What to go on from."""
        assert self._partition is not None
        return msgspec.msgpack.encode((self._number, *self._partition.snapshot()))


def _all_of(field: str) -> Callable[[list[tuple[str, Output]]], list[Any]]:
    """From outputs of partitions, all records of one kind."""
    kind = attrgetter(field)

    def all_of(outputs: list[tuple[str, Output]]) -> list[Any]:
        return [record for _partition, output in outputs for record in kind(output)]

    return all_of


def _milliseconds(step_id: str, name: str, time: timedelta | None) -> int | None:
    if time is None:
        return None
    if time <= timedelta(0):
        raise ValueError(f"{step_id}: {name} must be above 0, not {time}")
    return round(time / timedelta(milliseconds=1))


def _warm(learner: Learner, dim: int | None, path: Path) -> bytes:
    """The state of a file, packed for the models that begin with it."""
    state = snapshot.restore(learner, path.read_bytes())
    if dim is not None and state.dim != dim:
        raise ValueError(
            f"{path} holds a state for {state.dim} features, and this flow has {dim} of them"
        )
    return packer_of(learner).pack(state)
