"""Sketched kernel online Newton step: curvature of the examples that a coin has chosen.

Paper: Calandriello, Lazaric, Valko, "Second-order kernel online convex optimization with
adaptive sketching", ICML, 2017 (Sketched-KONS, Algorithm 3).
Deviations: the function is kept as in `okl_flow/newton.py`, with the same predictions. KORS flips
its coins on slope * sqrt(eta) * phi, before the coin of the curvature. The paper keeps every
example with a step, without end. Two parameters bound that: `dictionary_size` for the examples
with curvature, which stays as it is once they are many enough, and likewise for the dictionary of
KORS; and `budget` for those without, of which the oldest makes way, its weight moved onto the
examples with curvature at the least change of the function. Losses without curvature are taken as
by `kons`; the paper's theorem leaves them out.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.kors import sampled
from okl_flow.factor import grow_factor, solve_lower, solve_upper
from okl_flow.kernels import Gaussian, Kernel, NativeKernel, kernel_at, kernel_row
from okl_flow.learner import (
    Learner,
    check_dim,
    checked_features,
    refuse_task,
    shaped,
    stepped,
)
from okl_flow.losses import Loss, NativeLoss, loss_slope
from okl_flow.native import Array, add_scaled, dot, inner, native
from okl_flow.newton import (
    append_line,
    clip_to,
    fitting_newton_loss,
    is_sound,
    newton_rate,
    rest_of,
    scale_of,
    value_at,
)
from okl_flow.parameters import check, part, real, whole
from okl_flow.rates import NativeRate, rate_at
from okl_flow.rng import WORDS, Words, draw_unit, seeded
from okl_flow.state import Axes, State, allocate
from okl_flow.support import place_after
from okl_flow.tasks import Binary, Multiclass, Task

__all__ = ["SketchedKONS", "SketchedKONSState"]

_FLOAT_BYTES = 8

# Added to K(x, x), in units of it, where a kernel matrix is factored, so that an example may be
# in it twice.
_RIDGE = 1e-8


@dataclass(slots=True)
class SketchedKONSState(State):
    """The examples with curvature, those without, and the dictionary that chooses."""

    curved_rows: Annotated[Array, Axes("dim", "curved")]  # examples with curvature (J)
    scales: Annotated[Array, Axes("curved")]  # D: slope times the root of the step size
    curved_weights: Annotated[Array, Axes("curved")]  # w of these
    solution: Annotated[Array, Axes("curved")]  # s
    factor: Annotated[Array, Axes("curved", "curved")]  # R
    gram: Annotated[Array, Axes("anchors", "anchors")]  # L, of their kernel matrix
    rows: Annotated[Array, Axes("dim", "size")]  # examples without curvature
    weights: Annotated[Array, Axes("size")]  # w of these
    drawn_rows: Annotated[Array, Axes("dim", "drawn")]  # the dictionary of KORS
    drawn_scales: Annotated[Array, Axes("drawn")]  # D / sqrt(probability)
    drawn_factor: Annotated[Array, Axes("drawn", "drawn")]  # R of KORS
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator
    curved: int  # examples with curvature
    anchors: int  # as many with a budget, 0 without: nothing is projected then
    size: int  # examples without curvature
    oldest: int  # place of the oldest of these, once the budget is full
    drawn: int  # examples in the dictionary
    learned: int  # events that came with a label


class _Arrays(NamedTuple):
    """The arrays of a state, as the native loops take them."""

    curved_rows: Array
    scales: Array
    curved_weights: Array
    solution: Array
    factor: Array
    gram: Array
    rows: Array
    weights: Array
    drawn_rows: Array
    drawn_scales: Array
    drawn_factor: Array
    words: Words


class _Rules(NamedTuple):
    """The configuration, as the native loops take it."""

    kernel: NativeKernel
    loss: NativeLoss
    rate: NativeRate
    clip: float
    alpha: float
    accuracy: float
    oversampling: float
    probability_min: float
    budget: int
    curved_max: int


class _Space(NamedTuple):
    """Room for what an event is worked out in."""

    row: Array
    z: Array
    loose_row: Array
    spare: Array
    example: Array


@final
@dataclass(frozen=True, kw_only=True)
class SketchedKONS(Learner):
    """Sketched kernel online Newton step: `kons` with the curvature of some examples only.

    Formula:
        f, g, u as with kons; A_t = A_t-1 + z_t eta_t g^2 phi phi', z_t = 1 with probability
        max(min(beta tau_t, 1), gamma), else 0; tau_t is the leverage score that `KORS` estimates

    Parameters:
        budget: examples without curvature kept at most; None keeps all, without bound, as the
            paper does. At least 1. When it is full, the weight of the oldest moves onto the
            examples with curvature.
        dictionary_size: examples with curvature at most, and in the dictionary; None sets no
            bound, as in the paper. At least 1. When it is reached, the curvature stays.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); logistic by default, square in regression.
        clip: largest score (C), also taken for the largest label in regression. Above 0.
        regularization: curvature in every direction from the start (alpha). Above 0.
        curvature: what an event adds, in units of its squared slope (sigma, eta_t). None is the
            loss's own, as with `kons`. Above 0.
        accuracy: by how much estimates are raised, to be above the scores (epsilon). Above 0, at
            most 1.
        oversampling: probability per estimated score (beta). Above 0.
        probability_min: least probability of curvature (gamma): 1 is `kons`. At least 0, at
            most 1.
        task: binary or regression.

    Cost: time O(budget * dim + dictionary_size * (dictionary_size + dim)) per event; memory the
    same per key.

    >>> learner = SketchedKONS(kernel=Gaussian(bandwidth=1.0), probability_min=1.0)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [0.0]], [1.0, -1.0, 1.0]).round(3)
    array([0.   , 0.278, 0.175])
    >>> state.curved, state.size
    (3, 0)
    """

    name: ClassVar[str] = "sketched_kons"
    budget: int | None = whole(None, low=1, optional=True)
    dictionary_size: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    clip: float = real(1.0, above=0.0)
    regularization: float = real(1.0, above=0.0)
    curvature: float | None = real(None, above=0.0, optional=True)
    accuracy: float = real(0.5, above=0.0, high=1.0)
    oversampling: float = real(1.0, above=0.0)
    probability_min: float = real(0.1, low=0.0, high=1.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Multiclass, reason="every class would need a curvature of its own")
        object.__setattr__(self, "loss", fitting_newton_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> SketchedKONSState:
        """A state without examples; the seed starts the coins."""
        check_dim(dim)
        state = allocate(SketchedKONSState, dim=dim)
        state.words = seeded(seed)
        return state

    def score(self, state: SketchedKONSState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = _scores(features, _arrays(state), state.curved, state.size, _rules(self))
        return shaped(self.task, scores)

    def step(self, state: SketchedKONSState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        rules = _rules(self)
        most = {"size": self.budget, "curved": self.dictionary_size}
        most["drawn"] = self.dictionary_size
        if self.budget is not None:
            most["anchors"] = self.dictionary_size

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            t, state.curved, state.size, state.oldest, state.drawn, state.learned = _learn(
                t,
                features,
                labels,
                scores,
                _arrays(state),
                state.curved,
                state.size,
                state.oldest,
                state.drawn,
                state.learned,
                rules,
            )
            state.anchors = 0 if self.budget is None else state.curved
            return t

        return stepped(self, state, X, y, learn, most)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without both bounds."""
        if self.budget is None or self.dictionary_size is None:
            return None
        most = self.dictionary_size
        curved, dictionary = most * (dim + 3 + 2 * most), most * (dim + 1 + most)
        return (self.budget * (dim + 1) + curved + dictionary + WORDS) * _FLOAT_BYTES


