"""Jobs that are killed, over and over: what readers find in the topics afterwards."""

import numpy as np
import pytest

from tests.kafka.job import FAILPOINTS
from tests.kafka.running import write_stream
from tests.waiting import kill

EVENTS = 3000
KILLS = 8


def kill_often(job, seed):
    """Run it and kill it, at seeded moments and failpoints, and then let it end."""
    rng = np.random.default_rng([7, seed])
    for _ in range(KILLS):
        processes = int(rng.integers(1, 4))
        failpoint = {
            "failpoint": str(rng.choice(["within_commit", *FAILPOINTS])),
            "dies": int(rng.integers(processes)),
            "calls": int(rng.integers(1, 12)),
        }
        started = job.start(processes, **(failpoint if rng.random() < 0.5 else {}))
        job.wait_for_reading(started, int(rng.integers(1, 1200)))
        kill(started[: int(rng.integers(1, processes + 1))])
        job.wait(started)
    assert job.run(int(rng.integers(1, 4)), pause=0.0), job.log()


def check_resumed(job):
    later = [offset for offset in job.begun() if offset > 0]
    assert len(later) >= KILLS // 2, "hardly any run went on from where another was"


@pytest.mark.parametrize("processes", [1, 3])
def test_each_output_stands_there_once(processes, broker, jobs):
    job = jobs(broker)
    write_stream(broker, job.input, 40, 600, 3)
    assert job.run(processes), job.log()
    job.check_exactly_once()


@pytest.mark.parametrize("seed", range(3))
def test_kills_leave_each_output_there_once(seed, broker, jobs):
    job = jobs(broker)
    write_stream(broker, job.input, 50 + seed, EVENTS, 3)
    kill_often(job, seed)
    job.check_exactly_once()
    check_resumed(job)
    aborted = len(job.outputs("predictions", "read_uncommitted")) - len(job.outputs("predictions"))
    assert aborted > 0, "no kill came in the middle of a transaction"


@pytest.mark.parametrize("seed", range(2))
def test_kills_repeat_at_least_once_what_was_there(seed, broker, jobs):
    job = jobs(broker, delivery="at_least_once")
    write_stream(broker, job.input, 60 + seed, EVENTS, 3)
    kill_often(job, 10 + seed)
    assert job.check_at_least_once() > 0, "no kill made an output come again"
    check_resumed(job)


@pytest.mark.parametrize(
    "failpoint", ["after_send", "before_commit", "within_commit", "after_commit", "after_snapshot"]
)
def test_a_kill_between_two_steps_of_a_commit(failpoint, broker, jobs):
    job = jobs(broker, pause=0.001)
    write_stream(broker, job.input, 90, 600, 3)
    assert not job.run(1, failpoint=failpoint, dies=0, calls=9), "nothing was killed"
    appeared = len(job.outputs("predictions"))
    assert job.run(2), job.log()
    job.check_exactly_once()
    assert appeared < len(job.outputs("predictions"))
