"""`okl-flow produce` on librdkafka's mock cluster."""

import os
import signal
import subprocess
import sys
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from okl_flow.murmur import partition_of

PARTITIONS = 4  # of every topic of the mock cluster


@pytest.fixture(scope="module")
def broker():
    """A mock cluster in this process: the client that keeps it."""
    return Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2})


@pytest.fixture
def brokers(broker):
    return ",".join(f"{one.host}:{one.port}" for one in broker.list_topics().brokers.values())


@pytest.fixture
def topic(broker, request):
    """A topic of its own, which the mock makes when it is asked for by name."""
    name = f"topic-{abs(hash(request.node.name))}"
    broker.list_topics(name)
    return name


def consumed(brokers, topic):
    """Of each partition the messages, as keys and values."""
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "judge", "log_level": 2})
    parts = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    consumer.assign(parts)
    found = {number: [] for number in range(PARTITIONS)}
    while sum(map(len, found.values())) < sum(ends):
        for one in consumer.consume(1000, timeout=0.2):
            assert one.error() is None
            found[one.partition()].append((one.key(), one.value()))
    consumer.close()
    return found


def test_each_line_is_a_message_where_its_key_belongs(call, brokers, topic, tmp_path):
    made = call("make-stream", "users", "--events", "3000", "--keys", "30").stdout
    path = tmp_path / "events.jsonl"
    path.write_text(made)
    done = call("produce", str(path), "--brokers", brokers, "--topic", topic)
    lines = made.splitlines()
    assert done.exit_code == 0
    assert done.stdout == ""
    assert done.stderr.startswith(f"{len(lines):,} records to topic {topic} in ")
    found = consumed(brokers, topic)
    by_key = {}
    for number, messages in found.items():
        for key, value in messages:
            assert partition_of(key.decode(), PARTITIONS) == number
            by_key.setdefault(key, []).append(value.decode())
    wanted = {}
    for line in lines:
        wanted.setdefault(line.split('"key":"')[1].split('"')[0].encode(), []).append(line)
    assert by_key == wanted


def test_a_stream_may_come_through_a_pipe(call, brokers, topic):
    made = call("make-stream", "rings", "--events", "50").stdout
    done = call("produce", "-", "--brokers", brokers, "--topic", topic, stdin=made)
    assert done.exit_code == 0
    found = consumed(brokers, topic)
    values = [value.decode() for messages in found.values() for _key, value in messages]
    assert sorted(values) == sorted(made.splitlines())


def test_a_column_may_be_the_key(call, brokers, topic, tmp_path):
    (tmp_path / "a.csv").write_text("user,x,bought\nann,1,0\nbob,2,1\nann,3,1\n")
    words = ["--key-column", "user", "--label-column", "bought"]
    done = call("produce", f"{tmp_path}/a.csv", "--brokers", brokers, "--topic", topic, *words)
    assert done.exit_code == 0
    messages = [one for some in consumed(brokers, topic).values() for one in some]
    assert [value for key, value in messages if key == b"ann"] == [
        b'{"key":"ann","label":0.0,"features":[1.0]}',
        b'{"key":"ann","label":1.0,"features":[3.0]}',
    ]


def test_a_rate_is_kept(call, brokers, topic, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"features": [1]}\n' * 40)
    begun = time.monotonic()
    words = ["--brokers", brokers, "--topic", topic, "--rate", "40"]
    assert call("produce", f"{tmp_path}/a.jsonl", *words).exit_code == 0
    assert time.monotonic() - begun >= 0.9


def test_a_missing_topic_is_not_made_silently(refusal, broker, brokers, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"features": [1]}\n')
    words = ["produce", f"{tmp_path}/a.jsonl", "--brokers", brokers, "--topic", "absent"]
    message = refusal(*words)
    assert "there is no topic 'absent'" in message
    assert "--create PARTITIONS" in message
    assert "absent" not in broker.list_topics().topics


def test_a_topic_with_other_partitions_is_not_taken_for_the_one_to_make(
    refusal, call, brokers, topic, tmp_path
):
    (tmp_path / "a.jsonl").write_text('{"features": [1]}\n')
    words = ["produce", f"{tmp_path}/a.jsonl", "--brokers", brokers, "--topic", topic]
    assert "with 4 partitions and not 7" in refusal(*words, "--create", "7")
    assert call(*words, "--create", str(PARTITIONS)).exit_code == 0


def test_what_is_wrong_is_said_in_a_line(refusal, brokers, topic, tmp_path):
    good, config = tmp_path / "a.jsonl", tmp_path / "config"
    good.write_text('{"features": [1]}\n')
    there = ["--brokers", brokers, "--topic", topic]
    away = ["--brokers", "127.0.0.1:1", "--topic", topic, "--timeout", "1"]
    assert "no answer from 127.0.0.1:1 within 1 s" in refusal("produce", str(good), *away)
    assert "no such file" in refusal("produce", str(tmp_path / "b.csv"), *there)
    empty = tmp_path / "b.jsonl"
    empty.write_text("\n")
    assert "there are no events in it" in refusal("produce", str(empty), *there)
    assert "did you mean 'jsonl'" in refusal("produce", "-", *there, "--format", "json")
    assert "--loop needs a file" in refusal("produce", "-", *there, "--loop")
    config.write_text("# ours\n\nsasl.password")
    configured = ["produce", str(good), *there, "--config", str(config)]
    assert "line 3: expected name=value" in refusal(*configured)
    config.write_text("sasl.password = ${NO_SUCH_VARIABLE}")
    assert "line 1: expected the variable NO_SUCH_VARIABLE" in refusal(*configured)
    config.write_text("sasl.pasword = hunter2")
    message = refusal(*configured)
    assert "sasl.pasword" in message
    assert "hunter2" not in message
    config.write_text("partitioner=random")
    assert "partitioner is set already" in refusal(*configured)


def test_data_that_end_badly_are_told_with_what_went_before(call, brokers, topic, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"features": [1]}\n' * 3 + "{\n")
    done = call("produce", f"{tmp_path}/a.jsonl", "--brokers", brokers, "--topic", topic)
    assert done.exit_code == 2
    first, second = done.stderr.splitlines()
    assert first.startswith("3 records to topic")
    assert "line 4: expected a JSON object" in second


def test_what_was_not_delivered_is_counted(call, broker, brokers, topic, tmp_path):
    small, large = '{"features": [1]}', '{"features": [1], "more": "' + "x" * 2_000_000 + '"}'
    (tmp_path / "a.jsonl").write_text("\n".join([small, large, small, large]))
    done = call("produce", f"{tmp_path}/a.jsonl", "--brokers", brokers, "--topic", topic)
    assert done.exit_code == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("2 records to topic")
    assert second.startswith("not delivered: 2: ")
    assert sum(map(len, consumed(brokers, topic).values())) == 2


def test_ctrl_c_ends_a_loop_with_a_summary(brokers, topic, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"features": [1]}\n' * 10)
    words = ["produce", path, "--brokers", brokers, "--topic", topic, "--loop", "--rate", "200"]
    heeding = ["env", "--default-signal=INT", sys.executable, "-m", "okl_flow.cli"]
    with subprocess.Popen([*heeding, *words], stdout=-1, stderr=-1, env=os.environ) as process:
        while sum(map(len, consumed(brokers, topic).values())) < 30:  # more than the file has
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    [line] = err.decode().splitlines()
    count = int(line.split()[0].replace(",", ""))
    assert count == sum(map(len, consumed(brokers, topic).values()))
