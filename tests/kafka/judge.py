"""kafka-python as an independent client: it makes topics, writes inputs and judges outputs."""

import time
from contextlib import closing

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewPartitions,
    NewTopic,
)

PATIENCE = 60.0


def admin(bootstrap):
    """A client to administrate with, closed at the end of a `with`."""
    return closing(KafkaAdminClient(bootstrap_servers=bootstrap))


def make_topic(bootstrap, name, partitions=1, replicas=1, **settings):
    """Make a topic; settings have underscores in place of dots."""
    configs = {key.replace("_", "."): str(value) for key, value in settings.items()}
    topic = NewTopic(name, partitions, replicas, topic_configs=configs)
    with admin(bootstrap) as client:
        client.create_topics([topic])
    return name


def grow_topic(bootstrap, name, partitions):
    """Give a topic so many partitions in all."""
    with admin(bootstrap) as client:
        client.create_partitions({name: NewPartitions(partitions)})


def alter_topic(bootstrap, name, **settings):
    """Change settings of a topic, with underscores in place of dots."""
    configs = {key.replace("_", "."): str(value) for key, value in settings.items()}
    with admin(bootstrap) as client:
        client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs=configs)])


def delete_topic(bootstrap, name):
    with admin(bootstrap) as client:
        client.delete_topics([name])


def write(bootstrap, topic, records, **settings):
    """Write records: values, or tuples of key, value and, if one likes, partition and time."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5, **settings)
    try:
        sent = []
        for record in records:
            key, value, *more = record if isinstance(record, tuple) else (None, record)
            where, when = (*more, None, None)[:2]
            sent.append(producer.send(topic, value, key=key, partition=where, timestamp_ms=when))
        producer.flush()
        for one in sent:
            one.get(30)
    finally:
        producer.close()


def read(bootstrap, topic, isolation="read_committed"):
    """All records of a topic up to its end, partition by partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level=isolation,
        enable_auto_commit=False,
    )
    try:
        parts = [
            TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()
        ]
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        ends = consumer.end_offsets(parts)
        found, end = [], time.monotonic() + PATIENCE
        while any(consumer.position(part) < ends[part] for part in parts):
            for records in consumer.poll(timeout_ms=200).values():
                found += records
                end = time.monotonic() + PATIENCE
            assert time.monotonic() < end, f"{topic}: an open transaction hides its end"
        return sorted(found, key=lambda one: (one.partition, one.offset))
    finally:
        consumer.close()
