"""Flows as users run them: commands in a shell, in a folder of their own."""

import json
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 120  # the first run compiles

Ran = namedtuple("Ran", "code output")


def shell(commands, folder, **variables):
    """Run lines of commands, until one fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OKL_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        cwd=folder,
        env={**clean, "PATH": path, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return Ran(done.returncode, done.stdout)


class Folder:
    """A folder to run flows in."""

    def __init__(self, path):
        self.path = path

    def run(self, command, **variables):
        """Run commands; what they print."""
        ran = shell(command, self.path, **variables)
        assert ran.code == 0, ran.output
        return ran.output

    def refused(self, command, **variables):
        """Run a command that is refused; its one line."""
        ran = shell(command, self.path, **variables)
        assert ran.code == 1, ran.output
        assert ran.output.count("\n") == 1, ran.output
        return ran.output

    def records(self, name, folder="out"):
        """The records of a file."""
        text = (self.path / folder / f"{name}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def folder(tmp_path):
    """An empty folder."""
    return Folder(tmp_path)
