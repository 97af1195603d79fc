"""PROS-N-KONS: the online Newton step in Nyström features of a dictionary that grows.

Paper: Calandriello, Lazaric, Valko, "Efficient second-order online kernel learning with adaptive
embedding", NIPS, 2017.
Deviations: the Nyström features come from a triangle of the dictionary's inverse kernel matrix in
place of its eigenvectors. They are the same up to a rotation, so that the scores are the same, and
an example more is a feature more. Whenever the dictionary grows, the paper begins anew, with w = 0
and A = alpha I, and learns nothing from the event that made it grow; that is `reset=True`. The
features of a larger dictionary contain those of the smaller, so by default w and A carry over as
they are, with 0 and alpha along the new feature, and the event is learned from. This made fewer
mistakes on german, svmguide3 and spambase, scaled or not, by three to ten points in a hundred; a
reset pays where an adversary turns the labels. The coins of KORS fall on phi alone, whatever the
label, for labelled events only, and its alpha is that of the Newton step. A dictionary may be
bounded, and stays as it is when it is full. Losses without curvature are taken as by `kons`.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.kors import sampled_by_row
from okl_flow.curvature import column_begin, curvature_entries, spread_along, take_in, widened
from okl_flow.factor import is_new
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
from okl_flow.native import Array, add_scaled, dot, inner, native, padded
from okl_flow.newton import (
    clip_to,
    fitting_newton_loss,
    is_sound,
    newton_rate,
    scale_of,
)
from okl_flow.parameters import check, flag, part, real, whole
from okl_flow.rates import NativeRate, rate_at
from okl_flow.rng import WORDS, Words, seeded
from okl_flow.state import Axes, State, allocate
from okl_flow.tasks import Binary, Multiclass, Task

__all__ = ["PROSNKONS", "PROSNKONSState"]

_FLOAT_BYTES = 8

# What stands for 1 / 0 where an event without slope has no curvature to add.
_NOISE_LARGEST = 1e200


@dataclass(slots=True)
class PROSNKONSState(State):
    """The dictionary, the map that it makes, and what was learned in its features."""

    rows: Annotated[Array, Axes("dim", "size")]  # the dictionary, one example per column
    drawn_scales: Annotated[Array, Axes("size")]  # 1 / sqrt(probability) of each
    drawn_factor: Annotated[Array, Axes("size", "size")]  # R of KORS
    projection: Annotated[Array, Axes("entries")]  # T, K^-1 = T S^2 T': features = S T'k(x)
    lengths: Annotated[Array, Axes("size")]  # S
    weights: Annotated[Array, Axes("size")]  # w, one per feature
    triangle: Annotated[Array, Axes("entries")]  # U, A^-1 = U V U'
    variances: Annotated[Array, Axes("size")]  # V
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator
    size: int  # examples in the dictionary
    entries: int  # numbers of each triangle
    learned: int  # events that came with a label


class _Arrays(NamedTuple):
    """The arrays of a state, as the native loops take them."""

    rows: Array
    drawn_scales: Array
    drawn_factor: Array
    projection: Array
    lengths: Array
    weights: Array
    triangle: Array
    variances: Array
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
    reset: bool
    budget: int


class _Space(NamedTuple):
    """Room for what an event is worked out in."""

    row: Array  # zeros behind the last
    features: Array  # likewise
    turned: Array
    gain: Array


@final
@dataclass(frozen=True, kw_only=True)
class PROSNKONS(Learner):
    """PROS-N-KONS: Newton steps in the features of a dictionary that an example enters as needed.

    An example enters the dictionary with probability oversampling times its estimated leverage
    score (see `KORS`): near 1 if it is like none there, near 0 if the others make up for it. A
    score is w . phi(x), with phi the Nyström features of the dictionary, cut to the range from
    -clip to clip. A step divides the slope by the curvature A of all features, as with `kons`.

    A full dictionary stays, and curvature only grows: neither for examples that travel nor for a
    concept that keeps turning.

    Formula:
        f(x) = w . phi(x), phi(x) = K_DD^-1/2 k_D(x) for the dictionary D; A_0 = alpha I
        A <- A + eta_t g^2 phi phi', w <- Pi(w - g A^-1 phi), g and Pi as with kons
        x_t enters D with probability min(beta tau_t, 1), tau_t its estimated leverage score

    Parameters:
        budget: examples in the dictionary at most; None sets no bound, as in the paper: it then
            grows with the effective dimension of the stream. At least 1. Once it is full, nothing
            enters any more, and learning goes on in its features.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); logistic by default, square in regression.
        clip: largest score (C), also taken for the largest label in regression. Above 0.
        regularization: curvature in every direction from the start, and what counts as little in
            the dictionary (alpha). Above 0.
        curvature: what an event adds, in units of its squared slope (sigma, eta_t). None is the
            loss's own, as with `kons`. Above 0.
        accuracy: by how much estimates are raised, to be above the scores (epsilon). Above 0, at
            most 1.
        oversampling: probability per estimated score (beta). Above 0.
        reset: whether all that was learned is forgotten each time that the dictionary grows, as
            in the paper; the next score is then 0.
        task: binary or regression.

    Cost: time O(budget * (budget + dim)) per event; memory the same per key.

    >>> learner = PROSNKONS(kernel=Gaussian(bandwidth=1.0), oversampling=10.0)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [0.0]], [1.0, -1.0, 1.0]).round(3)
    array([0.   , 0.278, 0.175])
    >>> state.size
    3
    """

    name: ClassVar[str] = "pros_n_kons"
    budget: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    clip: float = real(1.0, above=0.0)
    regularization: float = real(1.0, above=0.0)
    curvature: float | None = real(None, above=0.0, optional=True)
    accuracy: float = real(0.5, above=0.0, high=1.0)
    oversampling: float = real(1.0, above=0.0)
    reset: bool = flag(False)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        refuse_task(self, Multiclass, reason="every class would need a curvature of its own")
        object.__setattr__(self, "loss", fitting_newton_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> PROSNKONSState:
        """A state without examples; the seed starts the coins."""
        check_dim(dim)
        state = allocate(PROSNKONSState, dim=dim)
        state.words = seeded(seed)
        return state

    def score(self, state: PROSNKONSState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = _scores(features, _arrays(state), state.size, _rules(self))
        return shaped(self.task, scores)

    def step(self, state: PROSNKONSState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        rules = _rules(self)

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            room = state.weights.shape[0]
            state.projection = widened(state.projection, room)
            state.triangle = widened(state.triangle, room)
            t, state.size, state.learned = _learn(
                t, features, labels, scores, _arrays(state), state.size, state.learned, rules
            )
            state.entries = curvature_entries(state.size)
            return t

        return stepped(self, state, X, y, learn)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without a budget."""
        if self.budget is None:
            return None
        arrays = self.budget * (dim + 4 + self.budget) + 2 * curvature_entries(self.budget)
        return (arrays + WORDS) * _FLOAT_BYTES


