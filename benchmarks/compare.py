"""Every learner beside its neighbours, on every file of a folder: `make compare`.

Each learner runs three times over a file: as the papers set it (features as they are, the width
of the highest kernel alignment, the best of the papers' learning rates), with running
standardisation and everything that it has to find at "auto", and with running standardisation
at the best of a grid. The peers' errors come from `benchmarks/results/compare_peers.csv`, which
`python -m benchmarks.peers` fills; their times are taken anew, beside ours.
"""

import argparse
import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from benchmarks import peers
from benchmarks.papers.harness import (
    Job,
    Options,
    Stream,
    candidates,
    rescaled,
    results_of,
    streams,
)
from benchmarks.report import RESULTS, circumstances, markdown
from okl_flow import Learner, make_learner
from okl_flow.alignment import CANDIDATES, kernel_alignment
from okl_flow.evaluation import Result, best, run, run_permutations
from okl_flow.registry import REGISTRY
from okl_flow.tuned import RATES, WIDTHS, loss_rate

PAPERS_RATES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
ALIGNED_ROWS = 1000
TIMED_ROWS = 1000
FAST = 5.0
"""Microseconds per event up to which a learner is called fast."""

BUDGET = 100

TEXT = (
    "Each event is scored first and learned after. *auto*: raw features behind running "
    "standardisation, bandwidth and learning rate found on the way, all else at its default, "
    f"budget {BUDGET} or {BUDGET} directions. *best of the grid*: the same with four bandwidths "
    "around the median distance and four learning rates, the best on these very runs. *as the "
    "papers set it*: no scaling, the width of the highest alignment on the first 1000 events, the "
    "best learning rate of 0.0001 to 1. Peers stand behind their own running standardisation, as "
    "they are and at the best of a grid (benchmarks/peers.py). µs: per event under *auto*, the "
    "trial included; of peers, of 1000 events of the same file, taken one after the other on the "
    "same machine. Means over five permutations, or one from 9000 events on; elec2 in its own "
    "order."
)

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "fogd, logistic": ("fogd", {"loss": "logistic"}),
    "nogd, logistic": ("nogd", {"loss": "logistic"}),
    "arow, diagonal": ("arow", {"covariance": "diagonal"}),
    "ons, budget 400": ("ons", {"budget": 400}),
    "ons, forgetting auto": ("ons", {"forgetting": "auto"}),
    "krls_ald, forgetting auto": ("krls_ald", {"forgetting": "auto"}),
}
"""Learners that run once more with another setting."""

SETTINGS: dict[str, dict[str, Any]] = {
    "fogd": {"feature_count": 100},
    "rrf": {"feature_count": 100},
    "dual_sgd": {"feature_count": 100},
    "sketched_kons": {"dictionary_size": 100},
}


@dataclass(frozen=True)
class Line:
    """What a learner or a peer did on one file; rates in percent, or errors in regression."""

    name: str
    papers: tuple[float, float] | None
    auto: tuple[float, float]
    grid: tuple[float, float]
    chosen: str  # of the grid
    microseconds: float  # per event, under "auto"
    state_bytes: float

    @property
    def cells(self) -> list[str]:
        """The line as it is printed."""
        return [
            f"`{self.name}`",
            *(shown(pair) for pair in (self.papers, self.auto, self.grid)),
            f"{self.microseconds:,.2f}" if self.microseconds < 100 else f"{self.microseconds:,.0f}",
            f"{self.state_bytes:,.0f}",
            self.chosen,
        ]


def shown(pair: tuple[float, float] | None) -> str:
    """A mean and its deviation."""
    return "-" if pair is None else f"{pair[0]:.2f} ± {pair[1]:.2f}"


def contenders(stream: Stream) -> list[str]:
    """The learners and variants that do the task of a file."""
    found = [name for name, row in REGISTRY.items() if stream.task in row.tasks]
    for variant, (name, settings) in VARIANTS.items():
        if not (stream.task == "regression" and "loss" in settings):
            found.insert(found.index(name) + 1, variant)
    return found


def base_settings(name: str, stream: Stream) -> dict[str, Any]:
    """What every run of a learner on a file has in common."""
    known = make_learner(name).describe()
    settings = dict(SETTINGS.get(name, {}))
    if "budget" in known:
        settings["budget"] = BUDGET
    if "squared_distance" in known:
        settings["squared_distance"] = 2.0 * stream.X.shape[1]  # the mean of scaled events
    if "task" in known:
        settings["task"] = stream.task
    if stream.task == "multiclass":
        settings["classes"] = stream.classes
    return settings


def measured(stream: Stream, learners: Sequence[Learner]) -> Result:
    """The best of the learners on a file."""
    permutations = len(peers.orders_of(stream))
    with np.errstate(over="ignore", invalid="ignore"):
        if stream.name in peers.IN_ORDER:
            return best(run(learners, [(stream.X, stream.y)]))
        return best(run_permutations(learners, stream.X, stream.y, permutations=permutations))


