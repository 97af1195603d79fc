"""The sections that a job's file has for every flow, and what may stand in them."""

from dataclasses import dataclass
from typing import Any

from dataflows import formats
from okl_flow.job import (
    Addresses,
    Drifts,
    Features,
    Flag,
    Learner,
    Named,
    OneOf,
    Real,
    Text,
    Whole,
    Words,
    setting,
)

__all__ = [
    "KINDS",
    "Evaluation",
    "Labels",
    "Learning",
    "Sinks",
    "Source",
    "State",
    "Stored",
]

KINDS = ("predictions", "reports", "alarms", "rejects")
"""What a flow writes."""

_SOURCE, _LABELS, _EVALUATION, _SINKS, _STATE = "source", "labels", "evaluation", "sinks", "state"


@dataclass(frozen=True, kw_only=True)
class Source:
    """What is read, and how: files, or topics where there are brokers."""

    brokers: str | None = setting(
        None,
        "Kafka's host:port, several with commas: topics in place of files",
        Addresses(),
        section=_SOURCE,
        otherwise="files",
        example="localhost:9092",
    )
    events: str | None = setting(
        None,
        "files, gzipped or not, or topics; several with commas, or as a list",
        Words("files or topics"),
        section=_SOURCE,
        files="files",
        otherwise="events.jsonl, or the topic events",
        example="events.jsonl",
    )
    format: str | None = setting(
        None,
        "what a record is: of files jsonl, csv or libsvm, of topics what docs/dataflows.md says",
        Named("float32 label=last", *formats.KNOWN),
        section=_SOURCE,
        otherwise="what the suffix of the first file says, of topics json",
        example="jsonl",
    )
    features: str = setting(
        "2",
        "how many features are in a list, or their names; CSV files have a header",
        Features(),
        section=_SOURCE,
    )
    tail: bool | None = setting(
        None,
        "false: end where topics ended at the start",
        Flag(),
        section=_SOURCE,
        otherwise="true",
        example="false",
    )
    start: str | None = setting(
        None,
        "where the first run begins in topics: earliest or latest",
        OneOf("earliest", "latest"),
        section=_SOURCE,
        otherwise="earliest",
        example="latest",
    )
    on_lost_offsets: str | None = setting(
        None,
        "what to do where a resumed run finds its place deleted: fail, earliest or latest",
        OneOf("fail", "earliest", "latest"),
        section=_SOURCE,
        otherwise="fail",
        example="earliest",
    )
    batch_size: int | None = setting(
        None,
        "records of topics handed over at once; no result depends on it",
        Whole(1),
        section=_SOURCE,
        otherwise="4000",
        example="4000",
    )
    group: str | None = setting(
        None,
        "consumer group that is told how far the job is",
        Text("the name of a consumer group"),
        section=_SOURCE,
        otherwise="NAME.read",
        example="clicks",
    )
    create_topics: int | None = setting(
        None,
        "partitions of each topic that is missing and so to be made",
        Whole(1),
        section=_SOURCE,
        otherwise="none are made",
        example="4",
    )
    kafka_config: str | None = setting(
        None,
        "file with more settings of librdkafka, such as those of security",
        Text("a file"),
        section=_SOURCE,
        files="always",
        example="client.properties",
    )
    schema: str | None = setting(
        None,
        "file with the schema of the format avro",
        Text("a file"),
        section=_SOURCE,
        files="always",
        example="event.avsc",
    )
    registry: str | None = setting(
        None,
        "address of the schema registry of the format confluent",
        Text("an address"),
        section=_SOURCE,
        example="http://localhost:8081",
    )
    registry_user: str | None = setting(
        None,
        "who we are to the registry",
        Text("a name"),
        section=_SOURCE,
        example="ann",
    )
    registry_password: str | None = setting(
        None,
        "our password there",
        Text("a password"),
        section=_SOURCE,
        secret=True,
        example="${REGISTRY_PASSWORD}",
    )
    registry_ca: str | None = setting(
        None,
        "file of the certificates that vouch for it",
        Text("a file"),
        section=_SOURCE,
        files="always",
        example="ca.pem",
    )


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What labels are, and how long events wait for them."""

    labels: str | None = setting(
        None,
        "files or topics of labels that come apart from their events",
        Words("files or topics"),
        section=_LABELS,
        key="from",
        files="files",
        example="labels.jsonl",
    )
    classes: str | None = setting(
        None,
        "the labels, such as ham,spam or 0,1",
        Words("two or more labels", least=2),
        section=_LABELS,
        otherwise="-1 and 1, or false and true",
        example="ham,spam",
    )
    labels_wait: float | None = setting(
        24.0,
        "hours, in the time of the events, that an event waits for its label; or forever",
        Real(above=0.0, unlimited="forever"),
        section=_LABELS,
    )
    labels_wait_count: int = setting(
        100, "events of one key that may wait, and labels as well", Whole(0), section=_LABELS
    )


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How good the predictions are: docs/monitoring.md."""

    evaluation_window: int = setting(
        1000, "labelled predictions in the sliding window", Whole(1), section=_EVALUATION
    )
    evaluation_fading: int = setting(
        1000,
        "labelled predictions after which the weight of one has fallen to 1/e",
        Whole(2),
        section=_EVALUATION,
    )
    evaluation_report_every: int = setting(
        1000,
        "labelled predictions between two reports of the whole stream",
        Whole(1),
        section=_EVALUATION,
    )
    evaluation_keys: str = setting(
        "none",
        "which keys have reports: the worst and the busiest, all, or none",
        OneOf("worst", "all", "none"),
        section=_EVALUATION,
    )
    evaluation_keys_reported: int = setting(
        20, "how many of the worst keys, and of the busiest", Whole(1), section=_EVALUATION
    )
    evaluation_key_lists_every: int = setting(
        5, "reports of the stream until these are reported", Whole(1), section=_EVALUATION
    )
    evaluation_key_report_every: int = setting(
        100,
        "labelled predictions of a key between two reports of it, of all keys",
        Whole(1),
        section=_EVALUATION,
    )
    evaluation_keys_in_memory: int = setting(
        16384, "keys whose figures are kept", Whole(1), section=_EVALUATION
    )
    evaluation_drift: str = setting(
        "page_hinkley",
        "what rings when errors grow: page_hinkley, adwin or none, and parameters",
        Drifts(),
        section=_EVALUATION,
    )
    evaluation_confidence: float = setting(
        0.95, "confidence of each interval", Real(above=0.0, below=1.0), section=_EVALUATION
    )


