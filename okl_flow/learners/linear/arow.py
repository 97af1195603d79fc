"""AROW: a linear function that knows how sure it is of each of its weights.

Paper: Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors", Advances in Neural
Information Processing Systems, 2009 (Figure 1). In regression it is AROWR, which Vaits, Crammer,
"Re-adapting the regularization of weights for non-stationary regression", Algorithmic Learning
Theory, 2011, begin with: recursive least squares.
Deviations: with several classes each has a function and a covariance of its own and learns
against all others, where the paper's multiclass step moves two classes. A full covariance is kept
as a triangle (`okl_flow/curvature.py`), so that it cannot lose its sign to round-off. Of the
paper's ways to a diagonal one the covariance's is taken, not its inverse's: on features of one
scale they are equal, but on spambase as it is, with r = 1, they make 9.0 and 10.8 % mistakes.
`forgetting` and `intercept` are ours; without them it is the paper's.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.curvature import curvature_entries, fade, refresh, spread_along, take_in
from okl_flow.learner import Learner, check_dim, checked_features, shaped, stepped
from okl_flow.native import Array, add_scaled, dot, inner, native, padded
from okl_flow.parameters import check, choice, part, real
from okl_flow.state import Axes, State, allocate
from okl_flow.support import expand
from okl_flow.tasks import Binary, Regression, Task, target

__all__ = ["AROW", "AROWState"]

_FLOAT_BYTES = 8


@dataclass(slots=True)
class AROWState(State):
    """The mean and the covariance of the weights, for each output."""

    weights: Annotated[Array, Axes("outputs", "inputs")]  # their means: the linear function
    variances: Annotated[Array, Axes("outputs", "inputs")]  # V of the covariance
    triangle: Annotated[Array, Axes("outputs", "entries")]  # and its U
    inputs: int  # features, and the constant if there is one
    entries: int  # numbers of U: none before the first label
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class AROW(Learner):
    """Adaptive regularization of weights (AROW): long steps in what has rarely been seen.

    The weights have a covariance S, from which each event takes what it has told. Steps get
    shorter for ever, as is right for a concept that stays; with forgetting they do not, and a
    concept that drifts is followed.

    The linear learner to compare with: if a kernel does not beat it, do without the kernel.

    Formula:
        f(x) = w . x; S is I at first
        if y_t f(x_t) < 1, in regression always: w <- w + (y_t - f(x_t)) S x / (r + x' S x),
        S <- S - S x x' S / (r + x' S x), x = x_t

    Parameters:
        covariance: full; or diagonal, which keeps a variance per weight only.
        regularization: curvature in every direction from the start, beside that of the events'
            own squares (r). Above 0.
        forgetting: what is left of an event's part in S^-1 after another one; S^-1 then goes
            back towards I, and weights that no event asks for towards 0. At 1 nothing is
            forgotten. Above 0, at most 1.
        intercept: fitted, as the weight of one more feature that is always 1; or none.
        task: binary, multiclass or regression.

    Cost: time and memory O(dim^2) per event and per key; O(dim) with a diagonal covariance.

    >>> learner = AROW(regularization=1.0, intercept="none")
    >>> state = learner.init(dim=2)
    >>> learner.step(state, [[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]], [1.0, -1.0, -1.0])
    array([ 0. ,  0.5, -0.4])
    """

    name: ClassVar[str] = "arow"
    covariance: str = choice("full", "diagonal")
    regularization: float = real(10.0, above=0.0)
    forgetting: float = real(1.0, above=0.0, high=1.0)
    intercept: str = choice("fitted", "none")
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)

    def init(self, dim: int, seed: int = 0) -> AROWState:
        """A state of zero weights; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        state = allocate(AROWState, dim=dim, inputs=self._inputs(dim), outputs=self.task.outputs)
        state.variances[:] = 1.0
        return state

    def score(self, state: AROWState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = np.empty((features.shape[0], self.task.outputs))
        _score(features, scores, state.weights)
        return shaped(self.task, scores)

    def step(self, state: AROWState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        full = self.covariance == "full"
        margin = math.inf if isinstance(self.task, Regression) else 1.0

        def learn(_t: int, features: Array, labels: Array, scores: Array) -> int:
            if full and state.entries == 0 and not np.isnan(labels).all():
                state.entries = curvature_entries(state.inputs)
                state.triangle = np.zeros((self.task.outputs, state.entries))
            state.learned = _learn(
                features,
                labels,
                scores,
                state.weights,
                state.variances,
                state.triangle,
                state.learned,
                full,
                self.regularization,
                self.forgetting,
                margin,
            )
            return len(features)

        return stepped(self, state, X, y, learn)

    def state_bytes_max(self, dim: int) -> int:
        """The most bytes that the arrays of one state can take."""
        inputs = self._inputs(dim)
        entries = curvature_entries(inputs) if self.covariance == "full" else 0
        return self.task.outputs * (2 * inputs + entries) * _FLOAT_BYTES

    def _inputs(self, dim: int) -> int:
        """Weights per output."""
        return dim + 1 if self.intercept == "fitted" else dim


@native
def _score(X: Array, scores: Array, weights: Array) -> None:
    """The scores of all rows of X."""
    x = np.ones(weights.shape[1])
    for t in range(X.shape[0]):
        x[: X.shape[1]] = X[t]
        expand(weights, x, x.shape[0], scores[t])


@native
def _learn(
    X: Array,
    y: Array,
    scores: Array,
    weights: Array,
    variances: Array,
    triangle: Array,
    learned: int,
    full: bool,
    r: float,
    keep: float,
    margin: float,
) -> int:
    """Go through the events: those with y w . x < margin move w and S. Returns `learned`."""
    size = weights.shape[1]
    x = np.zeros(padded(size))
    turned, gain = np.empty(padded(size)), np.empty(size)
    x[size - 1] = 1.0
    for t in range(X.shape[0]):
        x[: X.shape[1]] = X[t]
        expand(weights, x, size, scores[t])
        if math.isnan(y[t]):
            continue
        learned += 1
        for c in range(weights.shape[0]):
            if keep < 1.0 and full:
                fade(variances[c], size, keep)
                refresh(
                    triangle[c], variances[c], size, keep, 1.0, learned, math.inf, turned, gain,
                    weights[c : c + 1],
                )  # fmt: skip
            elif keep < 1.0:
                _fade_alone(variances[c], weights[c], keep)
            goal = target(y[t], c, weights.shape[0])
            if goal * scores[t, c] >= margin:
                continue
            if full:
                total = r + spread_along(triangle[c], variances[c], size, x, turned)
                if math.isfinite(total):
                    take_in(triangle[c], variances[c], size, turned, r, gain)
            else:
                total = _take_in_alone(variances[c], x, size, r, gain)
            if math.isfinite(total):
                value = dot(weights[c], x, size) if keep < 1.0 else scores[t, c]
                add_scaled((goal - value) / total, gain, weights[c], size)
    return learned


@inner
def _take_in_alone(variances: Array, x: Array, size: int, r: float, gain: Array) -> float:
    """`take_in` of a diagonal S, of which only the diagonal is kept."""
    for j in range(size):
        gain[j] = variances[j] * x[j]
    total = r + dot(gain, x, size)
    if math.isfinite(total):
        for j in range(size):
            variances[j] *= max(r, total - gain[j] * x[j]) / total
    return float(total)


@inner
def _fade_alone(variances: Array, weights: Array, keep: float) -> None:
    """`fade` of a diagonal S, in which the whole of I has its turn."""
    for j in range(weights.shape[0]):
        kept = keep / (keep + (1.0 - keep) * variances[j])
        variances[j] *= kept / keep
        weights[j] *= kept
