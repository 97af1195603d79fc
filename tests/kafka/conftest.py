"""A real broker for the tests: one for all of a run, and some to be killed."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kafka.net.inet import KafkaNetSocket

from tests.dataflows.conftest import Folder
from tests.kafka.broker import START_SECONDS, Cluster
from tests.kafka.chaos.run import Chaos
from tests.kafka.running import Job
from tests.kafka.secured import Secured

_LOGS = pytest.StashKey()


@pytest.fixture(autouse=True)
def sockets(monkeypatch):
    """Those of kafka-python, closed with the test.

    A client of it that is closed leaves a socket open which cannot connect or has still to send.
    """
    made, make = [], KafkaNetSocket.socket

    def kept(self, *words):
        made.append(make(self, *words))
        return made[-1]

    monkeypatch.setattr(KafkaNetSocket, "socket", kept)
    yield
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def broker_place(tmp_path_factory):
    """Where the broker of the run is: started by the first process of pytest-xdist that asks."""
    if "KAFKA_BOOTSTRAP" in os.environ:
        return {"bootstrap": os.environ["KAFKA_BOOTSTRAP"]}
    folder, owner = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder, owner = folder.parent, os.getppid()
    place = folder / "broker.json"
    with (folder / "broker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _start(folder, owner, place)
    found = json.loads(place.read_text())
    if "error" in found:
        pytest.fail(found["error"], pytrace=False)
    return found


def _start(folder, owner, place):
    command = [sys.executable, "-m", "tests.kafka.broker", "--shared", str(folder), str(owner)]
    with (folder / "broker.log").open("wb") as log:
        # It outlives the process that starts it, and ends with the run.
        started = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    end = time.monotonic() + 600 + START_SECONDS  # Maven may have to fetch the broker
    while not place.exists():
        if started.poll() is not None or time.monotonic() > end:
            pytest.fail(f"no broker: {(folder / 'broker.log').read_text()}", pytrace=False)
        time.sleep(0.05)
    started.returncode = 0  # nobody waits for it


@pytest.fixture
def broker(broker_place, request):
    """The address of the broker that the tests of a run share."""
    if "log" in broker_place:
        request.node.stash[_LOGS] = lambda: Path(broker_place["log"]).read_text()[-6000:]
    return broker_place["bootstrap"]


@pytest.fixture
def cluster(tmp_path, request):
    """A broker of one's own: a `Cluster` of one, to be killed and stopped."""
    yield from _own(tmp_path, request, 1)


@pytest.fixture
def three(tmp_path, request):
    """A `Cluster` of three brokers of one's own."""
    yield from _own(tmp_path, request, 3)


@pytest.fixture(scope="session")
def secured_place(tmp_path_factory):
    """A `Secured` broker, for the tests of one process."""
    made = Secured(tmp_path_factory.mktemp("secured") / "it").start()
    yield made
    made.cluster.brokers[0].kill()


@pytest.fixture
def secured(secured_place, request):
    """The broker that asks who one is, and what one may do."""
    request.node.stash[_LOGS] = secured_place.cluster.log
    return secured_place


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to run commands in, and the one that the test is in."""
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


@pytest.fixture
def jobs(tmp_path):
    """Makes jobs, whose processes end with the test."""
    made = []

    def make(bootstrap, **settings):
        made.append(Job(tmp_path / f"job{len(made)}", bootstrap, **settings))
        return made[-1]

    yield make
    for job in made:
        job.end()


@pytest.fixture
def runs(tmp_path):
    """Makes jobs for `okl-flow run`, with some input, whose processes end with the test."""
    made = []

    def make(bootstrap, **settings):
        given = {"delivery": "exactly_once", "seed": 5, "events": 2000, "keys": 20, "apart": False}
        made.append(Chaos(tmp_path / f"run{len(made)}", bootstrap, **{**given, **settings}))
        return made[-1]

    yield make
    for job in made:
        job.stop()


def _own(folder, request, count):
    made = Cluster(folder / "kafka", count)
    request.node.stash[_LOGS] = made.log
    made.start()
    yield made
    for one in made.brokers:
        one.kill()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and _LOGS in item.stash:
        report.sections.append(("what the broker wrote", item.stash[_LOGS]()))
    return report
