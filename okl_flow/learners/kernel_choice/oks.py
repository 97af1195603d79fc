"""OKS: a function for each of a few kernels, of which one is drawn for every event.

Paper: Yang, Mahdavi, Jin, Yi, Hoi, "Online kernel selection: algorithms and evaluations", AAAI
2012.
Deviations: every loss, several classes and regression are offered, and a budget of examples for
each kernel, beyond which the oldest example goes, whatever its weight.

The paper's step of the kernels' weights is sqrt(2 (1 - delta) ln N / (N T)), for N kernels and
T events in all. Here t stands for T, and the weights are exp(-step * losses) of all losses so
far, under the step as it is now: a stream need not end. Measured on german, svmguide3 and
spambase with running z-scores, elec2 and `streams.rotating`, at the best of five learning
rates from 0.01 to 1 and thirteen kernels, the mistakes of the first four were 41, 32, 25 and 23 %;
with T known 43, 33, 27 and 24 %; starting anew at every doubling of t, 48, 37, 31 and 27 %.

The paper divides the step of the drawn function by its probability p, for one in N / delta
events a step a hundred times as long as the others. Here the quotient ends at 1/2, where the
square loss has come down to 0: without that it would overshoot, each time farther. The hinge
loss was no better and no worse for it. A learning_rate above 1/2 stays as it is.

What is paid for a choice among many kernels is that each learns from its own events only, and
that delta of all events go to kernels that are known to be bad. On the three files the 25
kernels of Zhang and Liao made 46, 34 and 28 % mistakes, 13 of an octave each 41, 31 and 25 %,
and 7 from 1/4 to 16 32, 25 and 19 %: these are the default, for features of unit deviation.

Losses make probabilities and these make losses: in five hundred events a last bit grew by seven
digits. What a kernel is charged is therefore rounded to single precision, which leaves no last
bit of a score in it.

The kernel for an event is drawn as soon as the label before it is known, so that `score` can
tell what `step` will. Events without a label have the same kernel as the labelled one after them.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from okl_flow.kernels import Gaussian, gaussian_of, kernel_row
from okl_flow.learner import (
    Learner,
    Loop,
    check_dim,
    checked_features,
    fitting_loss,
    looped,
    shaped,
)
from okl_flow.losses import Loss, NativeLoss, loss_value
from okl_flow.native import Array, exponential, inner, native
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, NativeRate, native_rate, rate_at
from okl_flow.rng import WORDS, Words, draw_unit, seeded
from okl_flow.state import Axes, State, allocate
from okl_flow.support import descend, expand, expansion_bytes_max, expansion_scores, put
from okl_flow.tasks import Binary, Task, target
from okl_flow.widths import bandwidth_grid, check_grid, gamma_of

__all__ = ["OKS", "OKSState"]

_LONGEST = 0.5
_COST_LARGEST = 1e38

Counts = NDArray[np.int64]
NativeSelection = tuple[float, float]


@dataclass(slots=True)
class OKSState(State):
    """For each kernel its examples and what it has cost, and the kernel for the next event."""

    rows: Annotated[Array, Axes("kernels", "dim", "size")]  # its examples, one per column
    weights: Annotated[Array, Axes("kernels", "outputs", "size")]  # per output and example
    stored: Annotated[Counts, Axes("kernels", scalar_type=np.int64)]  # examples it ever took in
    losses: Annotated[Array, Axes("kernels")]  # each over its probability, above the least sum
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]  # the random generator
    size: int  # examples of the kernel that has most
    drawn: int  # the kernel for the next event
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class OKS(Learner):
    """Online kernel selection (OKS): kernels compete for events, each with its own function.

    A kernel is drawn for each event, with a probability that falls with the losses that it has
    had; it predicts, and its function and its sum of losses alone learn from the label. What is
    learned is divided by the probability of the draw, as if all kernels had learned.

    A narrow grid is worth more than a fine one. Scores jump from draw to draw.

    Formula:
        f(x) = sum_i a_i K_k(x_i, x) of the kernel k that was drawn, with probability
        p_k = (1 - delta) exp(-s L_k) / sum_j exp(-s L_j) + delta / N, for N kernels, where
        s = selection_rate sqrt(2 (1 - delta) ln N / (N t))
        a_t = -eta l'(f(x_t), y_t) / p_k, L_k <- L_k + l(f(x_t), y_t) / p_k

    Parameters:
        budget: examples kept at most for each kernel; None keeps all, without bound. At least 1.
        bandwidth_min: the narrowest gaussian. Above 0.
        bandwidth_max: the widest gaussian, if the steps meet it. At least bandwidth_min.
        per_octave: kernels from one bandwidth to its double. At least 1.
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step of a certain draw (lambda). Above 0.
        schedule: how those steps shrink: constant, inverse_sqrt or inverse in labelled events.
        smoothing: share of the events whose kernel is drawn evenly (delta). Above 0, at most 1.
        selection_rate: how fast losses tell, as a factor of the paper's step of the weights
            (eta), which is made for losses of about 1; where labels are large, take less. At
            least 0.
        task: binary, multiclass or regression.

    Cost: time O(budget * dim + kernels) per event, memory O(kernels * budget * dim) per key.

    >>> learner = OKS(budget=5, bandwidth_min=1.0, bandwidth_max=2.0, learning_rate=0.25)
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [0.0], [0.0]], [1.0, 1.0, 1.0])
    array([0. , 0. , 0.5])
    >>> learner.probabilities(state).round(3)
    array([0.38, 0.62])
    """

    name: ClassVar[str] = "oks"
    budget: int | None = whole(100, low=1, optional=True)
    bandwidth_min: float = real(0.25, above=0.0)
    bandwidth_max: float = real(16.0, above=0.0)
    per_octave: int = whole(1, low=1)
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    smoothing: float = real(0.2, above=0.0, high=1.0)
    selection_rate: float = real(1.0, low=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_grid(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    @property
    def bandwidths(self) -> Array:
        """The bandwidths of the kernels, the narrowest first."""
        return bandwidth_grid(self)

    def probabilities(self, state: OKSState) -> Array:
        """How likely each kernel is to be drawn, once the next label is known."""
        chances = np.empty(len(state.losses))
        _fill_chances(state.losses, state.learned, self._selection, chances)
        return chances

    def chosen(self, state: OKSState) -> list[dict[str, float]]:
        """The bandwidths, the one that has cost least first."""
        order = np.argsort(state.losses, kind="stable")
        return [{"bandwidth": float(self.bandwidths[at])} for at in order]

    def init(self, dim: int, seed: int = 0) -> OKSState:
        """A state without examples, its first kernel drawn; the seed decides on all draws."""
        check_dim(dim)
        state = allocate(OKSState, dim=dim, outputs=self.task.outputs, kernels=len(self._gammas))
        state.words = seeded(seed)
        state.drawn = _draw_place(self.probabilities(state), state.words)
        return state

    def score(self, state: OKSState, X: ArrayLike) -> Array:
        """Scores of the events by the kernel that is drawn, one per row of X."""
        features = checked_features(state, X)
        scores = expansion_scores(
            gaussian_of(self._gammas[state.drawn]),
            state.rows[state.drawn],
            state.weights[state.drawn],
            _held(state.stored, state.drawn, self.budget or -1),
            features,
        )
        return shaped(self.task, scores)

    def loop(self, dim: int) -> Loop:
        """The native loop, and what it takes."""
        rate = native_rate(self.schedule, self.learning_rate)
        return Loop(
            _learn,
            takes=(
                "rows",
                "weights",
                "stored",
                "losses",
                "words",
                "size",
                "drawn",
                "learned",
            ),
            rules=(
                self._gammas,
                self.loss.native,
                rate,
                self._selection,
                self.budget or -1,
            ),
            most={"size": self.budget},
            seeds_words=False,
        )

    def step(self, state: OKSState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        return looped(self, state, X, y)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take; None without a budget."""
        kernels = len(self._gammas)
        budget = None if self.budget is None else kernels * self.budget
        return expansion_bytes_max(dim, self.task.outputs, budget, besides=2 * kernels + WORDS)

    @cached_property
    def _gammas(self) -> Array:
        """The kernels, as the numbers by which they multiply squared distances."""
        return np.array([gamma_of(Gaussian(bandwidth=float(own))) for own in self.bandwidths])

    @cached_property
    def _selection(self) -> NativeSelection:
        """The smoothing, and the first step of the logarithms of the kernels' weights."""
        kernels = len(self._gammas)
        step = math.sqrt(2.0 * (1.0 - self.smoothing) * math.log(kernels) / kernels)
        return self.smoothing, self.selection_rate * step


