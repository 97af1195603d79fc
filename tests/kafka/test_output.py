"""What `kafka.output` writes is there, where its key says, and once where that is promised."""

import threading
import time
from contextlib import suppress

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from kafka.errors import TopicAlreadyExistsError
from kafka.partitioner.default import murmur2

from okl_flow import kafka
from okl_flow.events import Cause
from okl_flow.kafka.connection import Connection
from okl_flow.kafka.opening import Opening
from okl_flow.kafka.producer import TransactionalProducer
from okl_flow.kafka.sink import _ExactlyOnce
from okl_flow.wire import Encoded
from tests.kafka.flows import give, recovery, unique
from tests.kafka.judge import delete_topic, make_topic, read

BOTH = pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])


SOURCE = "okl-flow-tests-in"  # of which the records are said to come


@pytest.fixture(autouse=True)
def source(request):
    """The broker wants to know a topic whose offsets are committed."""
    if "broker" in request.fixturenames:
        with suppress(TopicAlreadyExistsError):
            make_topic(request.getfixturevalue("broker"), SOURCE, 6)


def told(raised):
    """What our error says, which the engine may have put into one of its own."""
    ours = [
        one
        for one in (raised.value, raised.value.__cause__)
        if isinstance(one, (kafka.BrokerError, ValueError))
    ]
    return str(ours[0])


