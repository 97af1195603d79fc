"""The main job, looked at as it runs: `python -m benchmarks.speed.profile_job JSON FIRST EVENTS`.

The first events fill the models and are not counted. It prints, as JSON, the seconds of the others
and, unless it is told `unwatched`, how often each stage was seen.
"""

import json
import sys
import time
from collections.abc import Sequence

from benchmarks.speed.kafka_job import Settings, okl_flow_job
from benchmarks.speed.sampling import Rule, Sampler
from okl_flow.events import Incoming
from okl_flow.operators.partition import Output, Partition

__all__ = ["RULES", "UNWATCHED"]

UNWATCHED = "unwatched"

RULES = (
    Rule("read from Kafka", "okl_flow/kafka/source.py"),
    Rule("read from Kafka", "okl_flow/kafka/reader.py"),
    Rule("encode", "okl_flow/wire/outgoing.py"),
    Rule("encode", "okl_flow/wire/writing.py"),
    Rule("encode", "okl_flow/operators/encode.py"),
    Rule("decode", "okl_flow/wire/"),
    Rule("decode", "okl_flow/operators/decode.py"),
    Rule("spread over partitions", "okl_flow/operators/keyed.py", "by_partition"),
    Rule("admit", "okl_flow/operators/admission.py"),
    Rule("admit", "okl_flow/operators/work.py"),
    Rule("store models", "okl_flow/pool.py", "pack_all"),
    Rule("store models", "okl_flow/operators/record.py"),
    Rule("store models", "okl_flow/operators/disk.py"),
    Rule("store models", "okl_flow/operators/models.py", "commit"),
    Rule("store models", "okl_flow/operators/models.py", "trim"),
    Rule("score and learn", "okl_flow/keeping.py"),
    Rule("score and learn", "okl_flow/pool.py"),
    Rule("make predictions", "okl_flow/operators/batch.py"),
    Rule("make predictions", "okl_flow/outcome.py"),
    Rule("the operator's other steps", "okl_flow/operators/"),
    Rule("write to Kafka", "okl_flow/kafka/sink.py"),
    Rule("write to Kafka", "okl_flow/kafka/producer.py"),
)
"""By which frames a stage is known, the innermost frame first."""


class Window:
    """The part of the job that is measured: from its first event to its last."""

    def __init__(self, first: int, events: int, sampler: Sampler | None) -> None:
        self._first, self._last, self._sampler = first, events, sampler
        self._done = 0
        self._begun: float | None = None
        self.seconds = 0.0

    def pass_by(self, count: int) -> None:
        """So many events are about to be worked on."""
        if self._begun is None and self._done >= self._first:
            self._begun = time.perf_counter()
            self._events = self._last - self._done
            if self._sampler is not None:
                self._sampler.start()
        self._done += count
        if self._done >= self._last and self._begun is not None and not self.seconds:
            self.seconds = time.perf_counter() - self._begun
            if self._sampler is not None:
                self._sampler.stop()

    @property
    def microseconds(self) -> float:
        """Of an event."""
        return 1e6 * self.seconds / self._events


def main() -> None:
    """Do the job of the command line."""
    settings = Settings(**json.loads(sys.argv[1]))
    sampler = None if UNWATCHED in sys.argv[4:] else Sampler(RULES)
    window = Window(int(sys.argv[2]), int(sys.argv[3]), sampler)
    process = Partition.process

    def counted(partition: Partition, items: Sequence[Incoming]) -> list[Output]:
        window.pass_by(len(items))
        return process(partition, items)

    Partition.process = counted  # type: ignore[method-assign]  # there is no other place to look
    okl_flow_job(settings, 0)
    seen = {} if sampler is None else dict(sampler.seen)
    print(json.dumps({"microseconds": window.microseconds, "seen": seen}))


if __name__ == "__main__":
    main()
