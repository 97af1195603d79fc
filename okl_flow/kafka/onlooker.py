"""All records of some topics as they come, for one who looks on: no group, nothing kept."""

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from okl_flow.kafka.connection import START_SECONDS, BrokerError, Config, Connection
from okl_flow.wire import Raw

__all__ = ["Onlooker"]

_GROUP = "okl_flow.onlooker"  # which the client wants to be told, and never joins
_BATCH = 5000
_WAIT_MS = 100  # of the broker, for more to come


class Onlooker:
    """Reads topics from their beginnings, as a reader with `read_committed`.

    A BrokerError says what keeps it from reading on.

    Parameters:
        brokers: "host:port", or several of them.
        topics: the topics, which must be there.
        config: more settings of librdkafka, such as those of security. They are never shown.
    """

    def __init__(
        self, brokers: str | Sequence[str], topics: Sequence[str], config: Config | None = None
    ) -> None:
        self._connection = Connection(brokers, config, ("group.id", "isolation.level"))
        settings = self._connection.settings(
            group_id=_GROUP,
            isolation_level="read_committed",
            auto_offset_reset="error",
            enable_auto_commit=False,
            fetch_wait_max_ms=_WAIT_MS,
        )
        settings["enable.partition.eof"] = True
        self._consumer: Any = self._connection.made(Consumer, settings)
        self._next = {part: OFFSET_BEGINNING for topic in topics for part in self._parts_of(topic)}
        self._ended: set[tuple[str, int]] = set()
        self._assign()

    def _parts_of(self, topic: str) -> list[tuple[str, int]]:
        try:
            found = self._consumer.list_topics(topic, timeout=START_SECONDS).topics[topic]
        except KafkaException as error:
            why = self._connection.clean(error.args[0].str())
            where = self._connection.brokers
            raise BrokerError(f"no answer from {where} in {START_SECONDS:.0f} s: {why}") from None
        if found.error is not None:
            raise self._stopped(f"topic {topic}: {found.error.str()}")
        return [(topic, number) for number in found.partitions]

    def _assign(self) -> None:
        self._ended.clear()
        self._consumer.assign([TopicPartition(*part, at) for part, at in self._next.items()])

    def take(self, seconds: float = 0.0) -> list[Raw]:
        """What has come; waits so long for the first record."""
        taken = []
        for message in self._consumer.consume(_BATCH, seconds):
            part = (message.topic(), message.partition())
            error = message.error()
            if error is None:
                offset = message.offset()
                self._next[part] = offset + 1
                _kind, stamp = message.timestamp()
                moment = stamp if stamp >= 0 else None
                taken.append(Raw(message.value(), message.key(), *part, offset, moment))
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ended.add(part)
            elif not error.retriable():
                raise self._stopped(error.str())
        return taken

    def rest(self, seconds: float = START_SECONDS) -> list[Raw]:
        """All up to the ends as they are now; a BrokerError if nothing comes for so long."""
        self._assign()
        taken: list[Raw] = []
        heard = time.monotonic()
        while len(self._ended) < len(self._next):
            come = self.take(0.1)
            taken += come
            if come:
                heard = time.monotonic()
            elif time.monotonic() > heard + seconds:
                raise self._stopped(f"nothing came for {seconds:g} s, short of the ends of topics")
        return taken

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def _stopped(self, why: str) -> BrokerError:
        where = self._connection.brokers
        return BrokerError(f"cannot read from {where}: {self._connection.clean(why)}")
