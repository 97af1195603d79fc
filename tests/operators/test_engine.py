"""Recovery directories made and checked, and what a flow raises told."""

import shutil
import sqlite3
from datetime import timedelta

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from bytewax.recovery import init_db_dir
from bytewax.testing import TestingSink, TestingSource

from okl_flow.operators import engine
from okl_flow.running.lock import hold


def test_a_recovery_directory_is_made_and_is_whole_when_it_is_there_again(tmp_path):
    directory = tmp_path / "new" / "recovery"
    engine.prepare_recovery(directory)
    made = sorted(path.name for path in directory.iterdir())
    assert made == [f"part-{at}.sqlite3" for at in range(engine.RECOVERY_PARTITIONS)]
    before = [path.stat().st_mtime_ns for path in sorted(directory.iterdir())]
    engine.prepare_recovery(directory)
    assert [path.stat().st_mtime_ns for path in sorted(directory.iterdir())] == before


def test_another_number_of_parts_is_kept(tmp_path):
    init_db_dir(tmp_path, 2)
    engine.prepare_recovery(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("moved", [0, 2])
def test_one_that_was_made_in_part_is_made_again(moved, tmp_path):
    aside = tmp_path / "unfinished"
    aside.mkdir()
    init_db_dir(aside, engine.RECOVERY_PARTITIONS)
    for number in range(moved):
        (aside / f"part-{number}.sqlite3").rename(tmp_path / f"part-{number}.sqlite3")
    if not moved:
        (aside / "part-1.sqlite3").unlink()  # it was killed before all were there
    engine.prepare_recovery(tmp_path)
    assert len(list(tmp_path.iterdir())) == engine.RECOVERY_PARTITIONS


def damaged(directory):
    (directory / "part-1.sqlite3").write_bytes(b"no database at all, but long enough" * 99)


def lost(directory):
    (directory / "part-1.sqlite3").unlink()


def mixed(directory):
    other = directory.parent / "other"
    other.mkdir()
    init_db_dir(other, 7)
    shutil.copy(other / "part-1.sqlite3", directory / "part-1.sqlite3")


def foreign(directory):
    (directory / "part-1.sqlite3").unlink()
    database = sqlite3.connect(directory / "part-1.sqlite3")
    database.execute("CREATE TABLE other (a)")
    database.close()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damaged, r"part-1.sqlite3 is no part of a recovery directory, or damaged"),
        (foreign, r"part-1.sqlite3 is no part of a recovery directory, or damaged"),
        (lost, r"has the parts \[0, 2, 3\] of 4: put all of them back"),
        (mixed, r"has the parts \[0, 1, 2, 3\] of 4 or 7: put all of them back"),
    ],
)
def test_one_that_is_not_whole_is_refused(harm, message, tmp_path):
    directory = tmp_path / "recovery"
    engine.prepare_recovery(directory)
    harm(directory)
    with pytest.raises(ValueError, match=message):
        engine.prepare_recovery(directory)


def test_a_directory_is_held_once(tmp_path, monkeypatch):
    monkeypatch.setattr("okl_flow.running.lock._PATIENCE", 0.1)
    hold(tmp_path)
    with pytest.raises(ValueError, match="is held by another job that runs"):
        hold(tmp_path)


class Source(FixedPartitionedSource):
    """A source of which something fails."""

    def __init__(self, failing):
        self.failing = failing

    def list_parts(self):
        return ["one"]

    def build_part(self, step_id, for_part, resume_state):
        if self.failing == "build_part":
            raise KeyError("mine")
        return Part(self.failing)


class Part(StatefulSourcePartition):
    def __init__(self, failing):
        self.failing, self.left = failing, [("a", 1)]

    def next_batch(self):
        if self.failing == "next_batch":
            raise KeyError("mine")
        if not self.left:
            raise StopIteration
        return [self.left.pop()]

    def snapshot(self):
        return None


class Logic(StatefulBatchLogic):
    def __init__(self, failing):
        self.failing = failing

    def on_batch(self, values):
        if self.failing == "on_batch":
            raise KeyError("mine")
        return values, False

    def snapshot(self):
        if self.failing == "snapshot":
            raise KeyError("mine")


class Sink(FixedPartitionedSink):
    def __init__(self, failing):
        self.failing = failing

    def list_parts(self):
        return ["one"]

    def build_part(self, step_id, for_part, resume_state):
        return SinkPart(self.failing)


class SinkPart(StatefulSinkPartition):
    def __init__(self, failing):
        self.failing = failing

    def write_batch(self, values):
        if self.failing == "write_batch":
            raise KeyError("mine")

    def snapshot(self):
        return None


def flow_that_fails(failing):
    flow = Dataflow("flow")
    up = op.input("in", flow, Source(failing))

    def mapper(item):
        if failing == "mapper":
            raise KeyError("mine")
        return item

    up = op.map("map", up, mapper)
    up = op.stateful_batch("learn", up, lambda resumed: Logic(failing))
    op.output("out", up, Sink(failing))
    return flow


WHERE = ["build_part", "next_batch", "mapper", "on_batch", "snapshot", "write_batch"]


@pytest.mark.parametrize("failing", WHERE)
def test_what_a_flow_raises_is_told_first(failing):
    flow, told = flow_that_fails(failing), []
    engine.watch(flow, told.append)
    with pytest.raises((RuntimeError, KeyError)):
        engine.run(flow, addresses=[], number=0, epoch=timedelta(0), recovery=None)
    assert repr(told[0]) == "KeyError('mine')"


def test_a_flow_that_raises_nothing_does_what_it_did():
    flow, out, told = Dataflow("flow"), [], []
    up = op.input("in", flow, TestingSource(range(10), 3))
    up = op.filter("filter", op.map("map", up, str), lambda item: item != "3")
    op.output("out", up, TestingSink(out))
    engine.watch(flow, told.append)
    engine.run(flow, addresses=[], number=0, epoch=timedelta(0), recovery=None)
    assert out == [str(n) for n in range(10) if n != 3]
    assert told == []


def test_parts_of_different_moments_are_refused(tmp_path):
    def run(items):
        flow = Dataflow("flow")
        up = op.input("in", flow, TestingSource(items, 1))
        op.output("out", op.stateful_map("sum", op.key_on("key", up, str), adding), Sink(""))
        engine.run(flow, addresses=[], number=0, epoch=timedelta(0), recovery=tmp_path / "new")

    def adding(total, item):
        return (total or 0) + item, item

    engine.prepare_recovery(tmp_path / "new")
    run(range(20))
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    for end in (40, 60, 80):
        run(range(end))
    refused = 0
    for part in sorted((tmp_path / "old").glob("*")):
        shutil.copytree(tmp_path / "new", tmp_path / "kept", dirs_exist_ok=True)
        shutil.copy(part, tmp_path / "new")
        try:
            run(range(100))
        except ValueError as error:
            assert "Put all of it back from a copy of one moment" in str(error)
            refused += 1
        shutil.rmtree(tmp_path / "new")
        (tmp_path / "kept").rename(tmp_path / "new")
    assert refused > 0