def _output(kind: str) -> Any:
    """The setting of a sink."""
    return setting(
        None,
        f"file or topic of {kind}; - is the terminal",
        Text("a file or a topic"),
        section=_SINKS,
        files="files",
        otherwise=f"out/{kind}.jsonl, or the topic EVENTS.{kind}",
        example=f"out/{kind}.jsonl",
    )


@dataclass(frozen=True, kw_only=True)
class Sinks:
    """Where to, and how."""

    predictions: str | None = _output("predictions")
    reports: str | None = _output("reports")
    alarms: str | None = _output("alarms")
    rejects: str | None = _output("rejects")
    delivery: str | None = setting(
        None,
        "how predictions and rejects come to topics: at_least_once or exactly_once",
        OneOf("at_least_once", "exactly_once"),
        section=_SINKS,
        otherwise="at_least_once",
        example="exactly_once",
    )
    output_format: str | None = setting(
        None,
        "what a record is that is written to a topic: json, msgpack, avro or confluent",
        OneOf(*formats.OUTGOING),
        section=_SINKS,
        otherwise="json",
        example="msgpack",
    )
    sink_partitions: int | None = setting(
        None,
        "so many processes at most share the writing to a topic; never to be changed",
        Whole(1),
        section=_SINKS,
        otherwise="4",
        example="4",
    )


@dataclass(frozen=True, kw_only=True)
class Learning:
    """The learner, of flows that have one."""

    learner: str = setting(
        "kogd budget=100",
        "name and parameters of the learner: docs/learners.md",
        Learner(),
        section="learner",
        key="",
    )


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Where models are kept."""

    state: str | None = setting(
        None,
        "directory of the models",
        Text("a directory"),
        section=_STATE,
        key="dir",
        files="always",
        otherwise="the engine keeps them",
        example="state",
    )


@dataclass(frozen=True, kw_only=True)
class State(Stored):
    """How the models of many keys are kept."""

    partitions: int = setting(
        64,
        "state partitions; never fewer than there will be processes, and never another number",
        Whole(1),
        section=_STATE,
    )
    keys_in_memory: int = setting(
        100_000, "keys whose models are held in memory, in all partitions", Whole(1), section=_STATE
    )
    forget_after: float | None = setting(
        None,
        "days, in the time of the events, without one after which a key is forgotten; or never",
        Real(above=0.0, unlimited="never"),
        section=_STATE,
        otherwise="never",
        example="30",
    )
    counts_every: int = setting(
        10_000, "records of a state partition between two reports of it", Whole(1), section=_STATE
    )
