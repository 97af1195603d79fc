"""What the papers' benchmarks share: the streams of a folder, tuned learners, sections of a page.

A benchmark is a module with a function `sections(options)`. It runs by itself,
`python -m benchmarks.papers.oks_sil.table2`, or with all others, `python -m benchmarks.papers`.
"""

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import circumstances, markdown
from okl_flow import Learner, make_learner
from okl_flow.cli.data import DataRequest, prepare
from okl_flow.evaluation import (
    Measured,
    Result,
    best,
    median_distance,
    run,
    run_permutations,
)
from okl_flow.native import Array
from okl_flow.rescaling import Moments, Rescaling

__all__ = [
    "Job",
    "Options",
    "Section",
    "Stream",
    "candidates",
    "page",
    "rate_columns",
    "rescaled",
    "results_of",
    "show",
    "streams",
    "tuned",
    "tuned_in_order",
]

SEARCH_PERMUTATIONS = 5

_LIBSVM = (".libsvm", ".libsvm.gz")
_TEST_PART = ".t"


@dataclass(frozen=True)
class Options:
    """How the benchmarks are to be run."""

    data: Path
    permutations: int = 20
    rows_max: int | None = None  # of each file; for a quick look
    workers: int = os.cpu_count() or 1


@dataclass(frozen=True)
class Section:
    """A table of the page, with what is to be said about it."""

    title: str
    text: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1  # columns of words

    def __str__(self) -> str:
        table = markdown(self.header, self.rows, left=self.left)
        return f"## {self.title}\n\n{self.text}\n\n{table}\n"


@dataclass(frozen=True, eq=False)
class Stream:
    """The events of a file."""

    name: str
    task: str
    X: Array
    y: Array

    @property
    def majority(self) -> float:
        """Mistakes in percent of the best constant answer."""
        counts = np.unique(self.y, return_counts=True)[1]
        return 100.0 * float(1.0 - counts.max() / counts.sum())

    @property
    def classes(self) -> int:
        """Number of different labels."""
        return len(np.unique(self.y))

    @property
    def median_distance(self) -> float:
        """The median distance of two events."""
        return median_distance(self.X)


def streams(options: Options, task: str) -> list[Stream]:
    """Every file of the folder whose labels make this task, with its test part at its end."""
    parts: dict[str, list[Path]] = {}
    for path in sorted(options.data.iterdir()):
        if path.name.endswith(_LIBSVM):
            name = path.name.removesuffix(".gz").removesuffix(".libsvm")
            parts.setdefault(name.removesuffix(_TEST_PART), []).append(path)
    if not parts:
        raise SystemExit(
            f"{options.data}: there is no file in LIBSVM format ({', '.join(_LIBSVM)})"
        )
    found = [_stream(name, paths, options.rows_max) for name, paths in parts.items()]
    return [stream for stream in found if stream.task == task]


def _stream(name: str, paths: Sequence[Path], rows_max: int | None) -> Stream:
    loaded, tasks = [], set()
    for path in paths:
        asked = DataRequest(
            path=str(path), task=None, labels=None, label="label", dim=None, format="libsvm",
            rescale="none", batch=1000, load=True,
        )  # fmt: skip
        data = prepare(asked, lambda _name, _total: lambda _count: None)
        assert data.loaded is not None
        loaded.append(data.loaded)
        tasks.add(data.coder.task.name)
    if len(tasks) > 1:
        raise SystemExit(f"{name}: its parts have labels of different kinds: {', '.join(tasks)}")
    dim = max(X.shape[1] for X, _ in loaded)
    X = np.concatenate([np.pad(X, ((0, 0), (0, dim - X.shape[1]))) for X, _ in loaded])
    y = np.concatenate([y for _, y in loaded])
    return Stream(name, tasks.pop(), X[:rows_max], y[:rows_max])


def rescaled(stream: Stream, kind: str) -> Stream:
    """The stream with its features brought to one scale; "none" leaves them as they are."""
    moments = Moments()
    moments.add(stream.X)
    return Stream(stream.name, stream.task, Rescaling(kind, moments).apply(stream.X), stream.y)


