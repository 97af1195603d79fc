"""The time of a job is shared out to its stages."""

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource

from benchmarks.speed import picture
from benchmarks.speed.profile import COST, JOB, SHARE, STAGES, TIMES, figures_of, table
from benchmarks.speed.profile_job import STEPS, WATCHED, Window
from benchmarks.speed.stopwatch import ELSEWHERE, Stopwatch
from okl_flow import kafka, make_learner
from okl_flow.operators import decode, encode, prequential
from okl_flow.wire import Columns


@pytest.fixture
def now():
    """The time, which passes when it is told to."""
    return [0.0]


@pytest.fixture
def stopwatch(now):
    return Stopwatch(lambda: now[0])


def passing(now, seconds, then=None):
    """A function that takes so long, and then calls another."""

    def run(*args):
        now[0] += seconds
        if then is not None:
            then(*args)
        now[0] += seconds
        return args

    return run


def test_each_moment_counts_for_the_innermost_stage(now, stopwatch):
    inner = stopwatch.timed("learn", passing(now, 3.0))
    outer = stopwatch.timed("process", passing(now, 1.0, inner))
    stopwatch.start()
    now[0] += 0.5
    assert outer("an", "event") == ("an", "event")
    inner()
    now[0] += 0.25
    stopwatch.stop()
    outer()
    assert stopwatch.seconds == {"learn": 12.0, "process": 2.0, ELSEWHERE: 0.75}


def test_what_is_under_way_at_the_start_counts_from_there(now, stopwatch):
    stopwatch.timed("learn", passing(now, 2.0, stopwatch.start))()
    stopwatch.stop()
    assert stopwatch.seconds == {"learn": 2.0, ELSEWHERE: 0.0}


def test_a_stage_that_fails_is_over(now, stopwatch):
    def fail():
        now[0] += 1.0
        raise ValueError("no")

    stopwatch.start()
    with pytest.raises(ValueError, match="no"):
        stopwatch.timed("learn", fail)()
    now[0] += 2.0
    stopwatch.stop()
    assert stopwatch.seconds == {"learn": 1.0, ELSEWHERE: 2.0}


@pytest.mark.parametrize(("stage", "owner", "method"), WATCHED)
def test_what_is_watched_is_there(stage, owner, method):
    assert callable(getattr(owner, method))


def test_the_steps_that_are_watched_are_those_of_a_flow(monkeypatch):
    real, made = op.flat_map_batch, []

    def flat_map_batch(step_id, up, mapper):
        made.append(step_id)
        return real(step_id, up, mapper)

    monkeypatch.setattr(op, "flat_map_batch", flat_map_batch)
    flow = Dataflow("watched")
    decoded = decode("decode", op.input("in", flow, TestingSource([])), features=Columns(2))
    out = prequential("learn", decoded.events, make_learner("kogd", budget=2))
    kafka.output("write", encode("encode", out.predictions), "out", brokers="localhost:9")
    assert set(made) >= STEPS.keys()


def test_every_stage_is_watched():
    watched = {stage for stage, _owner, _method in WATCHED} | set(STEPS.values())
    assert watched | {ELSEWHERE} == set(STAGES)


def test_the_first_events_are_not_in_the_window():
    now = 0.0
    stopwatch = Stopwatch(lambda: now)
    window = Window(100, 300, stopwatch)
    for _ in range(6):  # it begins with the third batch, and ends with the fifth
        window.pass_by(60)
        now += 0.1
    assert stopwatch.seconds == pytest.approx({ELSEWHERE: 0.2})
    assert window.microseconds == pytest.approx(1e6 * 0.2 / 180)


def test_an_event_is_shared_out_by_what_the_clock_says(tmp_path):
    seconds = {"decode": 0.3, "score and learn": 0.6, ELSEWHERE: 0.1}
    watched = [{"microseconds": one, "seconds": seconds} for one in (11.0, 12.0)]
    figures = figures_of(watched, [{"microseconds": 10.0}, {"microseconds": 10.0}])
    assert figures.value("decode", COST) == pytest.approx(3.0)
    assert figures.value("admit", SHARE) == 0.0
    assert sum(figures.value(stage, SHARE) for stage in STAGES) == pytest.approx(100.0)
    assert figures.value(JOB, TIMES) == pytest.approx(1.15)
    assert all(f"| {stage} | " in table(figures) for stage in STAGES)
    picture.draw_profile(figures, tmp_path / "profile.svg")
    drawn = (tmp_path / "profile.svg").read_text()
    assert all(stage in drawn for stage in STAGES) and "10.0 µs" in drawn
