"""Kernel perceptron: every example scored on its wrong side is kept, at the weight of its label.

Paper: Freund, Schapire, "Large margin classification using the perceptron algorithm", Machine
Learning, 1999; the kernel form is that of Aizerman, Braverman, Rozonoer, 1964.
Deviations: the last function is used, neither the vote nor the average over all of them. A
budget is not theirs: with one the oldest example goes when a new one needs its place. A score
of exactly 0 is a mistake.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import Learner, Loop, check_dim, looped, refuse_task
from okl_flow.native import Array, native
from okl_flow.parameters import check, part, whole
from okl_flow.state import allocate
from okl_flow.support import (
    Expansion,
    correct,
    expand,
    expansion_bytes_max,
    expansion_score,
    place_after,
    put,
)
from okl_flow.tasks import Binary, Regression, Task

__all__ = ["Perceptron", "PerceptronState"]


@dataclass(slots=True)
class PerceptronState(Expansion):
    """The examples kept, and where the oldest of them lies."""

    oldest: int  # place of the oldest example, once the budget is full


@final
@dataclass(frozen=True, kw_only=True)
class Perceptron(Learner):
    """Kernel perceptron: each mistake adds its example, at the weight of its label.

    With several classes there is one perceptron per class. An example enters when any of them
    errs, at weight 0 for those that do not.

    A baseline. Without a budget it grows for ever.

    Formula:
        f(x) = sum_i a_i K(x_i, x)
        if y_t f(x_t) <= 0: a_t = y_t

    Parameters:
        budget: examples kept at most; None keeps all, without bound. At least 1.
        kernel: similarity of two examples (K).
        task: binary or multiclass.

    Cost: time and memory O(budget * dim) per event and per key.

    >>> learner = Perceptron(kernel=Gaussian(bandwidth=1.0))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.5]], [1.0, 1.0])
    array([0., 1.])
    """

    name: ClassVar[str] = "perceptron"
    budget: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Regression, reason="a perceptron learns from wrong signs only")

    def init(self, dim: int, seed: int = 0) -> PerceptronState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(PerceptronState, dim=dim, outputs=self.task.outputs)

    def score(self, state: PerceptronState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "size",
                "oldest",
            ),
            rules=(
                self.kernel.native,
                self.budget or -1,
            ),
            most={"size": self.budget},
        )

    def step(self, state: PerceptronState, X: ArrayLike, y: ArrayLike) -> Array:
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
    kernel: NativeKernel,
    budget: int,
) -> tuple[int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    weight = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]) and correct(line(scores, t), y[t], weight):
            place, size, oldest = place_after(size, oldest, budget)
            put(rows, weights, place, line(X, t), weight)
        t += 1
    return t, size, oldest
