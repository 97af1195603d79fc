"""Messages into a topic, for the command line: each delivered, or counted as not delivered."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from okl_flow.kafka.connection import Connection
from okl_flow.kafka.telling import Heard, served, words
from okl_flow.kafka.topics import Topics

__all__ = ["Producing", "ProducingError"]

_MS = 1000
_SLICE = 0.01  # seconds; what is due in one leaves at once
_OURS = (
    "bootstrap.servers",
    "partitioner",
    "enable.idempotence",
    "message.timeout.ms",
    "delivery.report.only.error",
)


class ProducingError(RuntimeError):
    """Why nothing can be produced, and what to do."""


class Producing:
    """A producer to one topic.

    Keys are placed by murmur2, as Kafka's own clients do it, and messages without a key anywhere.

    Parameters:
        brokers: "host:port", several with commas between them.
        topic: the topic.
        config: further settings of librdkafka, such as those of security.
        seconds: how long brokers may take to answer, or a message to be delivered.
    """

    def __init__(self, brokers: str, topic: str, config: Mapping[str, str], seconds: float) -> None:
        for name in _OURS:
            if name in config:
                raise ProducingError(f"{name} is set already, and cannot be given")
        self.sent = 0
        self.undelivered: Counter[str] = Counter()  # by reason
        self._where = f"topic {topic!r} of {brokers}"
        self._topic = topic
        self._brokers, self._given = brokers, config
        self._seconds = seconds
        self._fatal: str | None = None
        self._connection = Connection(brokers, config, ())
        self._heard = Heard(self._connection)
        self._config: dict[str, Any] = {
            "log_level": 2,
            **config,
            "bootstrap.servers": brokers,
            "error_cb": self._heard.note,
        }
        own = {
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "message.timeout.ms": max(1, round(seconds * _MS)),
            "delivery.report.only.error": True,
            "linger.ms": 5,
            "on_delivery": self._not_delivered,
        }
        try:
            self._client: Any = Producer({**own, **self._config})
        except KafkaException as error:  # which names the setting, not its value
            why = words(error.args[0], self._connection)
            raise ProducingError(f"the settings do not fit: {why}") from None

    def prepare(self, create: int | None) -> int:
        """How many partitions the topic has; `create` makes it with so many if it is not there."""
        try:
            # All topics: asked for by name, a broker may make one that is not there.
            found = self._client.list_topics(timeout=self._seconds).topics.get(self._topic)
        except KafkaException as error:
            self._serve(self._client.poll, 0)  # lets the client tell what it has met
            why = self._heard.instead_of(error.args[0])
            raise ProducingError(
                f"no answer from {self._config['bootstrap.servers']} within {self._seconds:g} s: "
                f"{why}. Start the broker, or mend --brokers or --config"
            ) from None
        count = None if found is None or found.error is not None else len(found.partitions)
        if count is None and create is None:
            raise ProducingError(
                f"there is no {self._where}; make it, or let it be made with --create PARTITIONS"
            )
        if count is None:
            assert create is not None
            try:
                Topics(self._brokers, self._given, self._seconds).make([self._topic], create)
            except (ValueError, ConnectionError) as error:
                raise ProducingError(str(error)) from None
        elif create not in (None, count):
            raise ProducingError(
                f"{self._where} is there already, with {count} partitions and not {create}; "
                "leave --create away, or name another topic"
            )
        return count or create or 0

    def send(self, messages: Iterable[tuple[bytes | None, bytes]], rate: float | None) -> None:
        """Let messages leave, so many a second at most; waits while too many are under way."""
        begun = time.monotonic()
        for number, (key, value) in enumerate(messages):
            if rate is not None:
                self._wait_until(begun + number / rate)
            while True:
                try:
                    self._client.produce(self._topic, value, key)
                    break
                except BufferError:
                    self._serve(self._client.poll, 0.1)
                except KafkaException as error:
                    self.undelivered[words(error.args[0], self._connection)] += 1
                    break
            self.sent += 1
            self._serve(self._client.poll, 0)
            if self._fatal is not None:
                raise ProducingError(f"{self._where} cannot be written: {self._fatal}")

    def finish(self) -> int:
        """Wait for what is under way; how many messages were delivered."""
        while self._serve(self._client.flush, 1.0):  # ends, as each message has its time
            pass
        return self.sent - self.undelivered.total()

    def _wait_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > _SLICE:
            self._serve(self._client.poll, min(left, 1.0))

    def _serve(self, call: Callable[[float], int], seconds: float) -> int:
        left, raised = served(call, seconds)
        if isinstance(raised, KafkaError):
            self._fatal = words(raised, self._connection)
        return left

    def _not_delivered(self, error: KafkaError | None, _message: object) -> None:
        if error is not None:
            self.undelivered[words(error, self._connection)] += 1