def _arrays(state: SketchedKONSState) -> _Arrays:
    """The arrays of a state."""
    return _Arrays(*(getattr(state, name) for name in _Arrays._fields))


def _rules(learner: SketchedKONS) -> _Rules:
    """The configuration of a learner."""
    return _Rules(
        learner.kernel.native,
        learner.loss.native,
        newton_rate(learner),
        learner.clip,
        learner.regularization,
        learner.accuracy,
        learner.oversampling,
        learner.probability_min,
        learner.budget or -1,
        learner.dictionary_size or -1,
    )


@native
def _room_for(held: _Arrays) -> _Space:
    """Room for events under arrays of these lengths."""
    curved = max(held.scales.shape[0], held.drawn_scales.shape[0])
    size = held.weights.shape[0]
    return _Space(
        np.empty(curved),
        np.empty(curved),
        np.empty(size),
        np.empty((2, curved)),
        np.empty(held.rows.shape[0]),
    )


@inner
def _value(held: _Arrays, curved: int, size: int, rules: _Rules, x: Array, space: _Space) -> float:
    """The value of the function at x, with its kernel to curved examples and z left in space."""
    value = value_at(
        rules.kernel, held.curved_rows, held.scales, held.curved_weights, held.solution,
        held.factor, 0, curved, x, space.row, space.z,
    )  # fmt: skip
    kernel_row(rules.kernel, held.rows, size, x, space.loose_row)
    return float(value + dot(held.weights, space.loose_row, size))


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    held: _Arrays,
    curved: int,
    size: int,
    oldest: int,
    dictionary: int,
    learned: int,
    rules: _Rules,
) -> tuple[int, int, int, int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    space = _room_for(held)
    while t < X.shape[0]:
        if _is_short_of_room(held, curved, size, dictionary, rules):
            break
        x = X[t]
        value = _value(held, curved, size, rules, x, space)
        score = clip_to(value, rules.clip)
        scores[t, 0] = score
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rules.rate, learned)
            slope = loss_slope(rules.loss, score, y[t])
            scale = scale_of(slope, eta)
            own = kernel_at(rules.kernel, x)
            rest = rest_of(own, space.z, curved)
            weight = (score - value) / rest
            if (scale != 0.0 or weight != 0.0) and is_sound(weight, own):
                chosen = False
                if scale != 0.0 and curved != rules.curved_max:
                    chosen, dictionary = _is_chosen(held, dictionary, rules, x, scale, space)
                if chosen:
                    add_scaled(-weight, space.z, held.solution, curved)
                    _bend(held, curved, rules, x, scale, weight, rest, eta, own, space)
                    curved += 1
                else:
                    weight -= scale / (math.sqrt(eta) * rules.alpha)
                    add_scaled(-weight, space.z, held.solution, curved)
                    if size == rules.budget:
                        _project(held, curved, oldest, rules, space)
                    place, size, oldest = place_after(size, oldest, rules.budget)
                    held.rows[:, place] = x
                    held.weights[place] = weight
        t += 1
    return t, curved, size, oldest, dictionary, learned


