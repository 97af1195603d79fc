"""Decoding within the engine."""

import json

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main

from okl_flow.events import Event, Reject
from okl_flow.operators.decode import decode
from okl_flow.wire import (
    Columns,
    Confluent,
    Csv,
    Decoder,
    Names,
    Raw,
    RegistryError,
    SchemaRegistry,
    Vectors,
)
from tests.wire.avro_records import FULL, framed, written
from tests.wire.plain import plain
from tests.wire.registry import serving


def raws(count=25):
    """Events, labels, wishes to forget, and some that are nothing of the kind."""
    values = []
    for i in range(count):
        record = {"key": f"k{i % 3}", "id": f"e{i}", "time": i, "features": [i, 0.5]}
        record["type"] = ("event", "event", "label", "forget", "evnt")[i % 5]
        record["label"] = (1, -1, "x")[i % 3]
        values.append(json.dumps(record).encode() if i % 7 else None)
    return [Raw(v, b"k0", "t", 1, i) for i, v in enumerate(values)]


def ran(batch_size=1000, *, main=run_main, given=None, **options):
    flow, events, rejects = Dataflow("flow"), [], []
    up = op.input("in", flow, TestingSource(raws() if given is None else given, batch_size))
    out = decode("decode", up, **options)
    op.output("events", out.events, TestingSink(events))
    op.output("rejects", out.rejects, TestingSink(rejects))
    main(flow)
    return events, rejects


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_streams_are_those_of_the_decoder(batch_size):
    events, rejects = ran(batch_size, features=Columns(2))
    expected, refused = Decoder("json", Columns(2))(raws())
    assert list(map(plain, events)) == list(map(plain, expected))
    assert rejects == refused
    assert len(events) + len(rejects) == 25
    assert len(rejects) > 5


def test_a_batch_of_more_than_are_decoded_at_once():
    given = raws(1001)
    events, rejects = ran(1001, given=given, features=Columns(2))
    expected, refused = Decoder("json", Columns(2))(given)
    assert list(map(plain, events)) == list(map(plain, expected))
    assert rejects == refused


def test_on_several_workers():
    def main(flow):
        cluster_main(flow, [], 0, worker_count_per_proc=3)

    events, rejects = ran(7, main=main, features=Columns(2))
    expected, refused = Decoder("json", Columns(2))(raws())
    by_offset = sorted(events, key=lambda event: event.cause.offset)
    assert list(map(plain, by_offset)) == list(map(plain, expected))
    assert sorted(rejects, key=lambda reject: reject.cause.offset) == refused


def test_every_setting_arrives():
    columns = Csv(["a", "b", "y"], label="y")
    [event], _ = ran(
        given=[Raw(b"1,u,no")],
        format=columns,
        features=Names(["b", "a"], categories={"b": ["u", "v"]}),
        labels=("yes", "no"),
        key="all",
    )
    assert isinstance(event, Event)
    assert (event.key, event.label, event.features.tolist()) == ("all", 1.0, [1.0, 0.0, 1.0])


def test_wrong_settings_are_refused_when_the_flow_is_built():
    with pytest.raises(ValueError, match="features must be Columns, Names or Hashing"):
        ran()


def test_only_rejects():
    events, [reject] = ran(given=[Raw(b"{")], features=Columns(1))
    assert events == []
    assert isinstance(reject, Reject)


def test_vectors():
    value = np.array([0.5, 2, -1], dtype="<f8").tobytes()
    given = [Raw(value, b"ann", "t", 1, 2), Raw(value[1:], b"ann", "t", 1, 3)]
    [event], [reject] = ran(
        given=given, format=Vectors("float64", label="last", id="place"), features=Columns(2)
    )
    assert (event.id, event.label, event.features.tolist()) == ("t-1-2", -1.0, [0.5, 2.0])
    assert reject.id == "t-1-3"


def test_schemas_of_a_registry():
    with serving() as registry:
        id = registry.add(FULL)
        format = Confluent(SchemaRegistry(registry.url, patience=0.0))
        octets = written(FULL, {"key": "ann", "features": [0.5, 2]})
        given = [Raw(framed(id, octets)), Raw(framed(id + 1, octets), b"bob")]
        [event], [reject] = ran(given=given, format=format, features=Columns(2))
        assert (event.key, reject.key) == ("ann", "bob")
        registry.faults = [(500, b"")]
        with pytest.raises(BytewaxRuntimeError) as stopped:
            ran(given=given, format=format, features=Columns(2))
        causes = [stopped.value]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        assert isinstance(causes[-1], RegistryError)
