"""Learners measured on a stream: each event is scored first and learned after.

One pass over the events serves all learners, so a stream is read once whatever is compared.
The results are means and standard deviations over seeded permutations of the events, or of
the single run through them in their own order.
"""

import math
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from okl_flow import snapshot
from okl_flow.learner import Learner, loss_of
from okl_flow.metrics import Curve, Window, running_metrics
from okl_flow.native import Array
from okl_flow.state import ObjectState, inner_states

__all__ = [
    "Measured",
    "Result",
    "Trial",
    "best",
    "median_distance",
    "run",
    "run_permutations",
    "sampled",
]

SAMPLE_MAX = 1000
"""Rows that the median distance is taken of, at most."""

_BATCH = 1000
_WARM_UP = 50

Progress = Callable[[int], None]
"""Told of each further number of events that has been dealt with."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Mean and standard deviation (with n - 1) over the runs; a single run deviates by 0."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Measured":
        """The mean and the deviation of one value per run."""
        if len(set(values)) == 1:
            return cls(float(values[0]), 0.0)
        if not np.isfinite(values).all():
            return cls(float(np.sum(values)), math.nan)
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)))


@dataclass(slots=True)
class Result:
    """What a learner achieved."""

    learner: Learner
    events: int  # of one run
    labelled: int  # of them with a label
    measures: dict[str, Measured]
    curves: list[Curve] = field(default_factory=list)  # one per run, if asked for


class Trial:
    """A learner on its way through one run."""

    def __init__(self, learner: Learner, dim: int, *, seed: int = 0, window: int | None = None):
        """`window` is the length of the curve's sliding window; without it there is no curve."""
        self.learner = learner
        self.state = learner.init(dim, seed=seed)
        self.metrics = running_metrics(learner.task)
        self.seconds = 0.0
        self.curve = Curve(Window(np.zeros(window))) if window else None
        self._loss = loss_of(learner)

    def step(self, X: Array, y: Array) -> Array:
        """Let the learner score and learn, on the clock, and judge its scores."""
        begin = time.perf_counter()
        scores = self.learner.step(self.state, X, y)
        self.seconds += time.perf_counter() - begin
        errors = self.metrics.update(scores, y, self._loss)
        if self.curve is not None:
            self.curve.update(errors)
        return scores

    def values(self) -> dict[str, float]:
        """The metrics, the speed, and the size of the state: rows only where there are any."""
        found = self.metrics.values()
        found["events_per_second"] = self.metrics.events / max(self.seconds, 1e-9)
        sizes = [part.size for _path, part in inner_states(self.state) if hasattr(part, "size")]
        if sizes:
            found["rows"] = float(sum(sizes))
        found["state_bytes"] = float(_state_bytes(self.learner, self.state))
        return found


def _state_bytes(learner: Learner, state: Any) -> int:
    """The size of a state as it is kept: its snapshot, or a pickle where it can have none."""
    if any(isinstance(part, ObjectState) for _path, part in inner_states(state)):
        return len(pickle.dumps(state))
    return len(snapshot.dumps(learner, state))


def run(
    learners: Sequence[Learner],
    batches: Iterable[tuple[Array, Array]],
    *,
    seed: int = 0,
    window: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Run the learners side by side through a stream, once, and measure each.

    >>> from okl_flow import make_learner, streams
    >>> [result] = run([make_learner("kogd")], [streams.rings(1000)])
    >>> result.measures["majority_rate"].mean > result.measures["mistake_rate"].mean
    True
    """
    return _results([_run(learners, batches, seed, window, progress)])


def run_permutations(
    learners: Sequence[Learner],
    X: Array,
    y: Array,
    *,
    permutations: int,
    seed: int = 0,
    batch: int = _BATCH,
    window: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Run the learners through permutations of the events, and measure each.

    Permutation i comes from the generator seeded by [seed, i], and its states from seed + i.
    """
    if permutations < 1:
        raise ValueError(f"there must be at least 1 permutation, not {permutations}")
    runs = []
    for number in range(permutations):
        order = np.random.default_rng([seed, number]).permutation(y.shape[0])
        batches = _cut(X[order], y[order], batch)
        runs.append(_run(learners, batches, seed + number, window, progress))
    return _results(runs)


def best(results: Sequence[Result]) -> Result:
    """The result with the lowest mean mistake rate, or error; of equal ones the first."""

    def error(result: Result) -> float:
        measure = "rmse" if "rmse" in result.measures else "mistake_rate"
        mean = result.measures[measure].mean
        return math.inf if math.isnan(mean) else mean

    return min(results, key=error)


def median_distance(X: ArrayLike, *, seed: int = 0) -> float:
    """Median Euclidean distance of two rows, from a seeded sample of at most 1000 of them.

    >>> median_distance([[0.0], [1.0], [3.0]])
    2.0
    """
    rows = np.asarray(X, dtype=np.float64)
    rows = rows[_sample(rows.shape[0], seed)]
    median = float(np.median(pdist(rows))) if rows.shape[0] > 1 else 0.0
    if median == 0.0:
        raise ValueError("the median distance of two events is 0, as most of them are the same")
    return median


def sampled(batches: Iterable[tuple[Array, Array]], count: int, *, seed: int = 0) -> Array:
    """The rows of a stream of `count` events that `median_distance` would take of them all."""
    chosen = _sample(count, seed)
    rows, begin = [], 0
    for X, _y in batches:
        here = chosen[(chosen >= begin) & (chosen < begin + X.shape[0])]
        rows.append(X[here - begin])
        begin += X.shape[0]
    return np.concatenate(rows)


def _sample(count: int, seed: int) -> NDArray[np.int64]:
    """Ascending positions of a seeded sample out of `count` rows."""
    size = min(count, SAMPLE_MAX)
    return np.sort(np.random.default_rng(seed).choice(count, size=size, replace=False))


@dataclass(slots=True)
class _Run:
    """What is kept of a trial once it is over; its state is not."""

    learner: Learner
    events: int
    labelled: int
    values: dict[str, float]
    curve: Curve | None


def _run(
    learners: Sequence[Learner],
    batches: Iterable[tuple[Array, Array]],
    seed: int,
    window: int | None,
    progress: Progress | None,
) -> list[_Run]:
    """One run of all learners."""
    trials: list[Trial] = []
    for X, y in batches:
        if not trials:
            trials = [Trial(learner, X.shape[1], seed=seed, window=window) for learner in learners]
            for learner in learners:
                # Machine code that is still to be loaded is no part of a learner's speed.
                Trial(learner, X.shape[1]).step(X[:_WARM_UP], y[:_WARM_UP])
        for trial in trials:
            trial.step(X, y)
            if progress:
                progress(y.shape[0])
    if not trials:
        raise ValueError("there are no events")
    return [
        _Run(
            trial.learner,
            trial.metrics.events,
            trial.metrics.labelled,
            trial.values(),
            trial.curve,
        )
        for trial in trials
    ]


def _cut(X: Array, y: Array, size: int) -> Iterator[tuple[Array, Array]]:
    for begin in range(0, y.shape[0], size):
        yield X[begin : begin + size], y[begin : begin + size]


def _results(runs: Sequence[Sequence[_Run]]) -> list[Result]:
    """The measures of each learner over the runs."""
    results = []
    for own in zip(*runs, strict=True):
        measures = {name: Measured.of([one.values[name] for one in own]) for name in own[0].values}
        curves = [one.curve for one in own if one.curve is not None]
        results.append(Result(own[0].learner, own[0].events, own[0].labelled, measures, curves))
    return results
