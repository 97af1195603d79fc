"""Producers that let nothing be lost: plain ones, and ones whose outputs appear by epochs."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from okl_flow.kafka.connection import START_SECONDS, TROUBLE_SECONDS, BrokerError, Connection
from okl_flow.kafka.replayed import Committed
from okl_flow.kafka.telling import Heard, described, served, words
from okl_flow.wire import Encoded
from okl_flow.wire.raw import Part

__all__ = ["PlainProducer", "TransactionalProducer"]

_COUNT_MAX = 50_000  # records that wait in the client
_BYTES_MAX = 500_000_000  # and their size; the client's own limits are above both
_KBYTES_LIMIT = 2_000_000
_TRY_SECONDS = 10.0  # for one call of the transaction's
_MEET_SECONDS = 2.0  # for one answer of the group's coordinator
_LOOK_SECONDS = 5  # of waiting for deliveries, between two looks whether the topic is there
_GONE_LOOKS = 2  # a broker that has just started may not know its topics yet
_HUNG_SECONDS = 30.0  # then it will never return
_MS = 1000
_PASSING = (  # of a broker that has just started; the client does not say so of all calls
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)

_log = logging.getLogger("okl_flow.kafka")


class PlainProducer:
    """An idempotent producer to one topic; `flush` raises if anything was not delivered."""

    def __init__(self, connection: Connection, topic: str, **own: Any) -> None:
        self._connection = connection
        self._topic = topic
        self._failed: str | None = None
        self._heard = Heard(connection)
        self._bytes = 0
        self._gone = 0  # times in a row that the topic was unknown
        settings = connection.settings(
            message_timeout_ms=int(TROUBLE_SECONDS * _MS),
            linger_ms=5,
            partitioner="murmur2_random",  # as JVM producers place keys
            queue_buffering_max_messages=4 * _COUNT_MAX,
            queue_buffering_max_kbytes=_KBYTES_LIMIT,
            **own,
        )
        settings |= {
            "enable.idempotence": True,
            "delivery.report.only.error": True,
            "on_delivery": self._not_delivered,
            "error_cb": self._met,
        }
        self.client: Any = connection.made(Producer, settings)
        self._check_topic()

    def _check_topic(self) -> None:
        try:
            unknown = described(self.client, self._topic).error
        except KafkaException as error:
            self._serve(self.client.poll, 0)  # lets the client tell what it has met
            problem = (
                f"no answer in {START_SECONDS:.0f} s: {self._heard.instead_of(error.args[0])}; "
                "are the brokers up, the addresses right, and the security settings in config "
                "those of the cluster?"
            )
        else:
            if unknown is None:
                return
            problem = (
                f"{words(unknown, self._connection)}; make the topic, or mend its name, if it is "
                "not there"
            )
        raise BrokerError(
            f"topic {self._topic} of {self._connection.brokers} cannot be written: {problem}"
        )

    def send(self, records: Sequence[Encoded]) -> None:
        """Let records leave, in their order; waits while too many are under way."""
        for some in _pieces(records):
            self._bytes += sum([len(record.value) + len(record.key or b"") for record in some])
            if self._bytes > _BYTES_MAX:
                self.flush()
            while len(self.client) > _COUNT_MAX:
                self._serve(self.client.poll, 0.1)
                self._check()
            messages = [{"key": record.key, "value": record.value} for record in some]
            if self.client.produce_batch(self._topic, messages) < len(messages):
                error: Any = next(one["_error"] for one in messages if "_error" in one)
                raise self._undelivered(self._aborted() or words(error, self._connection))
            self._serve(self.client.poll, 0)
            self._check()

    def flush(self) -> None:
        """Wait until everything is delivered."""
        # The client gives a record up after its own time, which the settings may change; for a
        # topic that is gone that would be a long time.
        seconds = 0
        while self._serve(self.client.flush, 1.0):
            self._check()
            seconds += 1
            if seconds % _LOOK_SECONDS == 0:
                self._look()
        self._check()
        self._bytes = 0

    def _look(self) -> None:
        """Raise if the topic is gone, the second time that it seems so."""
        try:
            found = self.client.list_topics(self._topic, timeout=1.0).topics[self._topic].error
        except KafkaException:
            return
        unknown = found is not None and found.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
        self._gone = self._gone + 1 if unknown else 0
        if self._gone >= _GONE_LOOKS:
            raise self._undelivered("it was deleted; make it again, and resume the flow")

    def _serve(self, call: Callable[[float], int], seconds: float) -> int:
        """A call in which the client calls back; a fatal error of its own is taken note of."""
        left, raised = served(call, seconds)
        if isinstance(raised, KafkaError):
            self._failed = words(raised, self._connection)
        elif raised is not None and self._failed is None:
            raise raised
        return left

    def _check(self) -> None:
        if self._failed is not None:
            self._serve(self.client.poll, 1.0)  # the reason may come after what it has brought
            raise self._undelivered(self._aborted() or self._failed)

    def _aborted(self) -> str | None:
        """Why the transaction cannot go on, if that is so; its records do not tell."""
        try:
            self.client.begin_transaction()
        except KafkaException as error:
            told: KafkaError = error.args[0]
            if told.code() not in (KafkaError._STATE, KafkaError._NOT_CONFIGURED):
                return words(told, self._connection)
        return None

    def _undelivered(self, why: str) -> BrokerError:
        return BrokerError(
            f"an output could not be written to topic {self._topic} of "
            f"{self._connection.brokers}: {why}; the flow ends before the epoch closes, so that "
            "a resumed one writes it again"
        )

    def _not_delivered(self, error: KafkaError | None, _message: Any) -> None:
        if error is not None and self._failed is None:
            self._failed = words(error, self._connection)

    def _met(self, error: KafkaError) -> None:
        """An error of the client: most pass by themselves."""
        text = self._heard.note(error)
        if error.fatal():
            self._failed = text
        _log.info("%s", text)


class TransactionalProducer:
    """A producer whose outputs of an epoch appear all at once or not at all.

    With the outputs the same transaction commits, in a consumer group of the producer's name, up
    to which source offsets they go. Whoever has the name next fences this one off, and
    finds there what has appeared.
    """

    def __init__(self, connection: Connection, topic: str, name: str) -> None:
        self._connection = connection
        self._topic = topic
        self._name = name
        self._plain = PlainProducer(
            connection,
            topic,
            transactional_id=name,
            transaction_timeout_ms=int(TROUBLE_SECONDS * _MS),
        )
        self._client = self._plain.client
        self._open = False
        self._initiate()
        consumer: Any = connection.made(Consumer, connection.settings(group_id=name))
        self._group = consumer.consumer_group_metadata()
        consumer.close()

    def _initiate(self) -> None:
        """Fence older producers of the name off; what they left open is decided after this."""
        self._insist(self._client.init_transactions, "begin")

    def committed(self) -> dict[Part, Committed]:
        """Of each source partition, up to where outputs have appeared."""
        settings = self._connection.settings()
        admin: Any = self._connection.made(AdminClient, settings)
        consumer: Any = self._connection.made(Consumer, {**settings, "group.id": self._name})
        asked = [ConsumerGroupTopicPartitions(self._name)]
        end = time.monotonic() + TROUBLE_SECONDS
        while True:
            try:
                # librdkafka 2.16 crashes if the first answer to the second of these is that the
                # coordinator is another, or not ready yet (its issue 5040): not so to the first.
                self._meet_coordinator(consumer)
                found = admin.list_consumer_group_offsets(
                    asked, require_stable=True, request_timeout=_TRY_SECONDS
                )[self._name].result()
            except KafkaException as error:
                if time.monotonic() > end or not _passes(error):
                    raise self._failure("read what has appeared", error) from None
                time.sleep(0.1)
                continue
            consumer.close()
            return {
                (one.topic, one.partition): (one.offset - 1, one.metadata or "")
                for one in found.topic_partitions
                if one.offset > 0
            }

    def _meet_coordinator(self, consumer: Any) -> None:
        """Let a consumer of the group ask for an offset, until it gets an answer."""
        end = time.monotonic() + _TRY_SECONDS
        while True:
            try:
                consumer.committed([TopicPartition(self._topic, 0)], timeout=_MEET_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._TIMED_OUT:
                    raise
                met = consumer.poll(0)  # why there was no answer, if that is known
                if met is not None and met.error() is not None:
                    raise KafkaException(met.error()) from None
                if time.monotonic() > end:
                    raise
            else:
                return

    def send(self, records: Sequence[Encoded]) -> None:
        """Add records to the transaction."""
        if not self._open:
            self._client.begin_transaction()
            self._open = True
        self._plain.send(records)

    def commit(self, ends: Mapping[Part, Committed]) -> None:
        """Let the outputs appear, and with them where they go up to."""
        if not self._open:
            return
        self._plain.flush()
        if ends:
            offsets = [
                TopicPartition(*part, offset + 1, metadata=note)
                for part, (offset, note) in ends.items()
            ]

            def send_offsets(seconds: float) -> None:
                self._client.send_offsets_to_transaction(offsets, self._group, seconds)

            self._insist(send_offsets, "add the source offsets to")
        self._insist(self._client.commit_transaction, "commit")
        self._open = False

    def _insist(self, call: Callable[[float], Any], what: str) -> None:
        """Do one step of a transaction, again and again while that may help.

        If it fails, the outcome is not known. Then nothing may be written before it is read
        back, and that is what a resumed flow does first.
        """
        end = time.monotonic() + TROUBLE_SECONDS
        while True:
            try:
                if _returns(call):
                    return
            except KafkaException as error:
                if time.monotonic() > end or not _passes(error):
                    raise self._failure(f"{what} a transaction", error) from None
            else:
                hung = KafkaError(KafkaError._TIMED_OUT, "the client does not come back")
                raise self._failure(f"{what} a transaction", KafkaException(hung))

    def _failure(self, what: str, error: KafkaException) -> BrokerError:
        told: KafkaError = error.args[0]
        if told.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED):
            why = (
                "another process writes under its name, so this one must not; or no broker "
                "answered for longer than transaction.timeout.ms"
            )
        elif told.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            why = (
                "the records that were read come from a topic that this cluster does not have, "
                'and "exactly_once" is for inputs and outputs on one cluster'
            )
        else:
            why = words(told, self._connection)
        return BrokerError(
            f"{self._name} could not {what} to topic {self._topic} of "
            f"{self._connection.brokers}: {why}; a resumed flow finds out what has appeared and "
            "goes on from there"
        )


def _passes(error: KafkaException) -> bool:
    """Whether the same call may succeed later."""
    told: KafkaError = error.args[0]
    return told.retriable() or told.code() in _PASSING


def _returns(call: Callable[[float], Any]) -> bool:
    """Call it, and tell whether it comes back; raises what it raises.

    librdkafka 2.16 may stay in `send_offsets_to_transaction` for ever after a broker was killed and
    came back, whatever time it is given (its issues 5456 and 5511). The thread is given up.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call(_TRY_SECONDS)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="okl_flow transaction", daemon=True)
    thread.start()
    thread.join(_HUNG_SECONDS)
    if raised:
        raise raised[0]
    return not thread.is_alive()


def _pieces(records: Sequence[Encoded]) -> Iterator[Sequence[Encoded]]:
    """Some records at a time, so that the limits hold."""
    if len(records) <= _COUNT_MAX:
        yield records
        return
    for begin in range(0, len(records), _COUNT_MAX):
        yield records[begin : begin + _COUNT_MAX]
