"""What an event costs each learner, beside a bare kernel row and River's kernel route.

`python -m benchmarks.learners` measures all of them in one run, in turns, and takes the best
of several rounds: the ratios are what counts.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from river import feature_extraction, linear_model

from benchmarks.report import write
from okl_flow import Gaussian, make_learner, snapshot, streams
from okl_flow.kernels import NativeKernel, kernel_row
from okl_flow.native import Array, native
from okl_flow.registry import REGISTRY

WARM_UP = 4000
EVENTS = 4000
SINGLE = 2000
RIVER_EVENTS = 300
ROUNDS = 7
STAY = 1e9  # no landmark moves: `benchmarks.systems` says what a move costs

COLD_START = """
import time
begin = time.perf_counter()
import numpy as np
from okl_flow import make_learner
learner = make_learner("kogd", budget=100)
state = learner.init(24)
learner.step(state, np.zeros((1, 24)), np.ones(1))
print(time.perf_counter() - begin)
"""


@native
def bare_rows(kernel: NativeKernel, rows: Array, X: Array) -> float:
    """The kernel rows of all events and nothing else: the limit to compare with."""
    row = np.empty(rows.shape[1])
    total = 0.0
    for t in range(X.shape[0]):
        kernel_row(kernel, rows, rows.shape[1], X[t], row)
        total += row[0]
    return total


class Contestant:
    """A learner that has seen enough to be full, and the events that it is timed on."""

    def __init__(self, name: str, budget: int, dim: int, bandwidth: float) -> None:
        wanted = {"budget": budget, "feature_count": budget, "bandwidth": bandwidth}
        wanted |= {"dictionary_size": budget, "squared_distance": STAY}
        known = set(REGISTRY[name].learner().describe())
        self.learner = make_learner(name, **{k: v for k, v in wanted.items() if k in known})
        self.X, self.y = streams.rings(WARM_UP + EVENTS, dim=dim, seed=1)
        self.state = self.learner.init(dim)
        self.learner.step(self.state, self.X[:WARM_UP], self.y[:WARM_UP])
        self.rest = self.X[WARM_UP:], self.y[WARM_UP:]
        self.rows = [(x[None], y[None]) for x, y in zip(*self.rest, strict=True)][:SINGLE]

    def both(self) -> float:
        """Seconds per event of score and learn, in one batch."""
        return seconds(lambda: self.learner.step(self.state, *self.rest)) / EVENTS

    def score(self) -> float:
        """Seconds per event of scoring, in one batch."""
        return seconds(lambda: self.learner.score(self.state, self.rest[0])) / EVENTS

    def single(self) -> float:
        """Seconds of one call with one event."""

        def calls() -> None:
            for x, y in self.rows:
                self.learner.step(self.state, x, y)

        return seconds(calls) / SINGLE


def seconds(work: Callable[[], object]) -> float:
    """How long a piece of work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def river_route(dim: int, feature_count: int, bandwidth: float) -> Callable[[], float]:
    """Seconds per event of River's RBFSampler | LogisticRegression."""
    sampler = feature_extraction.RBFSampler(
        gamma=0.5 / bandwidth**2, n_components=feature_count, seed=1
    )
    model = sampler | linear_model.LogisticRegression()
    X, y = streams.rings(RIVER_EVENTS, dim=dim, seed=1)
    records = [
        ({str(j): v for j, v in enumerate(x)}, bool(b > 0)) for x, b in zip(X, y, strict=True)
    ]

    def work() -> None:
        for features, label in records:
            model.predict_proba_one(features)
            model.learn_one(features, label)

    return lambda: seconds(work) / RIVER_EVENTS


def cold_start() -> float:
    """Seconds from the first import to the first learned event, loops compiled before."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", COLD_START], capture_output=True, text=True, check=True
        )
        for _ in range(3)
    ]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100, help="stored examples or features")
    parser.add_argument("--dim", type=int, default=24, help="features of an event")
    options = parser.parse_args()
    budget, dim = options.budget, options.dim
    bandwidth = float(np.sqrt(dim))

    contestants = {name: Contestant(name, budget, dim, bandwidth) for name in REGISTRY}
    X, _ = streams.rings(EVENTS, dim=dim, seed=2)
    rows = np.ascontiguousarray(X[:budget].T)
    kernel = Gaussian(bandwidth=bandwidth).native
    measures: dict[tuple[str, str], Callable[[], float]] = {
        ("bare kernel row", "both"): lambda: seconds(lambda: bare_rows(kernel, rows, X)) / EVENTS,
        ("River", "both"): river_route(dim, budget, bandwidth),
    }
    for name, contestant in contestants.items():
        for measure in ("both", "score", "single"):
            measures[name, measure] = getattr(contestant, measure)
    best: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for key, measure in measures.items():
            best[key] = min(best.get(key, np.inf), 1e6 * measure())

    bare = best["bare kernel row", "both"]
    river = best["River", "both"]
    header = ["learner", "score + learn, µs", "× bare row", "score, µs", "one call, µs",
              "River is slower by", "snapshot, bytes"]  # fmt: skip
    table = [
        [
            name,
            f"{best[name, 'both']:.2f}",
            f"{best[name, 'both'] / bare:.1f}",
            f"{best[name, 'score']:.2f}",
            f"{best[name, 'single']:.1f}",
            f"{river / best[name, 'both']:.0f}",
            f"{len(snapshot.dumps(contestant.learner, contestant.state))}",
        ]
        for name, contestant in contestants.items()
    ]
    text = (
        f"Budget (or Fourier directions) {budget}, {dim} features, `streams.rings`, which in so "
        "many dimensions stays so hard that nearly every event is learned from: the dear case. "
        "*Score + learn* and *score* are in batches, *one call* is a `step` of one event with all "
        "its checks. `skegd` updates its map every 200 events; of `nolana` no landmark moves. A "
        f"bare native kernel row of this size takes {bare:.2f} µs. River's "
        f"`RBFSampler({budget}) | LogisticRegression` takes {river:.0f} µs per event. From the "
        f"first import to the first learned event, loops compiled before: {cold_start():.2f} s."
    )
    write("learners", "Cost of an event", text, header, table)


if __name__ == "__main__":
    main()
