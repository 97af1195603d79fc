"""`okl-flow demo` over Apache Kafka: nothing is there twice, and nothing of it stays."""

import signal
import time

from kafka import KafkaConsumer

from okl_flow.wire import decode_outgoing
from tests.demo.conftest import SMALL, show  # noqa: F401  (a fixture)
from tests.kafka.judge import PATIENCE, admin, read


def left_over(broker):
    """Topics and consumer groups of demonstrations."""
    consumer = KafkaConsumer(bootstrap_servers=broker)
    topics = [one for one in consumer.topics() if one.startswith("okl-flow-demo-")]
    consumer.close()
    with admin(broker) as client:
        groups = [one["group_id"] for one in client.list_groups()]
    return sorted(topics), sorted(one for one in groups if one.startswith("okl-flow-demo-"))


def name_of(shown):
    """What the names of its topics begin with."""
    return shown.text.partition("topics: ")[2].partition(".events")[0]


def test_each_prediction_is_there_once(broker, show, tmp_path):  # noqa: F811
    kept = tmp_path / "kept"
    shown = show(*SMALL, "--brokers", broker, "--keep", kept)
    assert shown.end() == 0, shown.text
    for words in (
        "process 1 was killed by signal 9",
        "it goes on, ",
        "The verdict, over Kafka:",
        "good  every event is predicted: 1,500 of 1,500",
        "good  each of them is there once",
    ):
        assert words in shown.text, shown.text
    topic = f"{name_of(shown)}.predictions"
    found = [decode_outgoing(one.value) for one in read(broker, topic)]
    lines = (kept / "undisturbed" / "predictions.jsonl").read_bytes().splitlines()
    wanted = [decode_outgoing(line) for line in lines]
    assert sorted((one.id, one.label is None, one.score) for one in found) == sorted(
        (one.id, one.label is None, one.score) for one in wanted
    )


def test_ctrl_c_leaves_no_topics_either(broker, show):  # noqa: F811
    shown = show(*SMALL, "--brokers", broker)
    shown.wait_for("kill -9")
    name = name_of(shown)
    assert f"{name}.events" in left_over(broker)[0]
    shown.signal(signal.SIGINT)
    assert shown.end() == 130, shown.text
    assert (shown.running, shown.files) == ([], [])
    end = time.monotonic() + PATIENCE
    while any(name in one for kind in left_over(broker) for one in kind):
        assert time.monotonic() < end, left_over(broker)
        time.sleep(0.1)
