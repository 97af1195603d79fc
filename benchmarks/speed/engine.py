"""What keyed learning costs on the engine: from one key to a million, with recovery on.

Each job runs in a process of its own, all of them in turns, beside the learner alone, the engine
alone, and a bare write of the same bytes into RocksDB.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.report import PACKAGES, markdown
from benchmarks.speed import bare_store, bytes_of_keys
from benchmarks.speed.figures import Figures
from benchmarks.speed.jobs import folder, said_by
from benchmarks.speed.keyed_job import BATCH, Settings, events_from
from benchmarks.speed.report import Report
from okl_flow import make_learner
from okl_flow.operators.models import AHEAD

__all__ = [
    "ADDED",
    "BARE",
    "COST",
    "GROWN",
    "HELD",
    "LIMITED",
    "ONE_KEY",
    "RATE",
    "LEARNER",
    "SHARE",
    "TURNS_OF_MILLION",
    "case_of",
    "measured",
]

LEARNER: dict[str, Any] = {"learner": "bogd", "budget": 12, "bandwidth": 2.0}
MILLION = 1_000_000
EVENTS = 500_000
TIMES_FOR_MILLION = 6  # as many: the journals are taken into their tables while it is measured
TURNS_OF_MILLION = 2  # before that: they are half full then, and are taken as often as later on
QUICK_EVENTS = 50_000
ROUNDS = 3
SMALL_BATCH = 1000
ONE_KEY_FIRST = 20_000  # events of a job with one key before the measured part

COST, PROCESSOR, RATE = "an event", "an event, processor time", "rate"
SHARE, HELD = "share of snapshots", "memory held"
GROWN, ADDED = "an event, to one of 1,000 keys", "added by engine and operator"
BARE, ENGINE, ONE_KEY = "a bare write into RocksDB", "the engine alone", "one key, no recovery"
ALONE, SOURCE = "the learner alone", "the source alone"
LIMITED = "1,000,000 keys, 100,000 in memory"


def case_of(keys: int, *, small: bool = False) -> str:
    """What the job with so many keys and with recovery is called."""
    words = f"{keys:,} keys" if keys > 1 else "one key"
    return f"{words}, batches of {SMALL_BATCH:,}" if small else words


@dataclass(frozen=True)
class Job:
    """A job of the table."""

    case: str
    settings: Settings
    rounds: int = ROUNDS


def jobs(events: int) -> list[Job]:
    """All jobs, the quickest first."""
    base = Settings("prequential", 1, events, LEARNER, first=ONE_KEY_FIRST)
    small = replace(base, batch=SMALL_BATCH)
    found = [Job(ENGINE, replace(small, kind="pass")), Job(ONE_KEY, small)]
    for keys in (1, 1_000, 10_000, 100_000, MILLION):
        own = {"keys": keys, "first": max(keys, ONE_KEY_FIRST), "folder": ""}
        if keys == MILLION:
            own |= {"events": TIMES_FOR_MILLION * events, "first": TURNS_OF_MILLION * keys}
        found.append(Job(case_of(keys), replace(base, **own)))
        if keys in (1_000, MILLION):
            found.append(Job(case_of(keys, small=True), replace(small, **own)))
    full = replace(base, keys=MILLION, first=MILLION, folder="", keys_in_memory=100_000)
    found.append(Job(LIMITED, full, rounds=1))
    for keys, rounds in ((1_000, ROUNDS), (10_000, 1), (30_000, 1)):
        naive = replace(base, kind="naive", keys=keys, first=max(keys, 1_000), folder="")
        found.append(Job(f"{keys:,} keys, an engine key for each", naive, rounds))
    return found


def measured(*, quick: bool) -> Report:
    """All jobs in turns."""
    events = QUICK_EVENTS if quick else EVENTS
    figures = Figures("engine")
    asked = jobs(events)
    said: dict[str, list[dict[str, float]]] = {job.case: [] for job in asked}
    alone, source, bare = [], [], []
    for turn in range(1 if quick else ROUNDS):
        alone.append(learner_alone(events))
        source.append(source_alone(events))
        with folder() as path:
            bare.append(bare_store.microseconds(path, LEARNER, 8, MILLION, events))
        for job in asked:
            if turn < job.rounds and (found := done(job.settings)) is not None:
                said[job.case].append(found)
    figures.add(ALONE, COST, "µs", alone)
    figures.add(SOURCE, COST, "µs", source)
    figures.add(BARE, COST, "µs", bare)
    for job in asked:
        describe(figures, job, said[job.case])
    cost = {job.case: costs(said[job.case], job.settings.events) for job in asked}
    added = zip(cost[ONE_KEY], alone, source, strict=True)
    figures.add(ONE_KEY, ADDED, "µs", [whole - one - made for whole, one, made in added])
    for small in (False, True):
        of_thousand = cost[case_of(1_000, small=small)]
        for keys in (10_000, 100_000, MILLION):
            case = case_of(keys, small=small)
            own = cost.get(case, [])
            if len(own) == len(of_thousand):
                figures.add_ratio(case, GROWN, own, of_thousand)
    bytes_of_keys.measure(figures)
    packages = (*PACKAGES, "bytewax", "rocksdict", "msgspec")
    sections = [text(figures), table(figures), *bytes_of_keys.sections(figures)]
    return Report(figures, "Keyed learning on the engine", sections, packages)


def done(settings: Settings) -> dict[str, float] | None:
    """What a job says, in folders of its own if it has any."""
    if settings.folder is None:
        return said_by(settings)
    with folder() as path:
        return said_by(replace(settings, folder=str(path)))


def costs(said: list[dict[str, float]], events: int) -> list[float]:
    """The microseconds of an event, round by round."""
    return [1e6 * one["seconds"] / events for one in said]


def describe(figures: Figures, job: Job, said: list[dict[str, float]]) -> None:
    """The figures of a job; none if it took too long."""
    if not said:
        return
    took = costs(said, job.settings.events)
    figures.add(job.case, COST, "µs", took)
    processor = [1e6 * one["processor"] / job.settings.events for one in said]
    figures.add(job.case, PROCESSOR, "µs", processor)
    figures.add(job.case, RATE, "events/s", [1e6 / one for one in took])
    figures.add(job.case, SHARE, "%", [100 * one["in_snapshots"] / one["seconds"] for one in said])
    figures.add(job.case, HELD, "MB", [one["megabytes"] for one in said])


def learner_alone(events: int) -> float:
    """Microseconds of the learner for an event, a batch at a time."""
    settings = Settings("learner", 1, events, LEARNER)
    learner = make_learner(**LEARNER)
    state = learner.init(settings.dim)
    batches = [events_from(settings, 0, at) for at in range(0, events, settings.batch)]
    pairs = [
        (np.array([e.features for e in batch]), np.array([e.label for e in batch]))
        for batch in batches
    ]
    learner.step(state, *pairs[0])
    begin = time.perf_counter()
    for X, y in pairs:
        learner.step(state, X, y)
    return (time.perf_counter() - begin) / events * 1e6


def source_alone(events: int) -> float:
    """Microseconds in which the source makes an event."""
    settings = Settings("source", MILLION, events, LEARNER)
    begin = time.perf_counter()
    for at in range(0, events, settings.batch):
        events_from(settings, 0, at)
    return (time.perf_counter() - begin) / events * 1e6


def text(figures: Figures) -> str:
    """What was done."""
    alone, source = figures.text(ALONE, COST), figures.text(SOURCE, COST)
    return (
        f"`bogd` with 12 rows of 8 features, source batches of {BATCH:,}, epochs of a second, "
        "recovery on and a state directory where nothing else is said, one process; the engine "
        f"alone and the key without recovery have batches of {SMALL_BATCH:,}. Up to the last output"
        " or snapshot: closing the stores at the end is not counted. The learner alone takes "
        f"{alone} µs an event in batches, and the source {source} to make one; the times below "
        "hold both. Before the part that is measured every key had an event, and of a million keys "
        f"each {TURNS_OF_MILLION}. That part has {TIMES_FOR_MILLION} times as many events with "
        "these, so that what is put off is done in it as often as later on. "
        f"With one key, engine and operator add {figures.text(ONE_KEY, ADDED)} µs.\n\n"
        "*A bare write*: records of the same bytes under the same keys into the same 64 databases, "
        f"of {MILLION:,} keys drawn at random, written {AHEAD} at a time and synced "
        "once a second; no learning, no engine, no way back, nothing read. *An engine key for "
        "each*: a `stateful_batch` per key, as the engine's own documentation would have it."
    )


def table(figures: Figures) -> str:
    """A line per job."""
    header = ["job", "µs per event", "from and to", "processor, µs", "events/s", "% in snapshots",
              "MB held", "to 1,000 keys"]  # fmt: skip
    lines = [
        [
            case,
            figures.text(case, COST),
            figures.spread(case, COST),
            *(figures.text(case, what) for what in (PROCESSOR, RATE, SHARE, HELD, GROWN)),
        ]
        for case in (*(one.case for one in figures if one.measure == RATE), BARE)
    ]
    return markdown(header, lines)
