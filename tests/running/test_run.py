"""`okl-flow run`, whose processes are killed, fail, and are asked to end."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from okl_flow.running.logs import Log
from okl_flow.running.patience import Policy
from okl_flow.running.supervisor import Code, Job, Supervisor, free_addresses
from tests.running.conftest import ROOT, Run

SLOW = "tests.running.flows:slow"
KEPT = ("--recovery-dir", "recovery", "--state-dir", "state")
EVENTS = 20_000
LIGHT = {"OKL_LEARNER": "kogd budget=20 bandwidth=0.5", "OKL_PARTITIONS": "8"}


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A file of events, and the predictions of a run that nothing happens to, in their order."""
    folder = tmp_path_factory.mktemp("undisturbed")
    path = folder / "events.jsonl"
    made = subprocess.run(
        [sys.executable, "-m", "okl_flow.cli", "make-stream", "users", "--events", str(EVENTS)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    path.write_bytes(made.stdout)
    run = Run(folder, "dataflows.per_user:flow", **LIGHT)
    assert run.end() == Code.FINISHED, run.text
    return path, predictions(folder)


@pytest.fixture
def slow(start, stream, tmp_path):
    """Start a slow run over the file."""

    def begin(*words, pause=0.1):
        variables = {"OKL_EVENTS": str(stream[0]), "READ": "read", "PAUSE": str(pause)}
        return start(SLOW, *KEPT, *words, **variables, **LIGHT)

    return begin


def test_what_is_left_of_an_epoch_that_never_closed_is_deleted(slow, tmp_path):
    run = slow(pause=0.0)
    assert run.end() == Code.FINISHED, run.text
    part = tmp_path / "recovery" / "part-0.sqlite3"
    with closing(sqlite3.connect(part)) as database, database:
        late = "INSERT INTO snaps (step_id, state_key, snap_epoch) VALUES ('s', 'k', 1000000)"
        database.execute(late)
    run = slow(pause=0.0)
    assert run.end() == Code.FINISHED, run.text
    with closing(sqlite3.connect(part)) as database:
        assert not database.execute("SELECT * FROM snaps WHERE step_id = 's'").fetchall()


def predictions(folder):
    return sorted((folder / "out" / "predictions.jsonl").read_text().splitlines())


def batches(folder):
    """What was read, as process, first line and last line."""
    path = folder / "read"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(map(int, line.split())) for line in lines]


def is_running(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_kills_leave_no_trace(slow, stream, tmp_path):
    rng = np.random.default_rng(7)
    run = slow("--processes", 2, "--epoch", 0.3, "--pause", 0.05, "--failures", 100)
    kills = 4
    for number in range(1, kills + 1):
        pids, read = run.started(number), len(batches(tmp_path))
        wanted = read + int(rng.integers(3, 8))
        run.wait_for(lambda wanted=wanted: len(batches(tmp_path)) >= wanted)
        for pid in pids if number == 2 else [pids[int(rng.integers(2))]]:
            with suppress(ProcessLookupError):  # the run ends the second when the first is gone
                os.kill(pid, signal.SIGKILL)
    assert run.end() == Code.FINISHED, run.text
    assert predictions(tmp_path) == stream[1]
    errors = run.messages("error")
    assert len(errors) == kills
    assert all(re.fullmatch(r"process [01] was killed by signal 9", one) for one in errors)
    begun = {}
    for process, first, _last in batches(tmp_path):
        begun.setdefault(process, first)
    later = list(begun.values())[1:]
    assert len(later) == kills
    assert sum(first > 1 for first in later) >= kills - 1, "runs began from nothing"


@pytest.mark.parametrize("processes", [1, 2])
def test_sigterm_drains_and_nothing_is_repeated(processes, slow, stream, tmp_path):
    run = slow("--processes", processes, "--epoch", 600, pause=0.02)
    run.wait_for(lambda: len(batches(tmp_path)) >= 5)
    run.signal(signal.SIGTERM)
    assert run.end() == Code.TERMINATED
    assert run.messages("error") + run.messages("warning") == []
    assert 0 < len(predictions(tmp_path)) < len(stream[1])
    again = slow("--processes", 2)
    assert again.end() == Code.FINISHED, again.text
    assert predictions(tmp_path) == stream[1]
    read = batches(tmp_path)
    assert [first for _process, first, _last in read[1:]] == [last + 1 for *_, last in read[:-1]]


def test_ctrl_c_of_the_whole_group_is_quiet(slow, tmp_path):
    run = slow("--processes", 2, "--log", "text")
    run.wait_for(lambda: batches(tmp_path))
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.end() == Code.INTERRUPTED
    told = [line.partition(" ")[2].strip() for line in run.raw if re.match(r"\d\d:\d\d:", line)]
    assert told[-2:] == [
        "info: SIGINT: draining; once more ends it at once",
        "info: drained: everything is in the last snapshot",
    ]
    assert "Traceback" not in run.text
    assert "panicked" not in run.text


def test_processes_end_with_their_supervisor(start):
    words = ("tests.running.flows:endless", "--recovery-dir", "recovery", "--processes", 2)
    run = start(*words)
    pids = run.started()
    run.signal(signal.SIGKILL)
    run.end()
    again = start(*words)  # which has to wait until they are gone
    try:
        again.started()
        assert not any(map(is_running, pids))
    finally:
        for pid in filter(is_running, pids):
            os.kill(pid, signal.SIGKILL)


def test_a_recovery_directory_has_one_run(slow):
    slow(pause=1.0).started()
    other = slow()
    assert other.end() == Code.REFUSED
    assert "recovery is held by another job that runs" in other.text
    assert other.text.count("\n") == 1


@pytest.mark.parametrize("how", ["again", "grace"])
def test_a_flow_that_does_not_drain_is_cut_short(how, start):
    run = start("tests.running.flows:endless", "--grace", 60 if how == "again" else 0.3)
    pids = run.started()
    run.signal(signal.SIGTERM)
    if how == "again":
        run.wait_for(lambda: any("draining" in one for one in run.messages("info")))
        run.signal(signal.SIGTERM)
    assert run.end() == Code.CUT_SHORT
    why = "SIGTERM again" if how == "again" else "not drained within 0.3 s"
    assert run.messages("warning") == [f"{why}: ending at once"]
    assert not any(map(is_running, pids))


def test_a_crash_loop_is_given_up(start):
    words = ("--recovery-dir", "recovery", "--failures", 3, "--pause", 0.01, "--processes", 2)
    run = start("tests.running.flows:broken", *words)
    assert run.end() == Code.GAVE_UP
    *failures, last = run.messages("error")
    assert len(failures) == 3
    assert re.fullmatch(
        r"process [01]: RuntimeError: the oven is cold, password=\*\*\*", failures[0]
    )
    assert last == "gave up after 3 failures within 600 s; mend the cause and start again"
    assert "hunter2" not in run.text
    traces = [one["trace"] for one in run.records if "trace" in one]
    assert len(traces) == 3
    assert all("in fail\n    raise error" in one for one in traces)


def test_a_signal_in_a_pause_is_heeded(start):
    run = start("tests.running.flows:broken", "--recovery-dir", "recovery", "--pause", 600)
    run.wait_for(lambda: any("starting again in" in one for one in run.messages("warning")))
    run.signal(signal.SIGTERM)
    assert run.end() == Code.CUT_SHORT
    assert run.messages("info")[-1] == "SIGTERM: not starting again; the next start goes on"


def test_without_a_recovery_directory_nothing_is_started_again(start):
    run = start("tests.running.flows:broken")
    assert run.end() == Code.GAVE_UP
    assert len(run.messages("error")) == 2
    assert "--recovery-dir" in run.messages("error")[1]


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ("tests.running.flows:refused", "the oven has no number 7"),
        ("tests.running.flows:imports", "No module named 'ovens'"),
        ("tests.running.flows:absent", "the module tests.running.flows has no 'absent'"),
        ("tests.running.flows:not_a_flow", "is no Dataflow and makes none, but int"),
        ("tests.running.flows", "a flow is named by its module and its name in it"),
        ("ovens:flow", "No module named 'ovens'"),
        ("dataflows.per_user:flow", "dataflows.per_user: OKL_EVENTS: there is no file"),
    ],
)
def test_what_a_restart_cannot_mend_is_said_once(flow, message, start):
    run = start(flow, "--processes", 2, "--recovery-dir", "recovery")
    assert run.end() == Code.REFUSED
    [told] = run.messages("error")
    assert message in told
    assert "Traceback" not in run.text


