"""OKL-GD: an expansion in which every example keeps the width that it came with.

Paper: Chen, Liang, Zheng, Principe, "Kernel least mean square with adaptive kernel size",
Neurocomputing, 2016; with the hinge loss and a window of examples as Zhang and Liao compare it
with OKS-SIL ("Hypothesis sketching for online kernel selection in continuous kernel space",
IJCAI 2020), who call it OKL-GD.
Deviations: every loss, several classes and regression are offered, and regularization. The
paper's step is in the width itself; this one is that of OKS-SIL, so that the two can be compared:
in gamma = 1 / (2 bandwidth^2), or by default in its logarithm. With a budget the oldest example
goes, whatever its weight has become.

The steps of the width do not shrink, as in Chen et al.; with a bandwidth_rate_min of 0 they do, as
Zhang and Liao have it. Measured on german, svmguide3, spambase and elec2, as they are and with
running z-scores, on `streams.rings` and `streams.rotating`, from an eighth, half, twice and eight
times the median distance, each at the best of four learning rates from 0.01 to 1, the mistakes
were on average 24.5 % with steps of 0.3, 25.0 with 0.1, 23.6 with 1, 27.2 with 10, 26.1 with 10/t,
26.7 at a width that stays, and 28.1 with 1/t in gamma itself. A step of 1 gains where the first
width is far too wide, but never comes to rest: in ten parts of a million events of
`streams.rotating`, at a learning_rate of 0.5, the width once ran off to where half of the events
are mistakes. With 0.3 the worst part had 14.3 %, and with steps of 10/t 14.1 %.

The width is not that of one kernel: f(x) = sum_i a_i exp(-gamma_i |x - x_i|^2). Of all gamma_i
the slope of the newest is taken alone, a single product, and what it moves is not the newest
example but the width that the next one will come with.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, squared_distances
from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    checked_features,
    fitting_loss,
    looped,
    shaped,
)
from okl_flow.losses import Loss, NativeLoss
from okl_flow.native import Array, exponential, inner, native, shrink_rows
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.state import Axes, allocate
from okl_flow.support import Expansion, descend, expand, expansion_bytes_max, place_after, put
from okl_flow.tasks import Binary, Task
from okl_flow.widths import WIDTH_STEPS, NativeWidth, check_width, gamma_of, moved, native_width

__all__ = ["OKLGD", "OKLGDState"]


@dataclass(slots=True)
class OKLGDState(Expansion):
    """The examples kept with their widths, and the width of the next one."""

    gammas: Annotated[Array, Axes("size")]  # example i has the kernel exp(-gammas[i] |x - z|^2)
    gamma: float  # what the next example will have
    learned: int  # events that came with a label
    oldest: int  # place of the oldest example, once the budget is full

    @property
    def bandwidth(self) -> float:
        """The width that the next example will have."""
        return math.sqrt(0.5 / self.gamma)


@final
@dataclass(frozen=True, kw_only=True)
class OKLGD(Learner):
    """Online kernel learning with descent on the width (OKL-GD): a width for every example.

    Every example with a loss enters at minus the step times the slope, with the width that has
    been reached by then, and keeps it. The width takes a gradient step at every such event: down
    the loss as a function of the width of the example that came last.

    Formula:
        f(x) = sum_i a_i exp(-gamma_i |x_i - x|^2), a_t = -eta l'(f(x_t), y_t), gamma_t = gamma
        log gamma <- log gamma - rho_t l'(f(x_t), y_t) df(x_t) / dlog gamma_n, n the newest example

    Parameters:
        budget: examples kept at most; None keeps all, without bound. At least 1.
        kernel: gaussian, with the bandwidth to begin with (sigma_0).
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step of the weights (eta). Above 0.
        schedule: how those steps shrink: constant, inverse_sqrt or inverse in labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        bandwidth_rate: size of the first step of the width (rho); after t labelled events a
            step is bandwidth_rate / t. At least 0.
        bandwidth_rate_min: size below which the steps of the width do not shrink; at 0 the
            width settles. At least 0.
        bandwidth_step: what moves: relative, the logarithm of gamma = 1 / (2 bandwidth^2); or
            paper, gamma itself, as in OKS-SIL's paper.
        bandwidth_min: the narrowest width. Above 0.
        bandwidth_max: the widest width. Above 0.
        task: binary, multiclass or regression.

    Cost: time and memory O(budget * dim) per event and per key.

    >>> learner = OKLGD(budget=5, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [1.0]], [1.0, -1.0, -1.0]).round(3)
    array([ 0.   ,  0.303, -0.197])
    >>> state.bandwidth < 1.0
    True
    """

    name: ClassVar[str] = "okl_gd"
    budget: int | None = whole(100, low=1, optional=True)
    kernel: Gaussian = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    bandwidth_rate: float = real(0.3, low=0.0)
    bandwidth_rate_min: float = real(0.3, low=0.0)
    bandwidth_step: str = choice(*WIDTH_STEPS)
    bandwidth_min: float = real(2.0**-6.5, above=0.0)
    bandwidth_max: float = real(2.0**5.5, above=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_shrinkage(self)
        check_width(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> OKLGDState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        state = allocate(OKLGDState, dim=dim, outputs=self.task.outputs)
        state.gamma = gamma_of(self.kernel)
        return state

    def score(self, state: OKLGDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        return shaped(
            self.task, _score(features, state.rows, state.weights, state.gammas, state.size)
        )

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        rate = native_rate(self.schedule, self.learning_rate)
        width = native_width(self)
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "gammas",
                "size",
                "oldest",
                "learned",
                "gamma",
            ),
            rules=(
                self.loss.native,
                rate,
                self.regularization,
                width,
                self.budget or -1,
            ),
            most={"size": self.budget},
        )

    def step(self, state: OKLGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without a budget."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=self.budget or 0)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    gammas: Array,
    size: int,
    oldest: int,
    learned: int,
    gamma: float,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
    width: NativeWidth,
    budget: int,
) -> tuple[int, int, int, int, float]:
    """Go through the events from t on; stop early where the arrays need more room."""
    distances, row = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    pull, weight = np.empty(weights.shape[0]), np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        _kernels(rows, gammas, size, X[t], distances, row)
        expand(weights, row, size, scores[t])
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            shrink_rows(weights, 1.0 - eta * lam, size)
            if descend(loss, scores[t], y[t], 1.0, pull):
                if size > 0:
                    newest = (oldest + size - 1) % size
                    slope = _slope(weights, pull, row, distances, newest)
                    gamma = moved(gamma, slope, width, learned)
                for c in range(weights.shape[0]):
                    weight[c] = eta * pull[c]
                place, size, oldest = place_after(size, oldest, budget)
                put(rows, weights, place, X[t], weight)
                gammas[place] = gamma
        t += 1
    return t, size, oldest, learned, gamma


@inner
def _kernels(rows: Array, gammas: Array, size: int, x: Array, distances: Array, row: Array) -> None:
    """Fill in how far each example is from x, squared, and its own kernel of that."""
    squared_distances(rows, size, x, distances)
    for i in range(size):
        row[i] = exponential(-gammas[i] * distances[i])


@inner
def _slope(weights: Array, pull: Array, row: Array, distances: Array, place: int) -> float:
    """The slope of the loss in one example's gamma; `pull` is minus the loss's in the scores."""
    term = row[place] * distances[place] if row[place] > 0.0 else 0.0
    slope = 0.0
    for c in range(weights.shape[0]):
        slope += pull[c] * weights[c, place] * term
    return slope


@native
def _score(X: Array, rows: Array, weights: Array, gammas: Array, size: int) -> Array:
    """The scores of all rows of X, by the very helper that the loop scores with."""
    scores = np.empty((X.shape[0], weights.shape[0]))
    distances, row = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for t in range(X.shape[0]):
        _kernels(rows, gammas, size, X[t], distances, row)
        expand(weights, row, size, scores[t])
    return scores
