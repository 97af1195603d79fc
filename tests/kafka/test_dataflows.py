"""The flows of `dataflows` over topics: what they make of events is what they make of files."""

import json
import os
import signal
from collections import defaultdict
from contextlib import suppress
from zlib import crc32

import msgspec
import pytest

from okl_flow.kafka.topics import Topics
from okl_flow.wire import decode_outgoing
from tests.dataflows.conftest import shell
from tests.dataflows.test_commands import (
    BROKERS,
    blocks_of_flow,
    blocks_of_pages,
    check,
    examples,
    needs_broker,
)
from tests.kafka.flows import unique
from tests.kafka.judge import admin, make_topic, read, write
from tests.running.conftest import start  # noqa: F401  (a fixture)

LIGHT = "kogd budget=20 bandwidth=0.5"
KINDS = ("predictions", "reports", "alarms", "rejects")
FLOWS = {
    "classify": ("rings --events 1500", 1, {"OKL_LEARNER": LIGHT}),
    "regress": ("waves --events 1500", 1, {}),
    "per_user": ("users --keys 20 --events 6000", 3, {"OKL_STATE": "state"}),
    "choose_kernel": ("users --keys 5 --events 1500", 3, {"OKL_COUNTS_EVERY": "300"}),
    "compare": ("users --keys 10 --drifting 0 --events 5000", 3, {}),
}
TIMELESS = ("classify", "regress")  # records get the time of the topic's, where they have none


def fill(broker, topic, path, partitions):
    """Write the lines of a file, each key's into one partition."""
    records = []
    for line in path.read_bytes().splitlines():
        try:
            key = json.loads(line).get("key", "").encode()
        except json.JSONDecodeError:
            key = b""
        records.append((key or None, line, crc32(key) % partitions))
    write(broker, topic, records)


def in_topic(broker, topic, format="json"):
    return [decode_outgoing(one.value, format) for one in read(broker, topic)]


def in_file(folder, kind):
    lines = (folder.path / "out" / f"{kind}.jsonl").read_bytes().splitlines()
    return [decode_outgoing(line) for line in lines]


def by_key(records, *without):
    """The records of each key in their order, without the places of causes and events."""
    found = defaultdict(list)
    for one in records:
        fields = msgspec.to_builtins(one)
        for name in ("cause", "event", *without):
            fields.pop(name, None)
        found[one.key if hasattr(one, "key") else one.name].append(fields)
    return dict(found)


def about_keys(records):
    """Those that depend on the events of a key alone; flows of another name have other steps."""
    return by_key([one for one in records if one.subject == "key"], "step")


def covered(reports):
    """How many labels each report of the stream is about."""
    return sorted(one.values["labelled"] for one in reports if one.subject == "stream")


@pytest.mark.parametrize("runner", ["python -m bytewax.run", "okl-flow run"])
@pytest.mark.parametrize("name", FLOWS)
def test_topics_bring_what_files_bring(name, runner, broker, folder):
    stream, partitions, variables = FLOWS[name]
    folder.run(f"okl-flow make-stream {stream} > events.jsonl; echo '{{' >> events.jsonl")
    of_files = {one: value for one, value in variables.items() if one != "OKL_STATE"}
    folder.run(f"python -m bytewax.run dataflows.{name}:flow", **of_files)
    topic = make_topic(broker, unique("events"), partitions)
    fill(broker, topic, folder.path / "events.jsonl", partitions)
    kept = " --recovery-dir recovery" if runner.startswith("okl") else ""
    folder.run(
        f"{runner} dataflows.{name}:flow{kept}",
        OKL_BROKERS=broker,
        OKL_EVENTS=topic,
        OKL_NAME=unique(name),
        OKL_TAIL="false",
        OKL_CREATE_TOPICS="2",
        OKL_DELIVERY="exactly_once",
        **variables,
    )
    without = ("time",) * (name in TIMELESS)
    for kind in ("predictions", "rejects"):
        found = in_topic(broker, f"{topic}.{kind}")
        assert {one.cause.topic for one in found} == {topic}
        assert by_key(found, *without) == by_key(in_file(folder, kind), *without), kind
    alarms, expected = in_topic(broker, f"{topic}.alarms"), in_file(folder, "alarms")
    assert about_keys(alarms) == about_keys(expected)
    assert about_keys(expected) or name != "compare"  # of the stream there may be some, or none
    # Which keys are the worst when the stream has its report is by how partitions meet.
    reports = in_topic(broker, f"{topic}.reports")
    assert covered(reports) == covered(in_file(folder, "reports")) != []


