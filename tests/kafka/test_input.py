"""What `kafka.input` brings is what kafka-python reads, whatever happens to the topic."""

import logging
import time
import traceback
from contextlib import closing

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from okl_flow import draining, kafka
from tests.kafka.flows import recovery, take, unique
from tests.kafka.judge import admin, alter_topic, delete_topic, grow_topic, make_topic, read, write
from tests.kafka.running import as_raws


def in_order(raws):
    return sorted(raws, key=lambda raw: (raw.topic, raw.partition, raw.offset))


def by_partition(raws):
    """Offsets in the order in which they came."""
    found = {}
    for raw in raws:
        found.setdefault((raw.topic, raw.partition), []).append(raw.offset)
    return found


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_records_are_those_of_the_topic_in_its_order(batch_size, broker):
    topic = make_topic(broker, unique("in"), 5)
    write(broker, topic, [(b"k%d" % (n % 9), b"v%d" % n) for n in range(300)])
    found = take(broker, topic, batch_size=batch_size)
    assert in_order(found) == as_raws(read(broker, topic))
    assert all(offsets == sorted(offsets) for offsets in by_partition(found).values())


def test_records_share_the_name_of_their_topic(broker):
    topic = make_topic(broker, unique("in"), 2)
    write(broker, topic, [(b"k%d" % n, b"v%d" % n) for n in range(50)])
    assert len({id(raw.topic) for raw in take(broker, topic)}) == 1


def test_null_keys_tombstones_empty_values_and_headers(broker):
    topic = make_topic(broker, unique("in"))
    producer = KafkaProducer(bootstrap_servers=broker)
    producer.send(topic, b"no key")
    producer.send(topic, None, key=b"gone")
    producer.send(topic, b"", key=b"")
    producer.send(topic, b"with headers", key=b"k", headers=[("a", b"1"), ("a", b"2")])
    producer.flush()
    producer.close()
    found = take(broker, topic)
    assert [(raw.key, raw.value) for raw in found] == [
        (None, b"no key"),
        (b"gone", None),
        (b"", b""),
        (b"k", b"with headers"),
    ]
    assert found == as_raws(read(broker, topic))


