"""The demonstration as a user has it: shown to its end, broken off, and with something wrong."""

import errno
import os
import pty
import re
import signal
import subprocess
import sys
import time

import msgspec
import pytest
from typer.testing import CliRunner

from okl_flow.cli import app
from okl_flow.demo import script
from okl_flow.demo.ending import next_commands
from okl_flow.events import Prediction
from okl_flow.kafka.onlooker import Onlooker
from okl_flow.wire import decode_outgoing
from tests.dataflows.conftest import Folder
from tests.demo.conftest import ROOT, SMALL

MOMENTS = (
    "broker: ",
    "to compare with",
    "running, as",
    "starting again",
    "it goes on",
    "every event is predicted",
)


def test_it_shows_all_and_leaves_a_picture(show):
    shown = show(*SMALL)
    assert shown.end() == 0, shown.text
    killed = re.search(r"kill -9 (\d+): a process of the flow is dead", shown.text)[1]
    first, second = re.findall(r"running, as (\d+), (\d+)", shown.text)[:2]
    assert killed in first
    assert not {*first} & {*second}
    for words in (
        "broker: 127.0.0.1:",
        "a mock within this process",
        "process 1 was killed by signal 9",
        "it goes on, ",
        "The verdict, over an embedded broker:",
        "good  every event is predicted: 1,500 of 1,500",
        "are those of an undisturbed run, to the last bit",
        "live page, until the flow ends: http://localhost:",
        "malformed",
    ):
        assert words in shown.text, shown.text
    again = "of them are there again, each the same to the byte: this mock of a broker"
    assert again in shown.text or "good  each of them is there once" in shown.text, shown.text
    low, high = re.search(r"mistakes  \d.*95 %: (\d+\.\d) to (\d+\.\d)", shown.text).groups()
    assert 0.0 < float(low) < float(high) < 100.0
    assert shown.files == ["work/okl-flow-demo.png"]
    assert (shown.folder / "work/okl-flow-demo.png").read_bytes().startswith(b"\x89PNG")
    assert shown.running == []
    assert "\x1b" not in shown.text, "colours in what is no terminal"


@pytest.mark.parametrize("words", MOMENTS)
def test_ctrl_c_leaves_nothing(words, show):
    shown = show(*SMALL)
    shown.wait_for(words)
    shown.signal(signal.SIGINT)
    assert shown.end() == 130, shown.text
    assert shown.running == []
    assert shown.files == []
    assert shown.text.endswith("stopped: nothing of it runs any more, and its files are deleted\n")
    assert "Traceback" not in shown.text


def test_impatience_leaves_nothing_either(show):
    shown = show(*SMALL)
    shown.wait_for("kill -9")
    while shown.process.poll() is None:
        shown.signal(signal.SIGINT)
        time.sleep(0.005)
    assert shown.end() == 130, shown.text
    assert (shown.running, shown.files) == ([], [])


def test_sigterm_ends_it_as_well(show):
    shown = show(*SMALL)
    shown.wait_for("running, as")
    shown.process.send_signal(signal.SIGTERM)
    assert shown.end() == 143, shown.text
    assert (shown.running, shown.files) == ([], [])


def test_a_reader_that_goes_away_ends_it(show):
    shown = show(
        *SMALL, program=("bash", "-c", f'{sys.executable} -m okl_flow.cli "$@" | head -2', "-")
    )
    assert shown.end() == 0
    assert shown.text.count("\n") == 2
    assert (shown.running, shown.files) == ([], [])


def test_what_is_kept_can_be_looked_at_and_the_commands_to_go_on_with_work(show, tmp_path):
    kept = tmp_path / "kept"
    shown = show(*SMALL, "--keep", kept)
    assert shown.end() == 0, shown.text
    assert shown.files == []
    found = {path.name for path in kept.iterdir()}
    assert found == {"events.jsonl", "undisturbed", "recovery", "state", "okl-flow-demo.png"}
    refused = CliRunner().invoke(app, ["demo", "--keep", str(kept)])
    assert refused.exit_code == 2
    assert "not empty; name a new folder" in refused.stderr
    commands = re.findall(r"^  (\S.*)$", shown.text.partition("To go on:")[2], flags=re.M)
    assert len(commands) >= 4
    (tmp_path / "next").mkdir()
    Folder(tmp_path / "next").run("\n".join(one for one in commands if "activate" not in one))


