"""What an event costs the neighbours' kernel routes, beside ours at the same width, in one run.

Each predicts an event and learns from it then. Vowpal Wabbit takes part where it is installed.
With a connector and Kafka around them: the part `kafka`.
"""

import importlib
import importlib.util
from collections.abc import Callable

import numpy as np
from river import feature_extraction
from river import linear_model as river_linear
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks.report import PACKAGES, markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.limits import seconds
from benchmarks.speed.report import Report
from okl_flow import make_learner, streams
from okl_flow.native import Array

__all__ = ["COST", "OURS", "RIVER", "SKLEARN", "TIMES", "measured"]

WIDTH, DIM = 100, 24
BANDWIDTH = float(np.sqrt(DIM))
GAMMA = 0.5 / BANDWIDTH**2
EVENTS, SLOW_EVENTS = 20_000, 300
BATCH = 1000
ROUNDS = 7

COST, TIMES = "an event", "fogd is faster by"
OURS, OURS_SINGLE = "fogd, in batches", "fogd, a call for each event"
RIVER = f"River, RBFSampler({WIDTH}) and LogisticRegression"
RIVER_NARROW = f"River, RBFSampler({2 * WIDTH // DIM}) and LogisticRegression"
SKLEARN = f"scikit-learn, RBFSampler({WIDTH}) and SGDClassifier, event by event"
SKLEARN_BATCH = f"scikit-learn, the same, {BATCH} events at a time"
VOWPAL = "Vowpal Wabbit, event by event"

Route = Callable[[], float]
"""Microseconds of an event."""


def measured(*, quick: bool) -> Report:
    """All routes in turns."""
    routes: dict[str, Route] = {
        OURS: fogd(EVENTS, EVENTS),
        OURS_SINGLE: fogd(SLOW_EVENTS, 1),
        RIVER: river(WIDTH),
        RIVER_NARROW: river(2 * WIDTH // DIM),
        SKLEARN: sklearn(SLOW_EVENTS, 1),
        SKLEARN_BATCH: sklearn(EVENTS, BATCH),
    }
    packages = [*PACKAGES, "scikit-learn"]
    if importlib.util.find_spec("vowpalwabbit"):
        routes[VOWPAL] = vowpal_wabbit()
        packages.append("vowpalwabbit")
    took: dict[str, list[float]] = {name: [] for name in routes}
    with threadpool_limits(1):
        for route in routes.values():
            route()  # which compiles, fills and warms
        for _ in range(2 if quick else ROUNDS):
            for name, route in routes.items():
                took[name].append(route())
    figures = Figures("peers")
    for name, found in took.items():
        figures.add(name, COST, "µs", found)
        if name != OURS:
            figures.add_ratio(name, TIMES, found, took[OURS])
    title = "Cost of an event, beside the neighbours"
    return Report(figures, title, [text(), table(figures)], packages)


def stream(count: int) -> tuple[Array, Array]:
    """The events of all routes."""
    return streams.rings(count, dim=DIM, seed=1)


def fogd(count: int, together: int) -> Route:
    """Ours: score and learn."""
    learner = make_learner("fogd", feature_count=WIDTH, bandwidth=BANDWIDTH)
    state, (X, y) = learner.init(DIM), stream(count)
    cut = [(X[at : at + together], y[at : at + together]) for at in range(0, count, together)]

    def work() -> None:
        for some, labels in cut:
            learner.step(state, some, labels)

    return lambda: 1e6 * seconds(work) / count


def river(components: int) -> Route:
    """River's kernel route; its map has so many features for each feature of an event."""
    model = (
        feature_extraction.RBFSampler(gamma=GAMMA, n_components=components, seed=1)
        | river_linear.LogisticRegression()
    )
    X, y = stream(SLOW_EVENTS)
    events = [(dict(enumerate(x)), b > 0) for x, b in zip(X.tolist(), y.tolist(), strict=True)]

    def work() -> None:
        for features, label in events:
            model.predict_proba_one(features)
            model.learn_one(features, label)

    return lambda: 1e6 * seconds(work) / SLOW_EVENTS


def sklearn(count: int, together: int) -> Route:
    """Scikit-learn's kernel route, so many events at a time."""
    sampler = RBFSampler(gamma=GAMMA, n_components=WIDTH, random_state=1).fit(np.zeros((1, DIM)))
    model = SGDClassifier(loss="log_loss", random_state=1)
    X, y = stream(count)
    classes = np.array([-1.0, 1.0])
    model.partial_fit(sampler.transform(X[:together]), y[:together], classes=classes)
    cut = [(X[at : at + together], y[at : at + together]) for at in range(0, count, together)]

    def work() -> None:
        for some, labels in cut:
            features = sampler.transform(some)
            model.decision_function(features)
            model.partial_fit(features, labels)

    return lambda: 1e6 * seconds(work) / count


def vowpal_wabbit() -> Route:
    """Vowpal Wabbit, linear with all products of two features: it has no kernel route."""
    options = "--quiet --loss_function logistic --binary --interactions ::"
    model = importlib.import_module("vowpalwabbit").Workspace(options)
    X, y = stream(SLOW_EVENTS)
    lines = [
        (" | " + " ".join(f"{j}:{value:.9g}" for j, value in enumerate(x)), f"{label:g}")
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]

    def work() -> None:
        for features, label in lines:
            model.predict(features)
            model.learn(label + features)

    return lambda: 1e6 * seconds(work) / SLOW_EVENTS


def text() -> str:
    """What was done."""
    missing = "" if importlib.util.find_spec("vowpalwabbit") else " It was not installed here."
    return (
        f"{DIM} features, width {WIDTH}, `streams.rings`; predict, then learn; processor time, one "
        f"thread, all in turns. `fogd` has a cosine and a sine of each of {WIDTH} directions, so "
        f"{2 * WIDTH} features; scikit-learn's map has {WIDTH}. River's has {WIDTH} for each "
        f"feature of an event, {WIDTH * DIM:,} in all, and {2 * WIDTH // DIM * DIM} in the second "
        "line, which is the one to look at for the same width. Events are made ready before the "
        "clock runs: dictionaries for River, matrices, lines of text. Vowpal Wabbit has no kernel "
        f"route; it learns all products of two features.{missing}"
    )


def table(figures: Figures) -> str:
    """A line per route."""
    header = ["route", "µs per event", "from and to", "`fogd` in batches is faster by"]
    lines = [
        [
            one.case,
            figures.text(one.case, COST),
            figures.spread(one.case, COST),
            figures.text(one.case, TIMES),
        ]
        for one in figures
        if one.measure == COST
    ]
    return markdown(header, lines)
