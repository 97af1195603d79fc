"""OKS-SIL: hypothesis sketching, a budgeted expansion whose kernel's width is learned with it.

Paper: Zhang, Liao, "Hypothesis sketching for online kernel selection in continuous kernel
space", IJCAI 2020 (Algorithm 1).
Deviations: every loss, several classes and regression are offered, and regularization. The width
moves by its logarithm; `bandwidth_step="paper"` and a bandwidth_rate of 1 are the paper's.

The paper's step, in gamma itself, depends on the unit of the features. Where they are large, a
step of the weights of 0.1 is enough for one of the first steps to take gamma to where the kernel
vanishes, and with it every later slope: nothing moves it again. Measured on german, svmguide3
and spambase as they are, rescaled to [-1, 1] and standardised, from an eighth, half, twice and
eight times the median distance, each at the best learning_rate from 0.0001 to 1, the mistakes
were on average 25.3 % with the paper's step, 25.8 with the logarithmic one at a bandwidth_rate
of 1, 24.7 at 10, and 26.0 at a width that stays. From eight times the median the paper's step
did better (25.0, against 28.3), since the logarithm's slope fades where the kernel is all but
constant: there, begin with a narrower width or take that step.

On a stream without end the weights grow: what enters a full budget is light and soon goes again,
while heavy rows stay for ever. A width that has settled stands that: 17.2 % mistakes over a
million events of `streams.rotating`. Steps of the width that do not shrink drive on with the
weights, and there ended at 33 %. With regularization the weights stay small and old rows fade: at
0.01, and a bandwidth_rate_min of 0.01, it was 15.1 % to the end.

What the paper leaves open:

- Whether an event is learned at all is decided by f_t, as line 6 of Algorithm 1 has it, and the
  slope of that same score moves the weights and the width. The paper's formula (4) would take
  the slope of the width anew, after the step of the weights; line 19 does not. On the
  three files neither was the better one throughout.
- With several outputs one sample of rows serves all, the row of least weight is the one whose
  weights have the least norm, and the slopes in gamma add up.
- Where no stored row has a kernel above 0 there is no distribution to draw from. Any sample
  would give coefficients of 0 and a distance of 1, so none is drawn.
- Weights that are equal but for round-off are a tie, which the lowest place wins; and a
  distance that is 0 but for round-off is 0.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from okl_flow.kernels import (
    Gaussian,
    Kernel,
    gaussian_of,
    squared_distance,
    squared_distances,
)
from okl_flow.lanes import LANES, line
from okl_flow.learner import Learner, Loop, check_dim, fitting_loss, looped
from okl_flow.losses import Loss, NativeLoss
from okl_flow.native import (
    Array,
    dot,
    exponential,
    exponentials_of,
    first_up_to,
    inner,
    largest,
    least,
    native,
    padded,
    shrink_rows,
)
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.projection import project, projection_space
from okl_flow.rates import SCHEDULES, NativeRate, check_shrinkage, native_rate, rate_at
from okl_flow.rng import WORDS, Words, draw_by_weight, seeded, sum_stretches
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
from okl_flow.widths import WIDTH_STEPS, NativeWidth, check_width, gamma_of, moved, native_width

__all__ = ["OKSSIL", "OKSSILState"]

_SAME = 1e-12
_DISTANCE_SMALLEST = 1e-10


@dataclass(slots=True)
class OKSSILState(Expansion):
    """The examples kept, the kernel that they have come to, and the generator."""

    gamma: float  # the kernel is exp(-gamma |x - z|^2)
    learned: int  # events that came with a label
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator

    @property
    def bandwidth(self) -> float:
        """The width that the kernel has come to."""
        return math.sqrt(0.5 / self.gamma)


@final
@dataclass(frozen=True, kw_only=True)
class OKSSIL(Learner):
    """Hypothesis sketching (OKS-SIL): descent on a budget of examples and on the kernel's width.

    Every example with a loss is kept while there is room. With a full budget a few kept ones
    are drawn, those near the new one more often. If they express it badly, it takes the place
    of the row of least weight; else its step is shared out among them. Each time the kept
    examples change, the width of the kernel takes a gradient step too, for all of them.

    Begin with a width that is rather too narrow than too wide. `state.bandwidth` is where it
    has come to.

    Formula:
        f(x) = sum_i a_i exp(-gamma |x_i - x|^2), a_t = -eta l'(f(x_t), y_t); shared out among drawn
        rows instead where these express x_t
        log gamma <- log gamma - rho / t l'(f(x_t), y_t) df(x_t) / dlog gamma

    Parameters:
        budget: examples kept at most (B). At least 1.
        sample_size: rows drawn to express the new example (s). At least 1.
        dependency: squared distance from their span, of at most 1, up to which they do (nu).
        kernel: gaussian, with the bandwidth to begin with (sigma_1).
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step of the weights (eta). Above 0.
        schedule: how those steps shrink: constant, inverse_sqrt or inverse in labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        bandwidth_rate: size of the first step of the width (rho); after t labelled events a
            step is bandwidth_rate / t. The paper has 1. At least 0.
        bandwidth_rate_min: size below which the steps of the width do not shrink; at 0 the
            width settles. Above 0, on a stream that drifts, take regularization too. At least 0.
        bandwidth_step: what moves: relative, the logarithm of gamma = 1 / (2 bandwidth^2); or
            paper, gamma itself.
        bandwidth_min: the narrowest width (the low end of Omega). Above 0.
        bandwidth_max: the widest width (the high end of Omega). Above 0.
        task: binary, multiclass or regression.

    Cost: time O(budget * dim + sample_size^3) per event, memory O(budget * dim) per key.

    >>> learner = OKSSIL(budget=2, kernel=Gaussian(bandwidth=1.0), learning_rate=0.5)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [1.0]], [1.0, -1.0, -1.0]).round(3)
    array([ 0.   ,  0.303, -0.328])
    >>> state.bandwidth < 1.0
    True
    """

    name: ClassVar[str] = "oks_sil"
    budget: int = whole(100, low=1)
    sample_size: int = whole(3, low=1)
    dependency: float = real(0.9, low=0.0, high=1.0)
    kernel: Gaussian = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    bandwidth_rate: float = real(10.0, low=0.0)
    bandwidth_rate_min: float = real(0.0, low=0.0)
    bandwidth_step: str = choice(*WIDTH_STEPS)
    bandwidth_min: float = real(2.0**-6.5, above=0.0)
    bandwidth_max: float = real(2.0**5.5, above=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_shrinkage(self)
        check_width(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> OKSSILState:
        """A state without examples; the seed decides which of them will be drawn."""
        check_dim(dim)
        state = allocate(OKSSILState, dim=dim, outputs=self.task.outputs)
        state.gamma = gamma_of(self.kernel)
        state.words = seeded(seed)
        return state

    def score(self, state: OKSSILState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X, gaussian_of(state.gamma))

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        rate = native_rate(self.schedule, self.learning_rate)
        width = native_width(self)
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "size",
                "learned",
                "gamma",
                "words",
            ),
            rules=(
                self.loss.native,
                rate,
                self.regularization,
                width,
                self.dependency,
                projection_space(min(self.sample_size, self.budget)),
                self.budget,
            ),
            most={"size": self.budget},
        )

    def step(self, state: OKSSILState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=WORDS)


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    size: int,
    learned: int,
    gamma: float,
    words: Words,
    loss: NativeLoss,
    rate: NativeRate,
    lam: float,
    width: NativeWidth,
    nu: float,
    space: Array,
    budget: int,
) -> tuple[int, int, int, float]:
    """Go through the events from t on; stop early where the arrays need more room."""
    room, ones = np.zeros((3, padded(rows.shape[1]))), np.ones(rows.shape[1])
    ends = np.empty(padded(room.shape[1] // LANES))
    distances, row, left = room[0], room[1], room[2]
    pull, weight = np.empty(weights.shape[0]), np.empty(weights.shape[0])
    drawn = np.empty(space.shape[1], dtype=np.int64)
    similar, alpha = np.empty(space.shape[1]), np.empty(space.shape[1])
    while t < X.shape[0]:
        if size == rows.shape[1] and size != budget:
            break
        squared_distances(rows, size, line(X, t), distances)
        exponentials_of(-gamma, distances, size, row)
        expand(weights, row, size, line(scores, t))
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            shrink_rows(weights, 1.0 - eta * lam, size)
            if descend(loss, line(scores, t), y[t], 1.0, pull):
                for c in range(weights.shape[0]):
                    weight[c] = eta * pull[c]
                place = size
                if size == budget:
                    count = _draw_rows(row, size, ones, words, left, ends, drawn)
                    rest = _distance(rows, row, gamma, drawn, count, similar, alpha, space)
                    if rest > max(nu, _DISTANCE_SMALLEST):
                        place = _lightest(weights, size, left)
                    else:
                        place = -1
                        _share_out(weights, weight, alpha, drawn, count)
                if place >= 0:
                    if place < size:
                        distances[place] = 0.0  # of x with itself, from now on
                    slope = _slope(weights, pull, row, distances, size, left)
                    put(rows, weights, place, line(X, t), weight)
                    size = max(size, place + 1)
                    gamma = moved(gamma, slope, width, learned)
        t += 1
    return t, size, learned, gamma


@inner
def _draw_rows(
    row: Array,
    size: int,
    ones: Array,
    words: Words,
    left: Array,
    ends: Array,
    drawn: NDArray[np.int64],
) -> int:
    """Draw places without replacement, in proportion to the kernel. Returns how many there were.

    A place that was drawn before is drawn anew among the others. That gives each of these the same
    chance as if all draws were among them, and most draws need not wait for the one before.
    """
    weights, slack = row, sum_stretches(row, ends)
    for count in range(len(drawn)):
        place = draw_by_weight(words, weights, size, ones, ends, slack)
        if _is_among(drawn, count, place):
            for i in range(left.shape[0]):
                left[i] = row[i]
            for earlier in range(count):
                left[drawn[earlier]] = 0.0
            weights, slack = left, sum_stretches(left, ends)
            place = draw_by_weight(words, weights, size, ones, ends, slack)
        if place < 0:
            return count
        drawn[count] = place
    return len(drawn)


@inner
def _is_among(drawn: NDArray[np.int64], count: int, place: int) -> bool:
    """Whether a place is one of the first that were drawn."""
    found = False
    for earlier in range(count):
        found |= drawn[earlier] == place
    return found


@inner
def _distance(
    rows: Array,
    row: Array,
    gamma: float,
    drawn: NDArray[np.int64],
    count: int,
    similar: Array,
    alpha: Array,
    space: Array,
) -> float:
    """The squared distance of K(x, .) from the span of the drawn rows, and its coefficients."""
    gram = space[2]
    for a in range(count):
        gram[a, a] = 1.0
        for b in range(a):
            away = squared_distance(rows, drawn[a], drawn[b])
            gram[a, b] = gram[b, a] = exponential(-gamma * away)
    for a in range(count):
        similar[a] = row[drawn[a]]
    return 1.0 - float(project(gram, count, similar, alpha, space))


@inner
def _lightest(weights: Array, size: int, norms: Array) -> int:
    """The place whose weights have the least norm over the outputs."""
    for i in range(size):
        norms[i] = 0.0
    for c in range(weights.shape[0]):
        for i in range(size):
            norms[i] += weights[c, i] * weights[c, i]
    limit = math.sqrt(least(norms, size)) + _SAME * math.sqrt(largest(norms, size))
    return first_up_to(norms, size, limit * limit)


@inner
def _share_out(
    weights: Array, weight: Array, alpha: Array, drawn: NDArray[np.int64], count: int
) -> None:
    """Add the step of the new example to the drawn rows, by its coefficients on them."""
    for c in range(weights.shape[0]):
        for a in range(count):
            weights[c, drawn[a]] += weight[c] * alpha[a]


@inner
def _slope(
    weights: Array, pull: Array, row: Array, distances: Array, size: int, terms: Array
) -> float:
    """The slope of the loss in gamma, with `pull` the slopes of minus the loss in the scores."""
    for i in range(size):
        terms[i] = row[i] * distances[i] if row[i] > 0.0 else 0.0
    slope = 0.0
    for c in range(weights.shape[0]):
        slope += pull[c] * dot(weights[c], terms, size)
    return slope
