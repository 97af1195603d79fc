"""Theorem 3: the regret of Sketched-KONS against gamma, beside what its sketch costs."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.papers.harness import Options, Section, show
from benchmarks.papers.kons_kors.common import (
    ALPHA,
    CLIP,
    best_fixed,
    gram_of,
    theorem_streams,
)
from okl_flow import make_learner

GAMMAS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.0)
RUNS = 5


def sections(options: Options) -> Iterator[Section]:
    """One table: a line per stream and gamma."""
    rows, runs = [], min(RUNS, options.permutations)
    for stream in theorem_streams(options):
        bandwidth = stream.median_distance / 2
        fixed, _ = best_fixed(gram_of(stream.X, bandwidth), stream.y, ALPHA)
        for gamma in GAMMAS:
            learner = make_learner(
                "sketched_kons", loss="square", clip=CLIP, regularization=ALPHA,
                bandwidth=bandwidth, task=stream.task, probability_min=gamma,
            )  # fmt: skip
            regrets, sizes, seconds = [], [], []
            for seed in range(runs):
                begin = time.perf_counter()
                state = learner.init(stream.X.shape[1], seed=seed)
                scores = learner.step(state, stream.X, stream.y)
                seconds.append(time.perf_counter() - begin)
                regrets.append(float(np.sum((scores - stream.y) ** 2)) - fixed)
                sizes.append(state.curved)
            rows.append(
                [
                    stream.name,
                    f"{gamma:g}",
                    f"{np.mean(regrets):.1f} ± {np.std(regrets):.1f}",
                    f"{np.mean(sizes):.0f}",
                    f"{1e6 * np.median(seconds) / len(stream.y):.1f}",
                ]
            )
    yield Section(
        "Sketched-KONS, Theorem 3: regret against gamma",
        f"Square loss, alpha = {ALPHA:g}, epsilon = 0.5, beta = 1, {runs} seeds; gamma = 1 is "
        "KONS itself. The theorem allows a regret that grows like 1/gamma, and promises a sketch "
        "that shrinks with gamma.",
        ["stream", "gamma", "regret", "curvature rows", "µs per event"],
        rows,
    )


if __name__ == "__main__":
    show(sections)