def _arrays(state: PROSNKONSState) -> _Arrays:
    """The arrays of a state."""
    return _Arrays(*(getattr(state, name) for name in _Arrays._fields))


def _rules(learner: PROSNKONS) -> _Rules:
    """The configuration of a learner."""
    return _Rules(
        learner.kernel.native,
        learner.loss.native,
        newton_rate(learner),
        learner.clip,
        learner.regularization,
        learner.accuracy,
        learner.oversampling,
        learner.reset,
        learner.budget or -1,
    )


@native
def _room_for(room: int) -> _Space:
    """Room for events under a dictionary of at most this size."""
    length = padded(room)
    return _Space(np.zeros(length), np.zeros(length), np.empty(length), np.empty(length))


@inner
def _value(held: _Arrays, size: int, rules: _Rules, x: Array, space: _Space) -> float:
    """The value of the function at x, with its kernel row and its features left in space."""
    kernel_row(rules.kernel, held.rows, size, x, space.row)
    spread_along(held.projection, held.lengths, size, space.row, space.features)
    for j in range(size):
        space.features[j] *= held.lengths[j]
    return float(dot(held.weights, space.features, size))


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    held: _Arrays,
    size: int,
    learned: int,
    rules: _Rules,
) -> tuple[int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    room = held.weights.shape[0]
    space = _room_for(room)
    while t < X.shape[0]:
        if size == room and size != rules.budget:
            break
        value = _value(held, size, rules, X[t], space)
        score = clip_to(value, rules.clip)
        scores[t, 0] = score
        if not math.isnan(y[t]):
            learned += 1
            grown = size != rules.budget and _grows(held, size, rules, X[t], space)
            size += grown
            if grown and rules.reset:
                held.triangle[: curvature_entries(size)] = 0.0
                held.variances[:size] = 1.0 / rules.alpha
                held.weights[:size] = 0.0
            else:
                slope = loss_slope(rules.loss, score, y[t])
                eta = rate_at(rules.rate, learned)
                _newton_step(held, size, rules, value, score, slope, eta, space)
        t += 1
    return t, size, learned


@inner
def _grows(held: _Arrays, size: int, rules: _Rules, x: Array, space: _Space) -> bool:
    """Flip the coin of KORS; if x enters, give it its feature, and w and A one more weight.

    An example that the others span has a feature that is 0 everywhere.
    """
    own = kernel_at(rules.kernel, x)
    grown = sampled_by_row(
        held.rows, held.drawn_scales, held.drawn_factor, size, x, own, 1.0, held.words,
        rules.alpha, rules.accuracy, rules.oversampling, rules.budget, space.row, space.gain,
    )[1]  # fmt: skip
    if grown == size:
        return False
    spanned = dot(space.features, space.features, size)
    if is_new(own, spanned, 0.0):
        column = held.projection[column_begin(size) :]
        for j in range(size):
            share = -held.lengths[j] * space.features[j]
            add_scaled(share, held.projection[column_begin(j) :], column, j)
            column[j] += share
        space.features[size] = math.sqrt(own - spanned)
        held.lengths[size] = 1.0 / space.features[size]
    else:
        held.lengths[size] = space.features[size] = 0.0
    held.variances[size] = 1.0 / rules.alpha
    return True


@inner
def _newton_step(
    held: _Arrays,
    size: int,
    rules: _Rules,
    value: float,
    score: float,
    slope: float,
    eta: float,
    space: _Space,
) -> None:
    """Bring w back to the clip along A^-1 phi, add the event's curvature to A, and step."""
    scale = scale_of(slope, eta)
    if scale == 0.0 and score == value:
        return
    spread = spread_along(held.triangle, held.variances, size, space.features, space.turned)
    if is_sound(1.0 + scale * scale, spread):
        weight = (score - value) / spread - slope / (1.0 + scale * scale * spread)
        noise = 1.0 / (scale * scale) if scale != 0.0 else _NOISE_LARGEST
        take_in(held.triangle, held.variances, size, space.turned, noise, space.gain)
        add_scaled(weight, space.gain, held.weights, size)


@native
def _scores(X: Array, held: _Arrays, size: int, rules: _Rules) -> Array:
    """The scores of all rows of X."""
    scores = np.empty((X.shape[0], 1))
    space = _room_for(size)
    for t in range(X.shape[0]):
        scores[t, 0] = clip_to(_value(held, size, rules, X[t], space), rules.clip)
    return scores
