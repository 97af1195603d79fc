"""The README's tables are the generated ones, and the commands that documents show work."""

import doctest
import json
import re
import shlex

import pytest
from bytewax.testing import run_main
from typer.testing import CliRunner

from benchmarks.readme import PAGES as FILLED
from benchmarks.readme import README, filled
from okl_flow import cli, make_learner, snapshot, streams
from okl_flow.murmur import partition_of
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.store import StateDirectory
from tests.dataflows.test_commands import PAGES
from tests.operators.changes import changes

SAID = {
    "eval": "bpa_s",
    "learners": "bpa_s",
    "make-stream": r"\{",
    "run": "finished: all sources came to their end",
    "schema": r"\{",
    "state": "user-1|nothing is wrong",
}


@pytest.mark.parametrize("page", FILLED, ids=lambda page: page.name)
def test_the_tables_are_the_generated_ones(page):
    text = page.read_text()
    assert filled(text, FILLED[page]) == text, "run `python -m benchmarks.readme`"


def test_the_flow_in_twenty_lines_learns(tmp_path):
    [block] = re.findall(r"```python\n(.*?def flow_of.*?)```", README.read_text(), flags=re.S)
    examples = doctest.DocTestParser().get_examples(block)
    names = {}
    exec("".join(one.source for one in examples), names)
    assert len(examples[-1].source.splitlines()) <= 20
    made = CliRunner().invoke(cli.app, ["make-stream", "users", "--keys", "20"])
    (tmp_path / "events.jsonl").write_text(made.stdout)
    run_main(names["flow_of"](tmp_path / "events.jsonl", tmp_path))
    reports = map(json.loads, (tmp_path / "reports").read_text().splitlines())
    last = [one["values"] for one in reports if one["subject"] == "stream"][-1]
    assert last["mistake_rate"] < last["baseline_mistake_rate"] / 2
    assert (tmp_path / "rejects").read_text() == ""
    assert (tmp_path / "predictions").read_text().count("\n") > last["labelled"] > 10_000


def commands():
    """The command lines that the README and the documents show.

    On some pages they go on from each other: tests/dataflows and tests/kafka run those.
    """
    pages = [README, *sorted((README.parent / "docs").glob("*.md"))]
    apart = {README.parent / page for page in (*PAGES, "docs/tutorial.md")}
    pages = [page for page in pages if page not in apart]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S)
    ]
    lines = [line for block in blocks for line in block.splitlines()]
    found = [line[2:] for line in lines if line.startswith("$ okl-flow ")]
    return [one for one in found if "--brokers" not in one]  # tests/kafka/ has those


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
    store.commit(*changes({"user-17": packed}))
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
    if arguments[0] == "run":
        monkeypatch.setenv("PYTHONPATH", str(README.parent))  # its processes are in the folder too
        made = CliRunner().invoke(cli.app, ["make-stream", "users", "--keys", "20"])
        (tmp_path / "events.jsonl").write_text(made.stdout)
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    assert re.search(SAID[arguments[0]], result.output)
