"""The settings that the experiments of the paper share."""

import numpy as np

from benchmarks.papers.harness import Stream
from okl_flow.alignment import CANDIDATES, kernel_alignment

__all__ = ["LEARNING_RATES", "REGULARIZATIONS", "aligned_bandwidth", "budget_for", "sketch"]

LEARNING_RATES = tuple(10.0**power for power in range(-5, 1))
REGULARIZATIONS = (0.0, *(10.0**power for power in range(-4, 1)))
_ROWS_ALIGNED = 2000


def budget_for(stream: Stream) -> int:
    """The paper's budget: 100 for up to 10,000 events, else 200."""
    return 100 if stream.y.shape[0] <= 10_000 else 200


def aligned_bandwidth(stream: Stream) -> float:
    """The width of the paper's candidates that the uncentred alignment picks."""
    some = np.random.default_rng(0).permutation(len(stream.y))[:_ROWS_ALIGNED]
    alignments = kernel_alignment(stream.X[some], stream.y[some], CANDIDATES, centered=False)
    return float(CANDIDATES[int(alignments.argmax())])


def sketch(budget: int, events: int, cycle: float) -> dict[str, int]:
    """The paper's sketch: s_p = 3B/4, s_m = 0.2 s_p, k = 0.1 B, d = 4, rho = cycle * T."""
    return {
        "sketch_size": 3 * budget // 4,
        "landmark_count": round(0.2 * (3 * budget // 4)),
        "rank": budget // 10,
        "block_count": 4,
        "update_every": max(1, int(cycle * events)),
        "stored_rows": budget + int(1 / cycle) + 1,
    }
