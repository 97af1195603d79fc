"""Encoded records to a topic, at least once or exactly once.

A record goes through one of a fixed number of parts, by its key, so that the records of a key
keep their order whatever number of processes there is; where `okl_flow.placing` has its way, its
part is with the process that made it. What is kept of a part, where outputs are
to appear exactly once: of each source partition the last offset whose outputs it has written.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Literal

import bytewax.operators as op
from bytewax.dataflow import Stream, operator
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition

from okl_flow.crossing import Crossing
from okl_flow.kafka.connection import Config, Connection, whole
from okl_flow.kafka.opening import Opening
from okl_flow.kafka.producer import PlainProducer, TransactionalProducer
from okl_flow.kafka.replayed import Committed, Replayed
from okl_flow.murmur import partitions_of_bytes
from okl_flow.wire import Encoded
from okl_flow.wire.raw import Part

__all__ = ["output"]

_RESERVED = (
    "transactional.id",
    "enable.idempotence",
    "delivery.report.only.error",
    "partitioner",
    "acks",
    "group.id",
)
_AT_LEAST_ONCE = "at_least_once"
_EXACTLY_ONCE = "exactly_once"

State = tuple[int, tuple[tuple[str, int, int], ...]]
"""The number of parts, and of each source partition the last offset that was written."""

Routed = tuple[str, list[Encoded]]
"""A part of the sink, and records for it."""

Opened = tuple[TransactionalProducer, dict[Part, Committed]]
"""The producer of a part, and of each source partition up to where outputs have appeared."""


def output(
    step_id: str,
    up: Stream[Encoded],
    topic: str,
    *,
    brokers: str | Sequence[str],
    delivery: Literal["at_least_once", "exactly_once"] = "at_least_once",
    partitions: int = 4,
    config: Config | None = None,
) -> None:
    """Write each record to a topic, where its key says, as producers on the JVM place it.

    "at_least_once": records leave at once, and an epoch closes when all of them are delivered.
    After a crash those of the last epochs come again, with the same bytes. "exactly_once": the
    records of an epoch appear when it closes, to readers with `read_committed`, and never again.
    That needs records that leave in the epoch of their cause, as predictions and rejects do, and
    an order that a replay repeats: see docs/kafka.md. A record without a cause comes at least
    once.

    An error ends the flow before the epoch closes if a record is not delivered in 120 s, if the
    topic is missing at the start, or if another process writes under the same names.

    Parameters:
        step_id: name of the step.
        up: records as bytes.
        topic: where to.
        brokers: "host:port", or several of them.
        delivery: "at_least_once" or "exactly_once".
        partitions: parts of the sink, each with a producer of its own if `delivery` is
            "exactly_once". No more processes than that share the writing. Fixed when a job is
            first started.
        config: more settings of librdkafka, such as those of security or "compression.type".
            They are never shown.
    """
    if delivery not in (_AT_LEAST_ONCE, _EXACTLY_ONCE):
        raise ValueError(
            f'delivery must be "{_AT_LEAST_ONCE}" or "{_EXACTLY_ONCE}", not {delivery!r}'
        )
    if not isinstance(topic, str) or not topic:
        raise ValueError(f"topic must be the name of one, not {topic!r}")
    connection = Connection(brokers, config, _RESERVED)
    count = whole("partitions", partitions, 1)
    _output(step_id, up, _TopicSink(connection, topic, delivery, count))


def _router(count: int) -> Callable[[list[Encoded]], list[Routed]]:
    def route(batch: list[Encoded]) -> list[Routed]:
        numbers = partitions_of_bytes([record.key or b"" for record in batch], count).tolist()
        parts: dict[int, list[Encoded]] = {}
        for number, record in zip(numbers, batch, strict=True):
            part = number if record.key is not None else _part_without_key(record, count)
            parts.setdefault(part, []).append(record)
        return [(_name(part), Crossing(records)) for part, records in parts.items()]

    return route


def _part_without_key(record: Encoded, count: int) -> int:
    return record.cause.partition % count if record.cause is not None else 0


def _name(part: int) -> str:
    """The engine counts parts in the order of their names."""
    return f"{part:04d}"


class _Beginning(DynamicSource[Routed]):
    """Nothing for each part, once."""

    def __init__(self, count: int) -> None:
        self._count = count

    def build(
        self, step_id: str, worker_index: int, worker_count: int
    ) -> StatelessSourcePartition[Routed]:
        """One worker's is enough for all."""
        return _Nothing(self._count if worker_index == 0 else 0)


class _Nothing(StatelessSourcePartition[Routed]):
    def __init__(self, count: int) -> None:
        self._left: list[list[Routed]] = [[(_name(part), []) for part in range(count)]]

    def next_batch(self) -> list[Routed]:
        """Nothing, then the end."""
        if not self._left:
            raise StopIteration
        return self._left.pop()


