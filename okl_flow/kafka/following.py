"""Topics read from their beginning by somebody who looks on, and has all the patience.

A job that cannot read ends with an error. Who looks on goes on looking: a topic that is missing
may come, one that was deleted may be made again, and brokers that are away come back.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from okl_flow.kafka.connection import OF_CONSUMERS, Config, Connection

__all__ = ["Follower", "Followed", "Written"]

_REFRESH_SECONDS = 2.0
_PATIENCE = 1.0
_GONE_REFRESHES = 3  # a broker that has just started may not know its topics yet
_MISSING = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)

_log = logging.getLogger("okl_flow.kafka")


class Written(NamedTuple):
    """A record of a topic."""

    topic: str
    value: bytes | None
    time: int | None  # when it was written, in milliseconds since 1970


@dataclass(slots=True)
class Followed:
    """How it stands with a topic."""

    topic: str
    partitions: int = 0  # none: it is not there, or not shown to us
    trouble: str | None = None  # why it is not read
    read: int = 0  # offsets gone by, of those that there were
    total: int = 0


class Follower:
    """Reads topics from their beginning. It belongs to no group, and leaves no trace.

    Parameters:
        topics: their names.
        brokers: "host:port", or several of them.
        config: more settings of librdkafka, such as those of security. They are never shown.
    """

    def __init__(
        self, topics: Sequence[str], brokers: str | Sequence[str], config: Config | None = None
    ) -> None:
        self._connection = Connection(brokers, config, OF_CONSUMERS)
        self.trouble: str | None = None  # of the brokers
        self.topics = {topic: Followed(topic) for topic in topics}
        settings = self._connection.settings(
            group_id="okl_flow.following",  # the client wants one, and nobody hears of it
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            topic_metadata_refresh_interval_ms=60_000,
            queued_max_messages_kbytes=16_384,
            fetch_message_max_bytes=1_048_576,
        )
        settings |= {
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "log_level": 1,
            "error_cb": self._told,
        }
        self._consumer: Any = self._connection.made(Consumer, settings)
        self._error: str | None = None  # the last that the client told
        self._held: set[tuple[str, int]] = set()
        self._next: dict[tuple[str, int], int] = {}
        self._gone = dict.fromkeys(topics, 0)
        self._refresh_at = 0.0

    def poll(self, count: int, seconds: float) -> list[Written]:
        """Records that have come, or come within so many seconds."""
        now = time.monotonic()
        if now >= self._refresh_at:
            self._refresh()
            self._refresh_at = time.monotonic() + _REFRESH_SECONDS
        try:
            messages = self._consumer.consume(count, seconds)
        except KafkaException as error:
            self._told(error.args[0])
            return []
        found = []
        for message in messages:
            if message.error() is not None:
                self._met(message)
                continue
            part = (message.topic(), message.partition())
            self._next[part] = message.offset() + 1
            _kind, stamp = message.timestamp()
            found.append(Written(part[0], message.value(), stamp if stamp >= 0 else None))
        return found

    def standing(self) -> list[Followed]:
        """How it stands with the topics, in their order."""
        for followed in self.topics.values():
            followed.read = followed.total = 0
        for part in self._held:
            try:
                low, high = self._consumer.get_watermark_offsets(TopicPartition(*part), cached=True)
            except KafkaException:
                continue
            if high >= 0:
                at = min(max(self._next.get(part, low), low), high)
                self.topics[part[0]].read += at - low
                self.topics[part[0]].total += high - low
        return list(self.topics.values())

    def close(self) -> None:
        """Let everything go."""
        self._consumer.close()

    def _refresh(self) -> None:
        """Find topics that were missing, new partitions, and topics that are gone."""
        for topic, followed in self.topics.items():
            try:
                found = self._consumer.list_topics(topic, timeout=_PATIENCE).topics[topic]
            except KafkaException as error:
                self._consumer.poll(0)  # lets the client tell what it has met
                self.trouble = self._error or self._connection.clean(error.args[0].str())
                return
            self.trouble = self._error = None
            if found.error is None and found.partitions:
                self._gone[topic] = 0
                followed.trouble = None
                self._assign(topic, sorted(found.partitions))
                continue
            is_missing = found.error is None or found.error.code() in _MISSING
            followed.trouble = None if is_missing else self._connection.clean(found.error.str())
            self._gone[topic] += 1
            if self._gone[topic] >= _GONE_REFRESHES or not followed.partitions:
                self._let_go(topic)

    def _assign(self, topic: str, numbers: Sequence[int]) -> None:
        """Read the partitions that are not yet read, from their beginning."""
        new = [number for number in numbers if (topic, number) not in self._held]
        if not new:
            return
        parts = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in new]
        self._consumer.incremental_assign(parts)
        self._held |= {(topic, number) for number in new}
        self.topics[topic].partitions = len(numbers)

    def _let_go(self, topic: str) -> None:
        held = [part for part in self._held if part[0] == topic]
        if held:
            self._consumer.incremental_unassign([TopicPartition(*part) for part in held])
        for part in held:
            self._held.remove(part)
            self._next.pop(part, None)
        self.topics[topic].partitions = 0

    def _met(self, message: Any) -> None:
        """What came in place of a record."""
        error, topic = message.error(), message.topic()
        if error.code() == KafkaError._PARTITION_EOF:
            self._next[topic, message.partition()] = message.offset()  # markers are no records
        elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED and topic in self.topics:
            self.topics[topic].trouble = self._connection.clean(error.str())
        else:
            self._told(error)

    def _told(self, error: KafkaError) -> None:
        self._error = self._connection.clean(error.str())
        _log.debug("%s", self._error)
