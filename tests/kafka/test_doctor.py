"""`okl-flow doctor` with a real broker: what is wrong is found, and nothing where nothing is."""

import json
import re
import time
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer
from kafka import TopicPartition
from kafka.errors import TopicAlreadyExistsError

import okl_flow
from okl_flow.doctor import Finding, Level
from okl_flow.murmur import partition_of
from tests.dataflows.conftest import shell
from tests.doctor.looked import FLOW, the, wrong
from tests.kafka.doctored import KINDS, Topics, config, event
from tests.kafka.flows import unique
from tests.kafka.judge import admin, alter_topic, delete_topic, make_topic, read, write
from tests.ports import free_ports
from tests.running.conftest import start  # noqa: F401  (a fixture)

DAY = 86_400_000


def test_a_job_that_has_not_begun_is_well(broker, folder):
    topics = Topics(broker)
    found = topics.examined(folder, state="state", metrics=("127.0.0.1", free_ports(2)[0]))
    assert wrong(found) == []
    the(found, "topics", Level.OK, f"{topics.name} (2), {topics.name}.predictions (1)")
    the(found, "records.key", Level.OK, "5 keys, each in one partition")
    the(found, "records.format", Level.OK, "all of 20 records that were read can be used")
    the(found, "lag", Level.OK, "nothing was read yet")
    assert not list(folder.path.iterdir()), "it has made something"


def test_a_job_that_runs_is_well_and_so_is_one_that_has_run(broker, folder, start):  # noqa: F811
    topics = Topics(broker)
    port = free_ports(2)[0]
    words = [FLOW, "--recovery-dir", "recovery", "--state-dir", "state", "--epoch", 0.3]
    words += ["--metrics-port", port, "--brokers", broker, "--processes", 2]
    variables = {"OKL_EVENTS": topics.name, "OKL_NAME": topics.name}
    variables["OKL_DELIVERY"] = "exactly_once"
    run = start(*words, **variables)
    run.wait_for(lambda: len(read(broker, topics.outputs[0])) == 20)
    settings = {"state": "state", "metrics": ("127.0.0.1", port), "processes": 2, "epoch": 0.3}
    run.wait_for(lambda: " 0 records unread" in lag(topics.examined(folder, **settings)))
    found = topics.examined(folder, **settings)
    assert wrong(found) == []
    the(found, "recovery", Level.OK, "a job holds it")
    run.stop()
    end = time.monotonic() + 60  # its processes end when they see that it is gone
    while (
        "no job holds it"
        not in the(topics.examined(folder, **settings), "recovery", Level.OK, "holds it").message
    ):
        assert time.monotonic() < end
    found = [one for one in topics.examined(folder, **settings) if one.check != "transactions.open"]
    assert wrong(found) == []
    the(found, "recovery", Level.OK, "no job holds it")
    the(found, "resume", Level.OK, "what the job would go on from is there")


def lag(findings):
    return the(findings, "lag", Level.OK, "").message


def test_the_command_prints_a_line_for_each_and_exits_by_the_worst(broker, folder):
    topics = Topics(broker)
    (folder.path / "job.toml").write_text(
        f"""
        flow = "{FLOW}"
        [source]
        brokers = "{broker}"
        events = "{topics.name}"
        [run]
        recovery_dir = "recovery"
        """
    )
    ran = shell("okl-flow doctor job.toml", folder.path)
    assert (ran.code, ran.output.splitlines()[-1]) == (0, "0 problems, 0 warnings")
    assert ran.output.startswith("ok      versions: okl-flow ")
    assert "\x1b" not in ran.output
    alter_topic(broker, topics.name, retention_ms=3_600_000)
    ran = shell("okl-flow doctor job.toml --quiet", folder.path)
    warned, remedy, last = ran.output.splitlines()
    assert (ran.code, last) == (0, "0 problems, 1 warning")
    assert warned.startswith(f"warning topics.retention: the input {topics.name} keeps records fo")
    assert remedy.startswith("        remedy: raise retention.ms")
    delete_topic(broker, topics.outputs[0])
    ran = shell("okl-flow doctor job.toml --json", folder.path)
    told = [json.loads(line) for line in ran.output.splitlines()]
    [bad] = [one for one in told if one["level"] == "problem"]
    assert ran.code == 1
    assert (bad["check"], bad["message"]) == (
        "topics",
        f"not there, or not shown to us: {topics.outputs[0]}",
    )
    assert "--create-topics" in bad["remedy"]
    ran = shell("okl-flow doctor job.toml --create-topics 2 -q", folder.path)
    assert ran.code == 0
    assert not (folder.path / "recovery").exists()
    ran = shell("okl-flow doctor job.toml --procesess 2", folder.path)
    assert ran.code == 2
    assert "No such option: --procesess" in ran.output
    ran = shell("okl-flow doctor none.toml", folder.path)
    assert (ran.code, ran.output.count("\n")) == (2, 1)
    ran = shell("okl-flow doctor job.toml", folder.path, OKL_RUN_PROCESES="2")
    assert ran.code == 2
    assert "OKL_RUN_PROCESES: there is no such setting; did you mean" in ran.output


