"""Figure 3: error of the kernel matrix against the number of landmarks, at equal memory."""

from collections.abc import Iterator

import numpy as np

from benchmarks.papers.harness import (
    Job,
    Options,
    Section,
    Stream,
    rescaled,
    results_of,
    show,
    streams,
)
from okl_flow import make_map
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.kernels import Gaussian, kernel_matrix
from okl_flow.native import Array

COUNTS = (20, 50, 100, 200)
ROWS_MAX = 3000


def maps(count: int, dim: int, bandwidth: float) -> dict[str, FeatureMap]:
    """Three maps that keep m d + m r numbers each."""
    rank = round(0.8 * count)
    return {
        "oana": make_map(
            "oana", budget=count, rank=rank, squared_distance=0.0, bandwidth=bandwidth
        ),
        "incremental_nystrom": make_map(
            "incremental_nystrom", budget=count, rank=rank, bandwidth=bandwidth
        ),
        "random_fourier": make_map(
            "random_fourier", feature_count=round((count * dim + count * rank) / dim),
            bandwidth=bandwidth,
        ),
    }  # fmt: skip


def errors(stream: Stream, count: int, runs: int) -> dict[str, Array]:
    """|G - G~|_F / |G|_F of each map after one pass, for each run."""
    bandwidth = stream.median_distance / 2
    found: dict[str, list[float]] = {}
    for seed in range(runs):
        order = np.random.default_rng([0, seed]).permutation(len(stream.y))[:ROWS_MAX]
        X = np.ascontiguousarray(stream.X[order])
        true = kernel_matrix(Gaussian(bandwidth=bandwidth).native, X.T.copy(), len(X))
        for name, feature_map in maps(count, X.shape[1], bandwidth).items():
            state = feature_map.init(X.shape[1], seed=seed)
            feature_map.update(state, X)
            gap = feature_map.kernel_estimate(state, X, X) - true
            found.setdefault(name, []).append(float(np.linalg.norm(gap) / np.linalg.norm(true)))
    return {name: np.array(values) for name, values in found.items()}


def sections(options: Options) -> Iterator[Section]:
    """One table: a line per file and number of landmarks."""
    runs = min(3, options.permutations)
    jobs: dict[tuple[str, int], Job] = {}
    for task in ("multiclass", "regression", "binary"):
        for stream in streams(options, task):
            scaled = rescaled(stream, "minmax")
            for count in COUNTS:
                jobs[stream.name, count] = errors, scaled, count, runs
    rows = [
        [
            name,
            str(count),
            *(
                f"{found[map_name].mean():.4f} ± {found[map_name].std():.4f}"
                for map_name in ("oana", "incremental_nystrom", "random_fourier")
            ),
        ]
        for (name, count), found in results_of(jobs, options).items()
    ]
    yield Section(
        "OANA, Figure 3: error of the kernel matrix against the landmarks",
        f"|G - G~| / |G| on {ROWS_MAX} events at most, features in [-1, 1], half the median "
        f"distance as width, r = 0.8 m, every event moves a landmark; {runs} permutations. All "
        "three maps keep m d + m r numbers; the Fourier map so many directions. The paper shows "
        "curves without figures: OANA below the first m landmarks, and those below Fourier.",
        ["file", "m", "OANA", "first m landmarks", "random Fourier"],
        rows,
        left=2,
    )


if __name__ == "__main__":
    show(sections)
