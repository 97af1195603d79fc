"""One job of `benchmarks.engine`, in a process of its own: `python -m benchmarks.keyed_job JSON N`.

It prints, as JSON: seconds, events and seconds in snapshots of the measured part, seconds from
the start of the flow to the first event, and the most memory that the process has held.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig
from bytewax.testing import cluster_main

from okl_flow import Learner, make_learner, snapshot
from okl_flow.events import Cause, Event, Prediction
from okl_flow.operators import prequential
from okl_flow.operators.partition import Partition

__all__ = ["Settings"]

EPOCH = timedelta(seconds=1)


@dataclass(frozen=True)
class Settings:
    """What one job is to do."""

    kind: str  # "learner" alone, "pass" for the engine alone, "prequential", "naive"
    keys: int
    events: int  # of the measured part, over keys drawn at random
    learner: dict[str, Any]
    dim: int = 8
    batch: int = 1000
    keys_in_memory: int = 2_000_000
    folder: str | None = None  # of recovery and state; without one there is neither
    first: int = 0  # events before the measured part, which go through the keys in turn
    addresses: list[str] = field(default_factory=list)  # of the processes


@dataclass
class Measured:
    """What was measured, as it comes in."""

    started: float = 0.0
    first_event: float | None = None
    begun: float | None = None  # of the measured part
    ended: float = 0.0
    in_snapshots: float = 0.0


def events_from(settings: Settings, part: int, at: int) -> list[Event]:
    """A batch of events: which ones depends on the place alone."""
    drawn = np.random.default_rng([part, at])
    X = drawn.normal(size=(settings.batch, settings.dim))
    labels = np.sign(X[:, 0] + 0.3 * X[:, 1]).tolist()
    if at < settings.first:
        numbers = (np.arange(at, at + settings.batch) % settings.keys).tolist()
    else:
        numbers = drawn.integers(0, settings.keys, settings.batch).tolist()
    return [
        Event(f"user-{number}", x, Cause("bench", part, at + place), None, None, label)
        for place, (number, x, label) in enumerate(zip(numbers, X, labels, strict=True))
    ]


class _Part(StatefulSourcePartition[Event, int]):
    def __init__(self, settings: Settings, measured: Measured, part: int, at: int) -> None:
        self._settings, self._measured = settings, measured
        self._part, self._at = part, at

    def next_batch(self) -> list[Event]:
        now = time.perf_counter()
        if self._measured.first_event is None:
            self._measured.first_event = now
        if self._measured.begun is None and self._at >= self._settings.first:
            self._measured.begun, self._measured.in_snapshots = now, 0.0
        if self._at >= self._settings.first + self._settings.events:
            raise StopIteration
        batch = events_from(self._settings, self._part, self._at)
        self._at += self._settings.batch
        return batch

    def snapshot(self) -> int:
        return self._at


class _Source(FixedPartitionedSource[Event, int]):
    def __init__(self, settings: Settings, measured: Measured) -> None:
        self._settings, self._measured = settings, measured

    def list_parts(self) -> list[str]:
        return [str(part) for part in range(max(1, len(self._settings.addresses)))]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> _Part:
        return _Part(self._settings, self._measured, int(for_part), resume_state or 0)


class _Dropped(StatelessSinkPartition[Any]):
    def write_batch(self, items: list[Any]) -> None:
        pass


class _Drop(DynamicSink[Any]):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Dropped:
        return _Dropped()


class _Naive(StatefulBatchLogic[Event, Prediction, bytes]):
    """A model per engine key, as the engine's own documentation would have it."""

    def __init__(self, learner: Learner, dim: int, resumed: bytes | None) -> None:
        self._learner = learner
        self._state = snapshot.loads(resumed)[1] if resumed else learner.init(dim)

    def on_batch(self, values: list[Event]) -> tuple[list[Prediction], bool]:
        X = np.array([event.features for event in values])
        y = np.array([event.label for event in values])
        scores = self._learner.step(self._state, X, y).tolist()
        return [
            Prediction(
                event.key, score, 1.0 if score > 0.0 else -1.0, 0, self._learner.name, event.cause
            )
            for event, score in zip(values, scores, strict=True)
        ], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        return snapshot.dumps(self._learner, self._state)


def _naive(events: Stream[Event], learner: Learner, dim: int) -> Stream[Any]:
    keyed = op.key_on("key", events, lambda event: event.key)
    return op.stateful_batch("learn", keyed, lambda resumed: _Naive(learner, dim, resumed))


def _timed(measured: Measured, real: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any) -> Any:
        begin = time.perf_counter()
        found = real(*args)
        measured.in_snapshots += time.perf_counter() - begin
        return found

    return timed


def run(settings: Settings, number: int) -> dict[str, Any]:
    """Do the job, as process number so and so; what was measured."""
    measured = Measured()
    learner = make_learner(**settings.learner)
    flow = Dataflow("bench")
    events = op.input("read", flow, _Source(settings, measured))
    out: Stream[Any] = events
    # Snapshots are called by the engine: they can be timed only from outside.
    Partition.snapshot = _timed(measured, Partition.snapshot)  # type: ignore[method-assign]
    _Naive.snapshot = _timed(measured, _Naive.snapshot)  # type: ignore[method-assign]
    if settings.kind == "naive":
        out = _naive(events, learner, settings.dim)
    elif settings.kind == "prequential":
        state_dir = None if settings.folder is None else Path(settings.folder) / "state"
        out = prequential(
            "learn",
            events,
            learner,
            state_dir=state_dir,
            keys_in_memory=settings.keys_in_memory,
        ).predictions
    op.output("drop", out, _Drop())
    recovery = None
    if settings.folder is not None:
        recovery = RecoveryConfig(str(Path(settings.folder) / "recovery"), timedelta(0))
    measured.started = time.perf_counter()
    cluster_main(flow, settings.addresses, number, epoch_interval=EPOCH, recovery_config=recovery)
    measured.ended = time.perf_counter()
    assert measured.first_event is not None
    begun = measured.ended if measured.begun is None else measured.begun
    return {
        "seconds": measured.ended - begun,
        "in_snapshots": measured.in_snapshots,
        "to_first_event": measured.first_event - measured.started,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Do the job of the command line."""
    settings = Settings(**json.loads(sys.argv[1]))
    print(json.dumps(run(settings, int(sys.argv[2]))))


if __name__ == "__main__":
    main()