def test_the_page_shows_what_is_printed(broker, folder):
    page = (Path(okl_flow.__file__).parents[1] / "docs" / "doctor.md").read_text()
    [block] = re.findall(r"```console\n(.*?)```", page, flags=re.S)
    topic = make_topic(broker, unique("clicks"), 4, retention_ms=3_600_000)
    for kind in KINDS[:3]:
        make_topic(broker, f"{topic}.{kind}", 4)
    folder.run("okl-flow make-stream users --keys 20 --events 3000 > events.jsonl")
    folder.run(f"okl-flow produce events.jsonl --brokers {broker} --topic {topic}")
    command, shown = block.replace("localhost:9092", broker).split("\n", 1)
    variables = {"OKL_EVENTS": topic, "OKL_DELIVERY": "exactly_once"}
    ran = shell(command.removeprefix("$ "), folder.path, **variables)
    expected = re.escape(shown.replace("clicks", topic)).replace(re.escape("..."), ".*")
    assert re.fullmatch(expected, ran.output), ran.output
    assert ran.code == 1


def told(folder, topics):
    """What the command finds, which is a process of its own and may leave sockets behind."""
    ran = shell(
        f"okl-flow doctor {FLOW} --recovery-dir recovery --timeout 3 --json",
        folder.path,
        OKL_BROKERS=topics.bootstrap,
        OKL_EVENTS=topics.name,
        OKL_NAME=topics.name,
    )
    return [msgspec.json.decode(line, type=Finding) for line in ran.output.splitlines()]


def test_replicas_and_leaders(three, folder):
    topics, alone = Topics(three.bootstrap, 3, 3), Topics(three.bootstrap, 3, 1)
    assert wrong(told(folder, topics)) == []
    the(told(folder, alone), "topics.replicas", Level.WARNING, "one replica only: ")
    tight = topics.outputs[0]
    alter_topic(three.bootstrap, tight, min_insync_replicas=3)
    found = told(folder, topics)
    the(found, "topics.replicas", Level.WARNING, f"{tight} needs all of its 3 replicas")
    assert len(wrong(found)) == 1
    three.brokers[2].kill()
    end, found = time.monotonic() + 60, []
    while not [one for one in found if "not all replicas are in sync" in one.message]:
        assert time.monotonic() < end, found
        found = told(folder, topics)
    the(found, "topics.replicas", Level.WARNING, "not all replicas are in sync: ")
    the(found, "topics.replicas", Level.PROBLEM, "has 2 replicas in sync, and takes no records")
    # The address of the one that is gone is told of as well.
    the(found, "brokers", Level.WARNING, "Connection refused")
    the(told(folder, alone), "topics.leaders", Level.PROBLEM, f"nobody leads {alone.name}")


def test_more_processes_than_partitions(broker, folder):
    topics = Topics(broker, 2)
    found = topics.examined(folder, processes=3)
    the(found, "topics.partitions", Level.WARNING, "3 processes share 2 partitions")


@pytest.mark.parametrize(
    ("which", "settings", "check", "words"),
    [
        ("input", {"retention_ms": 3_600_000}, "topics.retention", "keeps records for 1 h"),
        ("input", {"cleanup_policy": "compact"}, "topics.cleanup", "is compacted: events go"),
        ("output", {"cleanup_policy": "compact"}, "topics.cleanup", "only the latest record"),
        ("output", {"max_message_bytes": 10_000}, "topics.size", "take smaller records than"),
    ],
)
def test_settings_of_topics(which, settings, check, words, broker, folder):
    topics = Topics(broker)
    alter_topic(broker, topics.name if which == "input" else topics.outputs[0], **settings)
    the(topics.examined(folder), check, Level.WARNING, words)


def test_an_input_that_is_kept_by_size(broker, folder):
    topics = Topics(broker, 1)
    alter_topic(broker, topics.name, retention_bytes=1_000_000)
    fine = the(topics.examined(folder), "topics.retention", Level.OK, "inputs keep their records")
    assert "7 days, or up to 976.6 KiB a partition" in fine.message
    hour = 3_600_000
    for number, age in enumerate((26, 5)):
        old = round(time.time() * 1000) - age * hour
        write(broker, topics.name, [(b"user1", event("user1", 21 + number), 0, old)])
    reaches = {20: [], 21: ["topics.retention"]}  # by the offset that is the first one left
    for low, expected in reaches.items():
        with admin(broker) as client:
            client.delete_records({TopicPartition(topics.name, 0): low})
        found = topics.examined(folder)
        assert [one.check for one in wrong(found)] == expected
    the(found, "topics.retention", Level.WARNING, "partition 0 reaches back 5 h")


# --- records


