"""The formats that flows read from topics and write to them."""

import json
from io import BytesIO

import fastavro
import msgspec
import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.murmur import seeds_of
from okl_flow.wire import AvroWriter, ConfluentWriter, SchemaRegistry
from okl_flow.wire.avro import header
from tests.kafka.flows import unique
from tests.kafka.judge import make_topic, write
from tests.kafka.test_dataflows import LIGHT, in_topic
from tests.wire.registry import registry  # noqa: F401  (a fixture)


def as_msgpack(record):
    return msgspec.msgpack.encode(record)


def as_float32(record):
    return np.array([*record["features"], record["label"]], dtype="<f4").tobytes()


def as_float64(record):
    return np.array([record["label"], *record["features"]], dtype="<f8").tobytes()


def as_libsvm(record):
    numbers = " ".join(f"{at}:{value!r}" for at, value in enumerate(record["features"], 1))
    return f"{record['label']} {numbers}".encode()


def as_csv(record):
    return ",".join(map(repr, [*record["features"], record["label"]])).encode()


def as_avro(record):
    return _schemaless(record)


def as_confluent(record):
    return header(1) + _schemaless(record)


SCHEMA = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "features", "type": {"type": "array", "items": "double"}},
        {"name": "label", "type": "int"},
    ],
}


def _schemaless(record):
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(SCHEMA), record)
    return stream.getvalue()


FORMATS = {
    "json": (lambda record: json.dumps(record).encode(), {}),
    "msgpack": (as_msgpack, {"OKL_OUTPUT_FORMAT": "msgpack"}),
    "libsvm": (as_libsvm, {}),
    "csv": (as_csv, {"OKL_FEATURES": "x,y,label"}),
    "float32 label=last": (as_float32, {}),
    "float64 label=first id=place": (as_float64, {}),
    "avro": (as_avro, {"OKL_SCHEMA": "event.avsc", "OKL_OUTPUT_FORMAT": "avro"}),
    "confluent": (as_confluent, {"OKL_OUTPUT_FORMAT": "confluent"}),
}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_of_topics_comes_to_the_same(format, broker, folder, registry):  # noqa: F811
    encoded, variables = FORMATS[format]
    numbers = np.random.default_rng(3).normal(size=(200, 2)).astype(np.float32)
    records = [
        {"features": row, "label": 1 if row[0] * row[1] > 0 else -1} for row in numbers.tolist()
    ]
    if "confluent" in format:
        assert registry.add(SCHEMA) == 1
        variables = {**variables, "OKL_REGISTRY": registry.url}
    (folder.path / "event.avsc").write_text(json.dumps(SCHEMA))
    topic = make_topic(broker, unique("events"))
    write(broker, topic, [encoded(record) for record in records] + [b"\xff"])
    folder.run(
        "python -m bytewax.run dataflows.classify:flow",
        OKL_BROKERS=broker,
        OKL_EVENTS=topic,
        OKL_FORMAT=format,
        OKL_LEARNER=LIGHT,
        OKL_TAIL="false",
        OKL_NAME=unique("formats"),
        OKL_CREATE_TOPICS="1",
        **variables,
    )
    written = {
        "confluent": lambda: ConfluentWriter(SchemaRegistry(registry.url), f"{topic}.x"),
        "avro": AvroWriter,
    }.get(variables.get("OKL_OUTPUT_FORMAT"), lambda: variables.get("OKL_OUTPUT_FORMAT", "json"))()
    scores = [one.score for one in in_topic(broker, f"{topic}.predictions", written)]
    learner = make_learner("kogd", budget=20, bandwidth=0.5)
    state = learner.init(2, seed=seeds_of(["all"])[0])
    X, y = numbers.astype(np.float64), np.array([float(one["label"]) for one in records])
    assert scores == learner.step(state, X, y).tolist()
    [reject] = in_topic(broker, f"{topic}.rejects", written)
    assert (reject.original, reject.cause.offset) == (b"\xff", 200)
