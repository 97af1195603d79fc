"""BPA-S: the passive-aggressive step on a budget, where a stored example hands its weight over.

Paper: Wang, Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS, 2010 (the
variant BPA-S, which changes the weight of the new example only).
Deviations: none for two classes. With several, each class takes its own step, and the example
that makes way is the one that costs all of them least.

Row i makes way for x by the change -a_i K(x_i, .) + beta_i K(x, .) of f, with beta_i = a_i
K(x_i, x) / K(x, x) + tau y. The paper compares the candidates by half the square of the change
plus C times the loss that is left on x. Whichever goes, f(x) becomes f(x) + tau y K(x, x): the
loss is the same for all and is left out. What is left of a_i K(x_i, .) once its part along
K(x, .) is taken out has no part along the step tau y K(x, .), so that

    |change|^2 = a_i^2 (K(x_i, x_i) - K(x_i, x)^2 / K(x, x)) + tau^2 K(x, x)

and the last term too is the same for all. The first alone is compared. Where it is the same for
two rows, round-off must not choose: the lowest place wins among all rows that come within 1e-12
of the least, and the bracket is 0 from 1e-12 K(x_i, x_i) down, as it is for a copy of x.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import Learner, Loop, check_dim, looped, refuse_task
from okl_flow.native import Array, dot, first_up_to, inner, least, native
from okl_flow.parameters import check, part, real, whole
from okl_flow.state import Axes, allocate
from okl_flow.support import Expansion, expand, expansion_bytes_max, expansion_score, put
from okl_flow.tasks import Binary, Regression, Task, target

__all__ = ["BPAS", "BPASState"]

_SAME = 1e-12


@dataclass(slots=True)
class BPASState(Expansion):
    """The examples kept, and how long each is in the kernel's space."""

    squares: Annotated[Array, Axes("size")]  # kernel of each example with itself


@final
@dataclass(frozen=True, kw_only=True)
class BPAS(Learner):
    """Budgeted passive-aggressive learning (BPA-S): steps just far enough, within a cap.

    Each example with a hinge loss enters with weight y times the loss over K(x, x), at most
    `aggressiveness`. With a full budget it takes the place of the stored example whose weight
    moves onto it at the least change of the function.

    Where the examples travel, rows of great weight stay behind: not for such streams.

    Formula:
        f(x) = sum_i a_i K(x_i, x)
        tau = min(C, max(0, 1 - y_t f(x_t)) / K(x_t, x_t)), a_t = tau y_t
        with a full budget the r makes way whose a_r^2 (K(x_r, x_r) - K(x_r, x_t)^2 / K(x_t, x_t))
        is least, and a_t = tau y_t + a_r K(x_r, x_t) / K(x_t, x_t)

    Parameters:
        budget: examples kept at most (B). At least 1.
        kernel: similarity of two examples (K).
        aggressiveness: largest weight of one step (C). Above 0.
        task: binary or multiclass.

    Cost: time and memory O(budget * dim) per event and per key.

    >>> learner = BPAS(budget=1, kernel=Gaussian(bandwidth=1.0))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [1.0]], [1.0, 1.0, 1.0]).round(3)
    array([0.   , 0.607, 1.   ])
    """

    name: ClassVar[str] = "bpa_s"
    budget: int = whole(100, low=1)
    kernel: Kernel = part(Kernel, Gaussian())
    aggressiveness: float = real(1.0, above=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Regression, reason="its steps are those of the hinge loss")

    def init(self, dim: int, seed: int = 0) -> BPASState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(BPASState, dim=dim, outputs=self.task.outputs)

    def score(self, state: BPASState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "squares",
                "size",
            ),
            rules=(
                self.kernel.native,
                self.aggressiveness,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: BPASState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=self.budget)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    squares: Array,
    size: int,
    kernel: NativeKernel,
    C: float,
    budget: int,
) -> tuple[int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    changes = np.empty(rows.shape[1])
    weight = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]):
            own = kernel_at(kernel, line(X, t))
            if own > 0.0 and _steps(line(scores, t), y[t], own, C, weight):
                if size < budget:
                    place, size = size, size + 1
                else:
                    place = _least_changed(weights, row, squares, own, weight, changes, size)
                    for c in range(weights.shape[0]):
                        weight[c] += weights[c, place] * (row[place] / own)
                put(rows, weights, place, line(X, t), weight)
                squares[place] = own
        t += 1
    return t, size


@inner
def _steps(scores: Array, y: float, own: float, C: float, weight: Array) -> bool:
    """weight[c] = tau y of output c; whether any output has a hinge loss."""
    lossy = False
    for c in range(scores.shape[0]):
        goal = target(y, c, scores.shape[0])
        hinge = max(0.0, 1.0 - goal * scores[c])
        weight[c] = goal * min(C, hinge / own)
        lossy |= hinge > 0.0
    return lossy


@inner
def _least_changed(
    weights: Array, row: Array, squares: Array, own: float, weight: Array, changes: Array, size: int
) -> int:
    """The place whose weight moves onto x at the least change of f, summed over outputs."""
    for i in range(size):
        changes[i] = 0.0
    for c in range(weights.shape[0]):
        for i in range(size):
            changes[i] += weights[c, i] * weights[c, i]
    for i in range(size):
        rest = squares[i] - row[i] * (row[i] / own)
        changes[i] *= rest if rest > _SAME * squares[i] else 0.0
    smallest = least(changes, size)
    smallest += _SAME * (smallest + own * dot(weight, weight, weight.shape[0]))
    return first_up_to(changes, size, smallest)
