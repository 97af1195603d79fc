"""Raw records from topics.

What is kept: of every partition the offset to go on from. A partition belongs to one of a fixed
number of slots, which the engine shares out among its workers, so a topic may grow while it is
read, and the job may be resumed with any number of processes.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition

from okl_flow import draining
from okl_flow.kafka.connection import OF_CONSUMERS, Config, Connection, whole
from okl_flow.kafka.reader import Reader, Readers, Reading, Slot
from okl_flow.placing import TURNS
from okl_flow.wire import Raw

__all__ = ["input"]

_BUSY = timedelta(milliseconds=2)
_EMPTY = timedelta(milliseconds=500)
_ALL_EMPTY = timedelta(milliseconds=50)  # an epoch ends when every worker has looked at the clock

State = tuple[tuple[str, ...], tuple[tuple[str, int, int], ...]]
"""The topics read so far, and where each partition goes on."""


def input(
    step_id: str,
    flow: Dataflow,
    topics: str | Sequence[str],
    *,
    brokers: str | Sequence[str],
    group: str | None = None,
    start: Literal["earliest", "latest"] = "earliest",
    on_lost_offsets: Literal["fail", "earliest", "latest"] = "fail",
    batch_size: int = 4000,
    tail: bool = True,
    config: Config | None = None,
) -> Stream[Raw]:
    """The records of topics as raw records, in the order of each partition.

    On resume every partition goes on where the engine's recovery store says. A partition that a
    topic gets while the flow runs, or while it does not, is found and read from its beginning.
    Values and keys may be null; headers are not read.

    An error, with what to do, ends the flow if no broker answers at the start for 15 s, or later
    for 120 s, if a topic is missing at the start, if it is deleted (told within 15 s), or if
    `on_lost_offsets` says so.

    Parameters:
        step_id: name of the step.
        flow: the dataflow.
        topics: one topic or several.
        brokers: "host:port", or several of them.
        group: the consumer group that is told how far the flow is, for tools that show the lag;
            by default the names of the flow and the step with a dot between. Nothing is read
            from it.
        start: where the first run begins in the partitions there are: at the beginning or at
            the end. Later runs resume.
        on_lost_offsets: what to do when the offset to go on from is no longer there: end with
            an error, or go on from the earliest or the latest there is, with a warning.
        batch_size: records handed over at once; no result depends on it.
        tail: wait for more at the end; otherwise end where the partitions ended at the start.
        config: more settings of librdkafka, such as those of security. They are never shown.
    """
    listed = (topics,) if isinstance(topics, str) else tuple(topics)
    if not listed or not all(listed) or len(set(listed)) < len(listed):
        raise ValueError(f"topics must be one or more different names, not {topics!r:.80}")
    for name, value, allowed in (
        ("start", start, ("earliest", "latest")),
        ("on_lost_offsets", on_lost_offsets, ("fail", "earliest", "latest")),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    reading = Reading(
        Connection(brokers, config, OF_CONSUMERS),
        listed,
        group or f"{flow.flow_id}.{step_id}",
        start,
        on_lost_offsets,
        whole("batch_size", batch_size, 1),
        tail,
    )
    return op.input(step_id, flow, _TopicsSource(reading))


class _TopicsSource(FixedPartitionedSource[Raw, State]):
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._readers = Readers(reading)

    def list_parts(self) -> list[str]:
        """The slots."""
        return [f"{number:02d}" for number in range(TURNS)]

    def build_part(
        self, step_id: str, for_part: str, resume_state: State | None
    ) -> "_SlotPartition":
        """The partitions of a slot, read by the consumer of this worker."""
        reader = self._readers.of_this_worker()
        return _SlotPartition(reader, int(for_part), self._reading.topics, resume_state)


class _SlotPartition(StatefulSourcePartition[Raw, State]):
    def __init__(
        self, reader: Reader, number: int, topics: tuple[str, ...], state: State | None
    ) -> None:
        self._reader = reader
        self._number = number
        self._topics = topics
        self._slot = Slot()
        known, parts = state or ((), ())
        positions = {(topic, part): offset for topic, part, offset in parts}
        reader.add(number, self._slot, known, positions)
        self._tail = reader.tail
        self._busy = False

    def next_batch(self) -> list[Raw]:
        """Records that have come."""
        if draining.requested():
            raise StopIteration
        slot = self._slot
        if not slot.ready:
            self._reader.poll()
        if not slot.ready and not self._tail and not slot.open:
            raise StopIteration
        taken = slot.take()
        self._busy = bool(taken)
        self._reader.handed_over(len(taken))
        return taken

    def next_awake(self) -> datetime | None:
        """At once if there may be more."""
        if self._busy:
            return None
        if self._slot.parts:
            return datetime.now(UTC) + _BUSY
        return datetime.now(UTC) + (_EMPTY if self._reader.has_parts else _ALL_EMPTY)

    def snapshot(self) -> State:
        """Where each partition goes on."""
        self._reader.snapshotted(self._slot)
        parts = self._slot.parts.items()
        return self._topics, tuple((topic, number, at) for (topic, number), at in parts)

    def close(self) -> None:
        """Let the partitions go."""
        self._reader.drop(self._number)
