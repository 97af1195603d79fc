"""Avro: records written under a schema, which is known, or named by its id in a registry."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from okl_flow.events import Reason
from okl_flow.parameters import check, choice
from okl_flow.wire.avro_schema import AvroReader, SchemaError
from okl_flow.wire.features import Features, Reader
from okl_flow.wire.formats import EXPECTED, FaultError, Format, Parser, Wire, form_of, name_in
from okl_flow.wire.problems import Problem, explained, problem_at, seen
from okl_flow.wire.schema_registry import RegistryClient, SchemaRegistry

__all__ = ["Avro", "Confluent", "framed", "header"]

_MAGIC = b"\0"
_ID_ENDS = 5
_AVRO = "AVRO"
_AVRO_KEY = "avro"


@dataclass(frozen=True)
class Avro(Format):
    """Avro without a registry: bare records that were all written under one schema.

    The schema's fields are the members that JSON has, as far as they are there.

    Parameters:
        schema: the file that the schema is in, as JSON, or the schema itself.
    """

    schema: str | Path | Mapping[str, Any] | Sequence[Any]

    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""
        reader = _reader_of(features, "Avro")
        try:
            return _BareParser(AvroReader([_text_of(self.schema)]), reader)
        except SchemaError as error:
            raise ValueError(f"Avro: schema must be one of records in Avro: {error}") from None


@dataclass(frozen=True)
class Confluent(Format):
    """Avro in the Confluent wire format: a byte 0, the id of a schema in 4 bytes, a record.

    Records may be written under any schemas whose fields, as far as they are there, are the
    members that JSON has. Each schema is asked for once, when its first record comes. A
    registry that does not answer stops the job with a `RegistryError`, after its patience.

    Parameters:
        registry: where the schemas are.
        key: what the keys of the Kafka records are: text in UTF-8, or avro: in the Confluent wire
            format too, a text, an enum, a whole number, or a record with one of these.
    """

    registry: SchemaRegistry
    key: str = choice("text", _AVRO_KEY)

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.registry, SchemaRegistry):
            raise ValueError(f"Confluent: registry must be a SchemaRegistry, not {self.registry!r}")

    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""
        reader = _reader_of(features, "Confluent")
        return _FramedParser(RegistryClient(self.registry), reader, self.key == _AVRO_KEY)


class _AvroParser(Parser):
    def __init__(self, reader: Reader) -> None:
        self._form = form_of(reader)
        self._names = reader.names
        self._expected = {**EXPECTED, "features": reader.expected}

    @abstractmethod
    def _record(self, value: bytes) -> Any:
        """The record that is in a value; a FaultError if there is none."""

    def parse_all(self, values: Sequence[bytes]) -> list[Wire | Problem]:
        """What the values are; an error if one is not of the format."""
        form, record, convert = self._form, self._record, msgspec.convert
        return [convert(record(value), form) for value in values]

    def explain(self, value: bytes, error: Exception) -> Problem:
        """What is wrong with the members of a record that could be read."""
        record = self._record(value)
        problem = explained(error, record, self._expected, self._names)
        if isinstance(record, dict):
            problem.key, problem.id = name_in(record.get("key")), name_in(record.get("id"))
        return problem


class _BareParser(_AvroParser):
    def __init__(self, avro: AvroReader, reader: Reader) -> None:
        super().__init__(reader)
        self._read = avro.read

    def _record(self, value: bytes) -> Any:
        try:
            return self._read(value)
        except ValueError as error:
            raise _unread(value, "the schema", error) from None


class _FramedParser(_AvroParser):
    def __init__(self, client: RegistryClient, reader: Reader, keyed: bool) -> None:
        super().__init__(reader)
        self._client = client
        self._keyed = keyed
        self._readers: dict[int, AvroReader | str] = {}  # or why a schema cannot be read

    def key_of(self, octets: bytes) -> str | Problem:
        """The key that the key of a Kafka record is."""
        if not self._keyed:
            return super().key_of(octets)
        try:
            key = self._record(octets)
        except FaultError as fault:
            return problem_at("key", fault.problem.message)
        if isinstance(key, dict) and len(key) == 1:
            [key] = key.values()
        return name_in(key) or problem_at("key", f"expected {EXPECTED['key']}, {seen(key)}")

    def _record(self, value: bytes) -> Any:
        id, octets = framed(value)
        reader = self._readers.get(id) or self._reader(id)
        if isinstance(reader, str):
            raise FaultError(Problem(Reason.MALFORMED, reader))
        try:
            return reader.read(octets)
        except ValueError as error:
            raise _unread(octets, f"the schema {id}", error) from None

    def _reader(self, id: int) -> AvroReader | str:
        """What reads records of a schema, or why nothing can."""
        stored = self._client.schema(id)
        if stored is None:
            return (
                f"expected the id of a schema in the registry, found {id}, which it does not know"
            )
        if stored.kind != _AVRO:
            return f"expected a schema in Avro, found {stored.kind}, of the id {id}"
        try:
            self._readers[id] = AvroReader(stored.documents)
        except SchemaError as error:
            self._readers[id] = f"expected a schema of records, found that of the id {id}: {error}"
        return self._readers[id]


def framed(value: bytes) -> tuple[int, bytes]:
    """The id of a schema and the record that was written under it; a FaultError if there is none.

    >>> framed(header(7) + b"record")
    (7, b'record')
    """
    if len(value) < _ID_ENDS or not value.startswith(_MAGIC):
        message = "expected a byte 0, the id of a schema in 4 bytes, and a record in Avro"
        raise FaultError(Problem(Reason.MALFORMED, f"{message}, {seen(value)}"))
    return int.from_bytes(value[1:_ID_ENDS], "big"), value[_ID_ENDS:]


def header(id: int) -> bytes:
    """What stands before a record that was written under the schema of an id."""
    return _MAGIC + id.to_bytes(_ID_ENDS - 1, "big")


def _unread(octets: bytes, schema: str, error: Exception) -> FaultError:
    """The problem with bytes that are no record of a schema."""
    found = f"found {len(octets)} bytes that are none: {error}"
    return FaultError(Problem(Reason.MALFORMED, f"expected a record of {schema}, {found}"))


def _reader_of(features: Features | None, name: str) -> Reader:
    if features is None:
        raise ValueError(
            f"features must be Columns, Names or Hashing for the format {name}, not None"
        )
    return features.reader()


def _text_of(schema: str | Path | Mapping[str, Any] | Sequence[Any]) -> str:
    """A schema as JSON."""
    if isinstance(schema, (str, Path)):
        try:
            return Path(schema).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"Avro: schema must be a file with a schema: {error}") from None
    return msgspec.json.encode(schema).decode()
