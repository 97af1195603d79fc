"""A job over Kafka as it is measured: its processes, the broker, and how fast it was.

How fast a job was is told by the broker: by the times when it took the outputs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bytewax.recovery import init_db_dir

from benchmarks.speed.kafka_job import BUDGET, EPOCH, IN_MEMORY, Settings
from benchmarks.speed.kafka_load import MURMUR2, Events, append_times, topic
from benchmarks.speed.kafka_scaling import held
from tests.kafka.broker import Cluster, free_ports

__all__ = ["COST", "RATE", "SINK_PARTITIONS", "Job", "broker", "rate", "running", "wait"]

SINK_PARTITIONS = 4
PATIENCE = 600.0  # seconds that one job may take
RATE, COST = "rate", "an event"


@dataclass(frozen=True)
class Job:
    """A job of the table."""

    title: str
    kind: str
    partitions: int = 2  # of the source
    partitioner: str = MURMUR2  # that has placed its keys
    delivery: str = "at_least_once"
    processes: int = 1
    is_slow: bool = False
    epoch: float = EPOCH.total_seconds()
    events: Events = Events()
    budget: int = BUDGET
    keys_in_memory: int = IN_MEMORY


@contextmanager
def broker() -> Iterator[str]:
    """The address of a broker."""
    if "KAFKA_BOOTSTRAP" in os.environ:
        yield os.environ["KAFKA_BOOTSTRAP"]
        return
    # That of the tests is compiled in haste, as it runs for seconds; this one runs for minutes.
    os.environ["_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=4"
    with tempfile.TemporaryDirectory(prefix="okl-flow-bench-") as folder:
        cluster = Cluster(folder)
        try:
            yield cluster.start().bootstrap
        finally:
            cluster.stop()


@contextmanager
def running(job: Job, brokers: str, source: str, sink: str, count: int | None) -> Iterator[Any]:
    """The processes of a job, which are ended if they do not end by themselves."""
    folder = Path(tempfile.mkdtemp(prefix="okl-flow-bench-"))
    (folder / "recovery").mkdir()
    init_db_dir(folder / "recovery", job.processes)
    ports = free_ports(job.processes) if job.processes > 1 else []
    addresses = [f"127.0.0.1:{port}" for port in ports]
    settings = Settings(
        job.kind,
        brokers,
        source,
        sink,
        count,
        str(folder),
        job.delivery,
        addresses,
        job.epoch,
        job.events.dim,
        job.budget,
        job.keys_in_memory,
    )
    command = [sys.executable, "-m", "benchmarks.speed.kafka_job", json.dumps(asdict(settings))]
    with (folder / "log").open("wb") as log:
        started = [
            subprocess.Popen([*command, str(number)], stdout=log, stderr=log)
            for number in range(job.processes)
        ]
    try:
        yield started
        wait(started)
        if any(one.returncode for one in started):
            raise RuntimeError(f"{job.title}: {(folder / 'log').read_text()[-3000:]}")
    finally:
        for one in started:
            if one.poll() is None:
                one.kill()
                one.wait()
        shutil.rmtree(folder)


def wait(processes: Sequence[Any]) -> None:
    """Wait until they have ended."""
    for one in processes:
        one.wait(PATIENCE)


def rate(
    job: Job, brokers: str, source: str, count: int, first: int, share: float | None = None
) -> float:
    """The events per second of a job, without its first ones; `share` is that of `held`."""
    with topic(brokers, "predictions", SINK_PARTITIONS) as sink:
        with running(job, brokers, source, sink, count) as started, held(started, share):
            wait(started)
        times = append_times(brokers, sink, count)
    return float((count - first) / (times[-1] - times[first]))