def test_who_lacks_the_command_is_told_how_to_have_it(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    command, _why = next(iter(next_commands(None)))
    assert command == f". {sys.prefix}/bin/activate"


def run_here(monkeypatch, spoil):
    """A demonstration in this process, that finds in the topics what `spoil` makes of it."""
    take = Onlooker.take

    def spoiled(self, seconds=0.0):
        return [one for raw in take(self, seconds) for one in spoil(raw)]

    monkeypatch.setattr(Onlooker, "take", spoiled)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were missing
    monkeypatch.setattr(script, "_PATIENCE_SECONDS", 20.0)
    return CliRunner().invoke(app, ["demo", *SMALL])


def is_of(raw, id):
    record = decode_outgoing(raw.value)
    return isinstance(record, Prediction) and record.id == id


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        pytest.param(
            lambda raw: [] if is_of(raw, "e700") else [raw],
            "BAD   every event is predicted: 1,499 of 1,500: e700",
            id="lost",
        ),
        pytest.param(
            lambda raw: (
                [msgspec.structs.replace(raw, value=raw.value.replace(b'"seen":', b'"seen":1'))]
                if is_of(raw, "e700")
                else [raw]
            ),
            "1 are wrong: e700 of user-",
            id="wrong",
        ),
        pytest.param(
            lambda raw: (
                [raw, msgspec.structs.replace(raw, value=raw.value + b" ")]
                if is_of(raw, "e700")
                else [raw]
            ),
            "BAD   repeats differ from what they repeat: demo.events, ",
            id="changed",
        ),
    ],
)
def test_a_wrong_output_makes_the_verdict_bad(spoil, complaint, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = run_here(monkeypatch, spoil)
    assert done.exit_code == 1, done.output
    assert complaint in done.stdout, done.stdout
    assert "This must not be: the verdict is bad." in done.stdout
    assert "The kill has left no trace." not in done.stdout
    assert "The mistakes as a picture: pip install 'okl-flow[plot]'" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_torn_output_ends_it_with_a_line(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    torn = run_here(monkeypatch, lambda raw: [msgspec.structs.replace(raw, value=raw.value[:-1])])
    assert torn.exit_code == 1
    assert torn.stderr.startswith("okl-flow: the flow has written b'{")


def test_a_flow_that_cannot_run_ends_it_with_its_reason(show, tmp_path):
    package = tmp_path / "broken" / "dataflows"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "per_user.py").write_text("raise ValueError('not today')\n")
    shown = show(*SMALL, PYTHONPATH=f"{package.parent}{os.pathsep}{ROOT}")
    assert shown.end() == 1, shown.text
    assert shown.text.endswith("okl-flow: the run over a file ended with 2: not today\n")
    assert (shown.running, shown.files) == ([], [])


def test_brokers_that_do_not_answer_are_told_of(show):
    shown = show("--brokers", "127.0.0.1:1")
    assert shown.end() == 2
    assert "okl-flow: no answer from 127.0.0.1:1 in 15 s" in shown.text
    assert (shown.running, shown.files) == ([], [])


def test_one_need_not_wait_for_brokers_that_do_not_answer(show):
    shown = show("--brokers", "127.0.0.1:1")
    while not list((shown.folder / "temporary").iterdir()):
        time.sleep(0.01)
    begun = time.monotonic()
    shown.signal(signal.SIGINT)
    assert shown.end() == 130
    assert time.monotonic() - begun < 10.0, "it took as long as the brokers are waited for"
    assert (shown.running, shown.files) == ([], [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config", "client.properties"], "--config is of no use without --brokers"),
        (["--brokers", "a:1", "--config", "none"], "--config: none: No such file or directory"),
        (["--plot", "a.jpg"], "--plot a.jpg: the picture must be a .png or a .svg"),
        (["--events", "0"], "--events"),
    ],
)
def test_what_cannot_be_is_refused(words, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_on_a_terminal_there_is_a_table(tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "okl_flow.cli", "demo", *SMALL],
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    read = b""
    while True:
        try:
            read += os.read(ours, 1 << 16)
        except OSError as error:  # the last one has closed it
            assert error.errno == errno.EIO
            break
    os.close(ours)
    assert process.wait() == 0, read.decode()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", read.decode())
    assert text.count("│ commonest label  │") > 10, "the table is not live"
    assert re.search(r"│ records +│ [\d,]+ of [\d,]+ sent", text)
    assert "The kill has left no trace." in text
