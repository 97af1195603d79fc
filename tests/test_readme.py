"""The README's tables are the generated ones, and the commands that documents show work."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from benchmarks.readme import README, filled
from okl_flow import cli, streams


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


@pytest.mark.parametrize("command", commands())
def test_the_commands_work(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = streams.rings(300)
    lines = [",".join(map(str, (*x, label))) for x, label in zip(X, y, strict=True)]
    (tmp_path / "clicks.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    _program, *arguments = shlex.split(command, comments=True)
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    assert ("bpa_s" if arguments[0] in ("eval", "learners") else "{") in result.output
