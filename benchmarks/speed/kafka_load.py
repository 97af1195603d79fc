"""Events into topics, at once or on a schedule, and their outputs read back.

`python -m benchmarks.speed.kafka_load JSON` keeps a schedule whatever becomes of the events: each
has the time that it was due at for its id, and one that is late is late by that too.
"""

import itertools
import json
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.speed.kafka_job import DIM

__all__ = [
    "CRC32",
    "KEYS",
    "MURMUR2",
    "Events",
    "Load",
    "append_times",
    "opened",
    "seconds_from",
    "topic",
    "write",
]

MURMUR2, CRC32 = "murmur2_random", "consistent_random"  # partitioners; the client's own is CRC32
KEYS = 1000
DISTINCT = 49_999  # features and labels, which come again and again; a prime: with other keys
UNDER_WAY = 100_000
SOME = 10_000
TICK = 0.001  # seconds
PATIENCE = 120.0
PAUSE_MS = 50  # of fetching, when enough is fetched

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Load:
    """Events on a schedule."""

    brokers: str
    topic: str
    rate: float  # events per second
    seconds: float


@dataclass(frozen=True)
class Events:
    """Which events a topic has."""

    keys: int = KEYS
    dim: int = DIM
    in_turn: int = 0  # the first ones, which go through the keys; those of the others are drawn

    def drawn(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and what follows them in a record, without end."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(DISTINCT, self.dim)).round(4)
        labels = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=DISTINCT))
        rests = [
            json.dumps({"features": x, "label": label}, separators=(",", ":")).encode()[1:]
            for x, label in zip(X.tolist(), labels.tolist(), strict=True)
        ]
        return self._endless(rests, rng)

    def _endless(
        self, rests: list[bytes], rng: np.random.Generator
    ) -> Iterator[tuple[bytes, bytes]]:
        for at in itertools.count(0, DISTINCT):
            places = np.arange(at, at + DISTINCT)
            any_key = rng.integers(0, self.keys, DISTINCT)
            numbers = np.where(places < self.in_turn, places % self.keys, any_key)
            for number, rest in zip(numbers.tolist(), rests, strict=True):
                yield b"user-%d" % number, rest


@contextmanager
def topic(brokers: str, name: str, partitions: int) -> Iterator[str]:
    """A new topic, in which every record has the time when the broker took it."""
    admin: Any = AdminClient({"bootstrap.servers": brokers, "log_level": 4})
    full = f"{name}-{uuid.uuid4().hex[:8]}"
    config = {"message.timestamp.type": "LogAppendTime"}
    admin.create_topics([NewTopic(full, partitions, 1, config=config)])[full].result(30)
    # A broker that is busy answers before it can tell others of the partitions.
    while len(admin.list_topics(full, timeout=30).topics[full].partitions) < partitions:
        time.sleep(0.1)
    try:
        yield full
    finally:
        admin.delete_topics([full])[full].result(30)


def producer_to(brokers: str, partitioner: str = MURMUR2) -> Any:
    """A producer that places keys as those on the JVM do, or otherwise."""
    return Producer(
        {
            "bootstrap.servers": brokers,
            "partitioner": partitioner,
            "linger.ms": 1,
            "queue.buffering.max.messages": 4 * UNDER_WAY,
        }
    )


def write(brokers: str, name: str, events: Events, count: int, partitioner: str = MURMUR2) -> None:
    """Write so many events."""
    producer, left = producer_to(brokers, partitioner), itertools.islice(events.drawn(), count)
    while some := list(itertools.islice(left, SOME)):
        messages = [{"key": key, "value": b'{"key":"%b",%b' % (key, rest)} for key, rest in some]
        send(producer, name, messages)
    producer.flush()


def send(producer: Any, name: str, messages: list[dict[str, bytes]]) -> None:
    """Let events leave, when no more are under way than the client takes."""
    while len(producer) > UNDER_WAY:
        producer.poll(0.01)
    if messages and producer.produce_batch(name, messages) < len(messages):
        raise RuntimeError(f"the client did not take all of {len(messages)} events")


def keep_schedule(load: Load) -> None:
    """Write each event when it is due, or as soon after that as can be."""
    producer, endless = producer_to(load.brokers), Events().drawn()
    sent, count, begun = 0, round(load.rate * load.seconds), time.monotonic()
    while sent < count:
        due = min(count, sent + SOME, int((time.monotonic() - begun) * load.rate))
        messages = []
        for number, (key, rest) in zip(range(sent, due), endless, strict=False):
            when = int((begun + number / load.rate) * 1e6)
            value = b'{"id":"%d","key":"%b",%b' % (when, key, rest)
            messages.append({"key": key, "value": value})
        sent = due
        send(producer, load.topic, messages)
        producer.poll(TICK)
    producer.flush()


@contextmanager
def opened(brokers: str, name: str) -> Iterator[Any]:
    """A consumer of all of a topic."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "judge",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": PAUSE_MS,
        }
    )
    parts = consumer.list_topics(name).topics[name].partitions
    consumer.assign([TopicPartition(name, part, OFFSET_BEGINNING) for part in parts])
    yield consumer
    consumer.close()


def batches(consumer: Any, count: int) -> Iterator[list[Any]]:
    """So many records, as they come; an error if they do not come."""
    patience = time.monotonic() + PATIENCE
    while count > 0:
        found = consumer.consume(SOME, 0)
        if found:
            count -= len(found)
            patience = time.monotonic() + PATIENCE
            yield found
        elif time.monotonic() > patience:
            raise RuntimeError(f"{count} outputs did not come in {PATIENCE:.0f} s")
        else:
            time.sleep(TICK / 4)


def append_times(brokers: str, name: str, count: int) -> Numbers:
    """When the broker took each of the outputs, in seconds, in order."""
    with opened(brokers, name) as consumer:
        times = [one.timestamp()[1] for some in batches(consumer, count) for one in some]
    return np.sort(np.array(times)) / 1000


class Whose(msgspec.Struct, gc=False):
    """All that is read of a prediction."""

    id: str


def seconds_from(consumer: Any, count: int) -> tuple[Numbers, float]:
    """Of so many predictions, as they come: the seconds since their events were due.

    And how long it took from the first to the last of them.
    """
    decoded = msgspec.json.Decoder(Whose).decode
    dues: list[int] = []
    arrivals: list[float] = []
    for some in batches(consumer, count):
        arrivals += [time.monotonic()] * len(some)
        dues += [int(decoded(one.value()).id) for one in some]
    return np.array(arrivals) - np.array(dues) / 1e6, arrivals[-1] - arrivals[0]


def main() -> None:
    """Keep the schedule of the command line."""
    keep_schedule(Load(**json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
