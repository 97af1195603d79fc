"""What the theorems speak of: regret, effective dimension, leverage scores."""

import numpy as np

from benchmarks.papers import harness
from benchmarks.papers.harness import Options, Stream
from okl_flow import Learner, streams
from okl_flow.kernels import Gaussian, kernel_matrix
from okl_flow.native import Array

__all__ = [
    "ALPHA",
    "CLIP",
    "ROWS_MAX",
    "SIGMA",
    "SLOPE_MAX",
    "best_fixed",
    "effective_dimension",
    "gram_of",
    "losses_of",
    "online_dimension",
    "regret_bound",
    "seeded",
    "theorem_streams",
]

ALPHA = 1.0
CLIP = 1.0
SIGMA = 1.0 / (8.0 * CLIP**2)
SLOPE_MAX = 4.0 * CLIP
ROWS_MAX = 2000


def theorem_streams(options: Options) -> list[Stream]:
    """The project's own streams and the binary files: labels in [-1, 1], the first rows.

    The files are shuffled, and their features z-scored.
    """
    most = min(ROWS_MAX, options.rows_max or ROWS_MAX)
    found = seeded(most)
    for stream in harness.streams(options, "binary"):
        order = np.random.default_rng(0).permutation(stream.y.shape[0])[:most]
        scaled = harness.rescaled(stream, "standard")
        found.append(Stream(stream.name, stream.task, scaled.X[order], stream.y[order]))
    return found


def seeded(count: int) -> list[Stream]:
    """The project's own streams."""
    X, y = streams.rings(count, dim=2, seed=1)
    waves, values = streams.waves(count, dim=4, seed=2)
    return [
        Stream("rings (seeded)", "binary", X, y),
        Stream("waves (seeded)", "regression", waves, values / np.abs(values).max()),
    ]


def gram_of(X: Array, bandwidth: float) -> Array:
    """The gaussian kernel of every row with every other."""
    return kernel_matrix(Gaussian(bandwidth=bandwidth).native, np.ascontiguousarray(X.T), len(X))


def effective_dimension(gram: Array, alpha: float) -> float:
    """Trace of K (K + alpha I)^-1."""
    values = np.maximum(np.linalg.eigvalsh(gram), 0.0)
    return float(np.sum(values / (values + alpha)))


def online_dimension(gram: Array, alpha: float) -> float:
    """Sum of the leverage scores that the examples have as they come."""
    factor = np.linalg.cholesky(gram + alpha * np.eye(len(gram)))
    return float(np.sum(1.0 - alpha / np.diag(factor) ** 2))


def losses_of(learner: Learner, stream: Stream, seed: int = 0) -> tuple[Array, Array]:
    """The square loss of every round, and the scores."""
    scores = learner.step(learner.init(stream.X.shape[1], seed=seed), stream.X, stream.y)
    return np.square(scores - stream.y), scores


def regret_bound(gram: Array, penalty: float) -> float:
    """Theorem 1 on square loss: alpha |w|^2 + 2 d log(2 sigma L^2 T) / sigma."""
    dimension = effective_dimension(gram, ALPHA / (SIGMA * SLOPE_MAX**2))
    return penalty + 2 * dimension * np.log(2 * SIGMA * SLOPE_MAX**2 * len(gram)) / SIGMA


def best_fixed(gram: Array, y: Array, alpha: float) -> tuple[float, float]:
    """Square loss and alpha |w|^2 of a fixed function with scores in [-1, 1].

    It is the ridge function, brought into the clip as a whole where a score is beyond it: the
    theorem holds against every function in the clip.
    """
    dual = np.linalg.solve(gram + alpha * np.eye(len(y)), y)
    scores = gram @ dual
    share = min(1.0, CLIP / float(np.abs(scores).max()))
    return float(np.sum((share * scores - y) ** 2)), alpha * share**2 * float(dual @ scores)
