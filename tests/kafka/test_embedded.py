"""The mock cluster serves examples: topics by themselves, records in and out."""

import pytest
from confluent_kafka import Producer

from okl_flow import kafka
from okl_flow.wire import Encoded
from tests.kafka.flows import give, take


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_records_go_in_and_out(brokers, delivery):
    with kafka.embedded(brokers) as mock:
        assert len(mock.brokers.split(",")) == brokers
        given = [Encoded(b"k%d" % (n % 5), b"v%d" % n) for n in range(50)]
        give(mock.brokers, "t", given, delivery=delivery)
        found = take(mock.brokers, "t")
    assert sorted((one.key, one.value) for one in found) == sorted(
        (one.key, one.value) for one in given
    )
    assert len({one.partition for one in found}) > 1


def test_it_ends():
    with kafka.embedded() as mock:
        pass
    client = Producer({"bootstrap.servers": mock.brokers, "log_level": 0})
    with pytest.raises(Exception, match="transport failure"):
        client.list_topics(timeout=2)


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5])
def test_brokers_are_counted(wrong):
    with pytest.raises(ValueError, match="brokers must be"), kafka.embedded(wrong):
        pass