class _TopicSink(FixedPartitionedSink[list[Encoded], State]):
    def __init__(self, connection: Connection, topic: str, delivery: str, count: int) -> None:
        self._connection = connection
        self._topic = topic
        self._delivery = delivery
        self.count = count
        self._plain: PlainProducer | None = None
        self._beside: dict[int, list[_ExactlyOnce]] = defaultdict(list)  # by the worker's thread

    def __repr__(self) -> str:
        return f"_TopicSink({self._topic!r}, {self._delivery!r}, {self._connection!r})"

    def list_parts(self) -> list[str]:
        """As many as there are to be."""
        return [_name(part) for part in range(self.count)]

    def part_fn(self, item_key: str) -> int:
        """The part that the router has chosen."""
        return int(item_key)

    def build_part(
        self, step_id: str, for_part: str, resume_state: State | None
    ) -> StatefulSinkPartition[list[Encoded], State]:
        """A part that goes on after what it has written."""
        count, ends = resume_state or (self.count, ())
        if count != self.count:
            raise ValueError(
                f"{step_id}: partitions was {count} before, and is {self.count} now; it is fixed "
                "when a job is first started"
            )
        if self._delivery == _AT_LEAST_ONCE:
            if self._plain is None:
                self._plain = PlainProducer(self._connection, self._topic)
            return _AtLeastOnce(self._plain, self.count)
        flow_and_step = step_id.removesuffix(".write").replace(".", "-")
        name = f"{flow_and_step}-{int(for_part)}"

        def opened() -> Opened:
            producer = TransactionalProducer(self._connection, self._topic, name)
            return producer, producer.committed()

        # Most of it is waiting for brokers, so that the parts are opened beside each other.
        known = {(one, at): end for one, at, end in ends}
        beside = self._beside[threading.get_ident()]
        return _ExactlyOnce(Opening(opened), self.count, known, beside)


class _AtLeastOnce(StatefulSinkPartition[list[Encoded], State]):
    def __init__(self, producer: PlainProducer, count: int) -> None:
        self._producer = producer
        self._count = count

    def write_batch(self, values: list[list[Encoded]]) -> None:
        """Let records leave."""
        for records in values:
            self._producer.send(records)

    def snapshot(self) -> State:
        """Nothing but the certainty that everything is delivered."""
        self._producer.flush()
        return self._count, ()


class _ExactlyOnce(StatefulSinkPartition[list[Encoded], State]):
    """Writes in transactions, and leaves out what a replay brings again."""

    def __init__(
        self,
        opening: Opening[Opened],
        count: int,
        ends: dict[Part, int],
        beside: "list[_ExactlyOnce]",
    ) -> None:
        """`ends` are those that the engine goes on after; `beside` are all parts of the worker."""
        self._opening = opening
        self._count = count
        self._ends = ends
        self._beside = beside
        self._is_written = False  # in the epoch at hand
        self._committing: Opening[None] | None = None
        beside.append(self)

    @cached_property
    def _producer(self) -> TransactionalProducer:
        return self._opening.result()[0]

    @cached_property
    def _replayed(self) -> Replayed:
        _producer, committed = self._opening.result()
        return Replayed(self._ends, committed)

    def write_batch(self, values: list[list[Encoded]]) -> None:
        """Add records to the transaction of the epoch."""
        self._is_written = True
        for records in values:
            if not records:
                continue
            fresh = self._replayed.fresh(records) if self._replayed else records
            if fresh:
                self._producer.send(fresh)
            self._note(records)

    def _note(self, records: list[Encoded]) -> None:
        """Note how far the causes go."""
        ends: dict[Any, int] = self._ends
        for record in records:
            for cause in (record.cause, record.event):
                if cause is None:
                    continue
                part = (cause.topic, cause.partition)
                if cause.offset > ends.get(part, -1):
                    ends[part] = cause.offset

    def snapshot(self) -> State:
        """Let the outputs appear, before the engine takes note of the epoch.

        A worker has written all outputs of an epoch before it asks the first of its parts for
        this. Most of a commit is waiting for brokers, so that they commit beside each other.
        """
        for part in self._beside:
            part._begin_commit()
        if self._committing is not None:
            self._committing.result()
            self._committing = None
        return self._count, tuple((topic, at, end) for (topic, at), end in self._ends.items())

    def _begin_commit(self) -> None:
        if self._is_written:
            self._is_written = False
            ends = self._replayed.to_commit(self._ends)
            self._committing = Opening(partial(self._producer.commit, ends))

    def close(self) -> None:
        """Nothing is to be committed any more."""
        self._beside.remove(self)


@operator
def _output(step_id: str, up: Stream[Encoded], sink: _TopicSink) -> None:
    routed = op.flat_map_batch("route", up, _router(sink.count))
    # The engine opens a part at its first item. It must be open before that: what a crashed
    # process has left undecided would keep readers waiting.
    begin = op.input("begin", up.flow(), _Beginning(sink.count))
    op.output("write", op.merge("merge", begin, routed), sink)
