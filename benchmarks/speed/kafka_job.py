"""A job over Kafka as its own process: `python -m benchmarks.speed.kafka_job JSON NUMBER`.

Each takes the events of one topic and writes a prediction for each to another. It ends when it
has done them all, or, where it is to wait for more, when it is told by SIGTERM.
"""

import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSourceMessage
from bytewax.connectors.kafka import operators as connector
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig
from bytewax.testing import cluster_main
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from river import feature_extraction, linear_model

from okl_flow import draining, kafka, make_learner
from okl_flow.events import Cause, Prediction
from okl_flow.operators import decode, encode, prequential
from okl_flow.wire import Columns

__all__ = ["BUDGET", "DIM", "ENDLESS", "EPOCH", "IN_MEMORY", "Settings"]

DIM = 24
BUDGET = 100
BANDWIDTH = 5.0
EPOCH = timedelta(seconds=1)
ENDLESS = 3600.0  # seconds of an epoch that no job outlives
BATCH = 1000
IN_MEMORY = 100_000  # keys, where nothing else is said, as by default
UNDER_WAY = 50_000  # records that wait in the client of a loop


@dataclass(frozen=True)
class Settings:
    """What one job is to do."""

    kind: str  # one of KINDS
    brokers: str
    source: str  # topics
    sink: str
    events: int | None  # in the source; None waits for more
    folder: str  # of recovery and state
    delivery: str = "at_least_once"
    addresses: list[str] = field(default_factory=list)  # of the processes
    epoch: float = EPOCH.total_seconds()  # of okl_flow
    dim: int = DIM
    budget: int = BUDGET
    keys_in_memory: int = IN_MEMORY


class Record(msgspec.Struct, gc=False):
    """An event, as a loop without okl_flow would read it."""

    key: str
    features: list[float]
    label: float


def recovery(settings: Settings) -> RecoveryConfig:
    """Where the engine keeps what it goes on from."""
    return RecoveryConfig(str(Path(settings.folder) / "recovery"), timedelta(0))


def okl_flow_job(settings: Settings, number: int) -> None:
    """Topic to topic by the operators."""
    brokers = settings.brokers
    # A name of its own: by it exactly_once knows what has appeared.
    flow = Dataflow(Path(settings.folder).name)
    raws = kafka.input("read", flow, settings.source, brokers=brokers, tail=settings.events is None)
    decoded = decode("decode", raws, features=Columns(settings.dim))
    out = prequential(
        "learn",
        decoded.events,
        make_learner("bogd", budget=settings.budget, bandwidth=BANDWIDTH),
        state_dir=Path(settings.folder) / "state",
        keys_in_memory=settings.keys_in_memory,
    )
    rejects = op.merge("both", decoded.rejects, out.rejects)
    for name, stream in (("predictions", out.predictions), ("rejects", rejects)):
        kafka.output(
            f"write_{name}",
            encode(f"encode_{name}", stream),
            settings.sink,
            brokers=brokers,
            delivery=settings.delivery,
        )
    signal.signal(signal.SIGTERM, lambda *_: draining.request())
    cluster_main(
        flow,
        settings.addresses,
        number,
        epoch_interval=timedelta(seconds=settings.epoch),
        recovery_config=recovery(settings),
    )


Produce = Callable[[Any, list[tuple[str, bytes]]], None]


def bare_job(settings: Settings, produce: Produce, **tuned: Any) -> None:
    """Consume, decode, encode and produce: no learning, no engine, no recovery, no checks."""
    assert settings.events is not None
    client = {"bootstrap.servers": settings.brokers}
    consumer: Any = Consumer({**client, "group.id": "bare", **tuned})
    parts = consumer.list_topics(settings.source).topics[settings.source].partitions
    consumer.assign([TopicPartition(settings.source, part, OFFSET_BEGINNING) for part in parts])
    safe = {"enable.idempotence": True, "linger.ms": 5, "partitioner": "murmur2_random"}
    limits = {"queue.buffering.max.messages": 4 * UNDER_WAY}
    producer: Any = Producer({**client, **safe, **limits})
    decoded = msgspec.json.Decoder(Record).decode
    encoded = msgspec.json.Encoder().encode
    left = settings.events
    while left:
        pairs = []
        for message in consumer.consume(BATCH, 0.1):
            record = decoded(message.value())
            cause = Cause(message.topic(), message.partition(), message.offset())
            prediction = Prediction(
                record.key, record.features[0], 1.0, 0, "none", cause, label=record.label
            )
            pairs.append((record.key, encoded(prediction)))
        left -= len(pairs)
        while len(producer) > UNDER_WAY:
            producer.poll(0.01)
        produce(producer, pairs)
        producer.poll(0)
    producer.flush()


