"""Nyström online gradient descent: the first examples kept become the coordinates of the rest.

Paper: Lu, Hoi, Wang, Zhao, Liu, "Large scale online kernel learning", Journal of Machine
Learning Research, 2016 (NOGD).
Deviations: regularization and schedules are added; the features are turned, as `_begin_stage_two`
says, which leaves every score as it is.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

from numpy.typing import ArrayLike

from okl_flow.approximation.nystrom import check_rank, nystrom_projection
from okl_flow.descent import NEVER, feature_scores, learn_examples, learn_features
from okl_flow.kernels import Gaussian, Kernel, kernel_matrix
from okl_flow.learner import (
    Learner,
    check_dim,
    checked_features,
    fitting_loss,
    shaped,
    stepped,
)
from okl_flow.linalg import lower_factor
from okl_flow.losses import Loss
from okl_flow.native import Array
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, check_shrinkage, native_rate
from okl_flow.state import Axes, allocate
from okl_flow.support import (
    Expansion,
    expansion_bytes_max,
    expansion_score,
)
from okl_flow.tasks import Binary, Task

__all__ = ["NOGD", "NOGDState"]


@dataclass(slots=True)
class NOGDState(Expansion):
    """Stage one: examples and their weights. Stage two: landmarks, map and feature weights.

    In stage two the first `rank` weights of each output are those of the features.
    """

    projection: Annotated[Array, Axes("size", "rank")]  # M: features = M' kernel row
    learned: int  # events that came with a label
    rank: int  # features; 0 in stage one


@final
@dataclass(frozen=True, kw_only=True)
class NOGD(Learner):
    """Nyström online gradient descent: kernel descent until the budget is full, then linear.

    Stage one is `kogd`: every example with a loss is kept. With the event that fills the
    budget, once it is learned, stage two begins. The examples become landmarks for good; x is
    known by the features S^-1/2 V' k(x), with k(x) its kernel with each landmark and S, V the
    `rank` largest eigenpairs of the landmarks' kernel matrix. The weights become those of the
    same function (at full rank; else of the part of it that the features can express), and
    descent goes on in the features, with the same schedule.

    The landmarks stay for good: not for examples that travel.

    Formula:
        stage one: that of kogd; stage two: f(x) = w . phi(x), phi(x) = S^-1/2 V' k(x)
        w <- (1 - eta lambda) w - eta l'(f(x_t), y_t) phi(x_t)

    Parameters:
        budget: examples kept, the landmarks (B). At least 1.
        rank: features in stage two (k); None for as many as the landmarks have. At least 1, at
            most budget.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step (eta). Above 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        task: binary, multiclass or regression.

    Cost: time O(budget * (dim + rank)) per event, and O(budget^3) once; memory
    O(budget * (dim + rank)) per key.

    >>> learner = NOGD(budget=1, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5], [0.5], [0.5]], [1.0, 1.0, 1.0])
    array([0. , 0.5, 1. ])
    """

    name: ClassVar[str] = "nogd"
    budget: int = whole(100, low=1)
    rank: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_rank(self)
        check_shrinkage(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> NOGDState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(NOGDState, dim=dim, outputs=self.task.outputs)

    def score(self, state: NOGDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        if state.rank == 0:
            return expansion_score(self, state, X)
        features = checked_features(state, X)
        scores = feature_scores(
            features, self.kernel.native, state.rows, state.weights, state.projection, True
        )
        return shaped(self.task, scores)

    def step(self, state: NOGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        rate = native_rate(self.schedule, self.learning_rate)

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            if state.rank == 0:
                t, state.size, state.learned = learn_examples(
                    t,
                    features,
                    labels,
                    scores,
                    self.kernel.native,
                    state.rows,
                    state.weights,
                    state.size,
                    state.learned,
                    self.loss.native,
                    rate,
                    self.regularization,
                    False,
                )
                if state.size < self.budget:
                    return t
                _begin_stage_two(self, state)
            t, state.learned = learn_features(
                t,
                features,
                labels,
                scores,
                self.kernel.native,
                state.rows,
                state.weights,
                state.projection,
                True,
                state.learned,
                self.loss.native,
                rate,
                self.regularization,
                NEVER,
            )
            return t

        return stepped(self, state, X, y, learn)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        projection = self.budget * (self.rank or self.budget)
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=projection)


def _begin_stage_two(learner: NOGD, state: NOGDState) -> None:
    """Make the map of the examples kept, and give their weights to its features.

    f = sum_i a_i K(x_i, .) becomes w . features with w = sum_i a_i features(x_i) = a' K M.

    Any M Q with an orthogonal Q in place of M gives the same scores: features and weights turn
    by Q, and so does every step. The Q taken here leaves nothing above the diagonal of M Q.
    """
    gram = kernel_matrix(learner.kernel.native, state.rows, state.size)
    state.projection = lower_factor(nystrom_projection(gram, learner.rank))
    state.rank = state.projection.shape[1]
    state.weights[:, : state.rank] = state.weights @ (gram @ state.projection)
    state.weights[:, state.rank :] = 0.0
