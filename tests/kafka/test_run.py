"""`okl-flow run` over Kafka: it ends when it is asked to, and outlasts a broker that is away."""

import signal
import time

import pytest

from okl_flow.running.supervisor import Code

TOLD = 60.0  # seconds in which a broker that is away is told of


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_sigterm_under_load_leaves_nothing_to_repeat(
    delivery, broker, runs, record_testsuite_property
):
    job = runs(broker, delivery=delivery)
    run = job.start(2, tail=True, pause=0.002)
    run.wait_for(lambda: job.reads() >= 500)
    begun = time.monotonic()
    run.signal(signal.SIGTERM)
    assert run.end() == Code.TERMINATED, run.text
    lasted = time.monotonic() - begun
    record_testsuite_property(f"seconds from SIGTERM to the end, {delivery}", lasted)
    print(f"from SIGTERM to the end: {lasted:.2f} s")
    assert lasted < 30
    assert 500 <= job.reads() < job.outcome.records
    assert job.start(1).end() == Code.FINISHED
    assert job.reads() == job.outcome.records, "some were read twice"
    assert job.check() == []
    assert job.outcome.in_log == job.outcome.visible, "something was written twice"


def test_a_broker_that_is_away_at_the_start_is_waited_for(cluster, runs):
    job = runs(cluster.bootstrap)
    cluster.brokers[0].stop()
    run = job.start(2)
    run.wait_for(lambda: [one for one in run.messages("error") if "are the brokers up" in one])
    cluster.restart()
    assert run.end(240) == Code.FINISHED, run.text
    assert job.check() == []


def test_a_broker_that_stays_away_is_given_up(runs, broker):
    job = runs(broker, events=10)
    begun = time.monotonic()
    run = job.start(1, failures=2, brokers="127.0.0.1:1")
    assert run.end(120) == Code.GAVE_UP
    assert time.monotonic() - begun < 2 * TOLD
    *failures, last = run.messages("error")
    own = [one for one in failures if one.startswith("process 0: ")]
    assert len(own) == 2
    assert all("no answer from 127.0.0.1:1 in 15 s" in one for one in own)
    assert "mend the cause and start again" in last