def records_of(stream, folder):
    folder.run(f"okl-flow make-stream {stream} > events.jsonl")
    return [json.loads(line) for line in (folder.path / "events.jsonl").read_text().splitlines()]


def reads(folder):
    path = folder.path / "read"
    return path.read_text().splitlines() if path.exists() else []


def test_kills_repeat_nothing_that_was_written_exactly_once(broker, folder, start):  # noqa: F811
    folder.run("okl-flow make-stream users --keys 20 --events 3000 > events.jsonl")
    folder.run("python -m bytewax.run dataflows.per_user:flow")
    topic = make_topic(broker, unique("events"), 3)
    fill(broker, topic, folder.path / "events.jsonl", 3)
    run = start(
        "tests.kafka.slow:flow",
        *("--processes", 2, "--brokers", broker, "--create-topics", 2, "--epoch", 0.3),
        *("--recovery-dir", "recovery", "--state-dir", "state", "--pause", 0.05),
        OKL_EVENTS=topic,
        OKL_NAME=unique("killed"),
        OKL_TAIL="false",
        OKL_DELIVERY="exactly_once",
        PAUSE="0.002",
        READ="read",
    )
    kills = 3
    for number in range(1, kills + 1):
        pids, wanted = run.started(number), len(reads(folder)) + 600
        run.wait_for(lambda wanted=wanted: len(reads(folder)) >= wanted)
        for pid in pids if number == 2 else pids[:1]:
            with suppress(ProcessLookupError):  # the run ends the second when the first is gone
                os.kill(pid, signal.SIGKILL)
    assert run.end() == 0, run.text
    assert sum("was killed by signal 9" in one for one in run.messages("error")) == kills
    for kind in ("predictions", "rejects"):
        found = in_topic(broker, f"{topic}.{kind}")
        assert by_key(found) == by_key(in_file(folder, kind)), kind
    begun = {}
    for line in reads(folder):
        process, partition, offset = line.split()
        begun.setdefault((process, partition), int(offset))
    assert sum(offset > 0 for offset in begun.values()) >= kills, "runs began from nothing"
    assert len(reads(folder)) > len(read(broker, topic)), "no kill made anything be read again"


def test_labels_may_have_a_topic_of_their_own(broker, folder):
    records = records_of("users --keys 10 --events 300", folder)  # all of a key's may wait
    topics = {kind: make_topic(broker, unique(kind), 2) for kind in ("event", "label")}
    for kind, topic in topics.items():
        chosen = [one for one in records if one.get("type", "event") == kind]
        assert chosen
        lines = [(one["key"].encode(), json.dumps(one).encode()) for one in chosen]
        write(broker, topic, lines)
    folder.run(
        "python -m bytewax.run dataflows.per_user:flow",
        OKL_BROKERS=broker,
        OKL_EVENTS=topics["event"],
        OKL_LABELS=topics["label"],
        OKL_TAIL="false",
        OKL_NAME=unique("labels"),
        OKL_CREATE_TOPICS="1",
    )
    found = in_topic(broker, f"{topics['event']}.predictions")
    first = [one for one in found if one.cause.topic == topics["event"]]
    events = [one["id"] for one in records if one.get("type", "event") == "event"]
    assert sorted({one.id for one in first}) == sorted(events)
    labelled = [one.id for one in found if one.label is not None]
    refused = [one.id for one in in_topic(broker, f"{topics['event']}.rejects")]
    wanted = [one["id"] for one in records if one.get("label") is not None]
    assert sorted([*labelled, *refused]) == sorted(wanted)


