"""Parameters found while learning: several learners side by side, of which the best is kept."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from okl_flow.kernels import Gaussian, Kernel, Laplacian, kernel_at
from okl_flow.learner import Learner, check_dim, checked_events, checked_features, shaped
from okl_flow.losses import Square, SquaredHinge
from okl_flow.mixture import BELIEF, mix, score_by_mean
from okl_flow.native import Array
from okl_flow.parameters import changed, check, flat, parts_within, whole
from okl_flow.state import Axes, State, allocate, numbers_within
from okl_flow.tasks import Regression

__all__ = [
    "AUTO",
    "FORGETTINGS",
    "RATES",
    "TUNABLE",
    "WIDTHS",
    "Tuned",
    "TunedState",
    "loss_rate",
]

AUTO = "auto"
TUNABLE = ("bandwidth", "learning_rate", "forgetting")

# Multiples of the learner's typical width, and of the step that the loss and the kernel allow. A
# candidate is believed the less at the start, the further back its values stand.
WIDTHS = (1.0, 0.5, 2.0, 4.0)
RATES = (1.0, 0.3, 3.0, 0.1)
FORGETTINGS = (1.0, 0.99, 0.9)
_LISTS = {"bandwidth": WIDTHS, "learning_rate": RATES, "forgetting": FORGETTINGS}

_TOGETHER = 250  # events after which a candidate without hope is let go, at the latest
_HALVED, _QUARTERED = 16, 4  # shares of the trial after which fewer candidates go on
_QUADRATIC_RATE = 0.25  # of a step on a loss that grows with the square
_SHRINKAGE_MAX = 0.5
_FLOAT_BYTES = 8


@dataclass(slots=True)
class TunedState(State):
    """First the events that the median distance is taken of, then the candidates."""

    rows: Annotated[Array, Axes("dim", "size")]  # examples held at the start, one per column
    labels: Annotated[Array, Axes("size")]
    sums: Annotated[Array, Axes("outputs")]  # of the targets so far
    log_weights: Annotated[Array, Axes("answers")]  # belief in each candidate, then in their mean
    places: Annotated[NDArray[np.int64], Axes("kept", scalar_type=np.int64)]  # in the grid
    spread: Annotated[Array, Axes(3)]  # labels counted, their mean, summed squared distances
    seed: int  # for the candidates
    size: int  # examples held
    kept: int  # candidates
    learned: int  # events that came with a label
    unit_bandwidth: float  # median distance of the examples held
    unit_rate: float  # step that the loss and the kernel allow
    candidates: list[State]


@final
@dataclass(frozen=True, kw_only=True)
class Tuned(Learner):
    """A learner that finds its bandwidth, its learning rate or its forgetting by itself.

    The first labelled events are held; until there are enough of them, scores are the mean of
    their targets, an answer that stays in the running. Then their median distance is taken, and
    candidates begin with multiples of it as bandwidth, around the one that is typical of the
    learner, with four learning rates, with a forgetting of 1, 0.99 and 0.9, or with all
    combinations. They learn the events held, then go on side by side; a score is the mean of
    theirs, each by its weight, which falls exponentially with its mistakes and a quarter of its
    logistic loss, or with its squared error. After a sixteenth of the trial half of them go on,
    after a quarter a quarter, and in the end as many as are to survive; who is hopelessly
    behind does not wait for it.

    Parameters:
        learner: the learner to be tuned; its own values of what is tuned play no part.
        tunes: "bandwidth", "learning_rate", "forgetting", or several of them.
        first_events: labelled events that the median distance is taken of. At least 2.
        trial_events: labelled events after which only the survivors go on. At least 16.
        survivors: candidates that go on in the end, at most. At least 1.

    Cost: time and memory of the survivors; during the trial those of all candidates, and of
    `first_events` examples.

    >>> from okl_flow import make_learner, streams
    >>> learner = make_learner("nogd", bandwidth="auto", learning_rate="auto")
    >>> state = learner.init(dim=2)
    >>> scores = learner.step(state, *streams.rings(6000))
    >>> state.kept, learner.chosen(state)
    (2, [{'bandwidth': 0.25, 'learning_rate': 1.0}, ...])
    """

    learner: Learner
    tunes: tuple[str, ...] = ("bandwidth", "learning_rate")
    first_events: int = whole(20, low=2)
    trial_events: int = whole(4000, low=16)
    survivors: int = whole(2, low=1)

    _made: ClassVar[dict[tuple[int, float, float], Learner]]

    def __post_init__(self) -> None:
        check(self)
        own = flat(self.learner)
        for name in self.tunes:
            if name not in TUNABLE:
                raise ValueError(f"Tuned: tunes must be of {', '.join(TUNABLE)}, not {name!r}")
            if name not in own:
                raise ValueError(f"{self.learner.name} has no {name} to be found")
        object.__setattr__(self, "learner", self._candidate(0, 1.0, 1.0))
        object.__setattr__(self, "_made", {})
        object.__setattr__(self, "name", self.learner.name)
        object.__setattr__(self, "task", self.learner.task)

    def init(self, dim: int, seed: int = 0) -> TunedState:
        """A state that has seen nothing; `seed` is that of every candidate."""
        check_dim(dim)
        return allocate(
            TunedState, dim=dim, outputs=self.task.outputs, seed=int(seed), candidates=[]
        )

    def blank(self, dim: int, numbers: Mapping[str, Any]) -> TunedState:
        """A state for a snapshot to fill."""
        state = self.init(dim)
        for number in range(numbers["kept"]):
            own = numbers_within(numbers, f"candidates.{number}.")
            state.candidates.append(self.learner.blank(dim, own))
        return state

    def score(self, state: TunedState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X)
        scores = np.empty((features.shape[0], self.task.outputs))
        if state.kept == 0:
            scores[:] = state.sums / max(1, state.learned)
            return shaped(self.task, scores)
        each = self._each(
            state, lambda learner, inner: learner.score(inner, features), len(features)
        )
        each[-1] = state.sums / max(1, state.learned)
        unlabelled = np.full(features.shape[0], math.nan)
        beliefs, spread = state.log_weights.copy(), state.spread.copy()
        mix(each, unlabelled, self._regresses, beliefs, spread, scores)
        return shaped(self.task, scores)

    def step(self, state: TunedState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        features, labels = checked_events(self.task, state, X, y)
        scores = np.empty((features.shape[0], self.task.outputs))
        labelled = np.concatenate([[0], np.cumsum(~np.isnan(labels))])  # in so many events
        begin = 0
        while begin < features.shape[0]:
            until = labelled[begin] + self._next_stop(state.learned) - state.learned
            end = min(int(np.searchsorted(labelled, until)), features.shape[0])
            if state.kept > 1:
                end = min(end, begin + _TOGETHER)
            here = slice(begin, end)
            if state.kept == 0:
                self._hold(state, features[here], labels[here], scores[here])
            else:
                self._learn(state, features[here], labels[here], scores[here])
            state.learned += int(labelled[end] - labelled[begin])
            begin = end
            if state.kept == 0 and state.learned == self.first_events:
                self._begin(state)
            self._thin_out(state)
        state.seen += features.shape[0]
        return shaped(self.task, scores)

    def chosen(self, state: TunedState) -> list[dict[str, float]]:
        """The values that the candidates still there have, the most believed first."""
        order = np.argsort(-state.log_weights[: state.kept], kind="stable")
        settings = [flat(self._placed(state, state.places[at])) for at in order]
        return [{name: own[name] for name in self.tunes} for own in settings]

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        inner = self.learner.state_bytes_max(dim)
        if inner is None:
            return None
        held = self.first_events * (dim + 1) + self.task.outputs + 3
        return held * _FLOAT_BYTES + self._grid * (inner + 2 * _FLOAT_BYTES)

    @property
    def innermost(self) -> Learner:
        """The learner at the core."""
        return self.learner.innermost

    def describe(self) -> dict[str, Any]:
        """The configuration of the learner, with "auto" for what is found."""
        return {**self.learner.describe(), **dict.fromkeys(self.tunes, AUTO), **flat(self)}

    @property
    def _regresses(self) -> bool:
        return isinstance(self.task, Regression)

    @property
    def _grid(self) -> int:
        """Candidates at the start."""
        return math.prod(len(_LISTS[name]) for name in self.tunes)

    def _placed(self, state: TunedState, place: int) -> Learner:
        """The learner at a place of a state's grid; it is made once for all states."""
        key = (int(place), state.unit_bandwidth, state.unit_rate)
        if key not in self._made:
            self._made[key] = self._candidate(*key)
        return self._made[key]

    def _candidate(self, place: int, unit_bandwidth: float, unit_rate: float) -> Learner:
        """The learner at a place of the grid."""
        own = flat(self.learner)
        changes = {}
        for name, at in self._places_of(place):
            if name == "bandwidth":
                width = self.learner.typical_width * WIDTHS[at] * unit_bandwidth
                narrowest, widest = own.get("bandwidth_min", 0.0), own.get("bandwidth_max", width)
                changes[name] = min(max(width, narrowest), widest)
            elif name == "learning_rate":
                shrinkage = own.get("regularization", 0.0)
                most = _SHRINKAGE_MAX / shrinkage if shrinkage > 0.0 else math.inf
                changes[name] = min(RATES[at] * unit_rate, most)
            else:
                changes[name] = FORGETTINGS[at]
        made: Learner = changed(self.learner, changes)
        return made

    def _places_of(self, place: int) -> Iterator[tuple[str, int]]:
        """Where a place of the grid stands in the list of each parameter."""
        for name in TUNABLE:
            if name in self.tunes:
                yield name, place % len(_LISTS[name])
                place //= len(_LISTS[name])

    def _next_stop(self, learned: int) -> int:
        """The number of labelled events, beyond those learned, after which there is a change."""
        trial = self.trial_events
        stops = (self.first_events, trial // _HALVED, trial // _QUARTERED, trial)
        return min((stop for stop in stops if stop > learned), default=learned + 2**62)

    def _hold(self, state: TunedState, X: Array, y: Array, scores: Array) -> None:
        """Score by the mean of the targets, and hold the events that have labels."""
        labelled = ~np.isnan(y)
        score_by_mean(y, state.sums, state.learned, scores)
        state.rows = np.concatenate([state.rows, X[labelled].T], axis=1)
        state.labels = np.concatenate([state.labels, y[labelled]])
        state.size = state.labels.size

    def _begin(self, state: TunedState) -> None:
        """Take the median distance of the events held, and let the candidates learn them."""
        X, y = np.ascontiguousarray(state.rows.T), state.labels
        kernel = next(
            (part for part in parts_within(self.learner) if isinstance(part, Kernel)), None
        )
        metric = "cityblock" if isinstance(kernel, Laplacian) else "euclidean"
        state.unit_bandwidth = _rounded(float(np.median(pdist(X, metric))))
        state.unit_rate = loss_rate(self.learner)
        if kernel is not None and not isinstance(kernel, Gaussian | Laplacian):
            own = [kernel_at(kernel.native, x) for x in X]
            state.unit_rate *= _rounded(1.0 / max(1e-300, float(np.mean(own))))
        state.kept = self._grid
        state.places = np.arange(state.kept)
        behind = [sum(at for _, at in self._places_of(place)) for place in range(state.kept)]
        state.log_weights = -BELIEF * np.array([*behind, 0], dtype=np.float64)
        state.candidates = [
            self._placed(state, place).init(state.dim, seed=state.seed)
            for place in range(state.kept)
        ]
        state.sums[:] = 0.0
        state.learned = 0
        self._learn(state, X, y, np.empty((y.size, self.task.outputs)))
        state.learned = y.size
        state.rows, state.labels = np.zeros((state.dim, 0)), np.zeros(0)
        state.size = 0

    def _learn(self, state: TunedState, X: Array, y: Array, scores: Array) -> None:
        """Let the candidates learn the events, and weigh them by how they did."""
        each = self._each(state, lambda learner, inner: learner.step(inner, X, y), len(X))
        score_by_mean(y, state.sums, state.learned, each[-1])
        mix(each, y, self._regresses, state.log_weights, state.spread, scores)

    def _each(
        self, state: TunedState, ask: Callable[[Learner, State], Array], events: int
    ) -> Array:
        """The answers by candidate, event and output, with room behind for the constant one."""
        each = np.empty((state.kept + 1, events, self.task.outputs))
        for k, (place, inner) in enumerate(zip(state.places, state.candidates, strict=True)):
            each[k] = ask(self._placed(state, place), inner).reshape(events, -1)
        return each

    def _thin_out(self, state: TunedState) -> None:
        """Keep as many candidates as the trial has got to, and none that has diverged."""
        share = 1
        if state.learned >= self.trial_events:
            share = self._grid
        elif state.learned >= self.trial_events // _QUARTERED:
            share = 4
        elif state.learned >= self.trial_events // _HALVED:
            share = 2
        most = max(self.survivors, self._grid // share)
        beliefs = state.log_weights[: state.kept]
        most = min(most, max(1, int(np.isfinite(beliefs).sum())))
        if state.kept > most:
            best = np.sort(np.argsort(-beliefs, kind="stable")[:most])
            state.candidates = [state.candidates[at] for at in best]
            state.log_weights = np.append(beliefs[best], state.log_weights[-1])
            state.places = state.places[best]
            state.kept = most


def loss_rate(learner: Learner) -> float:
    """The step that a learner's loss allows, under a kernel with K(x, x) = 1."""
    quadratic = isinstance(getattr(learner, "loss", None), Square | SquaredHinge)
    return _QUADRATIC_RATE if quadratic else 1.0


def _rounded(unit: float) -> float:
    """A unit to the nearest quarter of an octave, so that many states share few of them."""
    if not (math.isfinite(unit) and unit > 0.0):
        return 1.0
    return math.exp2(round(4.0 * math.log2(unit)) / 4.0)
