"""Brokers that are killed, hang or lose their leader: the job goes on, or is resumed, and each
output stands there once."""

import subprocess
import time
from contextlib import suppress

import pytest

from tests.kafka.broker import Cluster
from tests.kafka.running import write_stream
from tests.waiting import kill

EVENTS = 1500
DISK = "100m"
SLOW = 0.002  # seconds for a record, so that the trouble comes in the middle


def begin(cluster, jobs, processes, **more):
    job = jobs(cluster.bootstrap, **more)
    write_stream(cluster.bootstrap, job.input, 70, EVENTS, 3)
    started = job.start(processes, pause=SLOW)
    assert job.wait_for_reading(started, 200), job.log()
    return job, started


STOPPED = (  # what it says that has stopped by itself, and may be resumed
    "a resumed flow finds out what has appeared",
    "the flow ends before the epoch closes, so that a resumed one writes it again",
)


def finish(job, started):
    """Let the job end; if its client hangs it stops by itself, and is resumed.

    librdkafka may need another minute after a broker that was away for one is back, and give a
    record up meanwhile.
    """
    if not job.wait(started):
        assert any(words in job.log() for words in STOPPED), job.log()
        assert job.run(1), job.log()


def check_survived(job, started, delivery):
    """The job ends, and what it has written is all there, nothing twice."""
    if delivery == "exactly_once":
        finish(job, started)
        job.check_exactly_once()
    else:
        assert job.wait(started), job.log()
        assert job.check_at_least_once() == 0


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_broker_that_is_killed_and_comes_back_is_survived(delivery, cluster, jobs):
    job, started = begin(cluster, jobs, 2, delivery=delivery)
    cluster.brokers[0].kill()
    time.sleep(3)
    assert all(one.poll() is None for one in started), job.log()
    cluster.restart()
    check_survived(job, started, delivery)


def test_a_broker_that_hangs_is_survived(cluster, jobs):
    job, started = begin(cluster, jobs, 1)
    cluster.brokers[0].pause()
    time.sleep(60)
    assert all(one.poll() is None for one in started), job.log()
    cluster.brokers[0].go_on()
    finish(job, started)
    job.check_exactly_once()


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk that is soon full."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"a test of full disks mounts one, which needs root: {done.stderr}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def on_small_disk(small_disk):
    """A broker with its data there."""
    made = Cluster(small_disk / "kafka", **{"log.segment.bytes": 1 << 20})
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_broker_whose_disk_is_full_is_survived(delivery, on_small_disk, small_disk, jobs):
    job, started = begin(on_small_disk, jobs, 1, delivery=delivery)
    broker, ballast = on_small_disk.brokers[0], small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while broker.process.poll() is None:
            file.write(bytes(1 << 16))
    broker.process.wait(60)  # a broker without a disk that it can write to ends
    assert all(one.poll() is None for one in started), job.log()
    ballast.unlink()
    on_small_disk.restart()
    check_survived(job, started, delivery)


def test_a_job_that_dies_while_its_broker_is_away_is_resumed(cluster, jobs):
    job, started = begin(cluster, jobs, 2)
    cluster.brokers[0].kill()
    time.sleep(1)
    kill(started)
    job.wait(started)
    cluster.restart()
    assert job.run(1), job.log()
    job.check_exactly_once()


def test_a_change_of_leaders_is_survived(three, jobs):
    job, started = begin(three, jobs, 2, replicas=3)
    three.brokers[0].kill()
    before = job.reads()
    time.sleep(5)
    three.restart()
    finish(job, started)
    assert job.reads() > before
    job.check_exactly_once()


def test_sigterm_leaves_nothing_to_repeat(broker, jobs):
    job = jobs(broker, delivery="at_least_once", tail=True)
    write_stream(broker, job.input, 90, EVENTS, 3)
    started = job.start(2, pause=SLOW)
    assert job.wait_for_reading(started, 300), job.log()
    begun = time.monotonic()
    for one in started:
        one.terminate()
    assert job.wait(started), job.log()
    assert time.monotonic() - begun < 10
    assert 300 <= job.reads() < EVENTS
    assert job.run(1, tail=False, pause=0.0), job.log()
    assert job.check_at_least_once() == 0
