"""`okl-flow demo` as a process in a folder of its own, whatever it begins marked."""

import os
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
SMALL = ("--events", "1500", "--keys", "10", "--rate", "1500")


class Shown:
    """A demonstration, whose output is read as it comes."""

    def __init__(self, folder, *words, program=(sys.executable, "-m", "okl_flow.cli"), **variables):
        self.folder, self._mark = folder, uuid.uuid4().hex
        for name in ("home", "temporary", "work"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OKL_")}
        self.process = subprocess.Popen(
            [*program, "demo", *map(str, words)],
            cwd=folder / "work",
            env={
                **clean,
                "HOME": str(folder / "home"),
                "TMPDIR": str(folder / "temporary"),
                "PYTHONPATH": str(ROOT),
                "MARK": self._mark,
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.text = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.text += line.decode()

    def wait_for(self, words):
        """Wait until it has said something."""
        until(lambda: words in self.text, self.process, PATIENCE, lambda: self.text)

    def signal(self, number):
        """As a terminal does it: to all in the group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self):
        """Its exit code."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.running:
            os.kill(pid, signal.SIGKILL)
        self._reader.join()

    @property
    def running(self):
        """The processes that it has begun and that have not ended."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark.encode() in (path / "environ").read_bytes():
                    found.append(int(path.name))
        return found

    @property
    def files(self):
        """All files in its folder."""
        paths = sorted(path for path in self.folder.rglob("*") if not path.is_dir())
        return [str(path.relative_to(self.folder)) for path in paths]


@pytest.fixture
def show(tmp_path):
    """Begin a demonstration; what runs of it at the end of the test is ended."""
    begun = []

    def begin(*words, **more):
        begun.append(Shown(tmp_path / f"demo{len(begun)}", *words, **more))
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()
