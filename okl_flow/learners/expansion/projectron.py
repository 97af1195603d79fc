"""Projectron: a mistake is stored only if the stored examples cannot express it.

Paper: Orabona, Keshet, Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML, 2008;
"Bounded kernel-based online learning", Journal of Machine Learning Research, 2009.
Deviations: the paper updates the inverse of the kernel matrix, which drifts; here the Cholesky
factor of that matrix is kept, to which a new example adds a row: nothing in it is ever changed,
so it does not drift. A full budget stops the growth, and every later mistake is projected. A
distance whose square is below 1e-10 K(x, x) counts as 0, however small the threshold. With
several classes one set of examples serves all: one is stored if any class errs, with a weight
for those that do.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.factor import add_projection, grow_factor, is_new, solve_lower, solve_upper
from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.learner import Learner, check_dim, refuse_task, stepped
from okl_flow.native import Array, native
from okl_flow.parameters import check, part, real, whole
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

__all__ = ["Projectron", "ProjectronState"]


@dataclass(slots=True)
class ProjectronState(Expansion):
    """The examples kept, and their kernel matrix."""

    factor: Annotated[Array, Axes("size", "size")]  # L of K = L L', its upper triangle 0


@final
@dataclass(frozen=True, kw_only=True)
class Projectron(Learner):
    """Projectron: a Perceptron that projects its mistakes onto the examples that it has.

    After a mistake, the example's distance from the span of the stored examples is taken. A
    far one is stored with its label as weight; instead of a near one its projection is added,
    which only changes the weights of the stored examples.

    Parameters:
        budget: examples kept at most (B). At least 1.
        kernel: similarity of two examples (K).
        threshold: distance above which an example is stored (eta), in the kernel's space, where
            no two examples of a Gaussian kernel are farther apart than 1.41. At least 0.
        task: binary or multiclass.

    Cost: time O(budget * dim) per event, O(budget * (budget + dim)) after a mistake; memory
    O(budget * (budget + dim)) per key.

    >>> learner = Projectron(budget=2, kernel=Gaussian(bandwidth=1.0))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.51], [0.51]], [1.0, -1.0, -1.0]).round(3)
    array([0., 1., 0.])
    >>> state.size
    1
    """

    name: ClassVar[str] = "projectron"
    budget: int = whole(100, low=1)
    kernel: Kernel = part(Kernel, Gaussian())
    threshold: float = real(0.1, low=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Regression, reason="it learns from mistakes, which a number has not")

    def init(self, dim: int, seed: int = 0) -> ProjectronState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(ProjectronState, dim=dim, outputs=self.task.outputs)

    def score(self, state: ProjectronState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X)

    def step(self, state: ProjectronState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            t, state.size = _learn(
                t,
                features,
                labels,
                scores,
                state.rows,
                state.weights,
                state.factor,
                state.size,
                self.kernel.native,
                self.threshold,
                self.budget,
            )
            return t

        return stepped(self, state, X, y, learn)

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
    budget: int,
) -> tuple[int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    z = np.empty(rows.shape[1])
    d = np.empty(rows.shape[1])
    step = np.empty(weights.shape[0])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        kernel_row(kernel, rows, size, X[t], row)
        expand(weights, row, size, scores[t])
        if not math.isnan(y[t]) and correct(scores[t], y[t], step):
            own = kernel_at(kernel, X[t])
            spanned = solve_lower(factor, size, row, z)
            if size < budget and is_new(own, spanned, eta):
                put(rows, weights, size, X[t], step)
                grow_factor(factor, size, z, own - spanned)
                size += 1
            else:
                solve_upper(factor, size, z, d)
                add_projection(weights, step, d, size)
        t += 1
    return t, size
