"""One who looks on reads all that was committed; and clearing takes away what a job has left."""

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer

from okl_flow.kafka import BrokerError
from okl_flow.kafka.clearing import clear
from okl_flow.kafka.onlooker import Onlooker
from tests.kafka.flows import unique
from tests.kafka.judge import PATIENCE, admin, make_topic, write


@pytest.fixture
def follow(broker):
    """Follows topics, until the end of the test."""
    begun = []

    def begin(*topics):
        begun.append(Onlooker(broker, topics))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def until_there(onlooker, count):
    """What it takes, until there is so much."""
    taken = []
    for _ in range(int(PATIENCE / 0.1)):
        if len(taken) >= count:
            break
        taken += onlooker.take(0.1)
    return taken


def test_all_records_come_in_the_order_of_their_partition(broker, follow):
    topics = [make_topic(broker, unique("followed"), 3) for _ in range(2)]
    onlooker = follow(*topics)
    assert onlooker.rest(PATIENCE) == []
    for topic in topics:
        write(broker, topic, [(b"k%d" % (n % 7), b"%d" % n) for n in range(100)])
    found = until_there(onlooker, 200)
    for topic in topics:
        of_topic = [one for one in found if one.topic == topic]
        assert sorted(int(one.value) for one in of_topic) == list(range(100))
        for partition in range(3):
            offsets = [one.offset for one in of_topic if one.partition == partition]
            assert offsets == list(range(len(offsets)))
    write(broker, topics[0], [b"one more"])
    assert [one.value for one in onlooker.rest(PATIENCE)] == [b"one more"]
    assert onlooker.rest(PATIENCE) == []


def test_what_was_not_committed_is_not_seen(broker, follow):
    topic = make_topic(broker, unique("followed"))
    producer = Producer({"bootstrap.servers": broker, "transactional.id": unique("writer")})
    producer.init_transactions(PATIENCE)
    for commits in (True, False, True):
        producer.begin_transaction()
        producer.produce(topic, b"committed" if commits else b"aborted")
        producer.flush(PATIENCE)
        (producer.commit_transaction if commits else producer.abort_transaction)(PATIENCE)
    assert [one.value for one in follow(topic).rest(PATIENCE)] == [b"committed"] * 2


def test_a_topic_that_is_not_there_is_told_of(broker):
    name = unique("absent")
    with pytest.raises(BrokerError, match=f"cannot read from {broker}: topic {name}: "):
        Onlooker(broker, [name])


def test_clearing_takes_topics_and_groups_of_a_name_and_no_others(broker):
    name, other = unique("mine"), unique("other")
    topics = [make_topic(broker, f"{one}.events") for one in (name, other)]
    for group, topic in zip((f"{name}.read", f"{other}.read"), topics, strict=True):
        write(broker, topic, [b"one"])
        consumer = KafkaConsumer(
            topic, bootstrap_servers=broker, group_id=group, auto_offset_reset="earliest"
        )
        consumer.poll(timeout_ms=1000 * PATIENCE, max_records=1)
        consumer.commit()
        consumer.close()
    assert clear(broker, [topics[0]], name) == []
    with admin(broker) as client:
        groups = {one["group_id"] for one in client.list_groups()}
        left = set(client.list_topics())
    assert (f"{name}.read" in groups, f"{other}.read" in groups) == (False, True)
    assert (topics[0] in left, topics[1] in left) == (False, True)
    [complaint] = clear(broker, [topics[0]], name)
    assert complaint.startswith(f"{topics[0]}: ")


def test_brokers_that_do_not_answer_are_a_complaint():
    [complaint] = clear("127.0.0.1:1", ["a"], "a", seconds=1.0)
    assert complaint == "no answer from 127.0.0.1:1 in 1 s"
