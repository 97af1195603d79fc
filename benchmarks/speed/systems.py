"""What an event costs the four papers' learners at the papers' sizes, beside plain numpy.

Each learner and, for the constant-cost ones, the same steps written event by event in vectorised
numpy are timed in turns within one run: the ratios are what counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.limits import bare_rows, seconds
from benchmarks.speed.report import Report
from okl_flow import Gaussian, make_learner, streams
from okl_flow.native import Array

DIM = 24
BUDGET = 100
BANDWIDTH = 2.0
GAMMA = 0.5 / BANDWIDTH**2
ETA = 0.1
ROUNDS = 7
WARM_UP = 4000
EVENTS = 4000
PLAIN_EVENTS = 400
BARE = "bare kernel row"
COST, TIMES_ROW, PLAIN = "score + learn", "score + learn, bare rows", "plain is slower by"


@dataclass(frozen=True)
class Case:
    """A learner in a state that is worth timing."""

    title: str
    name: str
    settings: dict[str, Any]
    goal: float  # microseconds
    plain: Callable[[Any, Array, Array], None] | None = None
    events: int = EVENTS
    warm_up: int = WARM_UP


def kernel_row(rows: Array, x: Array, gamma: float) -> Array:
    """The gaussian kernel of x with rows, one per line."""
    similar: Array = np.exp(-gamma * ((rows - x) ** 2).sum(axis=1))
    return similar


def plain_oks_sil(state: Any, X: Array, y: Array) -> None:
    """OKS-SIL with a full buffer, in numpy."""
    rows, weights, gamma = state.rows.T.copy(), state.weights[0].copy(), state.gamma
    generator = np.random.default_rng(0)
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        squared = ((rows - x) ** 2).sum(axis=1)
        row = np.exp(-gamma * squared)
        if label * (weights @ row) >= 1.0:
            continue
        drawn = generator.choice(len(row), 3, replace=False, p=row / row.sum())
        few = rows[drawn]
        gram = np.exp(-gamma * ((few[:, None] - few[None]) ** 2).sum(axis=2))
        alpha = np.linalg.pinv(gram) @ row[drawn]
        if 1.0 - alpha @ row[drawn] > 0.9:
            place = np.argmin(np.abs(weights))
            slope = label * (weights @ (row * squared))
            rows[place], weights[place] = x, ETA * label
            gamma = np.clip(gamma * np.exp(-gamma * slope / t), 2.0**-12, 2.0**12)
        else:
            weights[drawn] += ETA * label * alpha


def plain_features(state: Any, X: Array, y: Array) -> None:
    """Descent in the features of a fixed map, in numpy."""
    landmarks = state.rows[:, : state.projection.shape[0]].T.copy()
    projection, weights = state.projection.copy(), np.zeros(state.projection.shape[1])
    for x, label in zip(X, y, strict=True):
        features = kernel_row(landmarks, x, GAMMA) @ projection
        if label * (weights @ features) < 1.0:
            weights = weights + ETA * label * features


def projection_of(state: Any) -> Array:
    """The map of a state that has eigenpairs."""
    projection: Array = state.vectors[:, : state.rank] / np.sqrt(state.values[: state.rank])
    return projection


def plain_nearest(state: Any, X: Array, y: Array) -> None:
    """The same, looking for the nearest landmark too."""
    landmarks, projection = state.rows.T.copy(), projection_of(state)
    weights = np.zeros(state.rank)
    for x, label in zip(X, y, strict=True):
        squared = ((landmarks - x) ** 2).sum(axis=1)
        nearest = int(np.argmin(squared))
        features = np.exp(-GAMMA * squared) @ projection
        if label * (weights @ features) < 1.0:
            weights = weights + ETA * label * features
        if squared[nearest] >= 1e9:
            raise AssertionError("no landmark is to move")


def plain_moves(state: Any, X: Array, y: Array) -> None:
    """NOLANA with a moved landmark at every event, its eigenpairs from scratch, in numpy."""
    landmarks, counts = state.rows.T.copy(), np.ones(state.rows.shape[1])
    squared = ((landmarks[:, None] - landmarks[None]) ** 2).sum(axis=2)
    gram, rank = np.exp(-GAMMA * squared), state.rank
    projection, weights = projection_of(state), np.zeros(rank)
    for x, label in zip(X, y, strict=True):
        squared = ((landmarks - x) ** 2).sum(axis=1)
        nearest = int(np.argmin(squared))
        features = np.exp(-GAMMA * squared) @ projection
        if label * (weights @ features) < 1.0:
            weights = weights + ETA * label * features
        old = np.delete(gram, nearest, axis=0) @ projection @ weights
        moved = (counts[nearest] * landmarks[nearest] + x) / (counts[nearest] + 1)
        at_moved = kernel_row(landmarks, moved, GAMMA) @ projection @ weights
        landmarks[nearest], counts[nearest] = moved, counts[nearest] + 1
        gram[nearest] = gram[:, nearest] = kernel_row(landmarks, moved, GAMMA)
        values, vectors = np.linalg.eigh(gram)
        values, vectors = np.maximum(values[-rank:], 1e-10 * values[-1]), vectors[:, -rank:]
        projection = vectors / np.sqrt(values)
        weights = (
            (vectors.T @ np.insert(old, nearest, at_moved)) * np.sqrt(values) / (values + 1e-8)
        )


CASES = (
    Case("oks_sil", "oks_sil", {"budget": BUDGET}, 2.0, plain_oks_sil),
    Case(
        "skegd between updates, the paper's sketch",
        "skegd",
        {"budget": BUDGET, "sketch_size": 75, "landmark_count": 15, "rank": 10,
         "update_every": 10**9},
        1.0,
        plain_features,
    ),
    Case(
        "skegd between updates, its own default sketch",
        "skegd",
        {"budget": BUDGET, "update_every": 10**9},
        1.0,
        plain_features,
    ),
    Case(
        "nolana, no landmark moves",
        "nolana",
        {"budget": BUDGET, "rank": 80, "squared_distance": 1e9},
        2.0,
        plain_nearest,
    ),
    Case(
        "nolana, a landmark moves at every event",
        "nolana",
        {"budget": BUDGET, "rank": 80, "squared_distance": 0.0},
        150.0,
        plain_moves,
    ),
    Case("kons at 500 stored", "kons", {"budget": 500}, 300.0, events=1000),
    Case(
        "sketched_kons, 100 in the sketch and 1,000 beside it",
        "sketched_kons",
        {"budget": 1000, "dictionary_size": 100},
        10.0,
    ),
)  # fmt: skip


def measured(*, quick: bool) -> Report:
    """The cases and their plain versions, in turns."""
    X, y = streams.rings(WARM_UP + EVENTS, dim=DIM, seed=1)
    rows = np.random.default_rng(0).standard_normal((DIM, BUDGET))
    kernel = Gaussian(bandwidth=BANDWIDTH).native
    rest_X, rest_y = X[WARM_UP:], y[WARM_UP:]
    works: dict[str, tuple[int, Callable[[], object]]] = {
        BARE: (EVENTS, partial(bare_rows, kernel, rows, rest_X))
    }
    for case in CASES:
        own = {} if "kons" in case.name else {"learning_rate": ETA}
        learner = make_learner(case.name, bandwidth=BANDWIDTH, **own, **case.settings)
        state = learner.init(DIM)
        learner.step(state, X[: case.warm_up], y[: case.warm_up])
        some = rest_X[: case.events], rest_y[: case.events]
        works[case.title] = case.events, partial(learner.step, state, *some)
        if case.plain is not None:
            few = rest_X[:PLAIN_EVENTS], rest_y[:PLAIN_EVENTS]
            works[plain_title(case)] = PLAIN_EVENTS, partial(case.plain, state, *few)
    took: dict[str, list[float]] = {title: [] for title in works}
    bare_rows(kernel, rows, rest_X)  # which compiles it
    for _ in range(2 if quick else ROUNDS):
        for title, (count, work) in works.items():
            took[title].append(1e6 * seconds(work) / count)
    figures = Figures("systems")
    for title, found in took.items():
        figures.add(title, COST, "µs", found)
    for case in CASES:
        figures.add_ratio(case.title, TIMES_ROW, took[case.title], took[BARE])
        if case.plain is not None:
            figures.add_ratio(case.title, PLAIN, took[plain_title(case)], took[case.title])
    text = (
        f"Score and learn in batches, budget {BUDGET}, {DIM} features, `streams.rings`; processor "
        f"time. A bare native kernel row of this size takes {figures.text(BARE, COST)} µs in the "
        "same run. *Plain*: the same steps in vectorised numpy, event by event."
    )
    title = "Cost of an event for the four papers' learners"
    return Report(figures, title, [text, table(figures)])


def plain_title(case: Case) -> str:
    """What the plain version of a case is called."""
    return f"{case.title}, plain"


def table(figures: Figures) -> str:
    """A line per case."""
    header = ["learner", "µs", "goal, µs", "× bare row", "plain numpy, µs", "plain is slower by"]
    lines = [
        [
            case.title,
            figures.text(case.title, COST),
            f"{case.goal:g}",
            figures.text(case.title, TIMES_ROW),
            figures.text(plain_title(case), COST),
            figures.text(case.title, PLAIN),
        ]
        for case in CASES
    ]
    return markdown(header, lines)
