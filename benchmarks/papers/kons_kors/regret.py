"""Theorem 1: the regret of KONS on square loss grows like log T, and stays under its bound."""

from collections.abc import Iterator

import numpy as np

from benchmarks.papers.harness import Options, Section, show
from benchmarks.papers.kons_kors.common import (
    ALPHA,
    CLIP,
    SIGMA,
    SLOPE_MAX,
    best_fixed,
    effective_dimension,
    gram_of,
    losses_of,
    regret_bound,
    theorem_streams,
)
from okl_flow import make_learner

STEPS = (0.02, 0.05, 0.1, 0.2, 0.5)


def sections(options: Options) -> Iterator[Section]:
    """One table: a line per stream and length."""
    rows = []
    for stream in theorem_streams(options):
        bandwidth = stream.median_distance / 2
        kons = make_learner(
            "kons", loss="square", clip=CLIP, regularization=ALPHA, bandwidth=bandwidth,
            task=stream.task,
        )  # fmt: skip
        losses, scores = losses_of(kons, stream)
        first_order = [
            losses_of(
                make_learner("kogd", loss="square", learning_rate=step, bandwidth=bandwidth,
                             task=stream.task), stream,
            )[0]
            for step in STEPS
        ]  # fmt: skip
        lengths = [length for length in (125, 250, 500, 1000, 2000) if length <= len(losses)]
        gram = gram_of(stream.X, bandwidth)
        for length in lengths:
            part = gram[:length, :length]
            fixed, penalty = best_fixed(part, stream.y[:length], ALPHA)
            regret = float(losses[:length].sum()) - fixed
            descent = min(float(own[:length].sum()) for own in first_order) - fixed
            dimension = effective_dimension(part, ALPHA / (SIGMA * SLOPE_MAX**2))
            bound = regret_bound(part, penalty)
            rows.append(
                [
                    stream.name,
                    str(length),
                    f"{fixed:.1f}",
                    f"{regret:.1f}",
                    f"{regret / np.log(length):.1f}",
                    f"{regret / (dimension * np.log(length)):.3f}",
                    f"{bound:.0f}",
                    f"{dimension:.0f}",
                    f"{descent:.1f}",
                    f"{100 * np.mean(np.abs(scores[:length]) >= CLIP):.0f}",
                ]
            )
    yield Section(
        "KONS, Theorem 1: regret on square loss",
        "Regret of `kons` against the ridge function of the same alpha with hindsight, brought "
        f"into the clip C = {CLIP:g}; alpha = {ALPHA:g}, sigma = 1/(8C²), half the median "
        "distance as width. The bound is alpha |w|² + 2 d log(2 sigma L² T) / sigma with L = 4C "
        "and d the effective dimension at alpha / (sigma L²). *KOGD*: regret of kernel gradient "
        "descent on the same function class with the best of the steps "
        f"{', '.join(f'{step:g}' for step in STEPS)}, chosen with hindsight at each length.",
        ["stream", "T", "loss of the fixed", "regret", "/ log T", "/ (d log T)", "bound", "d",
         "regret of KOGD", "clipped, %"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    show(sections)
