"""How far a consumer group is, and where the partitions end that it reads."""

from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaException, TopicPartition

from okl_flow.kafka.connection import Config, Connection
from okl_flow.wire.raw import Part

__all__ = ["Lag"]

_SECONDS = 5.0
_RESERVED = ("group.id", "enable.auto.commit")


class Lag:
    """Asks brokers how far a consumer group is, without being one of it.

    It asks as a consumer of the group that never joins: librdkafka's client for administration
    ends the process when a broker comes back while it waits for the coordinator of a group.

    Parameters:
        group: the consumer group.
        brokers: "host:port", or several of them.
        config: more settings of librdkafka, such as those of security. They are never shown.
    """

    def __init__(
        self, group: str, brokers: str | Sequence[str], config: Config | None = None
    ) -> None:
        self._connection = Connection(brokers, config, _RESERVED)
        settings = self._connection.settings(group_id=group, enable_auto_commit=False)
        settings |= {"log_level": 1, "error_cb": lambda _error: None}
        self._consumer: Any = self._connection.made(Consumer, settings)

    def measure(self, topics: Iterable[str]) -> dict[Part, tuple[int, int]]:
        """Of each partition that the group has read: the offset to go on from, and the end.

        A ConnectionError says why there is no answer. A topic that is not there has no lag.
        """
        consumer = self._consumer
        try:
            parts = [
                TopicPartition(topic, number)
                for topic in topics
                for number in consumer.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
            ]
            told = consumer.committed(parts, timeout=_SECONDS) if parts else []
            read = {(one.topic, one.partition): one.offset for one in told if one.offset >= 0}
            asked = [TopicPartition(*part, OFFSET_END) for part in read]
            ends = consumer.offsets_for_times(asked, timeout=_SECONDS) if asked else []
        except KafkaException as error:
            raise ConnectionError(self._connection.clean(error.args[0].str())) from None
        return {
            (one.topic, one.partition): (read[one.topic, one.partition], one.offset)
            for one in ends
            if one.error is None and one.offset >= 0
        }

    def close(self) -> None:
        """Let everything go."""
        self._consumer.close()
