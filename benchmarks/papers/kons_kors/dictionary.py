"""Theorem 2: KORS's dictionary follows the effective dimension, and its matrix stays near."""

from collections.abc import Iterator

import numpy as np

from benchmarks.papers.harness import Options, Section, Stream, show
from benchmarks.papers.kons_kors.common import (
    ALPHA,
    effective_dimension,
    gram_of,
    online_dimension,
    theorem_streams,
)
from okl_flow.approximation.kors import KORS
from okl_flow.kernels import Gaussian
from okl_flow.native import Array

ACCURACY = 0.5
DELTA = 0.1
LENGTH = 1000
WIDE = 2.0  # times the median distance, for the guarantee
COARSE = 0.05  # alpha as a share of the events, for the guarantee
RUNS = 20
OVERSAMPLINGS = (1.0, 3.0, 10.0)
SHARES_OF_MEDIAN = (1.0, 0.5, 0.25)


def extremes(gram: Array, alpha: float, kept: Array, weights: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of A^-1/2 A_I A^-1/2, in the span of the examples."""
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    inside = root[kept]
    sketched = inside.T @ (weights[:, None] * inside) + alpha * np.eye(len(gram))
    scale = 1.0 / np.sqrt(np.maximum(values, 0.0) + alpha)
    ratio = np.linalg.eigvalsh(scale[:, None] * sketched * scale)
    return float(ratio[0]), float(ratio[-1])


def sections(options: Options) -> Iterator[Section]:
    """Two tables: the guarantee, and the size of the dictionary."""
    found = theorem_streams(options)
    runs = min(RUNS, options.permutations)
    yield _guarantee(found, runs)
    yield _sizes(found, min(5, runs))


def _guarantee(found: list[Stream], count: int) -> Section:
    """How often the sketched matrix stays between its bounds, with the beta that is promised."""
    rows = []
    for stream in found:
        X = _distinct(stream.X)[:LENGTH]
        bandwidth, alpha = WIDE * stream.median_distance, COARSE * len(X)
        gram = gram_of(X, bandwidth)
        theorem = 3 * np.log(len(X) / DELTA) / ACCURACY**2
        for beta, name in ((theorem, f"the theorem's, {theorem:.0f}"), (1.0, "1")):
            runs = [_dictionary(X, bandwidth, alpha, beta, seed) for seed in range(count)]
            bounds = np.array([extremes(gram, alpha, *run) for run in runs])
            within = (bounds[:, 0] >= 1 - ACCURACY) & (bounds[:, 1] <= 1 + ACCURACY)
            rows.append(
                [
                    stream.name,
                    name,
                    str(len(X)),
                    f"{effective_dimension(gram, alpha):.1f}",
                    f"{np.mean([len(kept) for kept, _ in runs]):.0f}",
                    f"{bounds[:, 0].min():.2f}",
                    f"{bounds[:, 1].max():.2f}",
                    f"{100 * within.mean():.0f}",
                ]
            )
    return Section(
        "KORS, Theorem 2: how near the sketched matrix is",
        f"Distinct events, alpha = {COARSE:g} T, epsilon = {ACCURACY:g}, {WIDE:g} times the "
        f"median distance as width, {count} seeds: so coarse that the theorem's beta, "
        "3 log(T/delta)/epsilon², leaves something out at such a length. Smallest and largest "
        "eigenvalue of A^-1/2 A_I A^-1/2 over all runs, and the share of runs with both between "
        f"1 - epsilon and 1 + epsilon; promised are {100 * (1 - DELTA):.0f} %.",
        ["stream", "beta", "T", "effective dimension", "rows kept", "smallest", "largest",
         "within, %"],
        rows,
        left=2,
    )  # fmt: skip


def _sizes(found: list[Stream], count: int) -> Section:
    """The dictionary's size beside the effective dimension, as kernels narrow."""
    rows = []
    for stream in found:
        for share in SHARES_OF_MEDIAN:
            bandwidth = share * stream.median_distance
            for length in (500, 1000, 2000):
                X = _distinct(stream.X)[:length]
                if len(X) < length and length > 500:
                    continue
                gram = gram_of(X, bandwidth)
                online = online_dimension(gram, ALPHA)
                sizes = [_mean_size(X, bandwidth, beta, count) for beta in OVERSAMPLINGS]
                rows.append(
                    [
                        stream.name,
                        f"{share:g}",
                        str(len(X)),
                        f"{effective_dimension(gram, ALPHA):.0f}",
                        f"{online:.0f}",
                        *(f"{size:.0f} ({size / online:.2f})" for size in sizes),
                    ]
                )
    return Section(
        "KORS, Theorem 2: the dictionary follows the effective dimension",
        f"alpha = {ALPHA:g}, epsilon = {ACCURACY:g}; rows kept, and in brackets their ratio to the "
        "online effective dimension, the sum of the leverage scores as the events come, on average "
        f"of {count} seeds. The theorem has them below a multiple of it.",
        ["stream", "width / median", "T", "effective dimension", "online",
         *(f"rows, beta = {beta:g}" for beta in OVERSAMPLINGS)],
        rows,
    )  # fmt: skip


def _mean_size(X: Array, bandwidth: float, beta: float, count: int) -> float:
    """Rows in the dictionary on average of the seeds."""
    sizes = [len(_dictionary(X, bandwidth, ALPHA, beta, seed)[0]) for seed in range(count)]
    return float(np.mean(sizes))


def _distinct(X: Array) -> Array:
    """The rows of X, each once, in their order."""
    return X[np.sort(np.unique(X, axis=0, return_index=True)[1])]


def _dictionary(
    X: Array, bandwidth: float, alpha: float, beta: float, seed: int
) -> tuple[Array, Array]:
    """The numbers of the examples that one run keeps, and their weights."""
    kors = KORS(
        kernel=Gaussian(bandwidth=bandwidth), regularization=alpha, accuracy=ACCURACY,
        oversampling=beta,
    )  # fmt: skip
    state = kors.init(X.shape[1], seed=seed)
    kors.update(state, X)
    rows, weights = kors.dictionary(state)
    numbers = {x.tobytes(): number for number, x in enumerate(X)}
    return np.array([numbers[row.tobytes()] for row in rows]), weights


if __name__ == "__main__":
    show(sections)
