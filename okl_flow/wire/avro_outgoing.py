"""Predictions, reports, alarms and rejects in Avro."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

import msgspec
from fastavro import schemaless_writer

from okl_flow.events import Alarm, Cause, Outgoing, Prediction, Reason, Reject, Report
from okl_flow.parameters import check, flag
from okl_flow.wire.avro import framed, header
from okl_flow.wire.avro_records import KINDS, avro_schema, full_name
from okl_flow.wire.avro_schema import AvroReader, SchemaError, parsed
from okl_flow.wire.schema_registry import RegistryClient, RegistryError, SchemaRegistry
from okl_flow.wire.writing import Writer, plain

__all__ = ["AvroWriter", "ConfluentWriter"]

_WORDS = {kind: word for word, kind in KINDS.items()}
_BY_NAME = {full_name(kind): word for word, kind in KINDS.items()}
_CAUSE = Cause("", 0, 0)
_SAMPLES: dict[str, tuple[Outgoing, ...]] = {
    "prediction": (
        Prediction("", 0.0, 0.0, 0, "", _CAUSE),
        Prediction("", [0.0], 0.0, 0, "", _CAUSE, "", 0, 0.0, 0.0, 0.0),
    ),
    "report": (
        Report("", "", "", 0, {"": None}),
        Report("", "", "", 0, {"": 0.0}, _CAUSE, 0),
    ),
    "alarm": (
        Alarm("", "", "", "", "", {"": None}),
        Alarm("", "", "", "", "", {"": 0.0}, _CAUSE, 0, 0, ""),
    ),
    "reject": (
        Reject(Reason.KEY, "", _CAUSE),
        Reject(Reason.KEY, "", _CAUSE, "", "", b""),
    ),
}
"""Records with all that a schema has to hold: whatever may be there, there and not there."""


class _Schema:
    """A schema that records are written under."""

    def __init__(self, documents: Sequence[str], header: bytes = b"") -> None:
        """`header` is what each record begins with."""
        schemas = [msgspec.json.decode(document) for document in documents]
        self._schema = parsed(schemas)
        self._union = isinstance(schemas[-1], list)
        self._header = header

    def write(self, record: Outgoing) -> bytes:
        """The record as bytes; a ValueError if the schema cannot hold it."""
        fields: Any = msgspec.to_builtins(record, enc_hook=plain, builtin_types=(bytes,))
        value = (full_name(type(record)), fields) if self._union else fields
        stream = BytesIO()
        stream.write(self._header)
        try:
            schemaless_writer(stream, self._schema, {"value": value})
        except Exception as error:  # of many kinds, as a field may hold anything
            raise ValueError(str(error) or type(error).__name__) from None
        return stream.getvalue()


@dataclass(frozen=True)
class AvroWriter(Writer):
    """Bare records in Avro, all under one schema: a union of predictions, reports, alarms, rejects.

    `okl-flow schema all --avro` prints it. Numbers and bytes are as they are.
    """

    def encoder(self) -> Callable[[Outgoing], bytes]:
        """What makes bytes of a record."""
        return _Schema([_text(tuple(KINDS))]).write

    def decode(self, value: bytes) -> Outgoing:
        """The record that an encoder has made bytes of; a ValueError about anything else."""
        return _outgoing(self._reader, value)

    @cached_property
    def _reader(self) -> AvroReader:
        return AvroReader([_text(tuple(KINDS))])


@dataclass(frozen=True)
class ConfluentWriter(Writer):
    """Records in the Confluent wire format, under schemas that a registry has.

    The subject is "<topic>-value", with the schema of the records that the topic is for: of one
    kind, the record itself; of several, a union. A record of another kind, such as the reject
    in the place of one that cannot be written, has a subject of its own,
    "<topic>-okl_flow.<kind>". The registry is asked when the flow is built, and again before
    the first record of another kind; if it does not answer, its patience over, or refuses, a
    `RegistryError` stops the job.

    Parameters:
        registry: where the schemas are.
        topic: where the records go.
        records: what the topic is for: prediction, report, alarm, reject, or some of them.
        register: register our schema, which the registry refuses if it is not compatible with
            the latest one; or, if False, write under the latest one of the subject.
    """

    registry: SchemaRegistry
    topic: str
    records: Sequence[str] = tuple(KINDS)
    register: bool = flag(True)

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.registry, SchemaRegistry):
            raise ValueError(
                f"ConfluentWriter: registry must be a SchemaRegistry, not {self.registry!r}"
            )
        if not isinstance(self.topic, str) or not self.topic:
            raise ValueError(f"ConfluentWriter: topic must be a name, not {self.topic!r}")
        avro_schema(self.records)
        object.__setattr__(self, "records", tuple(self.records))

    def encoder(self) -> Callable[[Outgoing], bytes]:
        """What makes bytes of a record."""
        own = self._schema(f"{self.topic}-value", tuple(self.records))
        schemas = {KINDS[word]: own for word in self.records}

        def encode(record: Outgoing) -> bytes:
            kind = type(record)
            if kind not in schemas:
                schemas[kind] = self._schema(f"{self.topic}-{full_name(kind)}", (_WORDS[kind],))
            return schemas[kind].write(record)

        return encode

    def decode(self, value: bytes) -> Outgoing:
        """The record that an encoder has made bytes of, under any version of its schema."""
        id, octets = framed(value)
        reader = self._readers.get(id)
        if reader is None:
            stored = self._client.schema(id)
            if stored is None:
                raise ValueError(f"{self.registry.url} knows no schema of the id {id}")
            reader = self._readers[id] = AvroReader(stored.documents)
        return _outgoing(reader, octets)

    @cached_property
    def _client(self) -> RegistryClient:
        return RegistryClient(self.registry)

    @cached_property
    def _readers(self) -> dict[int, AvroReader]:
        return {}

    def _schema(self, subject: str, records: tuple[str, ...]) -> _Schema:
        """The schema of a subject, which is for some kinds of records."""
        if self.register:
            text = _text(records)
            return _Schema([text], header(self._client.register(subject, text)))
        latest = self._client.latest(subject)
        if latest is None:
            raise RegistryError(
                f"the schema registry {self.registry.url} has no schema of the subject "
                f"{subject!r}; register one, such as okl-flow schema --avro prints, or let us "
                "do it: register=True"
            )
        id, stored = latest
        try:
            schema = _Schema(stored.documents, header(id))
            if AvroReader(stored.documents).unit != 1:
                raise SchemaError("the field time is not in milliseconds")
            for word in records:
                for sample in _SAMPLES[word]:
                    schema.write(sample)
        except Exception as error:  # of many kinds, as a schema may be anything
            raise RegistryError(
                f"the latest schema of the subject {subject!r} cannot hold our records: {error}; "
                "register one that can, such as okl-flow schema --avro prints"
            ) from None
        return schema


def _text(records: tuple[str, ...]) -> str:
    return msgspec.json.encode(avro_schema(records)).decode()


def _outgoing(reader: AvroReader, octets: bytes) -> Outgoing:
    """A record that was written under any version of its schema."""
    name, fields = reader.read_named(octets)
    if name not in _BY_NAME:
        raise ValueError(f"expected one of {', '.join(_BY_NAME)}, found a record {name}")
    record: Outgoing = msgspec.convert({**fields, "type": _BY_NAME[name]}, Outgoing)
    return record
