"""What a job's processes use, and what they do when each may use so much and no more.

A broker and two processes of a job on two cores stand in each other's way. Two figures do not
depend on that: the processor time of an event, and the events per second of processes that are
held to a share of a core each, such that all of them and the broker fit on the machine.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from benchmarks.speed.kafka_load import opened

__all__ = ["can_hold", "held", "processor_micros"]

GROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD = 10_000  # microseconds
LOOK_EVERY = 0.1  # seconds
PATIENCE = 600.0


def processor_micros(
    brokers: str, sink: str, processes: Sequence[Any], first: int, count: int
) -> float:
    """Of processes that write so many outputs, the processor time of each, without the first ones.

    That of the system is part of it. Returns when the outputs are there, or a process has ended.
    """
    looks = []
    patience = time.monotonic() + PATIENCE
    with opened(brokers, sink) as consumer:
        numbers = consumer.list_topics(sink).topics[sink].partitions
        parts = [TopicPartition(sink, number) for number in numbers]
        written = 0
        while written < count and time.monotonic() < patience:
            time.sleep(LOOK_EVERY)
            used = sum(map(_used, processes))
            try:
                written = sum(consumer.get_watermark_offsets(part, 10.0)[1] for part in parts)
            except KafkaException:  # the topic is so new that its leaders are not known
                continue
            if written >= first:
                looks.append((written, used))
            if any(one.poll() is not None for one in processes):
                break
    (begun, before), (ended, after) = looks[0], looks[-1]
    return 1e6 * (after - before) / (ended - begun)


def _used(process: Any) -> float:
    """Seconds of processor time."""
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def can_hold() -> bool:
    """Whether processes can be held to a share: for root, with control groups of version 1."""
    try:
        with held([], 1.0):
            return True
    except OSError:
        return False


@contextmanager
def held(processes: Sequence[Any], share: float | None) -> Iterator[None]:
    """Each process may use this share of a core, and no more; all that there is for None."""
    groups = []
    try:
        for number in range(max(1, len(processes)) if share is not None else 0):
            groups.append(GROUPS / f"okl-flow-{os.getpid()}-{number}")
            groups[-1].mkdir()
            (groups[-1] / "cpu.cfs_period_us").write_text(str(PERIOD))
            (groups[-1] / "cpu.cfs_quota_us").write_text(str(round(share * PERIOD)))
        for group, one in zip(groups, processes, strict=False):
            (group / "cgroup.procs").write_text(str(one.pid))
        yield
    finally:
        for group in groups:
            if group.exists():
                _remove(group)


def _remove(group: Path) -> None:
    """Remove a group, which must be empty."""
    for member in (group / "cgroup.procs").read_text().split():
        (GROUPS / "cgroup.procs").write_text(member)
    group.rmdir()
