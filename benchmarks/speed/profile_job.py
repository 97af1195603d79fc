"""The main job with a clock in it: `python -m benchmarks.speed.profile_job JSON FIRST EVENTS`.

The first events fill the models and are not counted. It prints, as JSON, the microseconds of an
event and, unless it is told `unwatched`, the seconds of each stage.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

import bytewax.operators as op

from benchmarks.speed.kafka_job import Settings, okl_flow_job
from benchmarks.speed.stopwatch import Stopwatch
from okl_flow.events import Incoming
from okl_flow.kafka.sink import _AtLeastOnce
from okl_flow.kafka.source import _SlotPartition
from okl_flow.operators.admission import Admission
from okl_flow.operators.batch import _Batch
from okl_flow.operators.keyed import _Logic
from okl_flow.operators.models import Models
from okl_flow.operators.partition import Output, Partition
from okl_flow.pool import Pool

__all__ = ["STEPS", "UNWATCHED", "WATCHED"]

UNWATCHED = "unwatched"

WATCHED: tuple[tuple[str, type[Any], str], ...] = (
    ("read from Kafka", _SlotPartition, "next_batch"),
    ("find models", Models, "fetch"),
    ("admit", Admission, "admit"),
    ("score and learn", Pool, "step"),
    ("make predictions", _Batch, "learned"),
    ("store models", Models, "trim"),
    ("store models", _Logic, "snapshot"),
    ("store models", Partition, "settle"),
    ("the operator's other steps", _Logic, "on_batch"),
    ("write to Kafka", _AtLeastOnce, "write_batch"),
    ("write to Kafka", _AtLeastOnce, "snapshot"),
)
"""Stages by their methods."""

STEPS = {
    "batches": "decode",
    "key": "spread over partitions",
    "predictions": "the operator's other steps",
    "encode": "encode",
    "route": "write to Kafka",
}
"""Stages by the names of the steps that do them."""


class Window:
    """The part of the job that is measured: from its first event to its last."""

    def __init__(self, first: int, events: int, stopwatch: Stopwatch) -> None:
        self._first, self._last, self._stopwatch = first, events, stopwatch
        self._done = 0
        self._events = 0

    def pass_by(self, count: int) -> None:
        """So many events are about to be worked on."""
        if self._first <= self._done < self._last and not self._events:
            self._events = self._last - self._done
            self._stopwatch.start()
        self._done += count
        if self._done >= self._last:
            self._stopwatch.stop()

    @property
    def microseconds(self) -> float:
        """Of an event."""
        return 1e6 * sum(self._stopwatch.seconds.values()) / self._events


def watch(stopwatch: Stopwatch) -> None:
    """Have the stages of every job timed that is made from now on."""
    for stage, owner, method in WATCHED:
        setattr(owner, method, stopwatch.timed(stage, getattr(owner, method)))
    flat_map_batch = op.flat_map_batch

    def timed(step_id: str, up: Any, mapper: Any) -> Any:
        stage = STEPS.get(step_id)
        return flat_map_batch(step_id, up, stopwatch.timed(stage, mapper) if stage else mapper)

    op.flat_map_batch = timed


def main() -> None:
    """Do the job of the command line."""
    settings = Settings(**json.loads(sys.argv[1]))
    stopwatch = Stopwatch()
    if UNWATCHED not in sys.argv[4:]:
        watch(stopwatch)
    window = Window(int(sys.argv[2]), int(sys.argv[3]), stopwatch)
    process = Partition.process

    def counted(partition: Partition, items: Sequence[Incoming]) -> list[Output]:
        window.pass_by(len(items))
        return process(partition, items)

    Partition.process = counted  # type: ignore[method-assign]  # there is no other place to look
    okl_flow_job(settings, 0)
    print(json.dumps({"microseconds": window.microseconds, "seconds": stopwatch.seconds}))


if __name__ == "__main__":
    main()
