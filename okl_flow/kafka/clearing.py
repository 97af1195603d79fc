"""What a job has left on the brokers, taken away again."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka import admin as clients_admin

from okl_flow.kafka.connection import START_SECONDS, Config, Connection

__all__ = ["clear"]


def clear(
    brokers: str | Sequence[str],
    topics: Sequence[str],
    groups: str,
    config: Config | None = None,
    seconds: float = START_SECONDS,
) -> list[str]:
    """Delete topics, and the consumer groups whose names begin so; says what cannot be deleted.

    Parameters:
        brokers: "host:port", or several of them.
        topics: those to delete.
        groups: what the names of the groups begin with.
        config: more settings of librdkafka, such as those of security. They are never shown.
        seconds: so long the brokers may take.
    """
    admin: Any = clients_admin
    connection = Connection(brokers, config, ())
    client = connection.made(admin.AdminClient, connection.settings())
    complaints = []
    try:
        listed = client.list_consumer_groups(request_timeout=seconds).result(seconds).valid
        named = [one.group_id for one in listed if one.group_id.startswith(groups)]
        asked = client.delete_topics(list(topics), operation_timeout=seconds)
        if named:
            asked |= client.delete_consumer_groups(named, request_timeout=seconds)
    except KafkaException as error:
        return [connection.clean(error)]
    except TimeoutError:
        return [f"no answer from {connection.brokers} in {seconds:g} s"]
    for name, answer in asked.items():
        try:
            answer.result(seconds)
        except KafkaException as error:
            complaints.append(f"{name}: {connection.clean(error)}")
        except TimeoutError:
            return [*complaints, f"no answer from {connection.brokers} in {seconds:g} s"]
    return complaints
