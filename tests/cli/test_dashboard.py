"""`okl-flow dashboard`: what it reads, and what it refuses."""

import re
import socket
import sys

import pytest

from okl_flow.cli.beside import _resolved
from okl_flow.origins import Origin
from okl_flow.page.watching import Source

TABLES = """
flow = "dataflows.per_user:flow"
[source]
brokers = "from.file:9092"
events = ["clicks", "more"]
kafka_config = "client.properties"
[learner]
name = "kogd"
[sinks]
alarms = "bells"
"""


@pytest.fixture
def source(call, monkeypatch, files):
    """The source that a command line makes, in place of a page."""
    found = []
    module = sys.modules["okl_flow.cli.dashboard"]  # of that name there is a function too
    monkeypatch.setattr(module, "_serve", lambda source, *_more: found.append(source))
    (files / "client.properties").write_text("security.protocol=SSL\n")
    (files / "job.toml").write_text(TABLES)

    def of(*words, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        done = call("dashboard", *words)
        assert done.exit_code == 0, done.output
        return found.pop()

    return of


def names(events):
    return [f"{events}.{kind}" for kind in ("reports", "alarms", "rejects")]


def test_without_brokers_it_reads_the_files_that_flows_write(source):
    files = [f"out/{kind}.jsonl" for kind in ("reports", "alarms", "rejects")]
    assert source() == Source(files, None, {}, None, [])


def test_topics_are_named_after_the_first_that_is_read(source):
    found = source("--brokers", "here:9092", "--events", "clicks,more", "--group", "g")
    assert found == Source(names("clicks"), "here:9092", {}, "g", ["clicks", "more"])


def test_options_go_before_variables_and_these_before_the_file(source, files):
    found = source("job.toml")
    assert found.names == ["clicks.reports", "bells", "clicks.rejects"]
    assert (found.brokers, found.config) == ("from.file:9092", {"security.protocol": "SSL"})
    assert found.inputs == ["clicks", "more"]
    found = source("job.toml", OKL_BROKERS="of.environment:9092", OKL_REPORTS="figures")
    assert found.names == ["figures", "bells", "clicks.rejects"]
    assert found.brokers == "of.environment:9092"
    assert source("job.toml", "--brokers", "of.option:1").brokers == "of.option:1"


def test_paths_in_the_file_start_from_its_folder(source, files):
    (files / "jobs").mkdir(exist_ok=True)
    (files / "jobs" / "job.toml").write_text(
        'flow = "dataflows.per_user:flow"\n[sinks]\nreports = "figures.jsonl"\n'
    )
    found = source("jobs/job.toml")
    assert found.names[0] == str(files / "jobs" / "figures.jsonl")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--brokers", ""], "--brokers: expected a value, found an empty text"),
        (["--token", "short"], "--token: expected at least 8 characters, found 5"),
        (["--group", "g"], "--group needs --brokers"),
        (["--reports", "-"], "writes to its terminal, where nobody else can read it"),
        (["missing.toml"], "missing.toml"),
        (["iris.csv"], "expected the file of a job, as job.toml, found 'iris.csv'"),
        (["--brokers", "b", "--config", "missing"], "--config: missing: No such file"),
        (["--port", "70000"], "--port"),
        (["--port", "0", "--host", "256.1.1.1"], "256.1.1.1:0: "),
    ],
)
def test_what_is_refused(call, words, reason):
    done = call("dashboard", *words)
    assert done.exit_code == 2
    assert reason in " ".join(done.output.split())


def test_settings_of_kafka_that_are_wrong_are_not_shown(call, files):
    (files / "bad.properties").write_text("security.protocol=hunter2\n")
    done = call("dashboard", "--brokers", "b:1", "--config", "bad.properties", "--port", "0")
    assert done.exit_code == 2
    assert re.search("the settings of .* do not fit", done.output)


def test_a_port_that_is_taken_is_said(call):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        done = call("dashboard", "--port", str(port))
    assert done.exit_code == 2
    assert f"127.0.0.1:{port}: Address already in use; --port 0 takes" in done.output


def test_beside_a_run_paths_of_its_file_start_from_there(monkeypatch):
    monkeypatch.delenv("OKL_BROKERS", raising=False)
    folder = Origin("job.toml, line 3: reports", "/jobs")
    given = {"OKL_REPORTS": "r.jsonl", "OKL_LEARNER": "kogd", "OKL_KAFKA_CONFIG": "c"}
    origins = dict.fromkeys(given, folder)
    assert _resolved(given, origins) == {
        "OKL_REPORTS": "/jobs/r.jsonl",
        "OKL_KAFKA_CONFIG": "/jobs/c",
    }
    topics = {**given, "OKL_BROKERS": "b:1"}
    assert _resolved(topics, origins)["OKL_REPORTS"] == "r.jsonl"
