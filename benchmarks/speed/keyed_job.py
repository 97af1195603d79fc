"""A keyed job in a process of its own: `python -m benchmarks.speed.keyed_job JSON NUMBER`.

It prints, as JSON: seconds, processor time and seconds in snapshots of the measured part, up to
the last output or snapshot; seconds from the start of the flow to the first event, seconds from the
launch of the process to the first output, and the most memory that the process has held.
"""

import json
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

__all__ = ["BATCH", "Settings"]

BATCH = 4000  # as the source of Kafka topics reads
EPOCH = timedelta(seconds=1)


@dataclass(frozen=True)
class Settings:
    """What one job is to do."""

    kind: str  # "learner" alone, "pass" for the engine alone, "prequential", "naive"
    keys: int
    events: int  # of the measured part, over keys drawn at random
    learner: dict[str, Any]
    dim: int = 8
    batch: int = BATCH
    partitions: int = 64
    keys_in_memory: int = 2_000_000
    folder: str | None = None  # of recovery and state; without one there is neither
    first: int = 0  # events before the measured part, which go through the keys in turn
    addresses: list[str] = field(default_factory=list)  # of the processes
    launched: float = 0.0  # by the clock of `time.perf_counter`, which processes share on Linux


@dataclass
class Measured:
    """What was measured, as it comes in."""

    started: float = 0.0
    first_event: float | None = None
    first_output: float | None = None
    begun: float | None = None  # of the measured part
    processor: float = 0.0  # time of all threads before it
    ended: float = 0.0  # when all was written that there is: closing the stores takes no part
    processor_ended: float = 0.0
    in_snapshots: float = 0.0

    def end(self) -> None:
        """Take note of the time, as this may have been the last thing to do."""
        self.ended, self.processor_ended = time.perf_counter(), time.process_time()


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
            self._measured.processor = time.process_time()
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
    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def write_batch(self, items: list[Any]) -> None:
        if self._measured.first_output is None:
            self._measured.first_output = time.perf_counter()
        self._measured.end()


class _Drop(DynamicSink[Any]):
    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Dropped:
        return _Dropped(self._measured)


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
        measured.end()
        measured.in_snapshots += measured.ended - begin
        return found

    return timed


def megabytes_at_most() -> float:
    """The most memory that this process has held. What getrusage says begins with its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(kilobytes) / 1024


def run(settings: Settings, number: int) -> dict[str, Any]:
    """Do the job, as process number so and so; what was measured."""
    measured = Measured()
    learner = make_learner(**settings.learner)
    flow = Dataflow("bench")
    events = op.input("read", flow, _Source(settings, measured))
    out: Stream[Any] = events
    # The engine takes snapshots and, when it packs them, waits for their disk: that can be timed
    # only from outside, by other methods in place of these, which is what the checker would forbid.
    Partition.snapshot = _timed(measured, Partition.snapshot)  # type: ignore[method-assign]
    Partition.settle = _timed(measured, Partition.settle)  # type: ignore[method-assign]
    _Naive.snapshot = _timed(measured, _Naive.snapshot)  # type: ignore[method-assign]
    if settings.kind == "naive":
        out = _naive(events, learner, settings.dim)
    elif settings.kind == "prequential":
        state_dir = None if settings.folder is None else Path(settings.folder) / "state"
        out = prequential(
            "learn",
            events,
            learner,
            partitions=settings.partitions,
            state_dir=state_dir,
            keys_in_memory=settings.keys_in_memory,
        ).predictions
    op.output("drop", out, _Drop(measured))
    recovery = None
    if settings.folder is not None:
        recovery = RecoveryConfig(str(Path(settings.folder) / "recovery"), timedelta(0))
    measured.started = time.perf_counter()
    cluster_main(flow, settings.addresses, number, epoch_interval=EPOCH, recovery_config=recovery)
    assert measured.first_event is not None and measured.first_output is not None
    begun = measured.ended if measured.begun is None else measured.begun
    return {
        "seconds": measured.ended - begun,
        "processor": measured.processor_ended - measured.processor,
        "in_snapshots": measured.in_snapshots,
        "to_first_event": measured.first_event - measured.started,
        "to_first_output": measured.first_output - settings.launched,
        "megabytes": megabytes_at_most(),
    }


def main() -> None:
    """Do the job of the command line."""
    settings = Settings(**json.loads(sys.argv[1]))
    print(json.dumps(run(settings, int(sys.argv[2]))))


if __name__ == "__main__":
    main()