@pytest.mark.parametrize(
    ("records", "check", "level", "words"),
    [
        ([], "records", Level.OK, "are empty"),
        ([b"{", b"["], "records.format", Level.PROBLEM, "2 of 2 records cannot be used"),
        ([(b"a", event("a", 1)), b"{"], "records.format", Level.WARNING, "1 of 2 records cannot"),
        (
            [(None, event("a", 1), 0), (None, event("b", 2), 1)],
            "records.key",
            Level.WARNING,
            "2 of",
        ),
        (
            [(b"a", event("a", 1), 0), (b"a", event("a", 2), 1), (b"b", event("b", 3), 1)],
            "records.key",
            Level.PROBLEM,
            "events of one key lie in several partitions: 1 of 2 keys, such as 'a'",
        ),
        (
            [(b"a", event("a", 1), 0, round((time.time() + 3000) * 1000))],
            "records.clock",
            Level.WARNING,
            "min ahead of this machine's clock",
        ),
    ],
)
def test_records_that_are_not_as_they_should_be(records, check, level, words, broker, folder):
    topics = Topics(broker, events=0)
    write(broker, topics.name, records)
    the(topics.examined(folder), check, level, words)


@pytest.mark.parametrize(
    ("shift", "level", "words"),
    [
        (0, Level.OK, "events are learned by the process that reads them"),
        (1, Level.WARNING, "20 of 20 events are read by one process and learned by another"),
    ],
)
def test_events_that_cross_to_another_process(shift, level, words, broker, folder):
    topics = Topics(broker, events=0)
    keys = [f"user{number}" for number in range(20)]
    places = [(partition_of(key, 2) + shift) % 2 for key in keys]
    records = [(key.encode(), event(key, 1), at) for key, at in zip(keys, places, strict=True)]
    write(broker, topics.name, records)
    the(topics.examined(folder, processes=2), "records.crossing", level, words)
    assert "records.crossing" not in {one.check for one in topics.examined(folder)}


def test_labels_in_a_topic_of_their_own(broker, folder):
    topics = Topics(broker)
    labels = make_topic(broker, unique("labels"), 2)
    label = b'{"type": "label", "key": "user1", "id": "e1", "label": true}'
    write(broker, labels, [(b"user1", label)])
    found = topics.examined(folder, labels=labels)
    the(found, "records.labels", Level.OK, f"labels have a topic of their own, {labels}")
    assert wrong(found) == []


# --- where the job goes on


@pytest.fixture
def ran(broker, folder):
    """A job that has read ten events and ended."""
    topics = Topics(broker, 1, events=10)
    folder.run(
        f"okl-flow run {FLOW} --recovery-dir recovery --state-dir state --brokers {broker}",
        OKL_EVENTS=topics.name,
        OKL_NAME=topics.name,
        OKL_DELIVERY="exactly_once",
        OKL_TAIL="false",
    )
    assert wrong(topics.examined(folder, state="state")) == []
    return topics


def test_what_it_would_go_on_from_is_made_anew(broker, folder, ran):
    delete_topic(broker, ran.name)
    end = time.monotonic() + 30
    while True:
        try:
            make_topic(broker, ran.name, 1)
            break
        except TopicAlreadyExistsError:  # it takes a moment to go
            assert time.monotonic() < end
            time.sleep(0.2)
    the(ran.examined(folder, state="state"), "resume", Level.PROBLEM, "it was made anew")


def test_what_it_would_go_on_from_is_gone(broker, folder, ran):
    write(broker, ran.name, [(b"user1", event("user1", n)) for n in range(5)])
    with admin(broker) as client:
        client.delete_records({TopicPartition(ran.name, 0): 13})
    found = ran.examined(folder, state="state")
    the(found, "resume", Level.PROBLEM, "offsets 10 to 12 that the job has not read are gone")


def test_what_it_would_go_on_from_goes_soon(broker, folder, ran):
    alter_topic(broker, ran.name, retention_ms=30 * DAY)
    old = round((time.time() - 30 * 86_400 + 1230) * 1000)
    write(broker, ran.name, [(b"user1", event("user1", 11), 0, old)])
    found = ran.examined(folder, state="state")
    the(found, "resume", Level.WARNING, "goes by retention in 2")
    the(found, "lag", Level.OK, "1 record unread")


def test_transactions_that_a_job_left_open(broker, folder):
    topics = Topics(broker)
    left = Producer(
        {
            "bootstrap.servers": broker,
            "transactional.id": f"{topics.name}-write_predictions-0",
        }
    )
    left.init_transactions()
    left.begin_transaction()
    left.produce(topics.outputs[0], b"{}")
    left.flush()
    found = topics.examined(folder)
    the(found, "transactions.open", Level.WARNING, "no job runs here, and 1 transaction of it")
    left.abort_transaction()
    assert wrong(topics.examined(folder)) == []


def test_epochs_longer_than_a_transaction(broker, folder):
    topics = Topics(broker)
    found = topics.examined(folder, epoch=100.0)
    the(found, "transactions.limit", Level.WARNING, "an epoch of 1.67 min leaves")
    given = config(folder, {"transaction.timeout.ms": 1_000_000})
    found = topics.examined(folder, kafka_config=given)
    the(found, "transactions.limit", Level.PROBLEM, "and the brokers allow 15 min")
