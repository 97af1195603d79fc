"""Randomized budget perceptron: when the store is full, a random example makes room.

Paper: Cavallanti, Cesa-Bianchi, Gentile, "Tracking the best hyperplane with a simple budget
Perceptron", Machine Learning, 2007.
Deviations: a score of exactly 0 is a mistake.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import Learner, Loop, check_dim, looped, refuse_task
from okl_flow.native import Array, native
from okl_flow.parameters import check, part, whole
from okl_flow.rng import WORDS, Words, draw_below, seeded
from okl_flow.state import Axes, allocate
from okl_flow.support import (
    Expansion,
    correct,
    expand,
    expansion_bytes_max,
    expansion_score,
    put,
)
from okl_flow.tasks import Binary, Regression, Task

__all__ = ["RBP", "RBPState"]


@dataclass(slots=True)
class RBPState(Expansion):
    """The examples kept, and the generator that picks the one to go."""

    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator


@final
@dataclass(frozen=True, kw_only=True)
class RBP(Learner):
    """Randomized budget perceptron: a mistake adds its example, over a random one if it must.

    With several classes there is one perceptron per class. An example enters when any of them
    errs, at weight 0 for those that do not.

    Formula:
        f(x) = sum_i a_i K(x_i, x)
        if y_t f(x_t) <= 0: a_t = y_t; with a full budget in the place of a row drawn uniformly

    Parameters:
        budget: examples kept at most (B). At least 1.
        kernel: similarity of two examples (K).
        task: binary or multiclass.

    Cost: time and memory O(budget * dim) per event and per key.

    >>> learner = RBP(budget=1, kernel=Gaussian(bandwidth=0.01))
    >>> state = learner.init(dim=1, seed=0)
    >>> learner.step(state, [[0.0], [0.0], [5.0], [0.0]], [1.0, 1.0, 1.0, 1.0])
    array([0., 1., 0., 0.])
    """

    name: ClassVar[str] = "rbp"
    budget: int = whole(100, low=1)
    kernel: Kernel = part(Kernel, Gaussian())
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Regression, reason="a perceptron learns from wrong signs only")

    def init(self, dim: int, seed: int = 0) -> RBPState:
        """A state without examples; the seed decides which of them will go."""
        check_dim(dim)
        state = allocate(RBPState, dim=dim, outputs=self.task.outputs)
        state.words = seeded(seed)
        return state

    def score(self, state: RBPState, X: ArrayLike) -> Array:
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
                "words",
            ),
            rules=(
                self.kernel.native,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: RBPState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=WORDS)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    size: int,
    words: Words,
    kernel: NativeKernel,
    budget: int,
) -> tuple[int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    weight = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]) and correct(line(scores, t), y[t], weight):
            if size < budget:
                place, size = size, size + 1
            else:
                place = draw_below(words, budget)
            put(rows, weights, place, line(X, t), weight)
        t += 1
    return t, size
