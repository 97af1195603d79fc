"""Skeleton of a learner: one prototype per class, pulled towards its examples.

Copy this file to `okl_flow/learners/<group>/<name>.py` and change it from the top down. It is
a working learner, and the tests put it through every law.

Paper: the first thing a reader looks for: authors, title, year, number of the algorithm.
Deviations: every one, or "none".
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    checked_features,
    looped,
    refuse_task,
    shaped,
)
from okl_flow.native import Array, dot, native
from okl_flow.parameters import check, part, real
from okl_flow.state import Axes, State, allocate
from okl_flow.tasks import Binary, Multiclass, Regression, Task

__all__ = ["Skeleton", "SkeletonState"]


@dataclass(slots=True)
class SkeletonState(State):
    """One line on what is remembered. Only arrays and numbers: it becomes the snapshot."""

    direction: Annotated[Array, Axes("dim")]  # mean of y x, the newest events weighing most


@final
@dataclass(frozen=True, kw_only=True)
class Skeleton(Learner):
    """One sentence of idea, then what a step does, in words.

    Formula:
        f(x) = m . x, m <- m + pull (y_t x_t - m): the same in the letters of the paper

    Parameters:
        pull: share by which the mean moves towards an event (the paper's letter). 0 to 1.
        task: binary.

    Cost: time and memory O(dim) per event and per key.

    >>> learner = Skeleton(pull=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[2.0], [2.0]], [1.0, 1.0])
    array([0., 2.])
    """

    name: ClassVar[str] = "skeleton"
    pull: float = real(0.1, above=0.0, below=1.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Multiclass, Regression, reason="a mean of y x has one direction")

    def init(self, dim: int, seed: int = 0) -> SkeletonState:
        """A state that has seen nothing; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(SkeletonState, dim=dim)

    def score(self, state: SkeletonState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        return shaped(self.task, _score(features, state.direction))

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        return Loop(_learn, takes=("direction",), rules=(self.pull,))

    def step(self, state: SkeletonState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return 8 * dim


@native
def _learn(t: int, X: Array, y: Array, scores: Array, direction: Array, p: float) -> tuple[int]:
    """Go through the events from t on; the loop reads like the paper's pseudocode."""
    dim = X.shape[1]
    while t < X.shape[0]:
        scores[t, 0] = dot(direction, X[t], dim)
        if not math.isnan(y[t]):
            for j in range(dim):
                direction[j] += p * (y[t] * X[t, j] - direction[j])
        t += 1
    return (t,)


@native
def _score(X: Array, direction: Array) -> Array:
    """The scores of all rows of X: by the very helper that the loop scores with."""
    scores = np.empty((X.shape[0], 1))
    for t in range(X.shape[0]):
        scores[t, 0] = dot(direction, X[t], X.shape[1])
    return scores
