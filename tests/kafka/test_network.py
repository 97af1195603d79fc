"""A job whose two processes are on two hosts, between which the network is cut and mended."""

import time

import pytest

from tests.kafka.broker import Cluster
from tests.kafka.network import BROKER, OTHER, network
from tests.kafka.running import write_stream
from tests.ports import free_ports

EVENTS = 3000
SLOW = 0.004


@pytest.fixture
def hosts():
    with network() as made:
        yield made


@pytest.fixture
def reachable(hosts, tmp_path):
    """A broker that both hosts reach."""
    made = Cluster(tmp_path / "kafka", host=hosts.broker)
    try:
        yield made.start()
    finally:
        made.stop()


def start(job, hosts, **more):
    addresses = [f"{host}:{port}" for host, port in zip(hosts.hosts, free_ports(2), strict=True)]
    return job.start(2, hosts.within, addresses=addresses, **more)


def begin(reachable, hosts, jobs):
    job = jobs(reachable.bootstrap)
    write_stream(reachable.bootstrap, job.input, 80, EVENTS, 3)
    started = start(job, hosts, pause=SLOW)
    assert job.wait_for_reading(started, 300), job.log()
    return job, started


def stalls(job, started):
    """Whether it stands still, or has ended, before it has read everything."""
    end = time.monotonic() + 40
    while time.monotonic() < end and all(one.poll() is None for one in started):
        before = job.reads()
        time.sleep(4)
        if job.reads() == before:
            break
    return job.reads() < EVENTS


@pytest.mark.parametrize("link", [OTHER, BROKER])
def test_a_cut_that_is_mended_is_survived(link, reachable, hosts, jobs):
    job, started = begin(reachable, hosts, jobs)
    hosts.cut(link)
    assert stalls(job, started)
    hosts.mend(link)
    if not job.wait(started):
        assert job.run(1, pause=0.0), job.log()
    job.check_exactly_once()


def test_a_cluster_that_is_restarted_while_the_network_is_cut_waits(reachable, hosts, jobs):
    job, started = begin(reachable, hosts, jobs)
    hosts.cut()
    time.sleep(2)
    job.end()
    before = job.reads()
    started = start(job, hosts, pause=0.0)
    time.sleep(5)
    assert job.reads() == before, "one of two read alone"
    hosts.mend()
    if not job.wait(started):
        assert job.run(1, pause=0.0), job.log()
    job.check_exactly_once()
