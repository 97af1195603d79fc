"""One figure of each paper beside ours, under the paper's own budget and without any search."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.papers.harness import Options, Section, Stream, rescaled, show, streams
from benchmarks.papers.kons_kors import common
from benchmarks.papers.nolana_oana.common import usps
from okl_flow import make_learner
from okl_flow.evaluation import run_permutations

SKEGD = {"german.numer": 27.932, "svmguide3": 21.388, "spambase": 31.301}
OKS_SIL = {"svmguide3": 21.480, "spambase": 28.209}
NOLANA = 92.14


def mistakes(name: str, stream: Stream, settings: dict[str, Any], runs: int) -> str:
    """Mistakes in percent over the permutations."""
    learner = make_learner(name, **settings)
    [result] = run_permutations([learner], stream.X, stream.y, permutations=runs)
    rate = result.measures["mistake_rate"]
    return f"{100 * rate.mean:.1f} ± {100 * rate.std:.1f} % mistakes"


def of_skegd(options: Options) -> Iterator[list[str]]:
    """Table 3 of the paper: z-scored features, half their median distance as width."""
    for stream in streams(options, "binary"):
        if stream.name in SKEGD:
            scaled = rescaled(stream, "standard")
            settings = {
                "budget": 100, "bandwidth": scaled.median_distance / 2, "learning_rate": 1.0,
                "regularization": 1e-4, "update_every": max(1, len(stream.y) // 20),
            }  # fmt: skip
            ours = mistakes("skegd", scaled, settings, options.permutations)
            yield [
                "SkeGD, Table 3", f"{stream.name}, budget 100",
                f"{SKEGD[stream.name]:.1f} % mistakes", ours, "skegd_irs.table3",
            ]  # fmt: skip


def of_nolana(options: Options) -> Iterator[list[str]]:
    """Table 1 of the paper: USPS in the order of its files."""
    stream = usps(options)
    if stream is None:
        return
    learner = make_learner(
        "nolana", task="multiclass", classes=stream.classes, budget=100, rank=80,
        squared_distance=50.0, loss="squared_hinge", learning_rate=0.7, bandwidth=7.0,
    )  # fmt: skip
    scores = learner.step(learner.init(stream.X.shape[1]), stream.X, stream.y)
    right = 100 * np.mean(scores.argmax(axis=1) == stream.y)
    yield [
        "NOLANA, Table 1", "usps, 100 landmarks, rank 80", f"{NOLANA} % right at best",
        f"{right:.2f} % right", "nolana_oana.table1",
    ]  # fmt: skip


def of_oks_sil(options: Options) -> Iterator[list[str]]:
    """Table 2 of the paper: z-scored features, its budget, sample and threshold."""
    for stream in streams(options, "binary"):
        if stream.name in OKS_SIL:
            scaled = rescaled(stream, "standard")
            settings = {
                "budget": 150, "sample_size": 3, "dependency": 0.9, "learning_rate": 1.0,
                "bandwidth": scaled.median_distance / 4,
            }  # fmt: skip
            ours = mistakes("oks_sil", scaled, settings, options.permutations)
            yield [
                "OKS-SIL, Table 2", f"{stream.name}, budget 150",
                f"{OKS_SIL[stream.name]:.1f} % mistakes", ours, "oks_sil.table2",
            ]  # fmt: skip


def of_kons(options: Options) -> Iterator[list[str]]:
    """Theorem 1 of the paper: the bound on the regret is the figure that it has."""
    stream = common.seeded(min(common.ROWS_MAX, options.rows_max or common.ROWS_MAX))[1]
    bandwidth = stream.median_distance / 2
    learner = make_learner(
        "kons", loss="square", clip=common.CLIP, regularization=common.ALPHA,
        bandwidth=bandwidth, task=stream.task,
    )  # fmt: skip
    losses, _scores = common.losses_of(learner, stream)
    gram = common.gram_of(stream.X, bandwidth)
    fixed, penalty = common.best_fixed(gram, stream.y, common.ALPHA)
    bound, regret = common.regret_bound(gram, penalty), float(losses.sum()) - fixed
    yield [
        "KONS, Theorem 1", f"{stream.name}, {len(stream.y)} events",
        f"regret below {bound:.0f}", f"{regret:.1f}", "kons_kors.regret",
    ]  # fmt: skip


def sections(options: Options) -> Iterator[Section]:
    """One table, with the command that goes into each figure."""
    rows = [row for of in (of_skegd, of_nolana, of_oks_sil, of_kons) for row in of(options)]
    yield Section(
        "Headlines",
        "Settings found once on these files and fixed here, so that nothing is searched; features "
        "z-scored, but usps as it is distributed. "
        f"{options.permutations} permutations, usps in the order of its files. A score of 0 is a "
        "mistake here, which the papers count as right.",
        ["paper", "data", "printed", "ours", "`python -m benchmarks.papers` ..."],
        rows,
        left=2,
    )


if __name__ == "__main__":
    show(sections)
