"""Projectron++: the Projectron, which also learns from right answers that were too close.

Paper: Orabona, Keshet, Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML, 2008;
"Bounded kernel-based online learning", Journal of Machine Learning Research, 2009.
Deviations: those of the Projectron: a Cholesky factor, which does not drift, in place of an
inverse; a full budget stops the growth; a distance whose square is below 1e-10 K(x, x) counts
as 0; one set of examples for all classes. U, the length of the function that the bound on
mistakes compares with, is the one named for a budget of B: 1/4 sqrt((B + 1) / log(B + 1)). A
step inside the margin that the bound does not allow in full is left out, where the paper of 2009
shortens it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.factor import add_projection, grow_factor, is_new, solve_lower, solve_upper
from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import Learner, Loop, check_dim, looped, refuse_task
from okl_flow.native import Array, inner, native
from okl_flow.parameters import check, part, real, whole
from okl_flow.projected import Projected
from okl_flow.state import allocate
from okl_flow.support import (
    correct,
    expand,
    expansion_bytes_max,
    expansion_score,
    put,
)
from okl_flow.tasks import Binary, Regression, Task, target

__all__ = ["ProjectronPP", "ProjectronPPState"]


@dataclass(slots=True)
class ProjectronPPState(Projected):
    """The examples kept, and their kernel matrix."""


@final
@dataclass(frozen=True, kw_only=True)
class ProjectronPP(Learner):
    """Projectron++: projects its mistakes, and steps inside the margin where that pays.

    After a mistake an example far from the span of the stored ones is stored with its label as
    weight; a near one is replaced by its projection. A right answer y f below 1 is met by a
    part of the projection, if the step towards the margin outweighs what the projection loses.

    Where the examples travel, what is stored is soon out of place: not for such streams.

    Formula:
        f(x) = sum_i a_i K(x_i, x); d as with the projectron, P = k(x_t)' d, e^2 = K(x_t, x_t) - P
        after a mistake as the projectron
        if 0 < y_t f(x_t) < 1: a <- a + tau y_t d with l = 1 - y_t f(x_t), tau = min(l / P, 1), but
        only where 2 l - tau P - 2 U e >= 0

    Parameters:
        budget: examples kept at most (B), which also sets how freely it steps (U). At least 1.
        kernel: similarity of two examples (K).
        threshold: distance above which an example is stored (eta), in the kernel's space, where
            no two examples of a Gaussian kernel are farther apart than 1.41. At least 0.
        task: binary or multiclass.

    Cost: time O(budget * dim) per event, O(budget * (budget + dim)) after a mistake or inside
    the margin; memory O(budget * (budget + dim)) per key.

    >>> learner = ProjectronPP(budget=2, kernel=Gaussian(bandwidth=1.0))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [0.1], [0.1]], [1.0, 1.0, 1.0]).round(3)
    array([0.   , 0.995, 0.995])
    """

    name: ClassVar[str] = "projectron_pp"
    budget: int = whole(100, low=1)
    kernel: Kernel = part(Kernel, Gaussian())
    threshold: float = real(0.1, low=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Regression, reason="it learns from mistakes, which a number has not")

    def init(self, dim: int, seed: int = 0) -> ProjectronPPState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(ProjectronPPState, dim=dim, outputs=self.task.outputs)

    def score(self, state: ProjectronPPState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        U = 0.25 * math.sqrt((self.budget + 1) / math.log(self.budget + 1))
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "factor",
                "size",
            ),
            rules=(
                self.kernel.native,
                self.threshold,
                U,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: ProjectronPPState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=self.budget**2)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    factor: Array,
    size: int,
    kernel: NativeKernel,
    eta: float,
    U: float,
    budget: int,
) -> tuple[int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    z = np.empty(rows.shape[1])
    d = np.empty(rows.shape[1])
    weight = np.empty(weights.shape[0])
    step = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, line(X, t), row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]) and _inside_margin(line(scores, t), y[t]):
            own = kernel_at(kernel, line(X, t))
            spanned = solve_lower(factor, size, row, z)
            errs = correct(line(scores, t), y[t], weight)
            enters = errs and size < budget and is_new(own, spanned, eta)
            if _steps(line(scores, t), y[t], spanned, own - spanned, U, enters, step):
                solve_upper(factor, size, z, d)
                add_projection(weights, step, d, size)
            if enters:
                put(rows, weights, size, line(X, t), weight)
                grow_factor(factor, size, z, own - spanned)
                size += 1
        t += 1
    return t, size


@inner
def _inside_margin(scores: Array, y: float) -> bool:
    """Whether any output has y f < 1."""
    for c in range(scores.shape[0]):
        if target(y, c, scores.shape[0]) * scores[c] < 1.0:
            return True
    return False


@inner
def _steps(
    scores: Array, y: float, P: float, rest: float, U: float, enters: bool, step: Array
) -> bool:
    """step[c] = how far output c goes along the projection of x; whether any goes at all.

    An output that errs goes all the way, unless x itself enters. One inside its margin goes
    tau, where the bound on mistakes allows for it.
    """
    away = math.sqrt(max(rest, 0.0))
    goes = False
    for c in range(scores.shape[0]):
        goal = target(y, c, scores.shape[0])
        margin = goal * scores[c]
        step[c] = 0.0
        if margin <= 0.0:
            step[c] = 0.0 if enters else goal
        elif margin < 1.0:
            short = 1.0 - margin
            tau = short / P if short < P else 1.0
            if tau * (2.0 * short - tau * P - 2.0 * U * away) >= 0.0:
                step[c] = tau * goal
        goes |= step[c] != 0.0
    return goes
