"""Encoding within the engine."""

import bytewax.operators as op
import msgspec
import pytest
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from okl_flow.events import Reason
from okl_flow.operators.encode import encode
from okl_flow.wire import AvroWriter, ConfluentWriter, Encoder, SchemaRegistry, decode_outgoing
from tests.wire.registry import serving
from tests.wire.test_outgoing import ALARM, PREDICTION, REJECT, REPORT

RECORDS = [PREDICTION, REPORT, ALARM, REJECT]


def encoded(records, batch_size=1000, **options):
    flow, out = Dataflow("flow"), []
    up = op.input("in", flow, TestingSource(records, batch_size))
    op.output("out", encode("encode", up, **options), TestingSink(out))
    run_main(flow)
    return out


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_records_are_those_of_the_encoder(batch_size):
    assert encoded(RECORDS, batch_size) == Encoder("json")(RECORDS)
    for format in ("msgpack", AvroWriter()):
        assert encoded(RECORDS, batch_size, format=format) == Encoder(format)(RECORDS)


def test_an_unwritable_record_does_not_stop_the_flow():
    bad = msgspec.structs.replace(PREDICTION, key="\ud800")
    before, reject, after = [decode_outgoing(one.value) for one in encoded([REPORT, bad, ALARM])]
    assert (before, after) == (REPORT, ALARM)
    assert (reject.reason, reject.cause) == (Reason.UNWRITABLE, bad.cause)


def test_a_topic_with_a_schema_in_a_registry():
    with serving() as registry:
        format = ConfluentWriter(SchemaRegistry(registry.url), "out")
        back = [decode_outgoing(one.value, format) for one in encoded(RECORDS, format=format)]
        assert back == RECORDS
        assert list(registry.subjects) == ["out-value"]