def test_missing_topics_are_named_all_at_once_and_made_if_asked_for(broker, folder):
    topic = unique("events")
    variables = {"OKL_BROKERS": broker, "OKL_EVENTS": topic, "OKL_TAIL": "false"}
    variables["OKL_NAME"] = unique("missing")
    command = "python -m bytewax.run dataflows.per_user:flow"
    said = folder.refused(command, **variables)
    named = ", ".join([topic, *(f"{topic}.{kind}" for kind in KINDS)])
    assert f"OKL_BROKERS: {broker} has not the topics {named}, or does not show" in said
    ran = shell("okl-flow run dataflows.per_user:flow", folder.path, **variables)
    assert ran.code == 2, "it is of no use to start that again"
    folder.run(f"{command}", OKL_CREATE_TOPICS="3", **variables)
    with admin(broker) as client:
        made = client.describe_topics([topic, f"{topic}.alarms"])
    assert [len(one["partitions"]) for one in made] == [3, 3]
    folder.run(command, OKL_CREATE_TOPICS="5", **variables)  # what is there is left alone


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OKL_FORMAT": "jsn"}, "OKL_FORMAT: expected one of jsonl, csv, libsvm, json, msgpack,"),
        (
            {"OKL_FORMAT": "float32 labl=last"},
            "OKL_FORMAT: float32 has no parameter 'labl'; did you mean 'label'?",
        ),
        ({"OKL_FORMAT": "float32 label"}, "OKL_FORMAT: expected a name and parameters such"),
        ({"OKL_FORMAT": "avro"}, "OKL_SCHEMA: the format avro needs it, and it is not set"),
        (
            {"OKL_SCHEMA": "a"},
            "OKL_SCHEMA: is for the format avro, and source.format (OKL_FORMAT) is",
        ),
        (
            {"OKL_REGISTRY": "http://a"},
            "OKL_REGISTRY: is for the format confluent, and source.format (OKL_F",
        ),
        (
            {"OKL_REGISTRY_USER": "a"},
            "OKL_REGISTRY_USER: is of no use without source.registry (OKL_REGIST",
        ),
        ({"OKL_OUTPUT_FORMAT": "csv"}, "OKL_OUTPUT_FORMAT: expected one of json, msgpack, avro"),
        (
            {"OKL_DELIVERY": "once"},
            "OKL_DELIVERY: expected one of at_least_once, exactly_once, found 'once'",
        ),
        ({"OKL_TAIL": "never"}, "OKL_TAIL: expected true or false, found 'never'"),
        ({"OKL_START": "now"}, "OKL_START: expected one of earliest, latest, found 'now'"),
        (
            {"OKL_ON_LOST_OFFSETS": "cry"},
            "OKL_ON_LOST_OFFSETS: expected one of fail, earliest, latest, found",
        ),
        (
            {"OKL_CREATE_TOPICS": "0"},
            "OKL_CREATE_TOPICS: expected a whole number at least 1, found '0'",
        ),
        ({"OKL_REPORTS": "events"}, "OKL_REPORTS: the topic events is read or written already"),
        ({"OKL_KAFKA_CONFIG": "none"}, "OKL_KAFKA_CONFIG: none: No such file or directory"),
        ({"OKL_KAFKA_CONFIG": "bad"}, "OKL_KAFKA_CONFIG: bad, line 2: expected the variable"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(variables, words, broker, folder):
    (folder.path / "bad").write_text("# ours\nsasl.password=${NOT_SET}\n")
    make_topics(broker)
    said = folder.refused(
        "python -m bytewax.run dataflows.per_user:flow", OKL_BROKERS=broker, **variables
    )
    assert words in said


def make_topics(broker):
    """The topics that are there by default, if another test has not made them."""
    topics = Topics(broker)
    if missing := topics.missing(["events", *(f"events.{kind}" for kind in KINDS)]):
        topics.make(missing, 1)
    assert topics.missing(missing) == []


def test_settings_of_a_file_reach_the_clients_and_are_not_shown(broker, folder):
    make_topics(broker)
    config = "sasl.pasword=${OUR_PASSWORD}\n"
    (folder.path / "client.properties").write_text(config)
    ran = shell(
        "okl-flow run dataflows.per_user:flow",
        folder.path,
        OKL_BROKERS=broker,
        OKL_KAFKA_CONFIG="client.properties",
        OUR_PASSWORD="hunter2",
    )
    assert ran.code == 2
    assert 'No such configuration property: \\"sasl.pasword\\"' in ran.output
    assert "hunter2" not in ran.output


def test_a_file_describes_a_run_over_topics(broker, folder):
    folder.run("okl-flow make-stream users --keys 10 --events 500 > events.jsonl")
    folder.run("python -m bytewax.run dataflows.per_user:flow")
    topics = [make_topic(broker, unique(name), 2) for name in ("one", "other")]
    fill(broker, topics[0], folder.path / "events.jsonl", 2)
    job = folder.path / "job"
    job.mkdir()
    (job / "client.properties").write_text("client.id=${CLIENT}\n")
    (job / "flow.toml").write_text(
        f"""
        flow = "dataflows.per_user:flow"
        name = "{topics[0]}"
        [source]
        brokers = "${{BROKERS}}"
        events = {topics}
        tail = false
        create_topics = 3
        kafka_config = "client.properties"
        [sinks]
        predictions = "{topics[0]}.scores"
        delivery = "exactly_once"
        [state]
        dir = "state"
        [run]
        recovery_dir = "recovery"
        """
    )
    folder.run("okl-flow run job/flow.toml", BROKERS=broker, CLIENT="ours")
    found = in_topic(broker, f"{topics[0]}.scores")
    assert by_key(found) == by_key(in_file(folder, "predictions"))
    assert (job / "state" / "state.json").is_file()
    ran = shell("okl-flow run job/flow.toml", folder.path, BROKERS=broker)
    assert ran.code == 2
    assert "flow.toml, line 9: source.kafka_config: " in ran.output
    assert "client.properties, line 1: expected the variable CLIENT in" in ran.output


def test_what_init_writes_runs_over_topics(broker, folder):
    folder.run("okl-flow make-stream users --keys 10 --events 500 > events.jsonl")
    folder.run("python -m bytewax.run dataflows.per_user:flow")
    topic = make_topic(broker, unique("events"), 2)
    fill(broker, topic, folder.path / "events.jsonl", 2)
    folder.run(
        f"okl-flow init job/job.toml --brokers {broker} --events {topic} --processes 2 "
        f"--set name={topic} --set source.tail=false --set source.create_topics=2 "
        "--set sinks.delivery=exactly_once; okl-flow check job/job.toml"
    )
    folder.run("okl-flow run job/job.toml")
    found = in_topic(broker, f"{topic}.predictions")
    assert by_key(found) == by_key(in_file(folder, "predictions"))
    assert (folder.path / "job" / "state" / "state.json").is_file()


def test_brokers_that_do_not_answer_may_do_so_later(folder, start):  # noqa: F811
    run = start(
        "dataflows.per_user:flow",
        *("--brokers", "127.0.0.1:1", "--recovery-dir", "recovery"),
        *("--failures", 2, "--pause", 0.01),
    )
    assert run.end(120) == 3, run.text
    said = [one for one in run.messages("error") if "no answer from 127.0.0.1:1 in 15 s" in one]
    assert len(said) == 2


def with_broker(broker, block):
    """A block with the address of the broker, and a topic of its own."""
    topic = unique("incoming")
    return block.replace(BROKERS, broker).replace("incoming", topic), {"OKL_NAME": topic}


@pytest.mark.parametrize("name", FLOWS)
def test_what_a_flow_says_of_topics(name, broker, folder):
    blocks = blocks_of_flow(name)
    made = next(examples(blocks[0]))[0]
    folder.run(made)
    [block] = filter(needs_broker, blocks)
    block, variables = with_broker(broker, block)
    check(folder, block, **variables)
    assert in_topic(broker, f"{variables['OKL_NAME']}.predictions")


OVER_TOPICS = [one for one in blocks_of_pages("README.md") if needs_broker(one.values[0])]


@pytest.mark.parametrize("part", OVER_TOPICS)
def test_what_a_page_says_of_topics(part, broker, folder):
    block, variables = with_broker(broker, part)
    check(folder, block, **variables)
