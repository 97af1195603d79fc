"""What a key takes: packed, on disk, and in memory, by its budget."""

import tracemalloc
from pathlib import Path

import numpy as np

from benchmarks.report import markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.jobs import folder
from okl_flow import Learner, make_learner
from okl_flow.operators.models import Models
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.store import MemoryStore, StateDirectory
from okl_flow.packing import Pieces

__all__ = ["measure", "sections"]

KEYS = 20_000
BUDGETS = (0, 8, 100)
PACKED, ON_DISK, IN_MEMORY = "bytes packed", "bytes on disk", "bytes in memory"


def measure(figures: Figures) -> None:
    """The bytes of a key with a budget, full."""
    for budget in BUDGETS:
        name, own = (
            ("arow", {"covariance": "diagonal"}) if budget == 0 else ("kogd", {"budget": budget})
        )
        learner = make_learner(name, **own)
        state = learner.init(8)
        drawn = np.random.default_rng(0)
        X = drawn.normal(size=(2_000, 8))
        learner.step(state, X, np.sign(drawn.normal(size=2_000)))
        record = Record([state], events=2_000, time=1_700_000_000_000)
        packed = len(RecordCodec([learner]).pack(record))
        with folder() as path:
            directory = StateDirectory.open(
                path / "state", step="bench", partitions=1, learners=[learner]
            )
            held = on_disk(directory, packed, path)
        figures.count(_case(budget), PACKED, "bytes", packed)
        figures.add(_case(budget), ON_DISK, "bytes", [held / KEYS])
        figures.add(_case(budget), IN_MEMORY, "bytes", [in_memory(learner, record) / KEYS])


def sections(figures: Figures) -> list[str]:
    """The part of the page."""
    text = (
        "Full models of 8 features: at a budget of 0 `arow` with a diagonal covariance, which "
        f"keeps no examples, else `kogd`. On disk: {KEYS:,} incompressible records of that length "
        "in one partition. In memory: what Python has allocated for as many keys, their names "
        "included, and the room that a pool has left, of which no page is touched."
    )
    lines = [
        [str(budget), *(figures.text(_case(budget), what) for what in (PACKED, ON_DISK, IN_MEMORY))]
        for budget in BUDGETS
    ]
    return [
        "## Bytes of a key",
        text,
        markdown(["budget", "packed", "on disk", "in memory"], lines),
    ]


def on_disk(directory: StateDirectory, size: int, path: Path) -> int:
    """Bytes that the files of a directory take with records of a size, all of noise."""
    store, noise = directory.store(0, None), np.random.default_rng(1).bytes
    for begin in range(0, KEYS, 1_000):
        keys = [f"user-{key}" for key in range(begin, begin + 1_000)]
        store.commit(keys, Pieces.of([noise(size) for _ in keys]))
    store.close()
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def in_memory(learner: Learner, record: Record) -> int:
    """Bytes that a partition takes with that record for every key, names of keys included."""
    tracemalloc.start()
    models = Models(MemoryStore(None, 1, [learner]), [learner], KEYS)
    for number in range(KEYS):
        models.put(f"user-{number}", record)
        models.trim()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held


def _case(budget: int) -> str:
    return f"a key with a budget of {budget}"
