"""A job over Kafka as it is measured: its processes, the broker, and how fast it was.

How fast a job was is told by the broker: by the times when it took the outputs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bytewax.recovery import init_db_dir

from benchmarks.speed.figures import Figures
from benchmarks.speed.kafka_job import BUDGET, EPOCH, IN_MEMORY, Settings
from benchmarks.speed.kafka_load import MURMUR2, Events, append_times, topic
from benchmarks.speed.kafka_scaling import held
from tests.kafka.broker import Cluster
from tests.ports import free_ports

__all__ = [
    "COST",
    "RATE",
    "SINK_PARTITIONS",
    "Job",
    "Part",
    "broker",
    "rate",
    "rates",
    "running",
]

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


class Part(NamedTuple):
    """The part of a topic that a job is measured on. What comes before it fills the models."""

    topic: str
    begin: int
    end: int


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
        delivery=job.delivery,
        addresses=addresses,
        epoch=job.epoch,
        dim=job.events.dim,
        budget=job.budget,
        keys_in_memory=job.keys_in_memory,
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


def rate(job: Job, brokers: str, part: Part, share: float | None = None) -> float:
    """The events per second of a job; `share` is that of `held`."""
    with topic(brokers, "predictions", SINK_PARTITIONS) as sink:
        with running(job, brokers, part.topic, sink, part.end) as started, held(started, share):
            wait(started)
        times = append_times(brokers, sink, part.end)
    return float((part.end - part.begin) / (times[-1] - times[part.begin]))


def rates(
    figures: Figures, brokers: str, parts: Mapping[Job, Part], rounds: int
) -> dict[Job, list[float]]:
    """The events per second of each job, round by round, all jobs in turns."""
    found: dict[Job, list[float]] = {job: [] for job in parts}
    for number in range(rounds):
        for job, part in parts.items():
            here = rate(job, brokers, part)
            found[job].append(here)
            print(f"round {number + 1}: {job.title}: {here:,.0f} events/s", flush=True)
    for job, each in found.items():
        figures.add(job.title, RATE, "events/s", each)
        figures.add(job.title, COST, "µs", [1e6 / one for one in each])
    return found
