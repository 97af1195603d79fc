"""From topic to topic on a real broker: events per second, and how long each takes.

It starts a broker, or takes the one that KAFKA_BOOTSTRAP names, and runs each job in processes of
its own, all of them in turns.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.report import PACKAGES, markdown
from benchmarks.speed import kafka_keys
from benchmarks.speed.figures import Figures
from benchmarks.speed.kafka_job import BUDGET, DIM, ENDLESS, EPOCH
from benchmarks.speed.kafka_load import (
    CRC32,
    KEYS,
    Load,
    opened,
    seconds_from,
    topic,
    write,
)
from benchmarks.speed.kafka_run import (
    COST,
    RATE,
    SINK_PARTITIONS,
    Job,
    Part,
    broker,
    rate,
    rates,
    running,
)
from benchmarks.speed.kafka_scaling import can_hold, processor_micros
from benchmarks.speed.report import Report
from tests.kafka.jars import libraries

__all__ = [
    "BARE",
    "CONNECTOR",
    "COST",
    "EXACTLY",
    "FAST_BARE",
    "HELD_TIMES",
    "MANY",
    "OURS",
    "PLAIN",
    "RATE",
    "TWO",
    "measured",
    "times_of",
]

MORE_PACKAGES = ("bytewax", "confluent-kafka", "kafka-python", "msgspec", "rocksdict")
SHARES = {"a tenth": 0.1, "a half": 0.5, "nine tenths": 0.9}
TOO_FAST = 400_000  # events per second: more than any process takes
WARM_UP_RATE = 5_000
HELD = 0.5  # of a core
HELD_EPOCH = EPOCH.total_seconds() / HELD  # has as many events as an epoch of a whole core

BARE = Job("bare loop, the client's defaults, a call for each record", "bare_one_by_one")
FAST_BARE = Job("bare loop, our settings of the client, a call for each batch", "bare_by_batches")
OURS = Job("okl_flow, 2 partitions, at_least_once", "okl_flow")
MANY = replace(OURS, title="okl_flow, 50 partitions, at_least_once", partitions=50)
EXACTLY = replace(OURS, title="okl_flow, 2 partitions, exactly_once", delivery="exactly_once")
TWO = replace(MANY, title="okl_flow, 50 partitions, at_least_once, two processes", processes=2)
CROSSED = replace(TWO, title=f"{TWO.title}, keys placed by CRC32", partitioner=CRC32)
CONNECTOR = Job("Bytewax's connector, River in `stateful_map`", "connector_and_river", is_slow=True)
PLAIN = Job("kafka-python in a loop, River", "kafka_python_and_river", is_slow=True)
JOBS = (BARE, FAST_BARE, OURS, MANY, EXACTLY, TWO, CROSSED, CONNECTOR, PLAIN)

RATIOS = (
    (OURS, BARE),
    (OURS, FAST_BARE),
    (MANY, OURS),
    (EXACTLY, OURS),
    (TWO, MANY),
    (CROSSED, MANY),
    (OURS, CONNECTOR),
    (OURS, PLAIN),
)
"""Which job is set against which."""

PROCESSOR, BOUND = "an event, processor time", "rate, to that of one process: computed, at most"
HELD_RATE, HELD_TIMES = "rate, held back", "rate, held back, to that of one process"
FULL, P50, P99 = "rate beside writer and reader", "latency, p50", "latency, p99"


@dataclass(frozen=True)
class Size:
    """How much is done. The first events of a job fill the models, and are not counted."""

    events: int = 600_000
    first: int = 200_000
    slow_events: int = 6_000
    slow_first: int = 2_000
    rounds: int = 3
    seconds: float = 12.0  # of each load


QUICK = Size(60_000, 20_000, 600, 200, 1, 3.0)


@contextmanager
def sources(brokers: str, size: Size) -> Iterator[dict[Job, Part]]:
    """Of each job what it reads, with all events in it."""
    found: dict[tuple[int, str, bool], Part] = {}
    with ExitStack() as topics:
        for job in JOBS:
            kind = (job.partitions, job.partitioner, job.is_slow)
            if kind not in found:
                name = topics.enter_context(topic(brokers, "events", job.partitions))
                first, count = size.first, size.events
                if job.is_slow:
                    first, count = size.slow_first, size.slow_events
                write(brokers, name, job.events, count, job.partitioner)
                found[kind] = Part(name, first, count)
        yield {job: found[job.partitions, job.partitioner, job.is_slow] for job in JOBS}


def latencies(figures: Figures, brokers: str, size: Size) -> None:
    """Events per second under full load, beside those who write and read them; and how late."""
    with (
        topic(brokers, "scheduled", 2) as source,
        topic(brokers, "predictions", SINK_PARTITIONS) as sink,
        running(OURS, brokers, source, sink, None) as started,
        opened(brokers, sink) as consumer,
    ):

        def under(load: Load) -> tuple[Any, float]:
            command = [
                sys.executable,
                "-m",
                "benchmarks.speed.kafka_load",
                json.dumps(asdict(load)),
            ]
            with subprocess.Popen(command):
                return seconds_from(consumer, round(load.rate * load.seconds))

        under(Load(brokers, source, WARM_UP_RATE, size.seconds))
        count = size.events
        _late, took = under(Load(brokers, source, TOO_FAST, count / TOO_FAST))
        full = count / took
        figures.add(FULL, RATE, "events/s", [full])
        for words, share in SHARES.items():
            late, _took = under(Load(brokers, source, full * share, size.seconds))
            p50, p99 = np.quantile(late, [0.5, 0.99]) * 1000
            figures.add(f"{words} of full load", RATE, "events/s", [full * share])
            figures.add(f"{words} of full load", P50, "ms", [float(p50)])
            figures.add(f"{words} of full load", P99, "ms", [float(p99)])
        for one in started:
            one.send_signal(signal.SIGTERM)


def scaling(figures: Figures, brokers: str, parts: Mapping[Job, Part], rounds: int) -> None:
    """What a second process brings: by processor time, and with processes that are held back."""
    jobs = (MANY, TWO, CROSSED)
    costs: dict[Job, list[float]] = {job: [] for job in jobs}
    paces: dict[Job, list[float]] = {job: [] for job in jobs} if can_hold() else {}
    for number in range(rounds):
        for job, found in costs.items():
            part, endless = parts[job], replace(job, epoch=ENDLESS)
            with (
                topic(brokers, "predictions", SINK_PARTITIONS) as sink,
                running(endless, brokers, part.topic, sink, part.end) as started,
            ):
                used = processor_micros(brokers, sink, started, part.begin, part.end)
            found.append(used)
            print(f"round {number + 1}: {job.title}: {used:.1f} µs each", flush=True)
        for job, found in paces.items():
            slow = replace(job, epoch=HELD_EPOCH)
            pace = rate(slow, brokers, parts[job], HELD)
            found.append(pace)
            print(f"round {number + 1}: {job.title}, held: {pace:,.0f} events/s", flush=True)
    for job, found in costs.items():
        figures.add(job.title, PROCESSOR, "µs", found)
    for job in (TWO, CROSSED):
        pairs = zip(costs[MANY], costs[job], strict=True)
        figures.add(job.title, BOUND, "×", [2 * one / two for one, two in pairs])
    for job, found in paces.items():
        figures.add(job.title, HELD_RATE, "events/s", found)
    for job in (TWO, CROSSED) if paces else ():
        figures.add_ratio(job.title, HELD_TIMES, paces[job], paces[MANY])


def scaling_table(figures: Figures) -> str:
    """What was measured of one process and of two."""
    lines = [
        [f"{words}, {kind}",
         *(figures.text(one.title, measure) for one in (MANY, job)),
         figures.text(job.title, times), figures.spread(job.title, times)]
        for words, measure, times in (
            ("µs of processor time per event; the ratio computed", PROCESSOR, BOUND),
            (f"events/s, each process held to {HELD:g} of a core", HELD_RATE, HELD_TIMES),
        )
        for job, kind in ((TWO, "no event crosses"), (CROSSED, "half of the events cross"))
        if figures.get(job.title, times) is not None
    ]  # fmt: skip
    header = ["", "one process", "two processes", "times the events", "from and to"]
    return markdown(header, lines)


def times_of(other: Job) -> str:
    """The measure of a ratio to a job."""
    return f"rate, to that of: {other.title}"


def rate_table(figures: Figures) -> str:
    """The events per second of the jobs."""
    lines = [
        [job.title, figures.text(job.title, RATE), figures.spread(job.title, RATE),
         figures.text(job.title, COST)]
        for job in JOBS
        if figures.get(job.title, RATE) is not None
    ]  # fmt: skip
    return markdown(["job", "events/s", "from and to", "µs per event"], lines)


def ratio_table(figures: Figures) -> str:
    """How the jobs stand to each other."""
    lines = [
        [
            job.title,
            other.title,
            figures.text(job.title, times_of(other)),
            figures.spread(job.title, times_of(other)),
        ]
        for job, other in RATIOS
    ]
    return markdown(["job", "to", "ratio", "from and to"], lines, left=2)


def latency_table(figures: Figures) -> str:
    """How late the outputs were under each load."""
    loads = [f"{words} of full load" for words in SHARES]
    lines = [[load, *(figures.text(load, what) for what in (RATE, P50, P99))] for load in loads]
    return markdown(["load", "events/s", "p50, ms", "p99, ms"], lines)


def text(size: Size) -> str:
    """What was done."""
    served = [jar.stem for jar in libraries().glob("kafka_2.13-*.jar")]
    kafka = f"one broker, {served[0]}" if "KAFKA_BOOTSTRAP" not in os.environ else "another broker"
    return (
        f"{size.events:,} events in JSON over {KEYS:,} keys, {DIM} features each, from one topic "
        f"to another of {SINK_PARTITIONS} partitions; {kafka}, {os.cpu_count()} cores for it and "
        f"the job together. `bogd`, budget {BUDGET}, with a state directory, 64 state partitions, "
        "recovery on, epochs of a second. By the times at which the broker took the outputs, "
        f"without the first {size.first:,}; {size.rounds} rounds of all jobs in turn, the median.\n"
        "\n"
        "The bare loops consume, decode, encode and produce the same records with confluent-kafka "
        "and msgspec: no learning, no engine, no state, no checks. With the client's defaults, "
        "fetching pauses for a second whenever enough is fetched, and the loop waits. River learns "
        f"with an RBFSampler of {BUDGET} features and a logistic regression for each key, from "
        f"{size.slow_events:,} events, the first {size.slow_first:,} not counted."
    )


def measured(*, quick: bool) -> Report:
    """All jobs in turns, what a second process brings, and the latency of ours."""
    size = QUICK if quick else Size()
    figures = Figures("kafka")
    with broker() as brokers:
        with sources(brokers, size) as parts:
            found = rates(figures, brokers, parts, size.rounds)
            for job, other in RATIOS:
                figures.add_ratio(job.title, times_of(other), found[job], found[other])
            scaling(figures, brokers, parts, size.rounds)
        kafka_keys.measure(figures, brokers, kafka_keys.QUICK if quick else kafka_keys.Size())
        latencies(figures, brokers, size)
    sections = [
        text(size),
        rate_table(figures),
        "## Side by side",
        "Ratios of events per second, each within one round; the median.",
        ratio_table(figures),
        "## Two processes",
        "What two processes would do with a core each. All events of a process end in one epoch "
        "for the processor time, as a process that waits for the other at the end of an epoch does "
        "not sleep; what it gives is a bound, and computed. The broker and the processes that are "
        "held back have room beside each other. They are as fast as they would be with a core each "
        f"on a machine of half the speed, and their epochs take {HELD_EPOCH:g} s, so that an epoch "
        "has as many events as one of a second has with a whole core; disk and broker are not held "
        "back. Keys that murmur2 has placed are learned by the process that reads them "
        "(docs/recovering.md); of those that CRC32 has placed, as the client does by default, half "
        "cross to the other. To hold processes back takes root and control groups of version 1, "
        "and without them these lines are not there.",
        scaling_table(figures),
        *kafka_keys.section(figures),
        "## Latency",
        "From the moment when an event was due, whatever the writer was doing then, to the moment "
        f"when its prediction was read; {size.seconds:.0f} s of each load, at_least_once. The "
        "writer and the reader share the cores with the job and the broker, and full load is "
        f"what the job did beside them: {figures.text(FULL, RATE)} events/s.",
        latency_table(figures),
    ]
    return Report(figures, "From topic to topic", sections, (*PACKAGES, *MORE_PACKAGES))
