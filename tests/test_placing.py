"""Whether the engine puts things where `okl_flow.placing` says that it does."""

import random
from collections import Counter

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import (
    DynamicSink,
    FixedPartitionedSink,
    StatefulSinkPartition,
    StatelessSinkPartition,
)
from bytewax.testing import TestingSource, cluster_main

from okl_flow.events import Cause
from okl_flow.kafka.connection import Connection
from okl_flow.kafka.sink import _router, _TopicSink
from okl_flow.kafka.source import _TopicsSource
from okl_flow.murmur import partition_of
from okl_flow.placing import TURNS, engine_key, slot_of, worker_of
from okl_flow.wire import Encoded

KEYS = [f"user-{number}" for number in range(500)]
PARTITIONS = 64


class Passing(StatefulBatchLogic):
    def on_batch(self, values):
        return values, StatefulBatchLogic.RETAIN

    def snapshot(self):
        return None


class Noted(DynamicSink):
    """Which worker an item came to."""

    def __init__(self):
        self.workers = {}

    def build(self, step_id, worker_index, worker_count):
        workers = self.workers

        class Part(StatelessSinkPartition):
            def write_batch(self, items):
                workers.update(dict.fromkeys((one for one, _ in items), worker_index))

        return Part()


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_a_key_is_with_the_worker_that_the_engine_gives_it_to(workers):
    keys = [*map(engine_key, range(PARTITIONS)), "", "a", "seven77", "exactly8", "much longer ones"]
    flow, sink = Dataflow("flow"), Noted()
    items = op.input("in", flow, TestingSource([(key, 0) for key in keys]))
    op.output("out", op.stateful_batch("pass", items, lambda _resumed: Passing()), sink)
    cluster_main(flow, [], 0, worker_count_per_proc=workers)
    assert sink.workers == {key: worker_of(key, workers) for key in keys}


class Parts(FixedPartitionedSource):
    """The parts of an input over Kafka, each of which tells its own name."""

    def __init__(self, names):
        self.names = names

    def list_parts(self):
        return self.names

    def build_part(self, step_id, for_part, resume_state):
        left = [[(for_part, 0)]]

        class Part(StatefulSourcePartition):
            def next_batch(self):
                if not left:
                    raise StopIteration
                return left.pop()

            def snapshot(self):
                return None

        return Part()


class Ends(FixedPartitionedSink):
    """The parts of an output over Kafka, and what each of them got."""

    def __init__(self, names, part_fn):
        self.names, self.part_fn, self.given = names, part_fn, []

    def list_parts(self):
        return self.names

    def build_part(self, step_id, for_part, resume_state):
        given = self.given

        class Part(StatefulSinkPartition):
            def write_batch(self, values):
                given.extend((for_part, value) for value in values)

            def snapshot(self):
                return None

        return Part()


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_parts_of_an_input_are_dealt_out_in_turn(workers):
    names = _TopicsSource.list_parts(None)
    assert [int(name) for name in names] == list(range(TURNS))
    flow, sink = Dataflow("flow"), Noted()
    op.output("out", op.input("in", flow, Parts(names)), sink)
    cluster_main(flow, [], 0, worker_count_per_proc=workers)
    assert sink.workers == {name: int(name) % workers for name in names}


@pytest.mark.parametrize("count", [4, 12, 100])
def test_a_part_of_an_output_gets_what_was_routed_to_it(count):
    """Each is told by its name, in whose order the engine counts them."""
    sink = _TopicSink(Connection("broker:9092", None, ()), "topic", "exactly_once", count)
    records = [Encoded(key.encode(), b"", None) for key in KEYS]
    routed = _router(count)(records)
    flow, ends = Dataflow("flow"), Ends(sink.list_parts(), sink.part_fn)
    op.output("out", op.input("in", flow, TestingSource(routed)), ends)
    cluster_main(flow, [], 0, worker_count_per_proc=2)
    found = {record.key.decode(): part for part, some in ends.given for record in some}
    assert found == {key: sink.list_parts()[partition_of(key, count)] for key in KEYS}


def test_records_without_a_key_follow_their_cause():
    cause = Cause("topic", 5, 0)
    routed = _router(4)([Encoded(None, b"", cause), Encoded(None, b"", None)])
    assert dict(routed) == {
        "0001": [Encoded(None, b"", cause)],
        "0000": [Encoded(None, b"", None)],
    }


@pytest.mark.parametrize(
    ("workers", "topic", "partitions", "parts"),
    [(2, 50, 64, 4), (4, 4, 64, 4), (4, 128, 64, 8), (3, 6, 48, 3), (6, 600, 72, 12)],
)
def test_an_event_stays_with_the_worker_that_reads_it(workers, topic, partitions, parts):
    for key in KEYS:
        reader = slot_of(partition_of(key, topic)) % workers
        assert worker_of(engine_key(partition_of(key, partitions)), workers) == reader
        assert partition_of(key, parts) % workers == reader


def test_every_worker_has_as_many_state_partitions_where_that_can_be():
    for workers in (count for count in range(1, TURNS + 1) if TURNS % count == 0):
        found = Counter(worker_of(engine_key(number), workers) for number in range(PARTITIONS))
        assert len(found) == workers
        assert max(found.values()) - min(found.values()) <= 1


def test_names_differ():
    numbers = random.Random(0).sample(range(5000), 300)
    assert len({engine_key(number) for number in numbers}) == len(numbers)


def test_the_names_are_those_of_stores_that_are_there():
    """A job that is resumed finds its state by these."""
    assert [engine_key(number) for number in (0, 1, 47, 63, 1000)] == [
        "p000aag",
        "p001aah",
        "p047aaj",
        "p063abc",
        "p1000aaq",
    ]
