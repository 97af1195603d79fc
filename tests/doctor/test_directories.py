"""What the doctor says of recovery and state directories, of a job over files."""

import fcntl
import shutil
import sqlite3

import pytest

from okl_flow.doctor import Job, Level, examine
from tests.dataflows.conftest import Folder
from tests.doctor.looked import FLOW, examined, the, wrong

RUN = f"okl-flow run {FLOW} --recovery-dir recovery --state-dir state --epoch 0.5"


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A job that has run once, and a copy of it from before it ran again."""
    folder = Folder(tmp_path_factory.mktemp("job"))
    folder.run("okl-flow make-stream users --keys 20 --events 600 > all.jsonl")
    folder.run(f"head -300 all.jsonl > events.jsonl; {RUN}")
    for name in ("recovery", "state"):
        shutil.copytree(folder.path / name, folder.path / f"older-{name}")
    for count in (400, 500, 600, 620):
        folder.run(f"head -{count} all.jsonl > events.jsonl; {RUN}")
    return folder.path


@pytest.fixture
def job(begun, tmp_path, monkeypatch):
    """A folder that holds the job, to be damaged."""
    shutil.copytree(begun, tmp_path / "job")
    monkeypatch.chdir(tmp_path / "job")
    return tmp_path / "job"


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_job_that_has_run_is_well_and_stays_as_it_is(job):
    before = contents(job)
    found = examined(job, state="state")
    assert wrong(found) == []
    the(found, "recovery", Level.OK, "is whole: 4 parts, epoch")
    the(found, "state", Level.OK, "fits the recovery directory")
    assert contents(job) == before


def test_a_job_that_runs_holds_its_directory(job):
    with (job / "recovery" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = examined(job, state="state")
    assert wrong(found) == []
    the(found, "recovery", Level.OK, "a job holds it")
    the(found, "state", Level.OK, "of the running job")


def test_without_a_recovery_directory_there_is_nothing_to_go_on_from(job):
    the(list(examine(Job(flow=FLOW))), "recovery", Level.WARNING, "has no recovery directory")


def test_a_part_is_missing(job):
    (job / "recovery" / "part-2.sqlite3").unlink()
    the(examined(job), "recovery", Level.PROBLEM, "has the parts [0, 1, 3] of 4")


def test_a_part_is_damaged(job):
    (job / "recovery" / "part-1.sqlite3").write_bytes(b"no database" * 1000)
    the(examined(job), "recovery", Level.PROBLEM, "part-1.sqlite3: file is not a database")


def test_a_part_is_an_older_copy(job):
    for number in range(4):
        name = f"part-{number}.sqlite3"
        kept = (job / "recovery" / name).read_bytes()
        shutil.copy(job / "older-recovery" / name, job / "recovery" / name)
        the(examined(job, state="state"), "recovery", Level.PROBLEM, "are not of one moment")
        (job / "recovery" / name).write_bytes(kept)


def test_snapshots_of_an_epoch_that_never_closed_are_told_of(job):
    part = job / "recovery" / "part-0.sqlite3"
    with sqlite3.connect(part) as database:
        database.execute(
            "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) "
            "SELECT step_id, state_key, 1000, ser_change FROM snaps GROUP BY step_id, state_key"
        )
    database.close()
    found = examined(job, state="state")
    assert wrong(found) == []
    the(found, "recovery", Level.OK, "of it that never counted will be discarded")


def test_the_state_directory_is_gone(job):
    shutil.rmtree(job / "state")
    the(examined(job, state="state"), "state", Level.PROBLEM, "state is gone, and the engine")


def test_the_state_directory_is_an_older_copy(job):
    shutil.rmtree(job / "state")
    (job / "older-state").rename(job / "state")
    found = examined(job, state="state")
    the(found, "state", Level.PROBLEM, "the version to go on with is not there")


def test_the_recovery_directory_is_an_older_copy(job):
    shutil.rmtree(job / "recovery")
    (job / "older-recovery").rename(job / "recovery")
    found = examined(job, state="state")
    the(found, "state", Level.PROBLEM, "the version to go on with is not there")


def test_the_recovery_directory_is_gone(job):
    shutil.rmtree(job / "recovery")
    the(examined(job, state="state"), "state", Level.WARNING, "knows of none")


def test_another_jobs_state_directory(job):
    other = "--recovery-dir other-r --state-dir other-s"
    Folder(job).run(f"okl-flow run {FLOW} {other}")
    found = examined(job, state="other-s")
    the(found, "state", Level.PROBLEM, "is not the one that the recovery directory goes on with")


def test_another_learner_than_the_directory_was_begun_with(job):
    found = examined(job, state="state", learner="kogd budget=10")
    the(found, "state", Level.PROBLEM, "was begun with another configuration")


def test_a_state_directory_that_is_no_longer_given(job):
    the(examined(job), "state", Level.PROBLEM, "was begun with a state directory, and now has none")
