"""Kernel online gradient descent: every example with a loss is kept, at a weight that fades.

Paper: Kivinen, Smola, Williamson, "Online learning with kernels", IEEE Transactions on Signal
Processing, 2004 (NORMA); without a budget also called KOGD.
Deviations: with a budget the oldest example goes when a new one needs its place (NORMA's
truncation), whatever its weight has become.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    fitting_loss,
    looped,
)
from okl_flow.losses import Loss, NativeLoss
from okl_flow.native import Array, native, shrink_rows
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.state import allocate
from okl_flow.support import (
    Expansion,
    descend,
    expand,
    expansion_bytes_max,
    expansion_score,
    place_after,
    put,
)
from okl_flow.tasks import Binary, Task

__all__ = ["KOGD", "KOGDState"]


@dataclass(slots=True)
class KOGDState(Expansion):
    """The examples kept, and where the oldest of them lies."""

    learned: int  # events that came with a label
    oldest: int  # place of the oldest example, once the budget is full


@final
@dataclass(frozen=True, kw_only=True)
class KOGD(Learner):
    """Kernel online gradient descent (NORMA): each step adds the example that it learns from.

    A step on the regularised loss shrinks all weights by 1 - learning_rate * regularization;
    where the loss has a slope, the example enters with -learning_rate * slope as weight.

    Formula:
        f(x) = sum_i a_i K(x_i, x)
        a_i <- (1 - eta lambda) a_i for all i; then, where l has a slope, a_t = -eta l'(f(x_t), y_t)

    Parameters:
        budget: examples kept at most (B); None keeps all, without bound. At least 1.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step (eta). Above 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        task: binary, multiclass or regression.

    Cost: time and memory O(budget * dim) per event and per key.

    >>> learner = KOGD(budget=2, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.5]], [1.0, 1.0])
    array([0. , 0.5])
    """

    name: ClassVar[str] = "kogd"
    budget: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_shrinkage(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> KOGDState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(KOGDState, dim=dim, outputs=self.task.outputs)

    def score(self, state: KOGDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        rate = native_rate(self.schedule, self.learning_rate)
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "size",
                "oldest",
                "learned",
            ),
            rules=(
                self.kernel.native,
                self.loss.native,
                rate,
                self.regularization,
                self.budget or -1,
            ),
            most={"size": self.budget},
        )

    def step(self, state: KOGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without a budget."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    size: int,
    oldest: int,
    learned: int,
    kernel: NativeKernel,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
    budget: int,
) -> tuple[int, int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    weight = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            shrink_rows(weights, 1.0 - eta * lam, size)
            if descend(loss, line(scores, t), y[t], eta, weight):
                place, size, oldest = place_after(size, oldest, budget)
                put(rows, weights, place, line(X, t), weight)
        t += 1
    return t, size, oldest, learned