def error_of(result: Result) -> tuple[float, float]:
    """Mistakes in percent, or the root mean square error, with their deviations."""
    if "rmse" in result.measures:
        error = result.measures["rmse"]
        return error.mean, error.std
    rate = result.measures["mistake_rate"]
    return 100.0 * rate.mean, 100.0 * rate.std


@dataclass(frozen=True)
class Widths:
    """What is known of a file beforehand, for the runs that are not under "auto"."""

    median: float  # distance of two standardised events
    aligned: float  # bandwidth of the highest alignment of the first events as they are

    @classmethod
    def of(cls, stream: Stream) -> "Widths":
        """Those of a file."""
        few = slice(ALIGNED_ROWS)
        alignments = kernel_alignment(
            stream.X[few], stream.y[few], CANDIDATES, centered=False, task=peers.task_of(stream)
        )
        aligned = float(CANDIDATES[int(np.argmax(alignments))])
        return cls(rescaled(stream, "standard").median_distance, aligned)


def line_of(title: str, stream: Stream, widths: Widths) -> Line:
    """The three runs of a learner, or of a variant of it, over a file."""
    name, own = VARIANTS.get(title, (title, {}))
    settings = {**base_settings(name, stream), **own}
    learner = make_learner(name, **settings)
    known = learner.describe()
    tunable = [key for key in ("bandwidth", "learning_rate") if key in known]
    automatic = {key: "auto" for key in tunable}
    auto = measured(stream, [make_learner(name, scale="standard", **settings, **automatic)])
    points: dict[str, Sequence[float]] = {}
    of_papers: dict[str, Sequence[float]] = {}
    if "bandwidth" in tunable:
        typical = REGISTRY[name].learner.typical_width * widths.median
        points["bandwidth"] = [width * typical for width in WIDTHS]
        of_papers["bandwidth"] = [min(widths.aligned, known.get("bandwidth_max", math.inf))]
    if "learning_rate" in tunable:
        points["learning_rate"] = [loss_rate(learner.innermost) * rate for rate in RATES]
        of_papers["learning_rate"] = PAPERS_RATES
    grid = measured(stream, candidates(name, {**settings, "scale": "standard"}, points))
    papers = measured(stream, candidates(name, settings, of_papers))
    described = grid.learner.describe()
    return Line(
        title,
        error_of(papers),
        error_of(auto),
        error_of(grid),
        " ".join(f"{key}={described[key]:.3g}" for key in tunable),
        1e6 / auto.measures["events_per_second"].mean,
        auto.measures["state_bytes"].mean,
    )


def peer_lines(stream: Stream, runs: Sequence[dict[str, str]]) -> Iterator[Line]:
    """The peers on a file: as they are, and at the best of their grids."""
    factor = 1.0 if stream.task == "regression" else 100.0
    errors: dict[tuple[str, str], list[float]] = {}
    sizes: dict[tuple[str, str], float] = {}
    for one in runs:
        if one["file"] == stream.name:
            key = one["peer"], one["setting"]
            errors.setdefault(key, []).append(factor * float(one["error"]))
            sizes[key] = float(one["bytes"])
    task = peers.task_of(stream)
    few = np.random.default_rng(0).permutation(len(stream.y))[:TIMED_ROWS]
    for name in dict.fromkeys(name for name, _setting in errors):
        own = {
            setting: np.array(found) for (peer, setting), found in errors.items() if peer == name
        }
        chosen = min(own, key=lambda setting: own[setting].mean())
        time = math.nan  # of a peer that is not installed here
        for peer in peers.peers(task, stream.X.shape[1]):
            if (peer.name, peer.setting) == (name, chosen):
                time = peers.run_peer(peer, stream.X[few], stream.y[few], task).microseconds
        pairs = [
            (float(found.mean()), float(found.std(ddof=1)) if found.size > 1 else 0.0)
            for found in (own["default"], own[chosen])
        ]
        size = sizes[name, chosen]
        yield Line(name, None, *pairs, chosen, time, size)


def summary(stream: Stream, ours: Sequence[Line], theirs: Sequence[Line]) -> list[str]:
    """The best of ours under "auto", the best fast one, and the best of the peers' grids."""
    first = min(ours, key=lambda line: line.auto[0])
    fast = [line for line in ours if line.microseconds < FAST]
    quick = min(fast, key=lambda line: line.auto[0]) if fast else None
    peer = min(theirs, key=lambda line: line.grid[0]) if theirs else None
    constant = (
        f"{float(np.std(stream.y)):.2f}"
        if stream.task == "regression"
        else f"{stream.majority:.2f}"
    )
    return [
        stream.name,
        "RMSE" if stream.task == "regression" else "mistakes, %",
        constant,
        f"{first.auto[0]:.2f} (`{first.name}`)",
        f"{quick.auto[0]:.2f} (`{quick.name}`, {quick.microseconds:.1f})" if quick else "-",
        f"{peer.grid[0]:.2f} (`{peer.name}`)" if peer else "-",
    ]


