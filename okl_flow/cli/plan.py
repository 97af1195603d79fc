"""From what `okl-flow eval` is asked for to results: data, learners, runs, the best of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from okl_flow.cli.data import Data, DataRequest, prepare
from okl_flow.cli.errors import explained
from okl_flow.cli.progress import Steps, progress_bars
from okl_flow.cli.settings import Candidate, Choice, candidates, check_choices
from okl_flow.evaluation import Result, best, run, run_permutations
from okl_flow.files import DataError
from okl_flow.learner import Learner
from okl_flow.tasks import Multiclass

__all__ = ["Outcome", "Report", "Request", "carry_out"]

_WINDOW_MAX = 1000
_WINDOW_SHARE = 10  # by default the window is a tenth of the events


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for."""

    data: DataRequest
    learners: tuple[str, ...]
    choices: tuple[Choice, ...]
    permutations: int
    seed: int
    curve: bool
    window: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The best candidate of a learner, and how it did."""

    candidate: Candidate
    result: Result
    tried: int  # candidates that it was the best of


@dataclass(frozen=True, slots=True)
class Report:
    """All that there is to show."""

    request: Request
    dim: int
    task: str
    reason: str  # why the task is what it is
    window: int | None
    outcomes: list[Outcome]


def carry_out(request: Request) -> Report:
    """Read the data, run the learners and choose the best candidate of each."""
    check_choices(request.learners, request.choices)
    with progress_bars() as steps:
        with explained(ValueError):
            data = prepare(request.data, steps)
            median = cache(lambda: data.median(request.seed))
            made = candidates(request.learners, request.choices, _task_of(data), median)
            learners = [candidate.learner for own in made for candidate in own]
            for learner in learners:
                learner.init(data.dim, seed=request.seed)  # refuses here what does not fit dim
        window = _window(request, data) if request.curve else None
        with explained(DataError):
            results = _run(request, data, learners, window, steps)
    outcomes = []
    for own in made:
        mine, results = results[: len(own)], results[len(own) :]
        chosen = best(mine)
        outcomes.append(Outcome(own[mine.index(chosen)], chosen, len(own)))
    return Report(request, data.dim, data.coder.task.name, data.reason, window, outcomes)


def _run(
    request: Request, data: Data, learners: Sequence[Learner], window: int | None, steps: Steps
) -> list[Result]:
    total = None if data.rows is None else data.rows * len(learners) * max(1, request.permutations)
    progress = steps("learning", total)
    if data.loaded is None:
        batches = data.batches(request.data.batch)
        return run(learners, batches, seed=request.seed, window=window, progress=progress)
    X, y = data.loaded
    return run_permutations(
        learners,
        X,
        y,
        permutations=request.permutations,
        seed=request.seed,
        batch=request.data.batch,
        window=window,
        progress=progress,
    )


def _task_of(data: Data) -> dict[str, Any]:
    """The task as parameters of a learner."""
    task = data.coder.task
    classes = {"classes": task.classes} if isinstance(task, Multiclass) else {}
    return {"task": task.name, **classes}


def _window(request: Request, data: Data) -> int:
    if request.window is not None:
        return request.window
    if data.rows is None:
        return _WINDOW_MAX
    return max(1, min(_WINDOW_MAX, data.rows // _WINDOW_SHARE))