def test_a_fault_in_what_makes_the_flow_comes_with_its_trace(start):
    run = start("tests.running.flows:faulty", "--recovery-dir", "recovery")
    assert run.end() == Code.REFUSED
    [told] = [one for one in run.records if one["level"] == "error"]
    assert told["message"] == "ZeroDivisionError: division by zero"
    assert "in faulty\n    return 1 / 0\n" in told["trace"]


def test_directories_that_do_not_belong_together_are_refused_once(slow, tmp_path):
    run = slow("--epoch", 0.1, "--processes", 2)
    run.wait_for(lambda: len(batches(tmp_path)) >= 8)
    run.signal(signal.SIGTERM)
    assert run.end() == Code.TERMINATED
    (tmp_path / "recovery").rename(tmp_path / "elsewhere")
    other = slow("--processes", 2)
    assert other.end() == Code.REFUSED
    [told] = other.messages("error")
    assert "its recovery directory is missing" in told


def test_addresses_that_were_taken_meanwhile_are_chosen_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    chosen = []

    def addresses(count):
        chosen.append(free_addresses(count))
        if len(chosen) < 3:
            chosen[-1][1] = f"127.0.0.1:{taken.getsockname()[1]}"
        return chosen[-1]

    said = StringIO()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        job = Job(flow="tests.running.flows:broken", processes=2, recovery=None)
        supervisor = Supervisor(job, Policy(), Log(said, "text"), addresses=addresses)
        assert supervisor.run() == Code.GAVE_UP
    assert len(chosen) == 3
    assert said.getvalue().count("an address was taken; choosing others") == 2
    assert said.getvalue().count("error: process") == 1


