"""Where the time of the main job goes: from topic to topic, a thousand keys, stage by stage.

Each stage is timed where it begins and ends (`benchmarks.speed.stopwatch`). The picture of it is
drawn by `python -m benchmarks.readme`.
"""

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.report import PACKAGES, markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.jobs import folder
from benchmarks.speed.kafka import MORE_PACKAGES
from benchmarks.speed.kafka_job import BUDGET, DIM, Settings
from benchmarks.speed.kafka_load import KEYS, Events, topic, write
from benchmarks.speed.kafka_run import SINK_PARTITIONS, broker
from benchmarks.speed.profile_job import UNWATCHED
from benchmarks.speed.report import Report
from benchmarks.speed.stopwatch import ELSEWHERE

__all__ = ["COST", "JOB", "SHARE", "STAGES", "TIMES", "measured"]

EVENTS, FIRST, ROUNDS = 600_000, 200_000, 3
QUICK_EVENTS, QUICK_FIRST = 100_000, 50_000
PATIENCE = 300.0

STAGES = (
    "read from Kafka",
    "decode",
    "spread over partitions",
    "find models",
    "admit",
    "score and learn",
    "make predictions",
    "store models",
    "the operator's other steps",
    "encode",
    "write to Kafka",
    ELSEWHERE,
)
"""In the order in which an event goes through them."""
JOB, COST, SHARE, TIMES = "the job", "an event", "share", "with the clock, to without"


def measured(*, quick: bool) -> Report:
    """The job with and without the clock, in turns."""
    events, first = (QUICK_EVENTS, QUICK_FIRST) if quick else (EVENTS, FIRST)
    watched: list[dict[str, Any]] = []
    alone: list[dict[str, Any]] = []
    with broker() as brokers, topic(brokers, "events", 2) as source:
        write(brokers, source, Events(), events)
        for _ in range(1 if quick else ROUNDS):
            alone.append(done(brokers, source, events, first, UNWATCHED))
            watched.append(done(brokers, source, events, first))
    figures = figures_of(watched, alone)
    text = (
        f"From one topic to another, {events:,} events in JSON over {KEYS:,} keys, {DIM} features, "
        f"`bogd` with a budget of {BUDGET}, a state directory, recovery on; one process, without "
        f"the first {first:,} events. A clock is read where a stage begins and ends, for many "
        "events at once; an event's microseconds are shared out by what the clock says. The job "
        f"took {figures.text(JOB, COST)} µs an event, and {figures.text(JOB, TIMES)} times that "
        "with the clock. What the client library and RocksDB do in threads of their own is not in "
        "it; waiting for them is, in the stage that waits, and waiting for the broker in that of "
        f"{ELSEWHERE}."
    )
    return Report(
        figures,
        "Where the time goes",
        [text, table(figures)],
        (*PACKAGES, *MORE_PACKAGES),
    )


def done(brokers: str, source: str, events: int, first: int, *words: str) -> dict[str, Any]:
    """What the job says."""
    with folder() as path, topic(brokers, "predictions", SINK_PARTITIONS) as sink:
        settings = Settings("okl_flow", brokers, source, sink, events, str(path))
        job = [sys.executable, "-m", "benchmarks.speed.profile_job", json.dumps(asdict(settings))]
        found = subprocess.run(
            [*job, str(first), str(events), *words],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
    said: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return said


def figures_of(watched: list[dict[str, Any]], alone: list[dict[str, Any]]) -> Figures:
    """Each stage's share of the time, and of what an event takes without the clock."""
    figures = Figures("profile")
    whole = [one["microseconds"] for one in alone]
    figures.add(JOB, COST, "µs", whole)
    figures.add_ratio(JOB, TIMES, [one["microseconds"] for one in watched], whole)
    for stage in STAGES:
        shares = [one["seconds"].get(stage, 0) / sum(one["seconds"].values()) for one in watched]
        figures.add(stage, SHARE, "%", [100 * share for share in shares])
        figures.add(stage, COST, "µs", [a * b for a, b in zip(shares, whole, strict=True)])
    return figures


def table(figures: Figures) -> str:
    """A line per stage."""
    lines = [
        [
            stage,
            figures.text(stage, COST),
            figures.spread(stage, COST),
            figures.text(stage, SHARE),
        ]
        for stage in STAGES
    ]
    return markdown(["stage", "µs per event", "from and to", "%"], lines)
