"""Topics in place of files: what the flows read and write where there are brokers."""

from typing import Any

from bytewax.dataflow import Dataflow, Stream

from dataflows import formats
from dataflows.settings import Settings, known_as
from okl_flow import kafka, wire
from okl_flow.kafka.properties import read_properties
from okl_flow.kafka.topics import Topics
from okl_flow.wire import Encoded, Raw, Writer

__all__ = ["prepare", "read_topics", "write_topic", "writer"]

_IN_ORDER = ("predictions", "rejects")
"""What leaves in the epoch of its cause, and in an order that a replay repeats."""


def prepare(settings: Settings) -> None:
    """Make topics that are missing, or name them."""
    assert settings.brokers is not None
    topics = Topics(settings.brokers, _config(settings))
    missing = topics.missing([*settings.inputs, *settings.outputs.values()])
    create = settings.create_topics
    if missing and create is None:
        raise ValueError(
            f"{known_as('brokers')}: {settings.brokers} has not the topic"
            f"{'s' * (len(missing) > 1)} {', '.join(missing)}, or does not show them to us; mend "
            "names or permissions, or let what is missing be made: okl-flow run --create-topics "
            "PARTITIONS, or OKL_CREATE_TOPICS"
        )
    if missing:
        assert create is not None
        topics.make(missing, create)


def read_topics(flow: Dataflow, settings: Settings) -> Stream[Raw]:
    """The records of the topics, those of labels among them."""
    given: dict[str, Any] = {
        name: getattr(settings, name)
        for name in ("tail", "start", "on_lost_offsets", "batch_size", "group")
        if getattr(settings, name) is not None
    }
    assert settings.brokers is not None
    return kafka.input(
        "read", flow, settings.inputs, brokers=settings.brokers, config=_config(settings), **given
    )


def writer(settings: Settings, kind: str) -> str | Writer:
    """The format of the records of one kind that are written."""
    name = settings.output_format or formats.JSON
    if name == formats.AVRO:
        return wire.AvroWriter()
    if name == formats.CONFLUENT:
        record = kind.removesuffix("s")
        topic = settings.outputs[kind]
        return wire.ConfluentWriter(settings.schema_registry(), topic, records=[record])
    return name


def write_topic(settings: Settings, kind: str, records: Stream[Encoded]) -> None:
    """Write the records of one kind to their topic.

    Predictions and rejects are written as `delivery` says. Reports and alarms come at least
    once: those about the whole stream put partitions together in an order that a replay need
    not repeat.
    """
    assert settings.brokers is not None
    chosen: Any = settings.delivery if kind in _IN_ORDER else None
    parts = {} if settings.sink_partitions is None else {"partitions": settings.sink_partitions}
    kafka.output(
        f"write_{kind}",
        records,
        settings.outputs[kind],
        brokers=settings.brokers,
        delivery=chosen or "at_least_once",
        config=_config(settings),
        **parts,
    )


def _config(settings: Settings) -> dict[str, str]:
    if settings.kafka_config is None:
        return {}
    try:
        return read_properties(settings.kafka_config)
    except ValueError as error:
        raise ValueError(f"{known_as('kafka_config')}: {error}") from None
