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

from dataclasses import dataclass
from typing import ClassVar, final

from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel
from okl_flow.learner import Learner, Loop, check_dim, looped, refuse_task
from okl_flow.native import Array
from okl_flow.parameters import check, part, real, whole
from okl_flow.projected import Projected, learn_projected
from okl_flow.state import allocate
from okl_flow.support import expansion_bytes_max, expansion_score
from okl_flow.tasks import Binary, Regression, Task

__all__ = ["Projectron", "ProjectronState"]


@dataclass(slots=True)
class ProjectronState(Projected):
    """The examples kept, and their kernel matrix."""


@final
@dataclass(frozen=True, kw_only=True)
class Projectron(Learner):
    """Projectron: a Perceptron that projects its mistakes onto the examples that it has.

    After a mistake, the example's distance from the span of the stored examples is taken. A
    far one is stored with its label as weight; instead of a near one its projection is added,
    which only changes the weights of the stored examples.

    Where the examples travel, what is stored is soon out of place: not for such streams.

    Formula:
        f(x) = sum_i a_i K(x_i, x), d = K_SS^-1 k(x_t), with K_SS the kernel matrix of the stored
        examples and k(x_t) their kernel with x_t
        if y_t f(x_t) <= 0: a_t = y_t if K(x_t, x_t) - k(x_t)' d > eta^2, else a <- a + y_t d

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

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        return Loop(
            learn_projected,
            takes=(
                "rows",
                "weights",
                "factor",
                "size",
            ),
            rules=(
                self.kernel.native,
                self.threshold,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: ProjectronState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=self.budget**2)
