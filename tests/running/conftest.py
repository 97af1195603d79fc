"""`okl-flow run` as a process of its own, with what it has told."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Run:
    """A run, whose log is read as it comes."""

    def __init__(self, folder, flow, *words, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OKL_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "okl_flow.cli", "run", flow, *map(str, words)],
            cwd=folder,
            env={**clean, "PYTHONPATH": str(ROOT), **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.raw = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.raw.append(line.decode())
        self.process.stderr.close()

    @property
    def records(self):
        return [json.loads(line) for line in self.raw if line.startswith("{")]

    @property
    def text(self):
        return "".join(self.raw)

    def messages(self, level):
        return [one["message"] for one in self.records if one["level"] == level]

    def wait_for(self, reached):
        return until(reached, self.process, PATIENCE, lambda: self.text)

    def started(self, times=1):
        """The ids of its processes, once the cluster runs for the n-th time."""

        def pids():
            lines = [one for one in self.messages("info") if one.startswith("running, as ")]
            return len(lines) >= times and lines[times - 1].removeprefix("running, as ")

        return [int(pid) for pid in self.wait_for(pids).split(", ")]

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, timeout=PATIENCE):
        """Its exit code."""
        try:
            return self.process.wait(timeout)
        finally:
            self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)  # the others end with it
            self.process.wait()
        self._reader.join()


@pytest.fixture
def start(tmp_path):
    """Start a run in an empty folder; what runs at the end of the test is ended."""
    started = []

    def begin(flow, *words, **variables):
        started.append(Run(tmp_path, flow, *words, **variables))
        return started[-1]

    yield begin
    for one in started:
        one.stop()
