"""Self-tuned Forgetron: all weights shrink before the oldest example goes, so that little is lost.

Paper: Dekel, Shalev-Shwartz, Singer, "The Forgetron: a kernel-based perceptron on a fixed
budget", NIPS, 2005 (self-tuned); in full in SIAM Journal on Computing, 2008.
Deviations: a score of exactly 0 is a mistake.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import Learner, Loop, check_dim, looped, refuse_task
from okl_flow.native import Array, dot, inner, native, shrink_rows
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
from okl_flow.tasks import Binary, Multiclass, Regression, Task

__all__ = ["Forgetron", "ForgetronState"]

# Of the progress 1 that a mistake makes towards a good function, dropping examples may undo
# 15/32 and shrinking weights undoes at most 1/32: half is left for the paper's mistake bound.
_ALLOWANCE = 15.0 / 32.0


@dataclass(slots=True)
class ForgetronState(Expansion):
    """The examples kept, and how much forgetting has cost so far."""

    oldest: int  # place of the oldest example, once the budget is full
    mistakes: int  # events scored on their wrong side (M)
    damage: float  # what dropping examples has cost, at most 15/32 of the mistakes (Q)


@final
@dataclass(frozen=True, kw_only=True)
class Forgetron(Learner):
    """Self-tuned Forgetron: a perceptron whose examples fade before the oldest of them goes.

    A mistake adds its example at the weight of its label. If there is one too many then, all
    weights are multiplied by the largest factor up to 1 under which dropping the oldest
    keeps its damage, summed over the stream, within 15/32 of the mistakes.

    Formula:
        f(x) = sum_i a_i K(x_i, x)
        if y_t f(x_t) <= 0: a_t = y_t; if there are B + 1 then: a_i <- phi a_i for all i, and the
        oldest, r, goes. phi is the largest in (0, 1] with Q + (d phi)^2 + 2 d phi (1 - phi m)
        <= 15/32 M, where d = |a_r|, m = sign(a_r) f(x_r), M counts the mistakes, and Q sums up what
        the left side has grown by.

    Parameters:
        budget: examples kept at most (B). At least 1.
        kernel: similarity of two examples (K), 1 between equal ones: gaussian or laplacian.
        task: binary.

    Cost: time and memory O(budget * dim) per event and per key; a mistake costs two events.

    >>> learner = Forgetron(budget=1, kernel=Gaussian(bandwidth=0.01))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [0.0], [5.0], [5.0]], [1.0, 1.0, 1.0, 1.0])
    array([0.        , 1.        , 0.        , 0.75])
    """

    name: ClassVar[str] = "forgetron"
    budget: int = whole(100, low=1)
    kernel: Kernel = part(Kernel, Gaussian())
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Regression, reason="a perceptron learns from wrong signs only")
        refuse_task(self, Multiclass, reason="its shrinking is defined for one score")
        if not self.kernel.is_normalized:
            fit = [name for name, member in Kernel.members.items() if member.is_normalized]
            raise ValueError(
                f"{self.name}: its shrinking needs a kernel that is 1 between equal examples; "
                f"kernel must be {' or '.join(fit)}, not {self.kernel.name}"
            )

    def init(self, dim: int, seed: int = 0) -> ForgetronState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(ForgetronState, dim=dim, outputs=self.task.outputs)

    def score(self, state: ForgetronState, X: ArrayLike) -> Array:
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
                "mistakes",
                "damage",
            ),
            rules=(
                self.kernel.native,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: ForgetronState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
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
    mistakes: int,
    damage: float,
    kernel: NativeKernel,
    budget: int,
) -> tuple[int, int, int, int, float]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    example, row_of_oldest = np.empty(rows.shape[0]), np.empty(rows.shape[1])
    weight = np.empty(1)
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]) and correct(line(scores, t), y[t], weight):
            mistakes += 1
            if size == budget:
                for j in range(rows.shape[0]):
                    example[j] = rows[j, oldest]
                kernel_row(kernel, rows, size, example, row_of_oldest)
                score = dot(weights[0], row_of_oldest, size) + y[t] * row[oldest]
                delta = abs(weights[0, oldest])
                mu = math.copysign(1.0, weights[0, oldest]) * score
                phi = _largest_factor(delta, mu, _ALLOWANCE * mistakes - damage)
                damage += (delta * phi) ** 2 + 2.0 * delta * phi * (1.0 - phi * mu)
                shrink_rows(weights, phi, size)
                weight[0] *= phi
            place, size, oldest = place_after(size, oldest, budget)
            put(rows, weights, place, line(X, t), weight)
        t += 1
    return t, size, oldest, mistakes, damage


@inner
def _largest_factor(delta: float, mu: float, left: float) -> float:
    """The largest phi in (0, 1] with (delta phi)^2 + 2 delta phi (1 - phi mu) <= left.

    This is a phi^2 + b phi <= left with b >= 0. As left is above 0, the sides meet once below
    1 if they do at all, at the smaller of the positive roots: written so that nothing cancels.
    """
    a = delta * delta - 2.0 * delta * mu
    b = 2.0 * delta
    if a + b <= left:
        return 1.0
    return 2.0 * left / (b + math.sqrt(max(0.0, b * b + 4.0 * a * left)))
