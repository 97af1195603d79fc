"""Bounded online gradient descent: a random example goes, and the others stand in for it.

Paper: Zhao, Wang, Wu, Jin, Hoi, "Fast bounded online gradient descent algorithms for scalable
kernel-based online learning", ICML, 2012: BOGD (uniform sampling) and BOGD++ (weighted).
Deviations: the paper's step is constant; where it shrinks, weights are clipped by the current
step, as clipped by the first one old examples outgrow all that is learned later (36 % mistakes
on a rotating stream against 22 %). A new weight is clipped too, since not every loss has a
bounded slope; under a hinge, with a clip of at least 1, it never needs to be. Several classes
draw one example for all of them, by the sum of its absolute weights.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.lanes import line
from okl_flow.learner import Learner, Loop, check_dim, fitting_loss, looped
from okl_flow.losses import Loss, NativeLoss
from okl_flow.native import Array, inner, native, shrink_rows
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.rng import WORDS, Words, draw_unit, seeded
from okl_flow.state import Axes, allocate
from okl_flow.support import (
    Expansion,
    descend,
    expand,
    expansion_bytes_max,
    expansion_score,
    put,
)
from okl_flow.tasks import Binary, Task

__all__ = ["BOGD", "BOGDState"]


@dataclass(slots=True)
class BOGDState(Expansion):
    """The examples kept, their norms, and the generator that picks the one to go."""

    norms: Annotated[Array, Axes("size")]  # sqrt(K(x, x)) of each example
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class BOGD(Learner):
    """Bounded online gradient descent: what is left of the function expects to be the whole.

    A step is that of kogd. When its example needs a place, a stored one is drawn and dropped,
    example i with probability p_i, and each of the others is divided by 1 - p_i: on average
    over the draw, the function stays what it was. Then weights are clipped.

    Formula:
        f(x) = sum_i a_i K(x_i, x)
        a_i <- (1 - eta lambda) a_i for all i; then, where l has a slope, a_t = -eta l'(f(x_t), y_t)
        with too many then: i goes with probability p_i, and a_j <- a_j / (1 - p_i) for the others

    Parameters:
        budget: examples kept at most (B). At least 2.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step (eta). Above 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        sampling: uniform, p_i = 1/B; or weighted (BOGD++), where an example goes the less
            likely the larger its share s_i in the sum of |weight| sqrt(K(x, x)) is:
            p_i = (1 - s_i) / (B - 1).
        clip: largest weight, in units of the current step eta_t (gamma): a new weight and
            those that were divided are cut to at most clip * eta_t. Above 0.
        task: binary, multiclass or regression.

    Cost: time and memory O(budget * dim) per event and per key.

    >>> learner = BOGD(budget=2, kernel=Gaussian(bandwidth=0.01), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> _ = learner.step(state, [[0.0], [1.0], [2.0]], [1.0, 1.0, 1.0])
    >>> sorted(learner.score(state, [[0.0], [1.0], [2.0]]).tolist())
    [0.0, 0.5, 1.0]
    """

    name: ClassVar[str] = "bogd"
    budget: int = whole(100, low=2)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    sampling: str = choice("uniform", "weighted")
    clip: float = real(2.0, above=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_shrinkage(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> BOGDState:
        """A state without examples; the seed decides which of them will go."""
        check_dim(dim)
        state = allocate(BOGDState, dim=dim, outputs=self.task.outputs)
        state.words = seeded(seed)
        return state

    def score(self, state: BOGDState, X: ArrayLike) -> Array:
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
                "norms",
                "size",
                "learned",
                "words",
            ),
            rules=(
                self.kernel.native,
                self.loss.native,
                rate,
                self.regularization,
                self.sampling == "weighted",
                self.clip,
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: BOGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        more = self.budget + WORDS
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=more)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    norms: Array,
    size: int,
    learned: int,
    words: Words,
    kernel: NativeKernel,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
    weighted: bool,
    gamma: float,
    budget: int,
) -> tuple[int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row = np.empty(rows.shape[1])
    chances = np.empty(rows.shape[1])
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
                if size < budget:
                    place, size = size, size + 1
                else:
                    _set_chances(weights, norms, weighted, chances)
                    place = _drawn(chances, draw_unit(words))
                    _stand_in(weights, chances, gamma * eta)
                for c in range(weight.shape[0]):
                    weight[c] = _clipped(weight[c], gamma * eta)
                put(rows, weights, place, line(X, t), weight)
                norms[place] = math.sqrt(kernel_at(kernel, line(X, t)))
        t += 1
    return t, size, learned


@inner
def _clipped(value: float, largest: float) -> float:
    return min(max(value, -largest), largest)


@inner
def _set_chances(weights: Array, norms: Array, weighted: bool, chances: Array) -> None:
    """chances[i] = probability that example i goes; uniform too if all weights are 0."""
    budget = chances.shape[0]
    chances[:] = 0.0
    total = 0.0
    if weighted:
        for c in range(weights.shape[0]):
            for i in range(budget):
                chances[i] += abs(weights[c, i]) * norms[i]
        for i in range(budget):
            total += chances[i]
    for i in range(budget):
        chances[i] = (1.0 - chances[i] / total) / (budget - 1) if total > 0.0 else 1.0 / budget


@inner
def _drawn(chances: Array, unit: float) -> int:
    """The example whose stretch of the summed chances a number from [0, 1) falls on."""
    last: int = chances.shape[0] - 1
    below = 0.0
    for i in range(last):
        below += chances[i]
        if unit < below:
            return i
    return last


@inner
def _stand_in(weights: Array, chances: Array, largest: float) -> None:
    """Divide each weight by the probability of its staying, and clip it."""
    for c in range(weights.shape[0]):
        for i in range(chances.shape[0]):
            weights[c, i] = _clipped(weights[c, i] / (1.0 - chances[i]), largest)
