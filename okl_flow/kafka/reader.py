"""One consumer for all partitions of a worker, which deals records out to slots."""

import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from prometheus_client import Gauge

from okl_flow.kafka.connection import START_SECONDS, TROUBLE_SECONDS, BrokerError, Connection
from okl_flow.kafka.telling import Heard, described, words
from okl_flow.placing import slot_of
from okl_flow.wire import Raw
from okl_flow.wire.raw import Part

__all__ = ["Reader", "Readers", "Reading", "Slot"]

_EDGE_SECONDS = 3.0
_REFRESH_SECONDS = 5.0
_REFRESH_PATIENCE = 1.0
_GONE_REFRESHES = 2  # a broker that has just started may not know its topics yet
_COMMIT_SECONDS = 1.0
_LAST_COMMIT_SECONDS = 5.0
_IDLE_SECONDS = 0.002
_FETCH_PAUSE_MS = 50  # when enough is fetched: the client's own second is longer than that lasts
_NO_END = sys.maxsize
_STOPPING = (KafkaError._AUTHENTICATION, KafkaError.TOPIC_AUTHORIZATION_FAILED)

_log = logging.getLogger("okl_flow.kafka")
_lag = Gauge(
    "okl_flow_input_lag",
    "Records of a partition that are not yet handed to the flow",
    ["topic", "partition"],
)


@dataclass(frozen=True)
class Reading:
    """What is read, and how; `repr` of the connection shows no secret."""

    connection: Connection
    topics: tuple[str, ...]
    group: str
    start: str
    on_lost_offsets: str
    batch_size: int
    tail: bool


class Slot:
    """What a part of the engine has to hand over, and how far that is."""

    def __init__(self) -> None:
        self.ready: list[Raw] = []
        self.places: list[Place] = []
        self.parts: dict[Part, int] = {}  # where they go on after what was handed over
        self.open: set[Part] = set()  # those that have not come to their end

    def take(self) -> list[Raw]:
        """Hand over what is ready."""
        taken, self.ready = self.ready, []
        self.parts = {place.part: place.next for place in self.places}
        return taken


@dataclass(slots=True)
class Place:
    """How far a partition is read."""

    part: Part
    slot: Slot
    next: int  # what the consumer is to bring
    end: int  # where to stop


