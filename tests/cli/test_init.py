"""`okl-flow init`: what it writes is a job that runs, by asking or by options."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from okl_flow.cli.init import FLOWS
from tests.dataflows.conftest import ROOT, Folder


@pytest.fixture
def init(call, tmp_path):
    """Let a file be written; what it says, and its text."""

    def write(*words):
        path = tmp_path / "job.toml"
        done = call("init", str(path), *words, "--force")
        assert done.exit_code == 0, done.output
        text = path.read_text()
        return tomllib.loads(text), text

    return write


@pytest.mark.parametrize("flow", FLOWS)
def test_what_is_written_is_right_and_has_all_settings(flow, init, call, tmp_path):
    _said, text = init("--flow", flow)
    done = call("check", f"{tmp_path}/job.toml", "--values")
    assert done.exit_code == 0
    assert done.stdout.endswith("job.toml: nothing is wrong\n")
    keys = re.findall(r"^ ([a-z_.]+) ", done.stdout, flags=re.M)
    for path in keys:
        if path not in ("setting", "flow", "name", "learner", "learners", "fixed"):
            assert re.search(rf"^(# )?{path.rpartition('.')[2]} = ", text, flags=re.M), path
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("flow", FLOWS)
def test_every_line_that_is_a_comment_may_be_none(flow, init, call, tmp_path, monkeypatch):
    """But for what needs another thing, which is said, and nothing else is."""
    monkeypatch.setenv("REGISTRY_PASSWORD", "hunter2")
    _said, text = init("--flow", flow, "--brokers", "localhost:9092")
    whole = re.sub(r"^# ([a-z_]+ = )", r"\1", text, flags=re.M)
    assert whole != text
    (tmp_path / "job.toml").write_text(whole)
    told = call("check", f"{tmp_path}/job.toml").stdout.splitlines()
    wrong = [one for one in told if not one.startswith("note: ")]
    about = {re.search(r": ([a-z_.]+): ", one)[1] for one in wrong}
    assert about <= {"source.schema", "source.registry", "source.format", "labels.classes"}, wrong


def test_options_are_written(init):
    said, _text = init(
        *("--flow", "per_user", "--brokers", "a:1", "--events", "clicks,views"),
        *("--learner", "kogd budget=9 kernel=polynomial", "--processes", "3", "--no-keep"),
        *("--set", "learner.degree=2", "--set", "labels.classes=ham,spam"),
        *("--set", "evaluation.drift=adwin chance=0.01", "--set", "sinks.delivery=exactly_once"),
        *("--set", "source.registry=http://r:1", "--set", "source.format=confluent"),
        *("--set", "source.registry_user=ann", "--set", "labels.wait=forever"),
        *("--set", "source.registry_password=${WORD}"),
    )
    assert said == {
        "flow": "dataflows.per_user:flow",
        "source": {
            "brokers": "a:1",
            "events": ["clicks", "views"],
            "format": "confluent",
            "registry": "http://r:1",
            "registry_user": "ann",
            "registry_password": "${WORD}",
        },
        "labels": {"classes": ["ham", "spam"], "wait": "forever"},
        "learner": {"name": "kogd", "budget": 9, "kernel": "polynomial", "degree": 2},
        "evaluation": {"drift": {"name": "adwin", "chance": 0.01}},
        "sinks": {"delivery": "exactly_once"},
        "state": {},
        "run": {"processes": 3},
        "metrics": {},
    }


def test_learners_with_names_are_tables_of_their_own(init):
    champion = ("--set", "settings.champion=a")
    said, _text = init(
        "--flow", "compare", "--set", "learners=a: kogd budget=3; b: arow", *champion
    )
    assert said["learners"] == {"a": {"name": "kogd", "budget": 3}, "b": {"name": "arow"}}


def test_by_default_a_job_keeps_what_it_needs_to_go_on(init):
    said, _text = init()
    assert said["state"]["dir"], said["run"]["recovery_dir"] == ("state", "recovery")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--flow", "per_usr"), "--flow: expected module:name, such as dataflows.per_user:flow"),
        (("--learner", "kogdd"), "--learner: there is no learner 'kogdd'; did you mean 'kogd'?"),
        (("--processes", "no"), "--processes: expected a whole number from 1 to 10000"),
        (("--set", "source.event=a"), "--set source.event: there is no such setting; did you me"),
        (("--set", "a"), "--set: expected KEY=VALUE, as learner.budget=50, found 'a'"),
        (("--set", "sinks.delivery=exactly_once"), "--set sinks.delivery: is of no use without"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(words, message, refusal, tmp_path):
    assert refusal("init", f"{tmp_path}/a.toml", *words).startswith(message)
    assert not (tmp_path / "a.toml").exists()


def test_a_password_is_not_written(call, tmp_path):
    done = call("init", f"{tmp_path}/a.toml", "--set", "source.registry_password=hunter2")
    assert done.exit_code == 2
    assert "--set source.registry_password: expected no password, but where it is" in done.stderr
    assert "hunter2" not in done.output
    assert not (tmp_path / "a.toml").exists()


def test_a_file_that_is_there_stays_as_it_is(refusal, call, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("mine")
    assert refusal("init", str(path)) == f"{path} is there already; --force writes over it"
    assert path.read_text() == "mine"
    assert call("init", str(path), "--force").exit_code == 0
    assert path.read_text() != "mine"
    message = f"{tmp_path}/job.txt: expected a name that ends with .toml"
    assert refusal("init", f"{tmp_path}/job.txt") == message


def asked(folder, answers, *words):
    """Call it on a terminal, with these answers; what it wrote there, and its exit code."""
    ours, theirs = os.openpty()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OKL_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "okl_flow.cli", "init", *words],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT)},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    os.close(theirs)
    os.write(ours, "".join(f"{one}\n" for one in answers).encode())
    told = process.communicate(timeout=120)[0].decode()
    os.close(ours)
    return told, process.returncode


def test_on_a_terminal_it_asks_until_the_answers_are_right(tmp_path):
    answers = [
        *("per_usr", "per_user"),
        *("kafka", "localhost:9092"),
        "clicks",
        *("jsn", "json"),
        *("0", "3"),
        *("ham", "ham,spam,eggs"),
        "48",
        *("none", "2"),
        "y",
        "exactly_once",
        "4",
        "",
    ]
    told, code = asked(tmp_path, answers)
    assert code == 0, told
    for words in (
        "expected one of classify, regress, per_user, choose_kernel, compare, or MODULE:FLOW; did",
        "expected host:port, or several with commas between them, found 'kafka'",
        "expected one of jsonl, csv",
        "expected how many features there are, at least 1, or their names, found '0'",
        "expected two or more labels, found 'ham'",
        "expected a whole number from 1 to 10000, found 'none'",
        "wrote job.toml",
    ):
        assert words in told
    said = tomllib.loads((tmp_path / "job.toml").read_text())
    assert said["source"]["brokers"] == "localhost:9092"
    assert (said["learner"]["task"], said["learner"]["classes"]) == ("multiclass", 3)
    assert said["labels"] == {"classes": ["ham", "spam", "eggs"], "wait": 48}
    assert said["run"] == {"processes": 2, "recovery_dir": "recovery"}
    assert (said["state"]["dir"], said["sinks"]["delivery"]) == ("state", "exactly_once")


def test_what_was_said_is_not_asked_for_and_yes_asks_nothing(tmp_path):
    answers = ["", "", "", "", "", "n", ""]
    words = ("--flow", "per_user", "--brokers", "a:1", "--learner", "arow", "--processes", "1")
    told, code = asked(tmp_path, [*answers, "", ""], *words)
    assert code == 0, told
    assert "Kafka" not in told and "Learner" not in told and "Processes" not in told
    assert "dir" not in tomllib.loads((tmp_path / "job.toml").read_text())["state"]
    told, code = asked(tmp_path, [], "other.toml", "--yes")
    assert (code, told.count("\n")) == (0, 1)


@pytest.mark.parametrize("flow", ["classify", "per_user", "compare"])
def test_what_is_written_runs_on_files(flow, tmp_path):
    folder = Folder(tmp_path)
    folder.run("okl-flow make-stream users --keys 5 --events 500 > events.jsonl")
    folder.run(f"okl-flow init --flow {flow} && okl-flow check job.toml && okl-flow run job.toml")
    made = [one for one in folder.records("predictions") if one["ordinal"] == 0]
    assert len(made) >= 500
    assert list(Path(tmp_path, "recovery").glob("part-*"))
    assert Path(tmp_path, "state", "state.json").is_file()
