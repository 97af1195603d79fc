"""The formats of what is read and written, by name and parameters, and what they need."""

from typing import Any

from okl_flow import wire
from okl_flow.files import format_of
from okl_flow.job import parsed, unknown_of
from okl_flow.parameters import parameters_of
from okl_flow.wire import Columns, Csv, Features, Format, Names, SchemaRegistry
from okl_flow.wire.decoder import FORMATS

__all__ = [
    "AVRO",
    "CONFLUENT",
    "JSON",
    "KNOWN",
    "MEMBERS",
    "OUTGOING",
    "SchemaRegistry",
    "features_of",
    "file_format",
    "topic_format",
]

MEMBERS = ("key", "id", "time", "label", "type")
"""Columns of CSV that are what they are called."""

CSV, AVRO, CONFLUENT, JSON = "csv", "avro", "confluent", "json"
OF_FILES = ("jsonl", CSV, "libsvm")
OF_TOPICS = (*FORMATS, CSV, AVRO, CONFLUENT)
KNOWN = tuple(dict.fromkeys((*OF_FILES, *OF_TOPICS)))
OUTGOING = (JSON, "msgpack", AVRO, CONFLUENT)


def features_of(text: str) -> Features:
    """So many numbers in a list, or numbers with names."""
    return Columns(int(text)) if text.isdecimal() else Names(text.split(","))


def file_format(line: str | None, path: str) -> str:
    """The format of files: what is said, or else what the suffix of the first one says."""
    if line is None:
        return format_of(path)
    name, parameters = parsed(line, "csv")
    if name not in OF_FILES:
        raise ValueError(
            f"expected one of {', '.join(OF_FILES)} of files, found {name!r}, which is for topics: "
            "they need source.brokers"
        )
    if parameters:
        raise ValueError(f"expected {name} without parameters for files, found {line!r}")
    return name


def topic_format(line: str | None, features: str, schema: str | None, registry: Any) -> Format:
    """The format of the records in topics."""
    name, given = parsed(line or JSON, "float32 label=last")
    if name not in OF_TOPICS:
        raise ValueError(
            f"expected one of {', '.join(OF_TOPICS)} of topics, found {name!r}, which is for "
            "files: they need no source.brokers"
        )
    for _parameter, message in unknown_of(name, given, _parameters(name)):
        raise ValueError(message)
    if name == CSV:
        columns = features.split(",")
        return Csv(columns, **{one: one for one in MEMBERS if one in columns}, **given)
    if name == AVRO:
        assert schema is not None
        return wire.Avro(schema, **given)
    if name == CONFLUENT:
        return wire.Confluent(registry, **given)
    return FORMATS[name](**given)


def _parameters(name: str) -> list[str]:
    """The parameters that a format of topics may have in one line."""
    own = {CSV: ["separator"], AVRO: [], CONFLUENT: ["key"]}
    if name in own:
        return own[name]
    made: Any = FORMATS[name]()
    return [one.name for one in parameters_of(made) if one.name != "number"]
