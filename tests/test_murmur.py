"""Kafka's own client in Python hashes the slow way: the judge of ours."""

from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from okl_flow.murmur import partition_of, partitions_of, seeds_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=20), st.integers(1, 1000))
def test_a_key_lies_where_kafka_puts_it(keys, partitions):
    expected = [(murmur2(key.encode()) & 0x7FFFFFFF) % partitions for key in keys]
    assert partitions_of(keys, partitions).tolist() == expected
    assert [partition_of(key, partitions) for key in keys] == expected


def test_no_keys_have_no_partitions():
    assert partitions_of([], 64).tolist() == []


def test_the_seed_of_a_key_is_its_hash():
    assert seeds_of(["21"]) == [2**32 - 973932308]  # as in the tests of Kafka's own client
    assert seeds_of(["foobar"]) == [2**32 - 790332482]
