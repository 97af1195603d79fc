"""What keyed learning costs on the engine: from one key to a million, with recovery on.

`python -m benchmarks.engine` runs each job in a process of its own and prints the time of an
event, next to that of the learner alone and of the engine alone, the share of snapshots, the
memory, and the time to the first event of a resumed job; then the bytes of a key by budget.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from bytewax.recovery import init_db_dir

from benchmarks.keyed_job import Settings, events_from
from benchmarks.report import RESULTS, circumstances, markdown
from okl_flow import make_learner
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.store import StateDirectory

LEARNER: dict[str, Any] = {"learner": "bogd", "budget": 12, "bandwidth": 2.0}
MILLION = 1_000_000
EVENTS = 300_000
NAIVE_KEYS = (1_000, 10_000, 30_000)
SIZED_KEYS = 20_000
BUDGETS = (0, 8, 100)
PATIENCE = 300.0  # seconds that one job may take


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for recovery and state."""
    path = Path(tempfile.mkdtemp(prefix="okl-flow-bench-"))
    (path / "recovery").mkdir()
    init_db_dir(path / "recovery", 1)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def measured(settings: Settings) -> dict[str, float] | None:
    """Run a job in as many processes as it has addresses; None if it takes too long."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.keyed_job", json.dumps(asdict(settings)), str(one)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for one in range(max(1, len(settings.addresses)))
    ]
    try:
        said = [one.communicate(timeout=PATIENCE)[0] for one in started]
    except subprocess.TimeoutExpired:
        for one in started:
            one.kill()
            one.wait()
        return None
    found = [json.loads(one.splitlines()[-1]) for one in said]
    return {name: max(one[name] for one in found) for name in found[0]}


def learner_alone() -> float:
    """Microseconds of the learner for an event, 1000 at a time."""
    settings = Settings("learner", 1, EVENTS, LEARNER)
    learner = make_learner(**LEARNER)
    state = learner.init(settings.dim)
    batches = [events_from(settings, 0, at) for at in range(0, EVENTS, settings.batch)]
    pairs = [
        (np.array([e.features for e in batch]), np.array([e.label for e in batch]))
        for batch in batches
    ]
    learner.step(state, *pairs[0])
    begin = time.perf_counter()
    for X, y in pairs:
        learner.step(state, X, y)
    return (time.perf_counter() - begin) / EVENTS * 1e6


def source_alone() -> float:
    """Microseconds in which the source makes an event."""
    settings = Settings("source", MILLION, EVENTS, LEARNER)
    begin = time.perf_counter()
    for at in range(0, EVENTS, settings.batch):
        events_from(settings, 0, at)
    return (time.perf_counter() - begin) / EVENTS * 1e6


def line(title: str, settings: Settings, found: dict[str, float] | None) -> list[str]:
    """A line of the table."""
    if found is None:
        return [title, f"{settings.keys:,}", f"over {PATIENCE:.0f} s", "-", "-", "-"]
    share = found["in_snapshots"] / found["seconds"]
    return [
        title,
        f"{settings.keys:,}",
        f"{found['seconds'] / settings.events * 1e6:.2f}",
        f"{settings.events * max(1, len(settings.addresses)) / found['seconds']:,.0f}",
        f"{100 * share:.0f}",
        f"{found['megabytes']:,.0f}",
    ]


def keyed_lines() -> tuple[list[list[str]], list[str]]:
    """The table, and what there is to say of resumes."""
    base = Settings("prequential", 1, EVENTS, LEARNER, first=20_000)
    lines = [
        line("engine alone", replace(base, kind="pass"), measured(replace(base, kind="pass"))),
        line("one key, no recovery", base, measured(base)),
    ]
    resumes = []
    jobs = (
        ("recovery on", replace(base, keys=1_000)),
        ("recovery on", replace(base, keys=MILLION, first=MILLION)),
        (
            "recovery on, 100,000 keys in memory",
            replace(base, keys=MILLION, first=MILLION, keys_in_memory=100_000),
        ),
    )
    for title, job in jobs:
        with folder() as path:
            settings = replace(job, folder=str(path))
            lines.append(line(title, settings, measured(settings)))
            again = replace(settings, events=settings.events + 50_000)
            found = measured(again)
            if found is not None:
                resumes.append(
                    f"{settings.keys:,} keys stored: {found['to_first_event']:.2f} s to the "
                    f"first event of a resumed job, {found['megabytes']:,.0f} MB held at most "
                    "in the 50,000 events after it."
                )
    for keys in NAIVE_KEYS:
        with folder() as path:
            naive = replace(base, kind="naive", keys=keys, first=keys, folder=str(path))
            lines.append(line("an engine key per user, recovery on", naive, measured(naive)))
    return lines, resumes


def sizes() -> list[list[str]]:
    """Bytes of a key with a budget, full, packed and on disk."""
    lines = []
    for budget in BUDGETS:
        name, own = ("arow", {}) if budget == 0 else ("kogd", {"budget": budget})
        learner = make_learner(name, **own)
        state = learner.init(8)
        drawn = np.random.default_rng(0)
        X = drawn.normal(size=(2_000, 8))
        learner.step(state, X, np.sign(drawn.normal(size=2_000)))
        record = Record([state], events=2_000, time=1_700_000_000_000)
        packed = RecordCodec([learner]).pack(record)
        with folder() as path:
            directory = StateDirectory.open(
                path / "state", step="bench", partitions=1, learners=[learner]
            )
            store = directory.store(0, None)
            noise = drawn.bytes(len(packed))
            for begin in range(0, SIZED_KEYS, 1_000):
                keys = range(begin, begin + 1_000)
                store.commit([(f"user-{key}", noise, 0) for key in keys])
            store.close()
            held = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        lines.append([f"`{name}`", str(budget), f"{len(packed):,}", f"{held / SIZED_KEYS:,.0f}"])
    return lines


def main() -> None:
    """Measure, print, and write to benchmarks/results/."""
    alone, source = learner_alone(), source_alone()
    lines, resumes = keyed_lines()
    header = ["job", "keys", "µs per event", "events/s", "% in snapshots", "MB held"]
    sized = ["learner", "budget", "bytes packed", "bytes on disk"]
    page = "\n\n".join(
        [
            "# Keyed learning on the engine",
            circumstances(),
            f"`bogd` with 12 rows of 8 features, source batches of 1000, epochs of a second, one "
            f"process. The learner alone takes {alone:.2f} µs an event in batches of 1000, and "
            f"the source {source:.2f} to make one; the times below hold both. Before the part "
            "that is measured every key had an event.",
            markdown(header, lines, left=1),
            "\n".join(f"- {one}" for one in resumes),
            "## Bytes of a key",
            "Full models of 8 features: `arow` keeps no examples, `kogd` its budget. On disk: "
            f"{SIZED_KEYS:,} incompressible records of that length in one partition.",
            markdown(sized, sizes(), left=1),
        ]
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "engine.md").write_text(page + "\n")
    print(page)
    print("\nwritten to benchmarks/results/engine.md")


if __name__ == "__main__":
    main()