@pytest.mark.parametrize("kind", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_topics(kind, broker):
    topic = make_topic(broker, unique("in"), compression_type=kind)
    write(broker, topic, [b"v%d" % n * 50 for n in range(200)])
    assert [raw.value for raw in take(broker, topic)] == [b"v%d" % n * 50 for n in range(200)]


def test_large_records(broker):
    topic = make_topic(broker, unique("in"), max_message_bytes=6_000_000)
    large = [b"a" * 3_000_000, b"b", b"c" * 3_000_000]
    write(broker, topic, large, max_request_size=6_000_000)
    assert [raw.value for raw in take(broker, topic)] == large


def test_aborted_transactions_are_left_out(broker):
    topic = make_topic(broker, unique("in"))
    producer = Producer({"bootstrap.servers": broker, "transactional.id": unique("tx")})
    producer.init_transactions(30)
    for number, end in enumerate(
        (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    ):
        producer.begin_transaction()
        for at in range(5):
            producer.produce(topic, b"%d/%d" % (number, at))
        producer.flush()
        end(30)
    found = [raw.value for raw in take(broker, topic)]
    assert found == [b"%d/%d" % (number, at) for number in (0, 2) for at in range(5)]


def test_the_end_is_where_it_was_at_the_start(broker):
    topic = make_topic(broker, unique("in"), 2)
    write(broker, topic, [(None, b"v%d" % n, n % 2) for n in range(10)])
    more = [(None, b"later", 0), (None, b"later", 1)]

    def each(raw):
        while more:
            write(broker, topic, [more.pop()])

    assert {raw.value for raw in take(broker, topic, each=each)} == {b"v%d" % n for n in range(10)}
    assert take(broker, make_topic(broker, unique("empty"), 3)) == []


def test_a_resumed_flow_goes_on_where_it_was(broker, tmp_path):
    topic, other = make_topic(broker, unique("in"), 3), make_topic(broker, unique("other"))
    write(broker, topic, [b"v%d" % n for n in range(50)])
    first = take(broker, topic, store=recovery(tmp_path))
    grow_topic(broker, topic, 6)  # while the flow is down
    write(broker, topic, [(None, b"w%d" % n, n % 6) for n in range(30)])
    write(broker, other, [b"o"])
    second = take(broker, [topic, other], store=recovery(tmp_path), start="latest")
    assert in_order(first + second) == as_raws(read(broker, topic))
    assert take(broker, [topic, other], store=recovery(tmp_path)) == []


def test_start_at_the_end(broker, tmp_path):
    topic = make_topic(broker, unique("in"), 2)
    write(broker, topic, [b"old"] * 10)
    assert take(broker, topic, start="latest", store=recovery(tmp_path)) == []
    write(broker, topic, [b"new"])
    found = take(broker, topic, start="latest", store=recovery(tmp_path))
    assert [raw.value for raw in found] == [b"new"]


def test_partitions_that_a_topic_gets_are_read_from_their_beginning(broker):
    topic = make_topic(broker, unique("in"), 2)
    write(broker, topic, [(None, b"first", 0)])
    seen = []

    def each(raw):
        seen.append(raw.value)
        if raw.value == b"first":
            grow_topic(broker, topic, 8)
            write(broker, topic, [(None, b"grown", number) for number in range(8)])
        if len(seen) == 9:
            draining.request()

    found = take(broker, topic, each=each, tail=True)
    assert in_order(found) == as_raws(read(broker, topic))


def delete_up_to(broker, topic, offset):
    with admin(broker) as client:
        client.delete_records({TopicPartition(topic, 0): offset})


@pytest.mark.parametrize(
    ("policy", "expected"), [("fail", None), ("earliest", range(30, 40)), ("latest", range(0))]
)
def test_offsets_lost_between_two_runs(policy, expected, broker, tmp_path, caplog):
    topic = make_topic(broker, unique("in"))
    write(broker, topic, [b"%d" % n for n in range(10)])
    take(broker, topic, store=recovery(tmp_path))
    write(broker, topic, [b"%d" % n for n in range(10, 40)])
    delete_up_to(broker, topic, 30)
    if expected is None:
        with pytest.raises(Exception) as raised:
            take(broker, topic, store=recovery(tmp_path))
        told = str(raised.value.__cause__)
        assert "up to offset 10" in told and "30 to 40" in told and "on_lost_offsets" in told
        return
    found = take(broker, topic, store=recovery(tmp_path), on_lost_offsets=policy)
    assert [int(raw.value) for raw in found] == list(expected)
    assert "up to offset 10" in caplog.text and policy in caplog.text


@pytest.mark.parametrize(
    ("policy", "expected"), [("fail", None), ("earliest", range(40, 50)), ("latest", range(0))]
)
def test_retention_that_ate_the_offset_to_resume_from(policy, expected, broker, tmp_path):
    topic = make_topic(broker, unique("in"), retention_ms=-1)
    write(broker, topic, [b"%d" % n for n in range(10)])
    take(broker, topic, store=recovery(tmp_path))
    write(broker, topic, [b"%d" % n for n in range(10, 40)])
    alter_topic(broker, topic, retention_ms=1)
    wait_for_beginning(broker, topic, 40)
    alter_topic(broker, topic, retention_ms=-1)
    write(broker, topic, [b"%d" % n for n in range(40, 50)])
    if expected is None:
        with pytest.raises(Exception) as raised:
            take(broker, topic, store=recovery(tmp_path))
        assert "up to offset 10, and the partition now has 40 to 50" in str(raised.value.__cause__)
        return
    found = take(broker, topic, store=recovery(tmp_path), on_lost_offsets=policy)
    assert [int(raw.value) for raw in found] == list(expected)


def wait_for_beginning(broker, topic, offset):
    """Wait until the broker has deleted what is before an offset."""
    part, end = TopicPartition(topic, 0), time.monotonic() + 60
    with closing(KafkaConsumer(bootstrap_servers=broker)) as consumer:
        while consumer.beginning_offsets([part])[part] < offset:
            assert time.monotonic() < end, "nothing was deleted"
            time.sleep(0.1)


def test_a_topic_made_anew_is_not_taken_for_the_old_one(broker, tmp_path):
    topic = make_topic(broker, unique("in"))
    write(broker, topic, [b"old"] * 10)
    take(broker, topic, store=recovery(tmp_path))
    delete_topic(broker, topic)
    time.sleep(1)
    make_topic(broker, topic)
    write(broker, topic, [b"new"])
    with pytest.raises(Exception) as raised:
        take(broker, topic, store=recovery(tmp_path))
    assert "made anew" in str(raised.value.__cause__)


@pytest.mark.parametrize("policy", ["fail", "earliest"])
def test_offsets_lost_while_reading(policy, broker):
    topic = make_topic(broker, unique("in"))
    write(broker, topic, [b"%d" % n + b" " * 10_000 for n in range(200)])
    held = {"fetch.message.max.bytes": 20_000, "queued.min.messages": 1}
    deleted = []

    def each(raw):
        if not deleted:
            deleted.append(True)
            delete_up_to(broker, topic, 150)
            time.sleep(0.5)

    settings = {"each": each, "batch_size": 1, "on_lost_offsets": policy, "config": held}
    if policy == "fail":
        with pytest.raises(Exception) as raised:
            take(broker, topic, **settings)
        assert "150 to 200" in str(raised.value.__cause__)
        return
    offsets = [raw.offset for raw in take(broker, topic, **settings)]
    assert offsets[-50:] == list(range(150, 200)) and offsets[0] == 0 and len(offsets) < 100


def test_an_unreachable_broker_is_told_in_time():
    begun = time.monotonic()
    with pytest.raises(Exception) as raised:
        take("127.0.0.1:1", "topic")
    assert "no answer from 127.0.0.1:1 in 15 s" in str(raised.value.__cause__)
    assert time.monotonic() - begun < 25


def test_a_missing_topic_is_told(broker):
    with pytest.raises(Exception) as raised:
        take(broker, unique("missing"))
    assert isinstance(raised.value.__cause__, kafka.BrokerError)
    assert "make it, or mend its name" in str(raised.value.__cause__)


def test_a_topic_that_is_deleted_while_it_is_read_is_told_in_time(broker):
    topic = make_topic(broker, unique("in"))
    write(broker, topic, [b"first"])
    begun = []

    def each(raw):
        delete_topic(broker, topic)
        begun.append(time.monotonic())

    with pytest.raises(Exception) as raised:
        take(broker, topic, each=each, tail=True)
    assert "was deleted while" in str(raised.value.__cause__)
    assert time.monotonic() - begun[0] < 20


def test_draining_ends_the_flow_and_loses_nothing(broker, tmp_path):
    topic = make_topic(broker, unique("in"), 3)
    write(broker, topic, [b"v%d" % n for n in range(500)])
    seen = []

    def each(raw):
        seen.append(raw)
        if len(seen) == 100:
            draining.request()

    first = take(broker, topic, each=each, tail=True, batch_size=10, store=recovery(tmp_path))
    assert 100 <= len(first) < 500
    second = take(broker, topic, store=recovery(tmp_path))
    assert in_order(first + second) == as_raws(read(broker, topic))


def test_the_group_is_told_how_far_the_flow_is(broker):
    topic, group = make_topic(broker, unique("in"), 2), unique("group")
    write(broker, topic, [(None, b"v", n % 2) for n in range(30)])
    take(broker, topic, group=group)
    with closing(KafkaConsumer(bootstrap_servers=broker, group_id=group)) as consumer:
        told = [consumer.committed(TopicPartition(topic, part)) for part in range(2)]
    assert told == [15, 15]


def test_secrets_are_never_shown(caplog):
    caplog.set_level(logging.DEBUG)
    secret = "Tr0ub4dor"
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": secret,
    }
    with pytest.raises(Exception) as raised:
        take("127.0.0.1:1", "topic", config=config)
    shown = traceback.format_exception(raised.value)
    for wrong in ({"no.such.setting": secret}, {"sasl.mechanism": secret}):
        with pytest.raises(Exception) as raised:
            take("127.0.0.1:1", "topic", config={**config, **wrong})
        shown += traceback.format_exception(raised.value)
    assert "no.such.setting" in "".join(shown)
    assert not any(secret in one for one in [*shown, caplog.text])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"topics": []}, "topics must be"),
        ({"topics": ["a", "a"]}, "topics must be"),
        ({"start": "middle"}, "start must be one of earliest, latest"),
        ({"on_lost_offsets": "ignore"}, "on_lost_offsets must be one of"),
        ({"batch_size": 0}, "batch_size must be a whole number at least 1"),
        ({"bootstrap": ""}, "brokers must be"),
        ({"config": {"auto.offset.reset": "latest"}}, "auto.offset.reset is set by okl_flow"),
    ],
)
def test_absurd_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        take(**{"bootstrap": "localhost:1", "topics": "t", **wrong})
