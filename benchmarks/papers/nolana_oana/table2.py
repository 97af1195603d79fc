"""Table 2: classification by two losses and regression, all learners at equal memory."""

from collections.abc import Iterator
from typing import Any

from benchmarks.papers.harness import (
    Job,
    Options,
    Section,
    Stream,
    candidates,
    rescaled,
    results_of,
    show,
    streams,
    tuned,
)
from benchmarks.papers.nolana_oana.common import LANDMARKS
from okl_flow import Learner
from okl_flow.evaluation import Result

LEARNERS = ("passive_aggressive", "fogd", "nogd", "dual_sgd", "rrf", "nolana")
LOSSES = {"binary": ("hinge", "logistic"), "multiclass": ("hinge", "logistic"),
          "regression": ("square",)}  # fmt: skip
WIDTHS = (0.25, 0.5, 1.0)
STEPS = {"binary": (0.05, 0.2, 0.5, 1.0), "multiclass": (0.05, 0.2, 0.5, 1.0),
         "regression": (0.02, 0.05, 0.1, 0.2)}  # fmt: skip
RUNS = 5


def grid_of(name: str, stream: Stream, loss: str) -> list[Learner]:
    """The learner over a small grid, keeping about m d + m r numbers."""
    dim, rank = stream.X.shape[1], round(0.8 * LANDMARKS)
    settings: dict[str, Any] = {"task": stream.task}
    if stream.task == "multiclass":
        settings["classes"] = stream.classes
    if name == "passive_aggressive":
        return candidates(name, settings, {"aggressiveness": (0.001, 0.01, 0.1, 1.0)})
    grid: dict[str, tuple[float, ...]] = {
        "bandwidth": tuple(share * stream.median_distance for share in WIDTHS)
    }
    settings["loss"] = loss
    directions = {"fogd": (LANDMARKS * dim + LANDMARKS * rank) // dim}
    directions["rrf"] = directions["fogd"]
    directions["dual_sgd"] = max(1, LANDMARKS * rank // dim)
    if name in directions:
        settings["feature_count"] = directions[name]
    if name in ("nogd", "nolana", "dual_sgd"):
        settings["budget"] = LANDMARKS
    if name in ("nogd", "nolana"):
        settings["rank"] = rank
    if name == "nolana":
        grid["squared_distance"] = tuple(
            share * stream.median_distance**2 for share in (0.2, 0.4, 1.0)
        )
    if name == "dual_sgd":
        grid["regularization"] = (0.0001, 0.001, 0.01)
    else:
        grid["learning_rate"] = STEPS[stream.task]
    return candidates(name, settings, grid)


def figures(result: Result) -> list[str]:
    """Accuracy in percent or root mean square error, and microseconds."""
    measures = result.measures
    speed = f"{1e6 / measures['events_per_second'].mean:.2f}"
    if "rmse" in measures:
        return [f"{measures['rmse'].mean:.3f} ± {measures['rmse'].std:.3f}", "-", speed]
    rate, papers = measures["mistake_rate"], measures["mistake_rate_papers"]
    accuracy = f"{100 - 100 * rate.mean:.2f} ± {100 * rate.std:.2f}"
    return [accuracy, f"{100 - 100 * papers.mean:.2f}", speed]


def sections(options: Options) -> Iterator[Section]:
    """A table for each file."""
    runs = min(RUNS, options.permutations)
    for task, losses in LOSSES.items():
        for stream in streams(options, task):
            scaled = rescaled(stream, "minmax")
            jobs: dict[tuple[str, str], Job] = {
                (loss, name): (tuned, scaled, grid_of(name, scaled, loss), runs)
                for loss in losses
                for name in LEARNERS
                if not (name == "dual_sgd" and loss == "square")
                and not (name == "passive_aggressive" and loss == "logistic")
            }
            rows = [
                [name, loss, *figures(result)]
                for (loss, name), result in results_of(jobs, options).items()
            ]
            measure = "RMSE" if task == "regression" else "accuracy, %"
            constant = (
                f"the constant mean has {stream.y.std():.2f}"
                if task == "regression"
                else f"the constant answer has {100 - stream.majority:.1f} %"
            )
            yield Section(
                f"NOLANA, Table 2: {stream.name}",
                f"{len(stream.y)} events, each scored before it is learned, features in [-1, 1]; "
                f"m = {LANDMARKS}, r = 0.8 m, the others at equal memory; {runs} permutations, the "
                f"best of a small grid; {constant}. The paper's table gives figures of a held-out "
                "part that its text does not let one rebuild.",
                ["learner", "loss", measure, "papers' rule", "µs"],
                rows,
                left=2,
            )


if __name__ == "__main__":
    show(sections)