def bare_one_by_one(settings: Settings, _number: int) -> None:
    """The bare loop with a call for each record, as most are written."""

    def produce(producer: Any, pairs: list[tuple[str, bytes]]) -> None:
        for key, value in pairs:
            producer.produce(settings.sink, value, key)

    bare_job(settings, produce)


def bare_by_batches(settings: Settings, _number: int) -> None:
    """The bare loop with a call for each batch, and a client that fetches as ours does."""

    def produce(producer: Any, pairs: list[tuple[str, bytes]]) -> None:
        messages = [{"key": key, "value": value} for key, value in pairs]
        producer.produce_batch(settings.sink, messages)

    bare_job(settings, produce, **{"fetch.queue.backoff.ms": 50})


def river_model() -> Any:
    """A kernel model of River's, with as many features as we have examples."""
    gamma = 0.5 / BANDWIDTH**2
    features = feature_extraction.RBFSampler(gamma=gamma, n_components=BUDGET, seed=0)
    return features | linear_model.LogisticRegression()


def by_river(model: Any, value: bytes) -> bytes:
    """Score the record by the model, which learns from it then; the prediction as bytes."""
    record = json.loads(value)
    x = dict(enumerate(record["features"]))
    score = model.predict_proba_one(x).get(True, 0.5)
    model.learn_one(x, record["label"] > 0)
    return json.dumps({"key": record["key"], "score": score, "label": record["label"]}).encode()


def connector_and_river(settings: Settings, number: int) -> None:
    """Bytewax's own connector and `stateful_map`, with a model of River's for each key."""

    def keyed(message: KafkaSourceMessage[Any, Any]) -> tuple[str, bytes]:
        return message.key.decode(), message.value

    def learned(model: Any, value: bytes) -> tuple[Any, bytes]:
        model = model or river_model()
        return model, by_river(model, value)

    def written(pair: tuple[str, bytes]) -> KafkaSinkMessage[bytes, bytes]:
        return KafkaSinkMessage(pair[0].encode(), pair[1])

    flow, brokers = Dataflow("bench"), [settings.brokers]
    source = connector.input(
        "read",
        flow,
        brokers=brokers,
        topics=[settings.source],
        tail=False,
        starting_offset=OFFSET_BEGINNING,
        batch_size=100,
    )
    out = op.stateful_map("learn", op.map("key", source.oks, keyed), learned)
    connector.output("write", op.map("wrap", out, written), brokers=brokers, topic=settings.sink)
    cluster_main(flow, [], number, epoch_interval=EPOCH, recovery_config=recovery(settings))


def kafka_python_and_river(settings: Settings, _number: int) -> None:
    """A loop with kafka-python, and a model of River's for each key."""
    consumer = KafkaConsumer(
        settings.source, bootstrap_servers=settings.brokers, auto_offset_reset="earliest"
    )
    producer = KafkaProducer(bootstrap_servers=settings.brokers, linger_ms=5)
    models: dict[bytes, Any] = {}
    for done, message in enumerate(consumer, 1):
        if message.key not in models:
            models[message.key] = river_model()
        value = by_river(models[message.key], message.value)
        producer.send(settings.sink, value, key=message.key)
        if done == settings.events:
            break
    producer.flush()


KINDS: dict[str, Callable[[Settings, int], None]] = {
    "okl_flow": okl_flow_job,
    "bare_one_by_one": bare_one_by_one,
    "bare_by_batches": bare_by_batches,
    "connector_and_river": connector_and_river,
    "kafka_python_and_river": kafka_python_and_river,
}


def main() -> None:
    """Do the job of the command line."""
    settings = Settings(**json.loads(sys.argv[1]))
    KINDS[settings.kind](settings, int(sys.argv[2]))


if __name__ == "__main__":
    main()