def test_terminals_get_text_and_files_get_json(start):
    run = start("tests.running.flows:refused", "--log", "text")
    run.end()
    assert not run.records
    assert re.search(r"^\d\d:\d\d:\d\d error: the oven has no number 7$", run.text, flags=re.M)
    run = start("tests.running.flows:refused")
    run.end()
    assert len(run.records) == len(run.raw)
    last = run.records[-1]
    assert last.keys() == {"time", "level", "process", "logger", "message"}
    assert (last["level"], last["process"], last["logger"]) == ("error", None, "okl_flow.running")


def test_a_terminal_gets_text_by_itself(tmp_path):
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "okl_flow.cli", "run", "tests.running.flows:refused"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=theirs,
        check=False,
    )
    assert done.returncode == Code.REFUSED
    assert "error: the oven has no number 7" in os.read(ours, 1 << 16).decode().splitlines()[-1]
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--state-dir", "state"), "--state-dir: needs run.recovery_dir, or --recovery-dir"),
        (("--metrics-host", "::1"), "--metrics-host: needs metrics.port, or --metrics-port"),
        (("--metrics-port", "65535"), "65535 leaves no ports for 1 processes"),
        (("--processes", "0"), "--processes: expected a whole number from 1 to 10000, found '0'"),
        (("--recovery-dir", "file"), "--recovery-dir: file: File exists"),
    ],
)
def test_options_that_cannot_be_are_refused(words, message, start, tmp_path):
    (tmp_path / "file").touch()
    run = start("tests.running.flows:broken", *words)
    assert run.end() == Code.REFUSED
    assert message in run.text
    assert run.text.count("\n") == 1
