"""What the doctor says of versions, limits, ports and disks."""

import resource
import shutil
import socket
import sys
import time
from collections import namedtuple
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from okl_flow.doctor import Level, directories, machine
from tests.doctor.looked import examined, the, wrong
from tests.ports import free_ports

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_text("")
    return tmp_path


def test_a_flow_over_files_that_has_not_begun_is_well(folder):
    found = examined(folder, state="state", metrics=("127.0.0.1", free_ports(2)[0]))
    assert wrong(found) == []
    assert "is new" in the(found, "recovery", Level.OK, "recovery").message
    assert sorted(one.name for one in folder.iterdir()) == ["events.jsonl", "out"]


def test_a_flow_that_cannot_be_built_says_why(folder):
    for settings, words in (
        ({"flow": "nowhere:flow"}, "No module named 'nowhere'"),
        ({"flow": "dataflows.per_user:stream"}, "has no 'stream'"),
        ({"events": "none.jsonl"}, "OKL_EVENTS: there is no file 'none.jsonl' here"),
        ({"event": "none.jsonl"}, "OKL_EVENT: there is no such setting; did you mean 'OKL_EVENTS'"),
        ({"learner": "kogdd"}, "kogdd"),
    ):
        the(examined(folder, **settings), "flow", Level.PROBLEM, words)


@pytest.mark.parametrize(
    ("changed", "level", "words"),
    [
        ({"bytewax": "0.20.1"}, Level.WARNING, "bytewax is 0.20.1, and was tested from 0.21.1"),
        ({"kafka-python": "4.0.0"}, Level.WARNING, "tested from 3 to below 4"),
        ({"rocksdict": None}, Level.PROBLEM, "rocksdict is not installed"),
    ],
)
def test_versions_that_were_not_tested(changed, level, words, folder, monkeypatch):
    real = machine.version

    def version(name):
        if changed.get(name, "") is None:
            raise PackageNotFoundError
        return changed.get(name) or real(name)

    monkeypatch.setattr(machine, "version", version)
    the(examined(folder), "versions", level, words)


def test_a_python_that_the_engine_does_not_know(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 13, 1, "final", 0))
    the(list(machine.versions()), "versions", Level.PROBLEM, "Python is 3.13.1")


def test_a_compiler_that_does_not_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    the(list(machine.versions()), "versions", Level.PROBLEM, "numba does not start")


def test_too_few_files_may_be_open(folder):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1000, before[1]))
    try:
        found = examined(folder, state="state")
        more = examined(folder, state="state", processes=4)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    the(found, "limits.files", Level.WARNING, "may open 1,000 files, and may need 1,736")
    the(more, "limits.files", Level.OK, "may need 584")


def test_a_port_that_something_else_has(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = examined(folder, metrics=("127.0.0.1", port))
    the(found, "ports", Level.PROBLEM, f"127.0.0.1:{port} (Address already in use)")


@pytest.mark.parametrize(
    ("free", "level"), [(50 << 20, Level.PROBLEM), (500 << 20, Level.WARNING), (1 << 40, Level.OK)]
)
def test_room_on_the_disk(free, level, folder, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2 << 40, 0, free))
    monkeypatch.setattr(directories, "_SHARE_FEW", 0.0)
    the(examined(folder), "disk.room", level, "are free")


def test_a_place_that_cannot_be_written(folder):
    the(examined("/proc"), "disk.write", Level.PROBLEM, "/proc/recovery cannot be written")


def test_a_place_in_memory():
    assert Path("/dev/shm").is_dir()
    found = examined("/dev/shm")
    the(found, "disk.write", Level.WARNING, "is in memory (tmpfs)")
    assert not list(Path("/dev/shm").glob(".okl-flow-doctor-*"))


def test_a_place_on_the_network(folder, monkeypatch):
    monkeypatch.setattr(directories, "_file_system", lambda path: "nfs4")
    the(examined(folder), "disk.write", Level.WARNING, "is on a network (nfs4)")


def test_a_disk_that_is_slow(folder, monkeypatch):
    monkeypatch.setattr(directories.os, "fsync", lambda file: time.sleep(0.15))
    monkeypatch.setattr(directories, "_file_system", lambda path: "ext4")
    the(examined(folder), "disk.write", Level.WARNING, "a small synced write takes 1")
