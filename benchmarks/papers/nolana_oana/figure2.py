"""Figure 2: what the second stage, the re-fit of the weights after a move, is worth."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.papers.harness import Job, Options, Section, Stream, results_of, show
from benchmarks.papers.nolana_oana.common import LANDMARKS, RANK_SHARE, usps
from okl_flow.linalg import eigenpairs
from okl_flow.native import Array

THRESHOLD = 50.0
STEPS = (0.1, 0.3, 1.0)
MARKS = 5
FLOOR = 1e-10


def passed(stream: Stream, refits: bool, step: float) -> Array:
    """Whether each event was predicted right, by NOLANA in plain numpy: eq. 12 can be left out.

    One gradient step of the hinge loss per class, in the features S^-1/2 U' k(x).
    """
    gamma, rank = 0.5 / (stream.median_distance / 2) ** 2, round(RANK_SHARE * LANDMARKS)
    landmarks, counts = stream.X[:LANDMARKS].copy(), np.ones(LANDMARKS)
    gram = np.exp(-gamma * ((landmarks[:, None] - landmarks[None]) ** 2).sum(axis=2))
    values, vectors = eigenpairs(gram)
    weights = np.zeros((stream.classes, rank))
    right = np.zeros(len(stream.y), dtype=bool)
    for number, (x, label) in enumerate(zip(stream.X, stream.y, strict=True)):
        squared = ((landmarks - x) ** 2).sum(axis=1)
        roots = np.sqrt(np.maximum(values[:rank], FLOOR * values[0]))
        features = (np.exp(-gamma * squared) @ vectors[:, :rank]) / roots
        scores = weights @ features
        right[number] = scores.argmax() == label
        signs = np.where(np.arange(stream.classes) == label, 1.0, -1.0)
        weights += step * np.outer(np.where(signs * scores < 1.0, signs, 0.0), features)
        place = int(np.argmin(squared))
        if number < LANDMARKS or squared[place] < THRESHOLD:
            continue
        counts[place] += 1.0
        target = landmarks[place] + (x - landmarks[place]) / counts[place]
        line = np.exp(-gamma * ((landmarks - target) ** 2).sum(axis=1))
        function = (vectors[:, :rank] / roots) @ weights.T
        kept = gram @ function
        kept[place] = line @ function
        landmarks[place] = target
        line[place] = 1.0
        gram[place] = gram[:, place] = line
        values, vectors = eigenpairs(gram)
        if refits:
            roots = np.sqrt(np.maximum(values[:rank], FLOOR * values[0]))
            weights = ((vectors[:, :rank].T @ kept) / roots[:, None]).T
    return right


def sections(options: Options) -> Iterator[Section]:
    """One table: accuracy so far along the stream, with the second stage and without."""
    stream = usps(options)
    if stream is None:
        return
    jobs: dict[tuple[bool, float], Job] = {
        (refits, step): (passed, stream, refits, step) for refits in (True, False) for step in STEPS
    }
    results: dict[tuple[bool, float], Any] = results_of(jobs, options)
    marks = [len(stream.y) * (mark + 1) // MARKS for mark in range(MARKS)]
    rows = []
    for refits in (True, False):
        passes = [(step, results[refits, step]) for step in STEPS]
        step, right = max(passes, key=lambda own: float(own[1].mean()))
        rows.append(
            [
                "with eq. 12" if refits else "without",
                f"{step:g}",
                *(f"{100 * right[:mark].mean():.2f}" for mark in marks),
            ]
        )
    yield Section(
        "NOLANA, Figure 2: with and without the second stage",
        f"Accuracy in percent up to so many events of USPS, epsilon = {THRESHOLD:g}, m = "
        f"{LANDMARKS}, r = 0.8 m; a plain version with exact eigenpairs, since the learner always "
        "re-fits. Without eq. 12 the weights stay as they were while their features change. The "
        "paper shows curves without figures, the one without the second stage far below.",
        ["second stage", "step", *(str(mark) for mark in marks)],
        rows,
    )


if __name__ == "__main__":
    show(sections)
