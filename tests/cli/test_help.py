"""Help, which fits a screen and shows an example."""

import re
import shlex

import pytest

COMMANDS = (
    *("run", "check", "init", "dashboard", "eval", "learners", "make-stream", "produce", "schema"),
    *(f"state {one}" for one in ("list", "show", "export", "import", "forget", "verify")),
)
LINES, COLUMNS = 24, 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_shows_an_example(command, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    lines = call(*command.split(), "--help").stdout.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    [example] = [one.strip() for one in lines if re.match(rf"\s*okl-flow {command} ", one)]
    options = "".join(lines[lines.index("Options:") :])
    used = [word for word in shlex.split(example) if word.startswith("--")]
    assert set(used) <= set(re.findall(r"--[a-z-]+", options))


def test_the_help_of_all_commands_shows_three(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    lines = call("--help").stdout.splitlines()
    assert len(lines) <= LINES
    for command in ("init", "check", "run"):
        assert any(line.strip().startswith(f"okl-flow {command} job.toml") for line in lines)