def records(count, begin=0):
    return [
        Encoded(b"k%d" % (n % 7), b"v%d" % n, Cause(SOURCE, n % 2, n // 2))
        for n in range(begin, begin + count)
    ]


def values(broker, topic, isolation="read_committed"):
    return sorted((one.value for one in read(broker, topic, isolation)), key=lambda v: int(v[1:]))


@BOTH
def test_each_record_is_written_where_its_key_says(delivery, broker):
    topic = make_topic(broker, unique("out"), 6)
    give(broker, topic, records(500), name=unique("flow"), delivery=delivery)
    found = read(broker, topic)
    assert sorted((one.key, one.value) for one in found) == sorted(
        (one.key, one.value) for one in records(500)
    )
    assert all(one.partition == (murmur2(one.key) & 0x7FFFFFFF) % 6 for one in found)
    for key in {one.key for one in found}:
        numbers = [int(one.value[1:]) for one in found if one.key == key]
        assert numbers == sorted(numbers)


@BOTH
def test_records_without_key_or_cause_are_written(delivery, broker):
    topic = make_topic(broker, unique("out"), 3)
    given = [Encoded(None, b"v1"), Encoded(b"", b"v2"), Encoded(None, b"v3", Cause(SOURCE, 5, 0))]
    give(broker, topic, given, name=unique("flow"), delivery=delivery)
    assert values(broker, topic) == [b"v1", b"v2", b"v3"]


@BOTH
def test_more_than_waits_in_the_client(delivery, broker, monkeypatch):
    monkeypatch.setattr("okl_flow.kafka.producer._COUNT_MAX", 50)
    monkeypatch.setattr("okl_flow.kafka.producer._BYTES_MAX", 2000)
    topic = make_topic(broker, unique("out"), 3)
    settings = {"name": unique("flow"), "delivery": delivery, "batch_size": 1000}
    give(broker, topic, records(3000), **settings)
    assert values(broker, topic) == [one.value for one in records(3000)]


@BOTH
def test_a_record_that_is_too_large_ends_the_flow(delivery, broker):
    topic = make_topic(broker, unique("out"), max_message_bytes=1000)
    for size in (5000, 5_000_000):  # for the topic, and for the client
        with pytest.raises(Exception) as raised:
            give(
                broker,
                topic,
                [*records(5), Encoded(b"k", b"v" * size), *records(5)],
                name=unique("flow"),
                delivery=delivery,
            )
        assert "could not be written" in told(raised) and "too large" in told(raised)


@BOTH
def test_a_topic_that_a_broker_does_not_know_yet_is_waited_for(delivery, broker):
    topic, name = unique("out"), unique("flow")
    made = threading.Timer(1.0, make_topic, (broker, topic))
    made.start()
    give(broker, topic, records(10), name=name, delivery=delivery)
    made.join()
    assert len(values(broker, topic)) == 10


@BOTH
def test_a_missing_topic_is_told(delivery, broker):
    with pytest.raises(Exception) as raised:
        give(broker, unique("missing"), records(1), delivery=delivery)
    assert "make the topic, or mend its name" in told(raised)


@BOTH
def test_an_unreachable_broker_is_told_in_time(delivery):
    begun = time.monotonic()
    with pytest.raises(Exception) as raised:
        give("127.0.0.1:1", "topic", records(1), delivery=delivery)
    assert "no answer in 15 s" in told(raised)
    assert time.monotonic() - begun < 25


def test_an_undelivered_record_ends_the_flow(cluster):
    topic = make_topic(cluster.bootstrap, "out")
    raised = []

    def fail():
        given = [*records(2000)]
        try:
            give(
                cluster.bootstrap,
                topic,
                iter_slowly(given, cluster),
                config={"message.timeout.ms": 2000},
            )
        except Exception as error:
            raised.append(str(error.__cause__ or error))

    thread = threading.Thread(target=fail, daemon=True)
    thread.start()
    thread.join(60)
    assert raised and "could not be written" in raised[0] and "timed out" in raised[0]


@BOTH
def test_a_topic_that_is_deleted_while_it_is_written_is_told_in_time(delivery, broker):
    topic, begun = make_topic(broker, unique("out")), []

    def given():
        for number, record in enumerate(records(10_000)):
            if number % 10 == 0 and not begun and read(broker, topic, "read_uncommitted"):
                delete_topic(broker, topic)
                begun.append(time.monotonic())
            time.sleep(0.1)
            yield record

    with pytest.raises(Exception) as raised:
        give(broker, topic, given(), name=unique("flow"), delivery=delivery)
    assert topic in told(raised) and "was deleted; make it again" in told(raised)
    assert time.monotonic() - begun[0] < 30


def iter_slowly(given, cluster):
    """The first record, and the others after the broker was killed."""
    yield given[0]
    time.sleep(1)
    cluster.brokers[0].kill()
    yield from given[1:]


def producer(broker, topic, name):
    return TransactionalProducer(Connection(broker, None, ()), topic, name)


def opening(broker, topic, name):
    def opened():
        made = producer(broker, topic, name)
        return made, made.committed()

    return Opening(opened)


def test_whoever_has_the_name_next_fences_the_older_off(broker):
    topic, name = make_topic(broker, unique("out")), unique("writer")
    old = producer(broker, topic, name)
    old.send(records(3))
    old.commit({(SOURCE, 0): (1, "1:1")})
    old.send(records(3, 3))
    old._plain.flush()
    new = producer(broker, topic, name)
    assert new.committed() == {(SOURCE, 0): (1, "1:1")}
    with pytest.raises(kafka.BrokerError, match="another process writes under its name"):
        old.commit({(SOURCE, 0): (2, "1:2")})
    new.send(records(1, 3))
    new.commit({(SOURCE, 0): (2, "2:2,1:1"), (SOURCE, 1): (0, "")})
    assert new.committed() == {(SOURCE, 0): (2, "2:2,1:1"), (SOURCE, 1): (0, "")}
    assert values(broker, topic) == [b"v0", b"v1", b"v2", b"v3"]
    aborted = values(broker, topic, "read_uncommitted")
    assert len(aborted) == 7


def test_outputs_appear_when_their_epoch_closes(broker):
    topic = make_topic(broker, unique("out"))
    writer = producer(broker, topic, unique("writer"))
    part = _ExactlyOnce(Opening(lambda: (writer, {})), 1, {}, [])
    part.write_batch([records(10)])
    writer._plain.flush()
    assert values(broker, topic) == []
    assert part.snapshot() == (1, ((SOURCE, 0, 4), (SOURCE, 1, 4)))
    assert values(broker, topic) == [one.value for one in records(10)]
    assert part.snapshot() == (1, ((SOURCE, 0, 4), (SOURCE, 1, 4)))


class Met:
    """A producer that commits only where as many others do at the same time."""

    def __init__(self, barrier):
        self._barrier = barrier
        self.commits = []

    def send(self, records):
        pass

    def commit(self, ends):
        self._barrier.wait(timeout=10)
        self.commits.append(ends)


def test_the_parts_of_a_worker_commit_beside_each_other():
    producers, beside = [Met(threading.Barrier(2)) for _ in range(3)], []
    producers[1]._barrier = producers[0]._barrier
    parts = [_ExactlyOnce(Opening(lambda one=one: (one, {})), 3, {}, beside) for one in producers]
    for epoch in range(2):
        first = Encoded(b"k", b"v", Cause(SOURCE, 0, epoch))
        for part in parts[:2]:
            part.write_batch([[first]])
        for part in parts[:2]:
            assert part.snapshot() == (3, ((SOURCE, 0, epoch),))
    for one in producers[:2]:
        assert one.commits == [{(SOURCE, 0): (epoch, f"1:{epoch}")} for epoch in range(2)]
    assert producers[2].commits == []
    for part in parts:
        part.close()
    assert beside == []


def test_a_broker_that_has_just_started_is_asked_again(broker, monkeypatch):
    writer = producer(broker, make_topic(broker, unique("out")), unique("writer"))
    asked, real = [], AdminClient.list_consumer_group_offsets

    def loading(self, *args, **settings):
        asked.append(None)
        if len(asked) < 3:
            raise KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))
        return real(self, *args, **settings)

    monkeypatch.setattr(AdminClient, "list_consumer_group_offsets", loading)
    assert writer.committed() == {}
    assert len(asked) == 3


