"""Kernel online Newton step: each step is as long as the losses' curvature so far allows.

Paper: Calandriello, Lazaric, Valko, "Second-order kernel online convex optimization with
adaptive sketching", ICML, 2017 (KONS, Algorithm 1).
Deviations: the function is kept by a triangle of the curvature (`okl_flow/newton.py`) in place of
the paper's coefficients, which gives the same predictions: the step A_t^-1 g_t is one new entry of
s, the projection on predictions from -C to C an entry of w and a multiple of z. With a budget the
oldest example goes with its curvature and its part in the function. What is left is the function
that the last `budget` stored examples alone would give: with c_i the coefficients that their steps
had, A u = sum_i c_i phi_i over those that are left, the minimiser of their surrogate losses. The
paper demands K(x, x) = 1; the formulas do not.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    checked_features,
    looped,
    refuse_task,
    shaped,
)
from okl_flow.losses import Loss, NativeLoss, loss_slope
from okl_flow.native import Array, add_scaled, dot, native
from okl_flow.newton import (
    append_line,
    clip_to,
    drop_line,
    fitting_newton_loss,
    is_sound,
    newton_rate,
    rest_of,
    scale_of,
    solve_scaled,
    value_at,
)
from okl_flow.parameters import check, part, real, whole
from okl_flow.rates import NativeRate, rate_at
from okl_flow.state import Axes, State, allocate
from okl_flow.support import place_after
from okl_flow.tasks import Binary, Multiclass, Task

__all__ = ["KONS", "KONSState"]

_FLOAT_BYTES = 8


@dataclass(slots=True)
class KONSState(State):
    """The examples kept, the triangle of their curvature, and the function in its terms."""

    rows: Annotated[Array, Axes("dim", "size")]  # stored examples, one per column
    scales: Annotated[Array, Axes("size")]  # D: slope times the root of the step size
    weights: Annotated[Array, Axes("size")]  # w, of steps that were cut back to the clip
    solution: Annotated[Array, Axes("size")]  # s
    factor: Annotated[Array, Axes("size", "size")]  # R, in the order of the ring
    size: int  # examples stored
    oldest: int  # place of the oldest example, once the budget is full
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class KONS(Learner):
    """Kernel online Newton step (KONS): descent that knows in which directions it has learned.

    A score is cut to the range from -clip to clip. A step divides the slope by the curvature A,
    which is regularization * I plus eta_t slope^2 phi phi' for each event: in directions seen
    often steps are short, in new ones long. Events that the function suits, without slope and
    within the clip, leave no trace.

    Without a budget it has the most of few events, at the price of memory that grows with their
    square. With one it forgets, which is right for a concept that drifts all the time.

    Formula:
        f(x) = u . phi(x), K(x, z) = phi(x) . phi(z); A_0 = alpha I, g = l'(f(x_t), y_t)
        A_t = A_t-1 + eta_t g^2 phi phi', u <- Pi(u - g A_t^-1 phi), phi = phi(x_t)
        Pi: the nearest in the norm of A_t with |u . phi| <= C at the next event

    Parameters:
        budget: examples kept at most; None keeps all, without bound, as the paper does. At
            least 1. When it is full, the oldest goes with all that it has brought.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); logistic by default, square in regression.
        clip: largest score (C), also taken for the largest label in regression. Above 0.
        regularization: curvature in every direction from the start (alpha). Above 0.
        curvature: what an event adds, in units of its squared slope (sigma, eta_t). None is the
            loss's own, so that the surrogate lies below the loss; a loss without curvature then
            takes 1 / (L clip sqrt(t)), with L its largest slope. Above 0.
        task: binary or regression.

    Cost: time and memory O(budget * (budget + dim)) per event and per key.

    >>> learner = KONS(kernel=Gaussian(bandwidth=1.0), regularization=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [0.0]], [1.0, -1.0, 1.0]).round(3)
    array([0.   , 0.512, 0.341])
    """

    name: ClassVar[str] = "kons"
    budget: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    clip: float = real(1.0, above=0.0)
    regularization: float = real(1.0, above=0.0)
    curvature: float | None = real(None, above=0.0, optional=True)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Multiclass, reason="every class would need a curvature of its own")
        object.__setattr__(self, "loss", fitting_newton_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> KONSState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        return allocate(KONSState, dim=dim)

    def score(self, state: KONSState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = _scores(
            features,
            state.rows,
            state.scales,
            state.weights,
            state.solution,
            state.factor,
            state.size,
            state.oldest,
            self.kernel.native,
            self.clip,
        )
        return shaped(self.task, scores)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        rate = newton_rate(self)
        return Loop(
            _learn,
            takes=(
                "rows",
                "scales",
                "weights",
                "solution",
                "factor",
                "size",
                "oldest",
                "learned",
            ),
            rules=(
                self.kernel.native,
                self.loss.native,
                rate,
                self.clip,
                self.regularization,
                self.budget or -1,
            ),
            most={"size": self.budget},
        )

    def step(self, state: KONSState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without a budget."""
        return None if self.budget is None else self.budget * (self.budget + dim + 3) * _FLOAT_BYTES


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    scales: Array,
    weights: Array,
    solution: Array,
    factor: Array,
    size: int,
    oldest: int,
    learned: int,
    kernel: NativeKernel,
    loss: NativeLoss,
    rate: NativeRate,
    clip: float,
    alpha: float,
    budget: int,
) -> tuple[int, int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    room = rows.shape[1]
    row, z = np.empty(room), np.empty(room)
    spare = np.empty((2, room))
    while t < X.shape[0]:
        if size == room and size != budget:
            break
        value = value_at(
            kernel, rows, scales, weights, solution, factor, oldest, size, X[t], row, z
        )
        score = clip_to(value, clip)
        scores[t, 0] = score
        if not math.isnan(y[t]):
            learned += 1
            own = kernel_at(kernel, X[t])
            eta = rate_at(rate, learned)
            scale = scale_of(loss_slope(loss, score, y[t]), eta)
            rest = rest_of(own, z, size)
            weight = (score - value) / rest
            if (scale != 0.0 or weight != 0.0) and is_sound(weight, own):
                lost = 0.0
                if size == budget:
                    _drop_oldest(
                        kernel, rows, scales, weights, solution, factor, oldest, size, z, spare
                    )
                    rest = rest_of(own, z, size)
                    kept = dot(weights, row, size) + dot(solution, z, size)
                    lost = score - (kept + weight * rest)
                add_scaled(-weight, z, solution, size)
                place, size, oldest = place_after(size, oldest, budget)
                for j in range(X.shape[1]):
                    rows[j, place] = X[t, j]
                weights[place], scales[place] = weight, scale
                diagonal = append_line(factor, place, size, scale, rest, alpha, z)
                step = scale * lost - 1.0 / math.sqrt(eta)
                solution[place] = step / diagonal if scale != 0.0 else 0.0
        t += 1
    return t, size, oldest, learned


@native
def _drop_oldest(
    kernel: NativeKernel,
    rows: Array,
    scales: Array,
    weights: Array,
    solution: Array,
    factor: Array,
    oldest: int,
    size: int,
    z: Array,
    spare: Array,
) -> None:
    """Take the oldest example out of curvature and function, with its step, and out of z.

    With b_i what the steps have brought, s solves R's = b - D K w. As D_0 R_01 ... are the first
    line of R'R without alpha, the oldest w leaves by what it adds to the first entry of s. Without
    curvature, D_0 = 0, that line is empty and says nothing of K: it is computed then, which is
    for an event without slope whose score was cut.
    """
    first = solution[oldest]
    if weights[oldest] != 0.0 and scales[oldest] != 0.0:
        first += weights[oldest] * (factor[oldest, oldest] / scales[oldest])
    elif weights[oldest] != 0.0:
        kernel_row(kernel, rows, size, rows[:, oldest].copy(), spare[0])
        solve_scaled(factor, oldest, scales, size, spare[0], spare[1])
        add_scaled(weights[oldest], spare[1], solution, size)
    drop_line(factor, oldest, size, first, solution, z)
    weights[oldest], scales[oldest], solution[oldest], z[oldest] = 0.0, 0.0, 0.0, 0.0


@native
def _scores(
    X: Array,
    rows: Array,
    scales: Array,
    weights: Array,
    solution: Array,
    factor: Array,
    size: int,
    oldest: int,
    kernel: NativeKernel,
    clip: float,
) -> Array:
    """The scores of all rows of X."""
    scores = np.empty((X.shape[0], 1))
    row, z = np.empty(size), np.empty(size)
    for t in range(X.shape[0]):
        value = value_at(
            kernel, rows, scales, weights, solution, factor, oldest, size, X[t], row, z
        )
        scores[t, 0] = clip_to(value, clip)
    return scores
