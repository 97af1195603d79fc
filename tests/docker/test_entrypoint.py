"""The entrypoint: what it refuses, what it waits for and makes, and what it becomes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from okl_flow import kafka
from tests.docker.conftest import DOCKER, clean, loaded
from tests.ports import free_ports
from tests.running.test_metrics import served

FLOW = "dataflows.per_user:flow"
SLOW = "tests.running.flows:slow"
FAKE = """\
#!{python}
import json, os, sys
print(json.dumps({{"pid": os.getpid(), "words": sys.argv[1:]}}))
"""

entrypoint = loaded("entrypoint")


@pytest.fixture
def fake(tmp_path):
    """A folder with an `okl-flow` that tells how it was called."""
    program = tmp_path / "bin" / "okl-flow"
    program.parent.mkdir()
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(0o755)
    return program.parent


def test_it_becomes_the_run(contain, fake, tmp_path):
    words = (FLOW, "--processes", "2")
    kept = {"ENTRYPOINT_RECOVERY_DIR": "data/recovery", "OKL_STATE": "data/state"}
    container = contain(*words, path=fake, ENTRYPOINT_METRICS_PORT="9200", **kept)
    told = json.loads(container.process.communicate()[0])
    metrics = ["--metrics-host", "0.0.0.0", "--metrics-port", "9200"]
    assert told["words"] == ["run", *metrics, "--recovery-dir", "data/recovery", *words]
    assert told["pid"] == container.process.pid
    assert (tmp_path / "data" / "state").is_dir()
    assert not list((tmp_path / "data" / "state").iterdir())
    assert container.text == ""


def test_without_variables_there_is_still_a_port(contain, fake):
    container = contain(FLOW, path=fake)
    told = json.loads(container.process.communicate()[0])
    assert told["words"] == ["run", "--metrics-host", "0.0.0.0", "--metrics-port", "9100", FLOW]


TOPICS = {"OKL_BROKERS": "kafka:9092", "ENTRYPOINT_TOPIC_PARTITIONS": "4"}


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        ([], {}, "name a flow"),
        (
            [FLOW],
            {"ENTRYPOINT_WAIT_SECOND": "1"},
            "ENTRYPOINT_WAIT_SECOND is no .* mean 'ENTRYPOINT_WAIT_SECONDS'",
        ),
        (
            [FLOW],
            {"ENTRYPOINT_WAIT_SECONDS": "soon"},
            "ENTRYPOINT_WAIT_SECONDS: .* 1 to 86400, found 'soon'",
        ),
        ([FLOW], {"ENTRYPOINT_WAIT_SECONDS": "0"}, "found '0'"),
        (
            [FLOW],
            {"ENTRYPOINT_METRICS_PORT": "65536"},
            "ENTRYPOINT_METRICS_PORT: expected .* 1 to 65535",
        ),
        ([FLOW, "--metrics-port", "1"], {}, "--metrics-port: this is said by ENTRYPOINT_METRICS"),
        ([FLOW, "--recovery-dir=r"], {}, "--recovery-dir=r: this is said by ENTRYPOINT_RECOVERY"),
        ([FLOW, "--metrics-host=h"], {}, "--metrics-host=h: .* by the container itself"),
        ([FLOW, "--state-dir=s"], {}, "--state-dir=s: this is said by OKL_STATE"),
        ([FLOW, "--brokers=b:1"], {}, "--brokers=b:1: this is said by OKL_BROKERS"),
        ([FLOW], {"OKL_METRICS_PORT": "1"}, "OKL_METRICS_PORT: this is said by ENTRYPOINT"),
        ([FLOW], {"OKL_BROKERS": "kafka"}, "OKL_BROKERS: expected host:port, .* found 'kafka'"),
        ([FLOW], {"OKL_BROKERS": "a:1,:2"}, "found ':2'"),
        ([FLOW], {"OKL_BROKERS": "a:1, b:0"}, "found ' b:0'"),
        ([FLOW], {"OKL_STATE": "state"}, "OKL_STATE needs ENTRYPOINT_RECOVERY_DIR"),
        (
            [FLOW],
            {"ENTRYPOINT_TOPIC_PARTITIONS": "4"},
            "ENTRYPOINT_TOPIC_PARTITIONS needs OKL_BROKERS",
        ),
        ([FLOW], {**TOPICS, "OKL_KAFKA_CONFIG": "none"}, "OKL_KAFKA_CONFIG: none: No such file"),
        (
            [FLOW],
            {"ENTRYPOINT_TOPIC_REPLICAS": "3"},
            "ENTRYPOINT_TOPIC_REPLICAS needs ENTRYPOINT_TOPIC_PARTITIONS",
        ),
        (
            [FLOW],
            {"ENTRYPOINT_RECOVERY_DIR": "/proc/none"},
            "ENTRYPOINT_RECOVERY_DIR: /proc/none cannot be",
        ),
    ],
)
def test_what_is_wrong_is_refused(words, variables, message):
    with pytest.raises(entrypoint.RefusedError, match=message):
        entrypoint.plan_of(words, variables)


def test_a_refusal_is_one_line_of_the_log(contain, fake):
    container = contain(FLOW, path=fake, ENTRYPOINT_WAIT="9")
    assert container.end() == 2
    [record] = map(json.loads, container.text.splitlines())
    assert record["level"] == "error"
    assert record["message"].startswith("ENTRYPOINT_WAIT is no setting")
    assert container.process.stdout.read() == ""


def test_empty_variables_are_none(contain, fake):
    empty = dict.fromkeys(["OKL_BROKERS", "OKL_STATE", *entrypoint.KNOWN], "")
    container = contain(FLOW, path=fake, **empty)
    assert container.end() == 0
    assert container.text == ""


def test_topics_are_those_of_the_flow():
    variables = {**TOPICS, "OKL_EVENTS": "a,b", "OKL_LABELS": "truth", "OKL_ALARMS": "bells"}
    plan = entrypoint.plan_of([FLOW], variables)
    made = ["a.predictions", "a.reports", "bells", "a.rejects"]
    assert plan.topics == ["a", "b", "truth", *made]
    assert plan.compacted == "a.reports"
    assert (plan.partitions, plan.replicas) == (4, -1)
    assert entrypoint.plan_of([FLOW], TOPICS).topics[:2] == ["events", "events.predictions"]


def test_settings_of_security_are_used_and_not_told(contain, fake, tmp_path):
    (tmp_path / "client").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.username=ann\nsasl.password=${WORD}\n"
    )
    with kafka.embedded() as mock:  # which knows no such thing
        variables = {"OKL_BROKERS": mock.brokers, "OKL_KAFKA_CONFIG": "client", "WORD": "hunter2"}
        container = contain(FLOW, path=fake, **variables, ENTRYPOINT_WAIT_SECONDS="3")
        assert container.end() == 3, container.text
    assert "SASL" in container.messages()[-1]
    assert "hunter2" not in container.text


def test_settings_that_do_not_fit_are_refused_without_their_values(contain, fake, tmp_path):
    (tmp_path / "client").write_text("sasl.pasword=hunter2\n")
    container = contain(FLOW, path=fake, OKL_BROKERS="a:1", OKL_KAFKA_CONFIG="client")
    assert container.end() == 2
    [message] = container.messages()
    assert message.startswith("OKL_KAFKA_CONFIG: ")
    assert "sasl.pasword" in message
    assert "hunter2" not in container.text


def test_brokers_that_do_not_answer_are_given_up(contain, fake):
    address = f"127.0.0.1:{free_ports(1)[0]}"
    container = contain(FLOW, path=fake, OKL_BROKERS=address, ENTRYPOINT_WAIT_SECONDS="1")
    assert container.end() == 3
    waiting, error = container.messages()
    assert waiting == f"waiting for {address}, 1 s at most"
    assert error.startswith(f"no answer from {address} in 1 s: ")
    assert "Connection refused" in error
    assert container.process.stdout.read() == ""


def forward(port, target):
    """Let one client after the other through to another port of this machine."""

    def pump(source, sink):
        with suppress(OSError):  # at the end one of them closes first
            while chunk := source.recv(65536):
                sink.sendall(chunk)

    def serve():
        with socket.create_server(("127.0.0.1", port)) as server:
            client, _ = server.accept()
            with client, socket.create_connection(target) as there:
                back = threading.Thread(target=pump, args=(there, client), daemon=True)
                back.start()
                pump(client, there)

    threading.Thread(target=serve, daemon=True).start()


def test_brokers_may_come_late(contain, fake):
    port = free_ports(1)[0]
    with kafka.embedded() as mock:
        host, _, there = mock.brokers.rpartition(":")
        container = contain(FLOW, path=fake, OKL_BROKERS=f"127.0.0.1:{port}")
        container.wait_for_message("waiting for")
        time.sleep(3.0)  # more than one attempt
        assert container.process.poll() is None
        forward(port, (host, int(there)))
        assert container.end() == 0, container.text
    assert json.loads(container.process.stdout.read())["words"][-1] == FLOW


def test_sigterm_ends_the_waiting(contain, fake):
    container = contain(FLOW, path=fake, OKL_BROKERS=f"127.0.0.1:{free_ports(1)[0]}")
    container.wait_for_message("waiting for")
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(1.0) == -signal.SIGTERM


def test_topics_are_made_once(contain, fake, broker, request):
    events = f"events-{os.getpid()}"
    variables = {
        "OKL_BROKERS": broker,
        "OKL_EVENTS": events,
        "ENTRYPOINT_TOPIC_PARTITIONS": "3",
        "ENTRYPOINT_TOPIC_REPLICAS": "1",
    }
    container = contain(FLOW, path=fake, **variables)
    assert container.end() == 0, container.text
    names = [events, *(f"{events}.{one}" for one in entrypoint.OUTPUTS)]
    made = [f"made the topic {name}, with 3 partitions" for name in names]
    assert container.messages()[1:] == made
    client = KafkaAdminClient(bootstrap_servers=broker)
    request.addfinalizer(client.close)
    found = {one["name"]: len(one["partitions"]) for one in client.describe_topics(names)}
    assert found == dict.fromkeys(names, 3)
    container = contain(FLOW, path=fake, **{**variables, "ENTRYPOINT_TOPIC_PARTITIONS": "5"})
    assert container.end() == 0, container.text
    assert container.messages()[1:] == []
    found = {one["name"]: len(one["partitions"]) for one in client.describe_topics(names)}
    assert found == dict.fromkeys(names, 3)
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    [told] = client.describe_configs(resources, config_filter="all").values()
    policies = {name: settings["cleanup.policy"]["value"] for name, settings in told.items()}
    kept = dict.fromkeys(names, "delete")
    assert policies == {**kept, f"{events}.reports": "compact"}


def test_a_topic_that_cannot_be_made_is_refused(contain, fake, broker):
    variables = {"OKL_EVENTS": f"more-{os.getpid()}", "ENTRYPOINT_TOPIC_PARTITIONS": "1"}
    container = contain(
        FLOW, path=fake, OKL_BROKERS=broker, ENTRYPOINT_TOPIC_REPLICAS="7", **variables
    )
    assert container.end() == 2
    assert "cannot be made: " in container.messages()[-1]
    assert "leave ENTRYPOINT_TOPIC_PARTITIONS away" in container.messages()[-1]


def test_a_run_is_healthy_until_it_is_drained(contain, tmp_path):
    first = free_ports(3)[0]
    lines = ['{"key": "ann", "features": [0.5, 1], "label": 1}\n'] * 200_000
    (tmp_path / "events.jsonl").write_text("".join(lines))
    container = contain(
        SLOW,
        *("--processes", "2", "--epoch", "0.5"),
        ENTRYPOINT_METRICS_PORT=str(first),
        ENTRYPOINT_RECOVERY_DIR="recovery",
        OKL_STATE="state",
        OKL_LEARNER="kogd budget=5",
        READ="read",
        PAUSE="0.05",
    )
    container.wait_for_message("running, as ")
    container.wait_for((tmp_path / "read").exists)
    assert health(first) == (0, "")
    assert served(first)["okl_flow_processes"] == 2
    container.process.send_signal(signal.SIGTERM)
    assert container.end() == 143, container.text
    assert "drained" in container.messages()[-1]
    code, text = health(first)
    assert code == 1
    assert text.startswith(f"no metrics at port {first}: ")


def health(port):
    """The exit code of the health check, and what it says."""
    done = subprocess.run(
        [sys.executable, str(DOCKER / "healthy.py")],
        env=clean(ENTRYPOINT_METRICS_PORT=str(port)),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_cluster_that_is_down_is_not_healthy(contain, tmp_path):
    first = free_ports(2)[0]
    container = contain(
        "tests.running.flows:broken",
        *("--pause", "30"),
        ENTRYPOINT_METRICS_PORT=str(first),
        ENTRYPOINT_RECOVERY_DIR="recovery",
    )
    container.wait_for_message("starting again in ")
    assert health(first) == (1, "not all processes run; the log says why\n")