def price_of_auto(found: dict[str, list[Line]], tasks: dict[str, Stream]) -> str:
    """What "auto" costs against the grid, and where it is worse than the constant answer."""
    gaps, worse, tuned = [], [], 0
    for name, lines in found.items():
        stream = tasks[name]
        for line in lines:
            if not line.chosen or stream.task == "regression":
                continue
            tuned += 1
            gaps.append(line.auto[0] - line.grid[0])
            if line.auto[0] > stream.majority + line.auto[1]:
                worse.append(f"`{line.name}` on {name} ({line.auto[0]:.1f} ± {line.auto[1]:.1f})")
    if not gaps:
        return "There is nothing to find."
    listed = ", ".join(worse) or "nowhere"
    return (
        f'Where there is a bandwidth or a learning rate to find, "auto" makes '
        f"{np.mean(gaps):+.2f} points of mistakes against the best of the grid on average "
        f"(median {np.median(gaps):+.2f}, from {min(gaps):+.2f} to {max(gaps):+.2f}, {tuned} pairs "
        f"of a learner and a file). Worse than the constant answer by more than a deviation: "
        f"{listed}."
    )


def front(times: Sequence[float], errors: Sequence[float]) -> list[int]:
    """The points that no other one beats in both time and error, fastest first."""
    order = sorted(range(len(times)), key=lambda at: (times[at], errors[at]))
    found: list[int] = []
    for at in order:
        if not found or errors[at] < errors[found[-1]]:
            found.append(at)
    return found


def draw(found: dict[str, list[Line]], theirs: dict[str, list[Line]], path: Path) -> None:
    """Error against time per event, a panel per file, both axes logarithmic."""
    columns = min(4, len(found))
    height = -(-len(found) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.8 * height), layout="constrained")
    for at, name in enumerate(found):
        axes = figure.add_subplot(height, columns, at + 1)
        for lines, color, marker, label in (
            (found[name], "#1f5fa8", "o", "okl_flow, auto"),
            (theirs[name], "#b3541e", "s", "peers, best of their grid"),
        ):
            errors = [line.auto[0] if lines is found[name] else line.grid[0] for line in lines]
            times = [line.microseconds for line in lines]
            axes.scatter(times, errors, s=16, c=color, marker=marker, label=label)
            best_ones = front(times, errors)
            axes.plot(
                [times[one] for one in best_ones], [errors[one] for one in best_ones], c=color,
                lw=0.7,
            )  # fmt: skip
            for one in best_ones:
                axes.annotate(
                    lines[one].name, (times[one], errors[one]), fontsize=6, color=color,
                    xytext=(4, 3), textcoords="offset points", rotation=20,
                )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            axis(ScalarFormatter())
        axes.tick_params(which="both", labelsize=7)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("µs per event", fontsize=8)
        axes.set_ylabel("error", fontsize=8)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, print, draw and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=None, help="rows of each file, at most")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    options = Options(given.data, rows_max=given.rows)
    tasks = ("binary", "multiclass", "regression")
    files = {stream.name: stream for task in tasks for stream in streams(options, task)}
    widths = {name: Widths.of(stream) for name, stream in files.items()}
    jobs: dict[Any, Job] = {
        (stream.name, name): (line_of, name, stream, widths[stream.name])
        for stream in files.values()
        for name in contenders(stream)
    }
    lines: dict[tuple[str, str], Line] = results_of(jobs, options)
    ours: dict[str, list[Line]] = {name: [] for name in files}
    for (file, _learner), line in lines.items():
        ours[file].append(line)
    runs: list[dict[str, str]] = []
    if peers.OUT.exists():
        with peers.OUT.open(newline="") as source:
            runs = list(csv.DictReader(source))
    theirs = {name: list(peer_lines(stream, runs)) for name, stream in files.items()}
    page = pages(files, ours, theirs)
    given.out.mkdir(exist_ok=True)
    (given.out / "compare.md").write_text(page)
    draw(ours, theirs, given.out / "compare.png")
    print(page)
    print(f"written to {given.out}: compare.md and compare.png")


def pages(
    files: dict[str, Stream], ours: dict[str, list[Line]], theirs: dict[str, list[Line]]
) -> str:
    """The summary, then a table per file."""
    first = [summary(stream, ours[name], theirs[name]) for name, stream in files.items()]
    header = ["file", "error", "constant answer", "best of ours, auto"]
    header += [f"best of ours under {FAST:g} µs", "best of the peers, tuned"]
    parts = [f"# Beside the neighbours\n\n{circumstances()}", "## Summary", TEXT]
    parts += [markdown(header, first, left=2), price_of_auto(ours, files)]
    columns = [
        "learner",
        "as the papers set it",
        "auto",
        "best of the grid",
        "µs",
        "bytes",
        "chosen",
    ]
    for name, stream in files.items():
        unit = "root mean square error" if stream.task == "regression" else "mistakes, %"
        parts += [f"## {name}: {unit}", markdown(columns, [line.cells for line in ours[name]])]
        peer_columns = ["peer", "", "as it is", *columns[3:]]
        if theirs[name]:
            parts.append(markdown(peer_columns, [line.cells for line in theirs[name]]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