@native
def _learn(
    t: int,
    X: Array,
    y: Array,
    scores: Array,
    rows: Array,
    weights: Array,
    stored: Counts,
    losses: Array,
    words: Words,
    size: int,
    drawn: int,
    learned: int,
    gammas: Array,
    loss: NativeLoss,
    rate: NativeRate,
    selection: NativeSelection,
    budget: int,
) -> tuple[int, int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    row, weight = np.empty(rows.shape[2]), np.empty(weights.shape[1])
    chances = np.empty(losses.shape[0])
    _fill_chances(losses, learned, selection, chances)
    while t < X.shape[0]:
        held = _held(stored, drawn, budget)
        if held == rows.shape[2] and held != budget:
            break
        kernel_row(gaussian_of(gammas[drawn]), rows[drawn], held, X[t], row)
        expand(weights[drawn], row, held, scores[t])
        if not math.isnan(y[t]):
            learned += 1
            eta = rate_at(rate, learned)
            eta = max(eta, min(eta / chances[drawn], _LONGEST))
            if descend(loss, scores[t], y[t], eta, weight):
                place = stored[drawn] % budget if budget > 0 else held
                put(rows[drawn], weights[drawn], place, X[t], weight)
                stored[drawn] += 1
                size = max(size, _held(stored, drawn, budget))
            _charge(losses, drawn, _cost(loss, scores[t], y[t]) / chances[drawn])
            _fill_chances(losses, learned, selection, chances)
            drawn = _draw_place(chances, words)
        t += 1
    return t, size, drawn, learned


@inner
def _held(stored: Counts, kernel: int, budget: int) -> int:
    """How many of the examples that a kernel took in it still has."""
    return int(stored[kernel] if budget < 0 else min(stored[kernel], budget))


@inner
def _cost(loss: NativeLoss, scores: Array, y: float) -> float:
    """The loss of all outputs."""
    total = 0.0
    for c in range(scores.shape[0]):
        total += loss_value(loss, scores[c], target(y, c, scores.shape[0]))
    return total


@native
def _charge(losses: Array, kernel: int, cost: float) -> None:
    """Add to the losses of a kernel, then take from all what they have in common."""
    losses[kernel] += np.float32(min(cost, _COST_LARGEST))
    least = losses[0]
    for i in range(1, losses.shape[0]):
        least = min(least, losses[i])
    for i in range(losses.shape[0]):
        losses[i] -= least


@inner
def _fill_chances(losses: Array, learned: int, selection: NativeSelection, chances: Array) -> None:
    """The probability of each kernel at the next label, its losses above the least in `losses`."""
    smoothing, first = selection
    count = losses.shape[0]
    eta = first / math.sqrt(learned + 1.0)
    total = 0.0
    for i in range(count):
        chances[i] = exponential(-eta * losses[i])
        total += chances[i]
    share, least = (1.0 - smoothing) / total, smoothing / count
    for i in range(count):
        chances[i] = share * chances[i] + least


@inner
def _draw_place(chances: Array, words: Words) -> int:
    """A place drawn with these probabilities."""
    rest = draw_unit(words)
    for i in range(chances.shape[0] - 1):
        rest -= chances[i]
        if rest < 0.0:
            return i
    return len(chances) - 1
