"""Features brought to one scale while a learner learns, and missing ones filled in.

The statistics are part of the learner's state: what a key's model was trained on goes with it
through snapshots and crashes, and raw features need no pass of their own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.learner import Learner, check_dim, checked_events, checked_features, shaped
from okl_flow.native import Array, native
from okl_flow.parameters import check, choice, flat
from okl_flow.state import Axes, State, allocate, numbers_within
from okl_flow.tasks import Regression

__all__ = ["SCALES", "Scaled", "ScaledState"]

SCALES = ("standard", "minmax", "none")
_STANDARD, _MINMAX, _NONE = range(len(SCALES))
_FLOAT_BYTES = 8

Statistics = tuple[Array, Array, Array, Array, Array]


@dataclass(slots=True)
class ScaledState(State):
    """Running statistics of each feature, and of the label in regression, which comes last."""

    counts: Annotated[Array, Axes("columns")]  # values that were not missing
    means: Annotated[Array, Axes("columns")]
    squares: Annotated[Array, Axes("deviating")]  # summed squared distances from the mean
    lows: Annotated[Array, Axes("ranging")]
    highs: Annotated[Array, Axes("ranging")]
    missing: int  # values filled in so far
    inner: State  # of the learner behind


@final
@dataclass(frozen=True, kw_only=True)
class Scaled(Learner):
    """A learner behind running statistics of its features.

    Each event is scaled by the statistics of all events up to and with itself, so that a value
    of "standard" is at most the root of the number of events, and one of "minmax" between -1
    and 1, however far off it is. Features that never changed are 0. In regression labels are
    scaled as features are, and scores come back in units of the label.

    Parameters:
        learner: the learner behind.
        scale: standard, to mean 0 and deviation 1; minmax, to -1 .. 1; none.
        missing: refuse an event with a feature of NaN, or put the mean of that feature so far
            in its place; the state counts how often.

    Cost: time and memory O(dim) besides those of the learner.

    >>> from okl_flow import make_learner
    >>> learner = make_learner("fogd", scale="standard", missing="mean")
    >>> state = learner.init(dim=2)
    >>> scores = learner.step(state, [[1e6, 0.1], [2e6, np.nan]], [1.0, -1.0])
    >>> state.means[0], state.missing
    (np.float64(1500000.0), 1)
    """

    learner: Learner
    scale: str = choice(*SCALES)
    missing: str = choice("refuse", "mean")

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "name", self.learner.name)
        object.__setattr__(self, "task", self.learner.task)

    def init(self, dim: int, seed: int = 0) -> ScaledState:
        """A state that knows no scale yet, around a fresh one of the learner behind."""
        check_dim(dim)
        return self._around(dim, self.learner.init(dim, seed=seed))

    @property
    def may_miss(self) -> bool:
        """Whether a feature may be NaN, for a value that is missing."""
        return self.missing == "mean"

    def blank(self, dim: int, numbers: Mapping[str, Any]) -> ScaledState:
        """A state for a snapshot to fill."""
        return self._around(dim, self.learner.blank(dim, numbers_within(numbers, "inner.")))

    def _around(self, dim: int, inner: State) -> ScaledState:
        columns = dim + isinstance(self.task, Regression)
        return allocate(
            ScaledState,
            dim=dim,
            columns=columns,
            deviating=columns if self.scale == "standard" else 0,
            ranging=columns if self.scale == "minmax" else 0,
            inner=inner,
        )

    def score(self, state: ScaledState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        features = checked_features(state, X, may_miss=self.may_miss)
        scaled = np.empty_like(features)
        known = _copied(state)
        _refuse(features, _scale_rows(features, self._code, False, scaled, *known))
        scores = self.learner.score(state.inner, scaled).reshape(len(features), -1)
        if isinstance(self.task, Regression):
            center, width = _label_scale(self._code, *known)
            scores = center + width * scores
        return shaped(self.task, scores)

    def step(self, state: ScaledState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        features, labels = checked_events(self.task, state, X, y, may_miss=self.may_miss)
        known = _copied(state)
        scaled = np.empty_like(features)
        _refuse(features, _scale_rows(features, self._code, True, scaled, *known))
        if isinstance(self.task, Regression):
            targets, centers, widths = (np.empty_like(labels) for _ in range(3))
            if not _scale_labels(labels, self._code, targets, centers, widths, *known):
                raise ValueError("y holds numbers too far apart to be scaled")
            scores = centers + widths * self.learner.step(state.inner, scaled, targets)
        else:
            scores = self.learner.step(state.inner, scaled, labels)
        # All has gone well, so what the events have changed takes effect.
        state.counts, state.means, state.squares, state.lows, state.highs = known
        state.missing += int(np.isnan(features).sum()) if self.may_miss else 0
        state.seen += features.shape[0]
        return scores

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        inner = self.learner.state_bytes_max(dim)
        arrays = {"standard": 3, "minmax": 4, "none": 2}[self.scale]  # as in the state
        own = arrays * (dim + isinstance(self.task, Regression)) * _FLOAT_BYTES
        return None if inner is None else inner + own

    @property
    def innermost(self) -> Learner:
        """The learner at the core."""
        return self.learner.innermost

    def describe(self) -> dict[str, Any]:
        """The configuration of the learner behind, and the scaling."""
        return {**self.learner.describe(), **flat(self)}

    @property
    def _code(self) -> int:
        return SCALES.index(self.scale)


def _copied(state: ScaledState) -> Statistics:
    """Copies of the statistics, which a loop may change, and may be compiled to change."""
    return (
        state.counts.copy(),
        state.means.copy(),
        state.squares.copy(),
        state.lows.copy(),
        state.highs.copy(),
    )


def _refuse(X: Array, position: int) -> None:
    """Refuse the value at this position; -1 is for none."""
    if position >= 0:
        row, column = divmod(position, X.shape[1])
        raise ValueError(
            f"X holds numbers too far apart to be scaled: row {row}, feature {column} is "
            f"{X[row, column]}"
        )


@native
def _scale_rows(
    X: Array,
    scale: int,
    learn: bool,
    out: Array,
    counts: Array,
    means: Array,
    squares: Array,
    lows: Array,
    highs: Array,
) -> int:
    """Scale all rows of X, and under `learn` take each into the statistics.

    Returns the position of the first value that cannot be scaled; -1 if there is none.
    """
    for t in range(X.shape[0]):
        bad = _scale(X[t], 0, scale, learn, out[t], counts, means, squares, lows, highs)
        if bad >= 0:
            return int(t * X.shape[1] + bad)
    return -1


@native
def _scale(
    values: Array,
    first: int,
    scale: int,
    learn: bool,
    out: Array,
    counts: Array,
    means: Array,
    squares: Array,
    lows: Array,
    highs: Array,
) -> int:
    """Scale values of the columns from the first on, each by those so far and itself.

    NaN stands for the mean so far. Returns the place of a value that makes the statistics
    overflow; -1 if there is none.
    """
    for i in range(values.shape[0]):
        j, value = first + i, values[i]
        missing = math.isnan(value)
        count = counts[j] + (0.0 if missing else 1.0)
        gap = 0.0 if missing else value - means[j]
        mean = means[j] + gap / max(1.0, count)
        value = mean if missing else value
        out[i], spread = value, gap
        if scale == _STANDARD:
            spread = squares[j] + gap * (value - mean)
            out[i] = (value - mean) / math.sqrt(spread / count) if spread > 0.0 else 0.0
            if learn:
                squares[j] = spread
        elif scale == _MINMAX:
            low = value if counts[j] == 0.0 else min(lows[j], value)
            high = value if counts[j] == 0.0 else max(highs[j], value)
            spread = high - low
            out[i] = 2.0 * ((value - low) / spread) - 1.0 if spread > 0.0 else 0.0
            if learn:
                lows[j] = low
                highs[j] = high
        if learn:
            counts[j] = count
            means[j] = mean
        if not math.isfinite(spread):
            return i
    return -1


@native
def _label_scale(
    scale: int, counts: Array, means: Array, squares: Array, lows: Array, highs: Array
) -> tuple[float, float]:
    """What a scaled score is added to, and the factor before it, by the labels so far."""
    j = counts.shape[0] - 1
    if scale == _STANDARD:
        return means[j], math.sqrt(squares[j] / max(1.0, counts[j]))
    if scale == _MINMAX:
        return 0.5 * (lows[j] + highs[j]), 0.5 * (highs[j] - lows[j])
    return 0.0, 1.0


@native
def _scale_labels(
    y: Array,
    scale: int,
    out: Array,
    centers: Array,
    widths: Array,
    counts: Array,
    means: Array,
    squares: Array,
    lows: Array,
    highs: Array,
) -> bool:
    """Scale labels and take them in, with the scale of each score; False if they overflow."""
    for t in range(y.shape[0]):
        centers[t], widths[t] = _label_scale(scale, counts, means, squares, lows, highs)
        out[t] = y[t]
        if not math.isnan(y[t]):
            label, place = y[t : t + 1], out[t : t + 1]
            last = counts.shape[0] - 1
            if _scale(label, last, scale, True, place, counts, means, squares, lows, highs) >= 0:
                return False
    return True
