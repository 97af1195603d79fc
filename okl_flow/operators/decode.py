"""From bytes to events, labels and wishes to forget."""

from collections.abc import Sequence
from dataclasses import dataclass

import bytewax.operators as op
from bytewax.dataflow import Stream, operator

from okl_flow import looking, meters
from okl_flow.events import Incoming, Reject
from okl_flow.wire import Decoder, Features, Format, Raw

__all__ = ["DecodeOut", "decode"]

_SOME = 500
"""So many records are decoded at once: of what is between their bytes and their events, more
would no longer fit into the caches, and be looked through by Python's collector of garbage."""


@dataclass(frozen=True)
class DecodeOut:
    """What records turn out to be."""

    events: Stream[Incoming]  # events, labels and wishes to forget, in their order
    rejects: Stream[Reject]  # what is none of them


@operator
def decode(
    step_id: str,
    up: Stream[Raw],
    *,
    format: str | Format = "json",
    features: Features | None = None,
    labels: Sequence[str | float | bool] | None = None,
    key: str | None = None,
) -> DecodeOut:
    """Make events, labels and wishes to forget of raw records. Nothing is kept between them.

    Each record becomes one item of one of the streams, and which one depends on nothing but
    the record. A record of which nothing can be made becomes a reject; none raises.

    Parameters:
        step_id: name of the step.
        up: raw records.
        format: "json", "msgpack", "libsvm", "float32", "float64", or an object: Json,
            MessagePack, Libsvm, Csv, Vectors, Avro, Confluent.
        features: what makes columns of the features: Columns, Names or Hashing.
        labels: all labels that may come, in the order of their numbers: two are -1 and +1,
            more are 0, 1, 2 and so on. Without it labels are numbers, and false and true
            are -1 and +1.
        key: the key of records that name none.

    >>> from bytewax.dataflow import Dataflow
    >>> from bytewax.testing import TestingSink, TestingSource, run_main
    >>> from okl_flow.wire import Columns
    >>> flow, events, rejects = Dataflow("example"), [], []
    >>> lines = [b'{"key": "ann", "features": [0.5, 2], "label": true}', b'{"key": "ann"']
    >>> up = op.input("read", flow, TestingSource([Raw(line) for line in lines]))
    >>> out = decode("decode", up, features=Columns(2))
    >>> op.output("events", out.events, TestingSink(events))
    >>> op.output("rejects", out.rejects, TestingSink(rejects))
    >>> run_main(flow)
    >>> [(event.key, event.label) for event in events], [one.reason.value for one in rejects]
    ([('ann', 1.0)], ['malformed'])
    """
    decoder = Decoder(format, features, labels=labels, key=key)
    looking.note(decoder)

    def decoded(raws: list[Raw]) -> list[tuple[list[Incoming], list[Reject]]]:
        found = [decoder(raws[begin : begin + _SOME]) for begin in range(0, len(raws), _SOME)]
        for _events, rejects in found:
            meters.rejected(step_id, [reject.reason for reject in rejects])
        return found

    # A batch goes through the engine as one item, and apart only where the streams part.
    batches = op.flat_map_batch("batches", up, decoded)
    return DecodeOut(
        events=op.flat_map("events", batches, lambda batch: batch[0]),
        rejects=op.flat_map("rejects", batches, lambda batch: batch[1]),
    )