class Reader:
    """The consumer of a worker.

    Its methods are called in one thread alone. The offsets that it is given to read from are
    always numbers, so what is read depends on no group and on no broker's settings.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._connection = reading.connection
        self._heard = Heard(self._connection)
        self._stop: str | None = None  # one after which no going on is possible
        settings = self._connection.settings(
            group_id=reading.group,
            auto_offset_reset="error",
            enable_auto_commit=False,
            fetch_queue_backoff_ms=_FETCH_PAUSE_MS,
        )
        settings |= {
            "enable.auto.offset.store": False,
            "enable.partition.eof": not reading.tail,
            "error_cb": self._told,
            "on_commit": self._committed,
        }
        self._consumer: Any = self._connection.made(Consumer, settings)
        self._answered = time.monotonic()
        self._listed = {topic: self._parts_of(topic) for topic in reading.topics}
        self._places: dict[str, dict[int, Place]] = {topic: {} for topic in reading.topics}
        self._own: dict[int, Slot] = {}
        self._assigned = True
        self._held = 0
        self._idle_until = 0.0
        self._to_commit: dict[Part, int] = {}
        self._committing = 0
        self._may_commit = True
        self._commit_at = self._refresh_at = 0.0
        self._gone = dict.fromkeys(reading.topics, 0)

    @property
    def tail(self) -> bool:
        """Whether there is no end."""
        return self._reading.tail

    @property
    def has_parts(self) -> bool:
        """Whether there is any partition to read."""
        return any(self._places.values())

    def add(self, number: int, slot: Slot, known: Sequence[str], parts: dict[Part, int]) -> None:
        """Read the partitions of a slot: from where they were, or from the start."""
        self._own[number] = slot
        for topic in self._reading.topics:
            for part in self._listed[topic]:
                if slot_of(part[1]) != number:
                    continue
                if part in parts:
                    self._begin(part, slot, parts[part], resumed=True)
                else:
                    # A partition that the topic has got since is read from its beginning.
                    start = "earliest" if topic in known else self._reading.start
                    self._begin(part, slot, self._edge(part, start))

    def _parts_of(self, topic: str) -> list[Part]:
        """The partitions of a topic at the start; an error if there is none."""
        try:
            found = described(self._consumer, topic)
        except KafkaException as error:
            raise self._unreachable(error) from None
        if found.error is None and found.partitions:
            self._answered = time.monotonic()
            return [(topic, number) for number in sorted(found.partitions)]
        why = "it has no partitions"
        if found.error is not None:
            why = words(found.error, self._connection)
        raise BrokerError(
            f"topic {topic} cannot be read from {self._connection.brokers}: {why}; make it, or "
            "mend its name, if it is not there"
        )

    def _unreachable(self, error: KafkaException) -> BrokerError:
        self._consumer.poll(0)  # lets the client tell what it has met
        told = self._stop or self._heard.instead_of(error.args[0])
        return BrokerError(
            f"no answer from {self._connection.brokers} in {START_SECONDS:.0f} s: "
            f"{told}; are the brokers up, the addresses right, and the "
            "security settings in config those of the cluster?"
        )

    def _edge(self, part: Part, which: str) -> int:
        """The first offset of a partition, or the one after its last."""
        return self._edges(part)[0 if which == "earliest" else 1]

    def _edges(self, part: Part) -> tuple[int, int]:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                edges = self._consumer.get_watermark_offsets(
                    TopicPartition(*part), timeout=_EDGE_SECONDS
                )
            except KafkaException as error:
                if time.monotonic() > end:
                    raise self._unreachable(error) from None
                time.sleep(0.1)  # a leader is being chosen, say
                continue
            low, high = edges
            return low, high

    def _begin(self, part: Part, slot: Slot, offset: int, *, resumed: bool = False) -> None:
        """Read a partition from an offset on, if it has that."""
        low, high = self._edges(part)
        if resumed and not low <= offset <= high:
            offset = self._instead(part, offset, low, high)
        topic, number = part
        place = Place(part, slot, offset, _NO_END if self._reading.tail else high)
        self._places[topic][number] = place
        slot.places.append(place)
        slot.parts[part] = offset
        if offset < place.end:
            slot.open.add(part)
        self._assigned = False

    def _instead(self, part: Part, offset: int, low: int, high: int) -> int:
        """Where to go on if the offset is lost."""
        topic, number = part
        message = (
            f"topic {topic}, partition {number}: the flow has read up to offset {offset}, and the "
            f"partition now has {low} to {high}"
        )
        policy = self._reading.on_lost_offsets
        if policy == "fail":
            raise BrokerError(
                f"{message}; what lies between is lost, or the topic was made anew. To go on all "
                'the same, set on_lost_offsets="earliest" or "latest", or start anew without '
                "the recovery store"
            )
        _log.warning("%s; going on from the %s", message, policy)
        return low if policy == "earliest" else high

    def poll(self) -> None:
        """Deal out what has come, unless there is enough to hand over."""
        now = time.monotonic()
        if now < self._idle_until or self._held >= self._reading.batch_size:
            return
        if now >= self._refresh_at:
            self._refresh(now)
        if not self._assigned:
            parts = [TopicPartition(*place.part, place.next) for place in self._all()]
            self._consumer.assign(parts)
            self._assigned = True
        try:
            messages = self._consumer.consume(self._reading.batch_size, 0)
        except KafkaException as error:
            raise BrokerError(self._connection.clean(error)) from None
        if self._stop:
            raise BrokerError(f"cannot read on: {self._stop}")
        if messages:
            self._deal(messages)
        else:
            self._idle_until = now + _IDLE_SECONDS

    def _deal(self, messages: list[Any]) -> None:
        places, dealt = self._places, 0
        for message in messages:
            if message.error() is not None:
                self._met(message)
                continue
            place, offset = places[message.topic()][message.partition()], message.offset()
            if offset < place.end:
                # One text of the topic for all: the client makes one for each message.
                topic, number = place.part
                _kind, stamp = message.timestamp()
                time = stamp if stamp >= 0 else None
                raw = Raw(message.value(), message.key(), topic, number, offset, time)
                place.slot.ready.append(raw)
                place.next = offset + 1
                dealt += 1
            if offset + 1 >= place.end:
                place.slot.open.discard(place.part)
        self._held += dealt

    def _met(self, message: Any) -> None:
        """What came in place of a record."""
        error = message.error()
        if error.code() == KafkaError._PARTITION_EOF:
            place = self._places[message.topic()][message.partition()]
            place.slot.open.discard(place.part)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            place = self._places[message.topic()][message.partition()]
            place.next = self._instead(place.part, place.next, *self._edges(place.part))
            self._assigned = False
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._refresh_at = min(self._refresh_at, time.monotonic() + _REFRESH_PATIENCE)
        else:
            self._told(error)

    def _told(self, error: KafkaError) -> None:
        """An error of the client: most pass by themselves."""
        text = self._heard.note(error)
        if error.fatal() or error.code() in _STOPPING:
            self._stop = text
        _log.info("%s", text)
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED and self._may_commit:
            self._may_commit = False
            self._warn(text)

    def _refresh(self, now: float) -> None:
        """Find new partitions, and topics that are gone."""
        self._refresh_at = now + _REFRESH_SECONDS
        for topic in self._reading.topics:
            try:
                found = self._consumer.list_topics(topic, timeout=_REFRESH_PATIENCE).topics[topic]
            except KafkaException:
                away = time.monotonic() - self._answered
                if away > TROUBLE_SECONDS:
                    raise BrokerError(
                        f"no broker of {self._connection.brokers} has answered for {away:.0f} s "
                        f"({self._heard.text}); the flow can be resumed when they are back"
                    ) from None
                return
            self._answered = time.monotonic()
            unknown = found.error is not None and (
                found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            )
            self._gone[topic] = self._gone[topic] + 1 if unknown else 0
            if self._gone[topic] >= _GONE_REFRESHES:
                raise BrokerError(
                    f"topic {topic} was deleted while the flow was reading it; make it again and "
                    "start the flow anew, without the recovery store"
                )
            if self._reading.tail:
                for number in sorted(found.partitions):
                    slot = self._own.get(slot_of(number))
                    if slot is not None and number not in self._places[topic]:
                        self._begin((topic, number), slot, self._edge((topic, number), "earliest"))

    def handed_over(self, count: int) -> None:
        """So many records of a slot are with the engine."""
        self._held -= count

    def snapshotted(self, slot: Slot) -> None:
        """Tell the group how far the flow is: for tools that show the lag, and for nobody else."""
        self._to_commit |= slot.parts
        now = time.monotonic()
        if now >= self._commit_at and self._to_commit:
            self._commit_at = now + _COMMIT_SECONDS
            self._commit()
            self._measure()

    def _commit(self) -> None:
        offsets = [TopicPartition(*part, offset) for part, offset in self._to_commit.items()]
        self._to_commit = {}
        if self._may_commit:
            self._committing += 1
            try:
                self._consumer.commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                self._committed(error.args[0], offsets)

    def _committed(self, error: KafkaError | None, _offsets: list[TopicPartition]) -> None:
        self._committing -= 1
        if error is not None and error.code() != KafkaError._NO_OFFSET:
            self._warn(words(error, self._connection))

    def _warn(self, why: str) -> None:
        _log.warning(
            "group %s: the offsets for lag tools were not committed: %s", self._reading.group, why
        )

    def _measure(self) -> None:
        for place in self._all():
            part = TopicPartition(*place.part)
            _low, high = self._consumer.get_watermark_offsets(part, cached=True)
            if high >= 0:
                lag = max(0, high - place.slot.parts[place.part])
                _lag.labels(part.topic, str(part.partition)).set(lag)

    def _all(self) -> Iterator[Place]:
        """All partitions that are read."""
        for places in self._places.values():
            yield from places.values()

    def drop(self, number: int) -> None:
        """The engine is done with a slot; with the last one the consumer ends."""
        del self._own[number]
        if not self._own:
            self._commit_last()
            self._consumer.close()

    def _commit_last(self) -> None:
        """Commit, and wait a while for the answer: a group's coordinator may not be there."""
        if self._to_commit:
            self._commit()
        end = time.monotonic() + _LAST_COMMIT_SECONDS
        while self._committing and time.monotonic() < end:
            self._consumer.poll(0.05)  # whatever it brings is read again


class Readers:
    """The reader of each worker: of a process with one worker, the only one."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._found: dict[int, Reader] = {}

    def of_this_worker(self) -> Reader:
        """The one of the thread that asks."""
        thread = threading.get_ident()
        if thread not in self._found:
            self._found[thread] = Reader(self._reading)
        return self._found[thread]
