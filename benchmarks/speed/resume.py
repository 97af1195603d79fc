"""How soon a resumed job is at work: against the keys that are stored, and what each takes.

A job fills a state directory and ends; then it is resumed, again and again, each time with some
events more. The first event is when the engine asks the source for it, the first output when it
comes out at the sink; the latter is counted from the launch of the process, with all imports.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import PACKAGES, markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.jobs import folder, said_by
from benchmarks.speed.keyed_job import Settings
from benchmarks.speed.report import Report

__all__ = ["FIRST_EVENT", "case_of", "measured"]

ROUNDS = 3
MORE = 20_000  # events of a resumed job
SMALL, LARGE = 12, 400  # Fourier directions: the state is twice as many numbers, from the start
STORED = ((1_000, SMALL), (100_000, SMALL), (1_000_000, SMALL), (1_000, LARGE), (100_000, LARGE))

FIRST_EVENT, FIRST_OUTPUT = "to the first event", "from the launch to the first output"
ON_DISK, HELD = "on disk", "memory held"


@dataclass(frozen=True)
class Filled:
    """A state directory with so many keys in it."""

    keys: int
    directions: int

    @property
    def case(self) -> str:
        """What it is called."""
        return case_of(self.keys, self.directions)

    @property
    def learner(self) -> dict[str, Any]:
        """The learner."""
        return {"learner": "fogd", "feature_count": self.directions, "bandwidth": 2.0}


def case_of(keys: int, directions: int = SMALL) -> str:
    """What a state directory is called."""
    return f"{keys:,} keys of {16 * directions:,} bytes"


def measured(*, quick: bool) -> Report:
    """Fill one directory after the other, and resume from each."""
    figures = Figures("resume")
    for one in STORED:
        with folder() as path:
            resume(figures, Filled(*one), path, 1 if quick else ROUNDS)
    text = (
        "A job with a state directory of 64 partitions and recovery on, which has ended and is "
        f"resumed, {MORE:,} events each time; `fogd`, whose state has its full length from the "
        "first event of a key on. *To the first event*: from the start of the flow. *To the first "
        "output*: from the launch of the process, so that imports and the loading of compiled "
        "loops are in it."
    )
    packages = (*PACKAGES, "bytewax", "rocksdict")
    return Report(figures, "Resuming", [text, table(figures)], packages)


def resume(figures: Figures, filled: Filled, path: Path, rounds: int) -> None:
    """Fill a directory, and resume from it."""
    settings = Settings("prequential", filled.keys, 0, filled.learner, folder=str(path))
    settings = replace(settings, first=max(filled.keys, MORE))
    if said_by(settings) is None:
        return
    size = sum(one.stat().st_size for one in (path / "state").rglob("*") if one.is_file())
    said = []
    for turn in range(rounds):
        found = said_by(replace(settings, events=MORE * (turn + 1)))
        if found is not None:
            said.append(found)
    if not said:
        return
    figures.add(filled.case, ON_DISK, "MB", [size / 1e6])
    figures.add(filled.case, FIRST_EVENT, "s", [one["to_first_event"] for one in said])
    figures.add(filled.case, FIRST_OUTPUT, "s", [one["to_first_output"] for one in said])
    figures.add(filled.case, HELD, "MB", [one["megabytes"] for one in said])


def table(figures: Figures) -> str:
    """A line per directory."""
    header = ["stored", "on disk, MB", "to the first event, s", "from and to",
              "launch to first output, s", "from and to", "MB held"]  # fmt: skip
    lines = [
        [
            case,
            figures.text(case, ON_DISK),
            figures.text(case, FIRST_EVENT),
            figures.spread(case, FIRST_EVENT),
            figures.text(case, FIRST_OUTPUT),
            figures.spread(case, FIRST_OUTPUT),
            figures.text(case, HELD),
        ]
        for case in (one.case for one in figures if one.measure == FIRST_EVENT)
    ]
    return markdown(header, lines)
