"""Learners that have seen enough to be full, and the limits beside them, ready to be timed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.speed.limits import bare_fourier, bare_products, bare_rows, seconds
from okl_flow import Gaussian, make_learner, snapshot, streams
from okl_flow.approximation.random_features import fourier_directions
from okl_flow.native import Array
from okl_flow.registry import REGISTRY

__all__ = ["Contestant", "Size", "limits_of", "sizes_of"]

WARM_UP = 4000
EVENTS = 4000  # that a contestant has to be timed on, round after round
SINGLE = 200
LEAST = 400  # events in one go, some updates of `skegd` among them where it has many
GO_SECONDS = 0.01  # that one go should take
STAY = 1e9  # no landmark moves: the part `systems` says what a move costs


@dataclass(frozen=True)
class Size:
    """A budget (or as many Fourier directions), and the features of an event."""

    budget: int
    dim: int

    def case(self, name: str) -> str:
        """What a figure of this size is called."""
        return f"{name}, budget {self.budget}, dim {self.dim}"

    @property
    def bandwidth(self) -> float:
        """A bandwidth that goes with so many features."""
        return float(np.sqrt(self.dim))


def sizes_of(name: str, budget: int) -> dict[str, float]:
    """Of the parameters that say how large a learner is, those that this one has."""
    wanted = {"budget": budget, "feature_count": budget, "dictionary_size": budget}
    known = REGISTRY[name].learner().describe()
    return {key: value for key, value in wanted.items() if key in known}


class Contestant:
    """A learner that is full, and the events that it is timed on."""

    def __init__(self, name: str, size: Size, **settings: float) -> None:
        wanted = sizes_of(name, size.budget)
        more = {"bandwidth": size.bandwidth, "squared_distance": STAY}
        known = REGISTRY[name].learner().describe()
        wanted |= {key: value for key, value in more.items() if key in known}
        self.learner = make_learner(name, **wanted | settings)
        X, y = streams.rings(WARM_UP + EVENTS, dim=size.dim, seed=1)
        self.state = self.learner.init(size.dim)
        half = WARM_UP // 2
        self.learner.step(self.state, X[:half], y[:half])
        took = seconds(lambda: self.learner.step(self.state, X[half:WARM_UP], y[half:WARM_UP]))
        go = int(GO_SECONDS / (took / half)) // LEAST * LEAST
        self.count = min(max(go, LEAST), EVENTS)
        self.X, self.y = X[WARM_UP:], y[WARM_UP:]
        self.at = 0

    def both(self) -> float:
        """Microseconds an event to score and to learn, in one batch; other events each time."""
        X, y = self._next(self.count)
        return 1e6 * seconds(lambda: self.learner.step(self.state, X, y)) / self.count

    def score(self) -> float:
        """Microseconds an event to score, in one batch."""
        X = self.X[: self.count]
        return 1e6 * seconds(lambda: self.learner.score(self.state, X)) / self.count

    def single(self) -> float:
        """Microseconds of a call with one event."""
        X, y = self._next(SINGLE)
        rows = [(X[t : t + 1], y[t : t + 1]) for t in range(SINGLE)]

        def calls() -> None:
            for x, label in rows:
                self.learner.step(self.state, x, label)

        return 1e6 * seconds(calls) / SINGLE

    def packed_bytes(self) -> int:
        """The length of its snapshot."""
        return len(snapshot.dumps(self.learner, self.state))

    def _next(self, count: int) -> tuple[Array, Array]:
        """The next events, round and round."""
        if self.at + count > EVENTS:
            self.at = 0
        begin, self.at = self.at, self.at + count
        return self.X[begin : self.at], self.y[begin : self.at]


def limits_of(size: Size) -> Iterator[tuple[str, Callable[[], float]]]:
    """The limits of a size by their names: each takes the microseconds of an event."""
    X, _ = streams.rings(EVENTS, dim=size.dim, seed=2)
    rows = np.ascontiguousarray(X[: size.budget].T)
    gaussian = Gaussian(bandwidth=size.bandwidth)
    directions = np.array(fourier_directions(gaussian, size.budget, size.dim, 0))
    both = np.hstack([directions, directions])  # as wide as the features, a cosine and a sine each
    square = np.random.default_rng(0).normal(size=(size.budget, size.budget))
    wide = np.ascontiguousarray(np.resize(X, (EVENTS, size.budget)))
    landmarks, rank = (size.budget + 1) // 2, 2 * size.budget // 5
    of_landmarks, of_map = rows[:, :landmarks].copy(), square[:landmarks, :rank].copy()
    few = wide[:, :landmarks].copy()

    def sketched() -> None:
        bare_products(of_landmarks, X)
        bare_products(of_map, few)

    for name, work in (
        ("bare kernel row", lambda: bare_rows(gaussian.native, rows, X)),
        ("bare product, dim × budget", lambda: bare_products(directions, X)),
        ("bare product, dim × twice the budget", lambda: bare_products(both, X)),
        ("bare products of a sketched map", sketched),
        ("bare product, budget × budget", lambda: bare_products(square, wide)),
        ("bare Fourier map", lambda: bare_fourier(directions, X)),
    ):
        yield name, _timed(work)


def _timed(work: Callable[[], object]) -> Callable[[], float]:
    work()  # which compiles it
    return lambda: 1e6 * seconds(work) / EVENTS
