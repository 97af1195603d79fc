"""A whole flow over topics: what comes in badly goes to the rejects with its coordinates."""

import json

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from okl_flow import kafka, make_learner
from okl_flow.events import Cause
from okl_flow.murmur import seeds_of
from okl_flow.operators import decode, encode, prequential
from okl_flow.wire import Columns, decode_outgoing
from tests.kafka.flows import EPOCH, unique
from tests.kafka.judge import make_topic, read, write

LARGEST = 1_040_000  # bytes; a topic takes little more by default
LEARNER = make_learner("kogd", budget=10)
GOOD = json.dumps({"key": "ann", "features": [0.5, 2], "label": 1}).encode()
BAD = {
    b"": "malformed",
    b"\x00\xff\xfe": "malformed",
    b'{"key": "ann"': "malformed",
    b"[" * 100_000: "malformed",
    b"x" * LARGEST: "malformed",
    b'{"key": "ann", "features": [1]}': "features",
    b'{"key": "ann", "features": [1, 1e300]}': "features",
    b'{"key": "ann", "features": [1, 2], "label": "perhaps"}': "label",
    b'{"key": "ann", "features": [1, NaN]}': "malformed",
    b'{"key": "ann", "features": [1, null], "label": 1}': "features",
    b'{"key": "ann", "id": "never", "label": 1, "type": "label"}': "unknown_label",
    b'{"features": [1, 2]}': "key",
}


def run(broker, events, outputs, delivery):
    """What a flow from one topic to another has written."""
    flow = Dataflow(unique("flow"))
    raws = kafka.input("read", flow, events, brokers=broker, tail=False)
    decoded = decode("decode", raws, features=Columns(2))
    out = prequential("learn", decoded.events, LEARNER, labels_wait_count=0)
    both = op.merge("both", out.predictions, out.rejects, decoded.rejects)
    kafka.output("write", encode("encode", both), outputs, brokers=broker, delivery=delivery)
    run_main(flow, epoch_interval=EPOCH)
    return [decode_outgoing(one.value) for one in read(broker, outputs)]


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_what_is_bad_is_rejected_and_the_rest_is_unharmed(delivery, broker):
    events = make_topic(broker, unique("events"), 2)
    outputs = make_topic(broker, unique("outputs"))
    write(broker, events, [(None, value, 1) for bad in BAD for value in (GOOD, bad)])
    found = run(broker, events, outputs, delivery)
    rejects = {one.cause: one for one in found if type(one).__name__ == "Reject"}
    for number, (bad, reason) in enumerate(BAD.items()):
        reject = rejects.pop(Cause(events, 1, 2 * number + 1))
        assert reject.reason == reason, bad[:50]
        assert reject.original is None or bad.startswith(reject.original)
    assert not rejects
    scored = [one.cause.offset for one in found if type(one).__name__ == "Prediction"]
    assert scored == list(range(0, 2 * len(BAD), 2))


def mutated(rng, value):
    """The bytes with some changed, left out or put in."""
    found = bytearray(value)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(found)))
        found[place : place + int(rng.integers(3))] = rng.bytes(int(rng.integers(3)))
    return bytes(found)


def test_a_fuzzers_bytes_come_out_one_by_one_and_the_rest_is_unharmed(broker):
    rng = np.random.default_rng(17)
    events = make_topic(broker, unique("events"))
    outputs = make_topic(broker, unique("outputs"))
    X, y = rng.normal(size=(400, 2)), np.where(rng.random(400) < 0.5, 1.0, -1.0)
    values = []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        values.append(json.dumps({"key": "ben", "features": x, "label": label}).encode())
        values.append(mutated(rng, GOOD))
    write(broker, events, values)
    found = run(broker, events, outputs, "exactly_once")
    assert sorted(one.cause.offset for one in found) == list(range(len(values)))
    rejects = [one for one in found if type(one).__name__ == "Reject"]
    assert len(rejects) > 200
    assert all(one.cause.offset % 2 for one in rejects)
    for one in rejects:
        assert one.original in {None, values[one.cause.offset]}
    state = LEARNER.init(2, seed=seeds_of(["ben"])[0])
    scores = [one.score for one in found if getattr(one, "key", None) == "ben"]
    assert scores == LEARNER.step(state, X, y).tolist()