@inner
def _is_short_of_room(
    held: _Arrays, curved: int, size: int, dictionary: int, rules: _Rules
) -> bool:
    """Whether an event may need more room than there is."""
    return (
        (size == held.weights.shape[0] and size != rules.budget)
        or (curved == held.scales.shape[0] and curved != rules.curved_max)
        or (dictionary == held.drawn_scales.shape[0] and dictionary != rules.curved_max)
        or (rules.budget >= 0 and held.gram.shape[0] < held.scales.shape[0])
    )


@inner
def _is_chosen(
    held: _Arrays, dictionary: int, rules: _Rules, x: Array, scale: float, space: _Space
) -> tuple[bool, int]:
    """Flip the coins of KORS and of the curvature. Returns the second, and KORS's examples."""
    probability, dictionary = sampled(
        rules.kernel, held.drawn_rows, held.drawn_scales, held.drawn_factor, dictionary, x, scale,
        held.words, rules.alpha, rules.accuracy, rules.oversampling, rules.curved_max,
        space.spare[0], space.spare[1],
    )  # fmt: skip
    return draw_unit(held.words) < max(probability, rules.probability_min), dictionary


@native
def _bend(
    held: _Arrays,
    curved: int,
    rules: _Rules,
    x: Array,
    scale: float,
    weight: float,
    rest: float,
    eta: float,
    own: float,
    space: _Space,
) -> None:
    """Take the Newton step along an example, and give it its place in the curvature."""
    held.curved_rows[:, curved] = x
    held.scales[curved], held.curved_weights[curved] = scale, weight
    diagonal = append_line(held.factor, curved, curved, scale, rest, rules.alpha, space.z)
    held.solution[curved] = -1.0 / math.sqrt(eta) / diagonal
    if rules.budget >= 0:
        spanned = solve_lower(held.gram, curved, space.row, space.z)
        left = max(own - spanned, 0.0) + _RIDGE * own
        grow_factor(held.gram, curved, space.z, left)


@inner
def _project(held: _Arrays, curved: int, place: int, rules: _Rules, space: _Space) -> None:
    """Move the weight of an example without curvature onto those with, as far as they span it.

    The projection has the kernel of the example with each of them, so that s stays.
    """
    for j in range(held.rows.shape[0]):
        space.example[j] = held.rows[j, place]
    kernel_row(rules.kernel, held.curved_rows, curved, space.example, space.row)
    solve_lower(held.gram, curved, space.row, space.z)
    solve_upper(held.gram, curved, space.z, space.row)
    add_scaled(held.weights[place], space.row, held.curved_weights, curved)


@native
def _scores(X: Array, held: _Arrays, curved: int, size: int, rules: _Rules) -> Array:
    """The scores of all rows of X."""
    scores = np.empty((X.shape[0], 1))
    space = _room_for(held)
    for t in range(X.shape[0]):
        scores[t, 0] = clip_to(_value(held, curved, size, rules, X[t], space), rules.clip)
    return scores
