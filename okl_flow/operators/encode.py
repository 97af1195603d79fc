"""From predictions, reports, alarms and rejects to bytes."""

import bytewax.operators as op
from bytewax.dataflow import Stream, operator

from okl_flow.events import Outgoing
from okl_flow.wire import Encoded, Encoder, Writer

__all__ = ["encode"]


@operator
def encode(step_id: str, up: Stream[Outgoing], *, format: str | Writer = "json") -> Stream[Encoded]:
    """Write each record as one object with its fields and its type. Nothing is kept between them.

    What the format cannot hold comes out as a `Reject` with the reason "unwritable", in its
    place.

    Parameters:
        step_id: name of the step.
        up: predictions, reports, alarms and rejects, in any mixture.
        format: "json", "msgpack", or an object: AvroWriter, ConfluentWriter.

    >>> from bytewax.dataflow import Dataflow
    >>> from bytewax.testing import TestingSink, TestingSource, run_main
    >>> from okl_flow.events import Cause, Reason, Reject
    >>> flow, out = Dataflow("example"), []
    >>> reject = Reject(Reason.LABEL, "label: expected a number", Cause("events", 0, 7), key="ann")
    >>> op.output("write", encode("encode", op.input("in", flow, TestingSource([reject]))),
    ...           TestingSink(out))
    >>> run_main(flow)
    >>> out[0].key, out[0].value[:32]
    (b'ann', b'{"type":"reject","reason":"label')
    """
    return op.flat_map_batch("encode", up, Encoder(format))
