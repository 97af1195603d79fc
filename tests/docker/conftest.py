"""What is in docker/, without an engine to build or run it."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kafka.conftest import broker, broker_place
from tests.waiting import until

__all__ = ["broker", "broker_place"]

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
PATIENCE = 60.0


def clean(**variables):
    """The environment of a container: nothing for flows or entrypoint but what is given."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OKL_", "ENTRYPOINT_"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), **variables}


def loaded(name):
    """A program of docker/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docker_{name}", DOCKER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Container:
    """What would be a container: the entrypoint, with its log in a file."""

    def __init__(self, folder, words, path, variables):
        self._log = folder / "log"
        search = f"{path}{os.pathsep}{os.environ['PATH']}"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(DOCKER / "entrypoint.py"), *words],
                cwd=folder,
                env=clean(PATH=search, **variables),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @property
    def text(self):
        return self._log.read_text()

    def messages(self):
        return [json.loads(line)["message"] for line in self.text.splitlines()]

    def wait_for(self, reached):
        return until(reached, self.process, PATIENCE, lambda: self.text)

    def wait_for_message(self, start):
        return self.wait_for(lambda: any(one.startswith(start) for one in self.messages()))

    def end(self):
        """Its exit code."""
        return self.process.wait(PATIENCE)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def contain(tmp_path):
    """Start the entrypoint in an empty folder; what runs at the end of the test is ended."""
    started = []

    def begin(*words, path=Path(sys.executable).parent, **variables):
        started.append(Container(tmp_path, words, path, variables))
        return started[-1]

    yield begin
    for one in started:
        one.stop()
