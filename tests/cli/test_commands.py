"""The command line as a whole: the other commands, exit codes, and a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest

from okl_flow import make_learner
from okl_flow.cli import app
from okl_flow.registry import REGISTRY

PROCESS = [sys.executable, "-m", "okl_flow.cli"]


def test_every_learner_is_listed(call):
    result = call("learners")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["learner", "tasks"]
    assert [line.split()[0] for line in lines[2:]] == list(REGISTRY)
    assert "Kivinen, Smola and Williamson, 2004" in lines[2]


def test_learners_are_listed_with_their_parameters(objects):
    listed = {one["learner"]: one for one in objects("learners")}
    assert listed.keys() == REGISTRY.keys()
    kogd = listed["kogd"]
    assert {"learner": "kogd", **kogd["parameters"]} == make_learner("kogd").describe()
    assert kogd["tasks"] == ["binary", "multiclass", "regression"]
    assert kogd["memory"] == REGISTRY["kogd"].memory
    assert kogd["cost"] == REGISTRY["kogd"].cost
    assert kogd["paper"] == REGISTRY["kogd"].paper


def test_the_version_is_that_of_the_package(call):
    assert call("--version").stdout == f"okl-flow {version('okl-flow')}\n"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["eval", "--help"], ["learners", "-h"]])
def test_help_is_given(call, words):
    result = call(*words)
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_without_a_command_help_is_given_and_it_is_wrong_usage(call):
    result = call()
    assert result.exit_code == 2
    assert "Usage: " in result.output


def test_every_option_is_explained(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    text = call("eval", "--help").stdout
    for option in (
        "learner set grid permutations seed task rescale format label labels dim json "
        "markdown plot window"
    ).split():
        assert re.search(rf"--{option} +\S+ .*[a-z]{{3}}", text), option


def test_errors_of_ours_are_not_hidden(call, monkeypatch):
    """Only what the user can mend is told in a line; a fault of the program is not."""

    def broken(*_arguments, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr("okl_flow.cli.plan.run", broken)
    assert isinstance(call("eval", "iris.csv", "--learner", "kogd").exception, ZeroDivisionError)


def test_the_group_returns_its_code_if_asked(files, monkeypatch):
    monkeypatch.chdir(files)
    assert app(["learners"], standalone_mode=False) == 0
    assert app(["eval", "absent", "--learner", "kogd"], standalone_mode=False) == 2


def test_a_process_of_its_own(files):
    words = ["eval", "-", "--dim", "30", "--learner", "kogd", "--json"]
    with subprocess.Popen(
        ["gzip", "-dc", files / "cancer.libsvm.gz"], stdout=subprocess.PIPE
    ) as zcat:
        done = subprocess.run(
            [*PROCESS, *words], stdin=zcat.stdout, capture_output=True, check=False, timeout=120
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["n"] == 569


def test_bad_data_end_a_process_with_2_and_a_line(files):
    words = ["eval", files / "iris.csv", "--format", "libsvm", "--learner", "kogd"]
    done = subprocess.run([*PROCESS, *words], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"okl-flow: ")
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["learners"], ["learners", "--json"]])
def test_a_reader_that_goes_away_is_no_error(words):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROCESS, *words], stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_interruption_is_quiet(tmp_path):
    path = tmp_path / "endless"
    os.mkfifo(path)
    words = ["eval", path, "--dim", "1", "--learner", "kogd"]
    # A shell lets commands in the background ignore interruptions, and children inherit that.
    heeding = ["env", "--default-signal=INT", *PROCESS]
    with subprocess.Popen([*heeding, *words], stdout=-1, stderr=-1) as process:
        with path.open("wb") as writer:  # opens once the process reads
            writer.write(b"1 1:1\n")
            writer.flush()
            out, err = interrupted(process)
    assert (process.returncode, out, err) == (130, b"", b"")


def interrupted(process):
    """What a process prints that is interrupted, as often as it takes.

    Python sees a signal that comes in the moment before a read begins only when the read is over,
    and here nothing more comes to be read.
    """
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("six interruptions have not ended it")
