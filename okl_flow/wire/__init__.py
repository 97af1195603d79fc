"""Records on the wire: bytes in, events and rejects out; predictions in, bytes out."""

from okl_flow.wire.comma import Csv
from okl_flow.wire.decoder import Decoder
from okl_flow.wire.features import Columns, Features, Hashing, Names
from okl_flow.wire.formats import Format
from okl_flow.wire.libsvm import Libsvm
from okl_flow.wire.objects import Json, MessagePack
from okl_flow.wire.outgoing import Encoded, Encoder, decode_outgoing
from okl_flow.wire.raw import Raw

__all__ = [
    "Columns",
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
    "decode_outgoing",
]