def candidates(
    name: str, settings: Mapping[str, Any], grid: Mapping[str, Iterable[Any]]
) -> list[Learner]:
    """The learner under every combination of the grid's values."""
    points = itertools.product(
        *([(key, value) for value in values] for key, values in grid.items())
    )
    return [make_learner(name, **{**settings, **dict(point)}) for point in points]


def tuned(stream: Stream, learners: Sequence[Learner], permutations: int) -> Result:
    """The best of the learners on a few permutations, measured on all of them."""
    few = min(permutations, SEARCH_PERMUTATIONS)
    found = best(run_permutations(learners, stream.X, stream.y, permutations=few))
    if few == permutations:
        return found
    return run_permutations([found.learner], stream.X, stream.y, permutations=permutations)[0]


def tuned_in_order(plays: Sequence[Stream], learners: Sequence[Learner]) -> Result:
    """The best of the learners over several streams, each taken in its own order."""
    runs = [run(learners, [(play.X, play.y)], seed=number) for number, play in enumerate(plays)]
    merged = []
    for own in zip(*runs, strict=True):
        measures = {
            name: Measured.of([one.measures[name].mean for one in own]) for name in own[0].measures
        }
        merged.append(Result(own[0].learner, own[0].events, own[0].labelled, measures))
    return best(merged)


Job = tuple[Any, ...]
"""A function and what it is to be called with."""


def results_of(jobs: Mapping[Any, Job], options: Options) -> dict[Any, Any]:
    """What the jobs return, by their keys; they run on all processors."""
    if options.workers == 1:
        return {key: job[0](*job[1:]) for key, job in jobs.items()}
    with ProcessPoolExecutor(options.workers) as pool:
        runs = {key: pool.submit(*job) for key, job in jobs.items()}
        return {key: run.result() for key, run in runs.items()}


def rate_columns(result: Result) -> list[str]:
    """Mistakes in percent by our rule and by the papers', and microseconds per event."""
    measures = result.measures
    rate = measures["mistake_rate"]
    return [
        f"{100 * rate.mean:.1f} ± {100 * rate.std:.1f}",
        f"{100 * measures['mistake_rate_papers'].mean:.1f}",
        f"{1e6 / measures['events_per_second'].mean:.2f}",
    ]


Sections = Callable[[Options], Iterator[Section]]


def show(sections: Sections) -> None:
    """Run one benchmark from the command line and print its tables."""
    options = _parsed(argparse.ArgumentParser())
    for section in sections(options):
        print(section)


def page(benchmarks: Mapping[str, Sections], target: Path) -> None:
    """Run benchmarks, those named on the command line or all, and put their tables on the page.

    Each table says when it was measured, and of what commit; those of benchmarks that are not run
    stay as they are.
    """
    parser = argparse.ArgumentParser(description="The tables and figures of the papers.")
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(benchmarks)}")
    options = _parsed(parser)
    names = parser.parse_known_args()[0].names or list(benchmarks)
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        raise SystemExit(f"there is no benchmark {unknown[0]!r}; known: {', '.join(benchmarks)}")
    everything = len(names) == len(benchmarks)
    kept = {} if everything or not target.exists() else _tables(target.read_text())
    for name in names:
        begin = time.perf_counter()
        for section in benchmarks[name](options):
            print(section, flush=True)
            measured = replace(section, text=f"{circumstances()}\n\n{section.text}")
            kept[section.title] = str(measured)
        print(f"({name}: {time.perf_counter() - begin:.0f} s)\n", flush=True)
    target.write_text("\n".join(["# The papers' tables and figures\n", *kept.values()]))
    print(f"written to {target.relative_to(Path.cwd())}")


def _tables(text: str) -> dict[str, str]:
    """The tables of a page, by title."""
    parts = text.split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def _parsed(parser: argparse.ArgumentParser) -> Options:
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of files")
    parser.add_argument("--permutations", type=int, default=20)
    parser.add_argument("--rows", type=int, default=None, help="rows of each file, at most")
    given = parser.parse_args()
    return Options(given.data, given.permutations, given.rows)
