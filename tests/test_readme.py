"""The README's tables are the generated ones, and the commands that documents show work."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from benchmarks.readme import README, filled
from okl_flow import cli, make_learner, snapshot, streams
from okl_flow.murmur import partition_of
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.store import StateDirectory

SAID = {
    "eval": "bpa_s",
    "learners": "bpa_s",
    "make-stream": r"\{",
    "schema": r"\{",
    "state": "user-1|nothing is wrong",
}


def test_the_tables_are_the_generated_ones():
    text = README.read_text()
    assert filled(text) == text, "run `python -m benchmarks.readme`"


def commands():
    """The command lines that the README and the documents show."""
    pages = [README, *sorted((README.parent / "docs").glob("*.md"))]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S)
    ]
    lines = [line for block in blocks for line in block.splitlines()]
    return [line[2:] for line in lines if line.startswith("$ okl-flow ")]


def keep_state(folder):
    """A state directory with a key, and a file with its learner."""
    learner = make_learner("bpa_s")
    state = learner.init(2)
    learner.step(state, *streams.rings(30))
    (folder / "user-17.oklf").write_bytes(snapshot.dumps(learner, state))
    directory = StateDirectory.open(
        folder / "state", step="flow.learn", partitions=2, learners=[learner]
    )
    packed = RecordCodec([learner]).pack(Record([state], 30, 0))
    store = directory.store(partition_of("user-17", 2), None)
    store.commit([("user-17", packed, 0)])
    store.close()


@pytest.mark.parametrize("command", commands())
def test_the_commands_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = streams.rings(300)
    lines = [",".join(map(str, (*x, label))) for x, label in zip(X, y, strict=True)]
    (tmp_path / "clicks.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    _program, *arguments = shlex.split(command.partition(" > ")[0], comments=True)
    if arguments[0] == "state":
        keep_state(tmp_path)
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    assert re.search(SAID[arguments[0]], result.output)
