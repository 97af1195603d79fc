"""Records on the wire: bytes in, events and rejects out; predictions in, bytes out.

What has to do with Avro is imported when it is first asked for: it needs fastavro, which
`pip install 'okl-flow[avro]'` installs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from okl_flow.wire.comma import Csv
from okl_flow.wire.decoder import Decoder
from okl_flow.wire.features import Columns, Features, Hashing, Names
from okl_flow.wire.formats import Format
from okl_flow.wire.libsvm import Libsvm
from okl_flow.wire.objects import Json, MessagePack
from okl_flow.wire.outgoing import Encoded, Encoder, decode_outgoing
from okl_flow.wire.raw import Raw
from okl_flow.wire.vectors import Vectors
from okl_flow.wire.writing import Writer

if TYPE_CHECKING:
    from okl_flow.wire.avro import Avro, Confluent
    from okl_flow.wire.avro_outgoing import AvroWriter, ConfluentWriter
    from okl_flow.wire.schema_registry import RegistryError, SchemaRegistry

__all__ = [
    "Avro",
    "AvroWriter",
    "Columns",
    "Confluent",
    "ConfluentWriter",
    "Csv",
    "Decoder",
    "Encoded",
    "Encoder",
    "Features",
    "Format",
    "Hashing",
    "Json",
    "Libsvm",
    "MessagePack",
    "Names",
    "Raw",
    "RegistryError",
    "SchemaRegistry",
    "Vectors",
    "Writer",
    "decode_outgoing",
]

_MODULES = {
    "Avro": "avro",
    "AvroWriter": "avro_outgoing",
    "Confluent": "avro",
    "ConfluentWriter": "avro_outgoing",
    "RegistryError": "schema_registry",
    "SchemaRegistry": "schema_registry",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "fastavro":
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} needs fastavro, which is not installed: "
            "pip install 'okl-flow[avro]', or pip install fastavro",
            name=error.name,
        ) from None
