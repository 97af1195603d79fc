"""A broker inside the process, for examples and quick tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Producer

__all__ = ["Embedded", "embedded"]


@dataclass(frozen=True)
class Embedded:
    """Where an embedded broker is."""

    brokers: str


@contextmanager
def embedded(brokers: int = 1) -> Iterator[Embedded]:
    """Run librdkafka's mock cluster in this process for the length of a `with`.

    It is a mock and no Kafka. Topics make themselves with four partitions when they are first
    asked for, and everything is gone at the end. Transactions run, but what an aborted one has
    written stays visible. It has no administration, no security and no retention. A
    promise of okl_flow is tested on it nowhere; the tests start Apache Kafka for that.

    Parameters:
        brokers: how many it pretends to be.

    >>> with embedded() as kafka:
    ...     kafka.brokers.startswith("127.0.0.1:")
    True
    """
    if isinstance(brokers, bool) or not isinstance(brokers, int) or brokers < 1:
        raise ValueError(f"brokers must be a whole number at least 1, not {brokers!r}")
    # The cluster lives as long as this client does.
    client = Producer(
        {"bootstrap.servers": "embedded", "test.mock.num.brokers": brokers, "log_level": 2}
    )
    found = client.list_topics(timeout=10.0).brokers.values()
    yield Embedded(",".join(f"{one.host}:{one.port}" for one in found))
    del client
