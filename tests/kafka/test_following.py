"""Looking on at topics that are missing, grow, go and come back, and at the lag of a group."""

import time
from contextlib import closing

import pytest

from okl_flow.kafka.following import Follower
from okl_flow.kafka.lag import Lag
from tests.kafka.flows import PATIENCE, recovery, take, unique
from tests.kafka.judge import delete_topic, grow_topic, make_topic, write


@pytest.fixture
def follow():
    """Follow topics until the end of the test."""
    made = []

    def begin(bootstrap, *topics, **settings):
        made.append(Follower(topics, bootstrap, **settings))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def measured(bootstrap, group, *topics):
    with closing(Lag(group, bootstrap)) as lag:
        return lag.measure(topics)


def until(follower, is_so):
    """Records that come until something is so."""
    found, end = [], time.monotonic() + PATIENCE
    while not is_so(found):
        assert time.monotonic() < end, (found, follower.standing(), follower.trouble)
        found += follower.poll(100, 0.1)
    return found


def read(follower, count):
    return sorted(one.value for one in until(follower, lambda found: len(found) >= count))


def test_a_topic_is_read_from_its_beginning_with_the_times_of_its_records(broker, follow):
    topic = make_topic(broker, unique("reports"), 3)
    begun = 1000 * int(time.time())  # older records the broker would delete
    write(broker, topic, [(b"k", b"%d" % n, n % 3, begun + n) for n in range(50)])
    follower = follow(broker, topic)
    found = until(follower, lambda found: len(found) == 50)
    times = {one.value: one.time for one in found}
    assert times == {b"%d" % n: begun + n for n in range(50)}
    until(follower, lambda _found: follower.standing()[0].read == 50)
    [standing] = follower.standing()
    assert (standing.topic, standing.partitions, standing.total) == (topic, 3, 50)
    write(broker, topic, [b"more", (b"tombstone", None)])
    assert [one.value for one in until(follower, lambda found: len(found) == 2)] != []


def test_a_topic_that_is_missing_is_waited_for(broker, follow):
    there, missing = make_topic(broker, unique("alarms")), unique("reports")
    write(broker, there, [b"one"])
    follower = follow(broker, missing, there)
    assert read(follower, 1) == [b"one"]
    assert [one.partitions for one in follower.standing()] == [0, 1]
    make_topic(broker, missing, 2)
    write(broker, missing, [b"first", b"second"])
    assert read(follower, 2) == [b"first", b"second"]
    assert [one.partitions for one in follower.standing()] == [2, 1]
    assert follower.trouble is None


def test_new_partitions_are_found(broker, follow):
    topic = make_topic(broker, unique("reports"))
    follower = follow(broker, topic)
    until(follower, lambda _found: follower.standing()[0].partitions == 1)
    grow_topic(broker, topic, 3)
    until(follower, lambda _found: follower.standing()[0].partitions == 3)
    write(broker, topic, [(None, b"%d" % n, n) for n in range(3)])
    assert read(follower, 3) == [b"0", b"1", b"2"]


def test_a_topic_that_was_deleted_and_made_again_is_read_again(broker, follow):
    topic = make_topic(broker, unique("reports"))
    write(broker, topic, [b"old"] * 5)
    follower = follow(broker, topic)
    read(follower, 5)
    delete_topic(broker, topic)
    until(follower, lambda _found: follower.standing()[0].partitions == 0)
    make_topic(broker, topic)
    write(broker, topic, [b"new"])
    assert read(follower, 1) == [b"new"]


def test_a_broker_may_go_and_come_back(cluster, follow):
    topic = make_topic(cluster.bootstrap, unique("reports"))
    write(cluster.bootstrap, topic, [b"before"])
    follower = follow(cluster.bootstrap, topic)
    assert read(follower, 1) == [b"before"]
    cluster.brokers[0].kill()
    until(follower, lambda _found: follower.trouble)
    cluster.restart()
    write(cluster.bootstrap, topic, [b"after"])
    assert read(follower, 1) == [b"after"]
    until(follower, lambda _found: follower.trouble is None)


def test_nobody_hears_of_who_looks_on(broker, follow):
    topic = make_topic(broker, unique("reports"))
    write(broker, topic, [b"one"])
    read(follow(broker, topic), 1)
    assert measured(broker, "okl_flow.following", topic) == {}


def test_settings_on_which_the_reading_depends_are_refused(broker):
    with pytest.raises(ValueError, match="auto.offset.reset is set by okl_flow"):
        Follower(["reports"], broker, {"auto.offset.reset": "latest"})


def test_the_lag_is_what_a_flow_has_not_read(broker, tmp_path):
    topic = make_topic(broker, unique("events"), 2)
    write(broker, topic, [(None, b"%d" % n, n % 2) for n in range(30)])
    name = unique("flow")
    assert measured(broker, f"{name}.read", topic) == {}
    take(broker, topic, name=name, store=recovery(tmp_path))
    write(broker, topic, [(None, b"more", 1)] * 7)
    assert measured(broker, f"{name}.read", topic, unique("missing")) == {
        (topic, 0): (15, 15),
        (topic, 1): (15, 22),
    }


def test_without_a_broker_there_is_no_lag():
    with pytest.raises(ConnectionError):
        measured("127.0.0.1:9", "flow.read", "events")


def test_the_lag_is_known_again_when_a_broker_is_back(cluster):
    """librdkafka's own client for administration would end the process here."""
    topic = make_topic(cluster.bootstrap, unique("events"))
    write(cluster.bootstrap, topic, [b"one"])
    take(cluster.bootstrap, topic, name="flow")
    with closing(Lag("flow.read", cluster.bootstrap)) as lag:
        assert lag.measure([topic]) == {(topic, 0): (1, 1)}
        cluster.brokers[0].kill()
        with pytest.raises(ConnectionError):
            lag.measure([topic])
        cluster.restart()
        write(cluster.bootstrap, topic, [b"two"])
        end = time.monotonic() + PATIENCE
        while True:
            try:
                assert lag.measure([topic]) == {(topic, 0): (1, 2)}
                return
            except ConnectionError:
                assert time.monotonic() < end