def test_the_coordinator_is_met_by_one_who_may_be_sent_away(broker, monkeypatch):
    """The client crashes if it is sent away when it lists the offsets of a group."""
    writer = producer(broker, make_topic(broker, unique("out")), unique("writer"))
    asked, listing = [], AdminClient.list_consumer_group_offsets

    class Consumer(confluent_kafka.Consumer):
        def committed(self, *args, **settings):
            asked.append("consumer")
            if len(asked) < 3:
                raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))
            return super().committed(*args, **settings)

    def listed(self, *args, **settings):
        asked.append("admin")
        return listing(self, *args, **settings)

    monkeypatch.setattr("okl_flow.kafka.producer.Consumer", Consumer)
    monkeypatch.setattr(AdminClient, "list_consumer_group_offsets", listed)
    assert writer.committed() == {}
    assert asked == ["consumer", "consumer", "consumer", "admin"]


def test_a_replay_is_dropped_and_a_late_output_is_not(broker):
    topic, name = make_topic(broker, unique("out")), unique("writer")
    part = _ExactlyOnce(opening(broker, topic, name), 1, {}, [])
    part.write_batch([records(10)])
    part.snapshot()
    part.write_batch([records(10, 10)])
    part.snapshot()
    # The engine knows of the first epoch alone, and resumes after it.
    part = _ExactlyOnce(opening(broker, topic, name), 1, {(SOURCE, 0): 4, (SOURCE, 1): 4}, [])
    late = Encoded(b"k", b"v100", Cause(SOURCE, 0, 4))
    timer = Encoded(b"k", b"v101")
    part.write_batch([records(5, 10), [late, timer]])
    part.snapshot()
    part.write_batch([records(10, 15)])
    part.snapshot()
    expected = [one.value for one in records(25)] + [b"v100", b"v101"]
    assert values(broker, topic) == expected


def test_what_has_appeared_stays_noted_until_its_replay_comes(broker):
    topic, name = make_topic(broker, unique("out")), unique("writer")
    part = _ExactlyOnce(opening(broker, topic, name), 1, {}, [])
    part.write_batch([records(20)])
    part.snapshot()
    # The engine knows of half of it. Of the two source partitions one is read again at first,
    # and the flow is resumed once more before the other is.
    known = {(SOURCE, 0): 4, (SOURCE, 1): 4}
    part = _ExactlyOnce(opening(broker, topic, name), 1, dict(known), [])
    part.write_batch([[one for one in records(30, 10) if one.cause.partition == 0]])
    _count, ends = part.snapshot()
    assert ends == ((SOURCE, 0, 19), (SOURCE, 1, 4))
    part = _ExactlyOnce(opening(broker, topic, name), 1, {(SOURCE, 0): 19, (SOURCE, 1): 4}, [])
    part.write_batch([[one for one in records(30, 10) if one.cause.partition == 1]])
    part.snapshot()
    assert values(broker, topic) == [one.value for one in records(40)]


def test_the_number_of_partitions_is_fixed(broker, tmp_path):
    topic = make_topic(broker, unique("out"))
    name = unique("flow")
    give(broker, topic, records(10), name=name, store=recovery(tmp_path), partitions=2)
    with pytest.raises(Exception) as raised:
        more = records(20)
        give(broker, topic, more, name=name, store=recovery(tmp_path), partitions=3)
    assert "partitions was 2 before, and is 3 now" in told(raised)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"delivery": "twice"}, "delivery must be"),
        ({"topic": ""}, "topic must be"),
        ({"partitions": 0}, "partitions must be a whole number at least 1"),
        ({"config": {"transactional.id": "a"}}, "transactional.id is set by okl_flow"),
    ],
)
def test_absurd_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        give(**{"bootstrap": "localhost:1", "topic": "t", "records": [], **wrong})


def test_inputs_of_another_cluster_are_told(broker):
    topic = make_topic(broker, unique("out"))
    given = [Encoded(b"k", b"v1", Cause(unique("elsewhere"), 0, 0))]
    with pytest.raises(Exception) as raised:
        give(broker, topic, given, name=unique("flow"), delivery="exactly_once")
    assert "inputs and outputs on one cluster" in told(raised)
    assert values(broker, topic) == []
