"""Ten million events through one model: the last ones cost what the first ones did.

The exponent is that of the cost of an event in the number of events before it: 0 is flat. It is
fitted to every tenth chunk, beginning with each of the first ten, and so comes with its noise.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.report import markdown
from benchmarks.speed.contestants import sizes_of
from benchmarks.speed.figures import Figures
from benchmarks.speed.limits import seconds
from okl_flow import make_learner, streams
from okl_flow.native import Array

__all__ = ["ALL", "EXPONENT", "LEARNERS", "measure", "sections", "table"]

LEARNERS = ("kogd", "bogd", "bpa_s", "fogd", "nogd", "oks_sil", "arow")
CHUNK = 100_000
CHUNKS = 100
QUICK_CHUNKS = 20
TURNS = 10
BUDGET, DIM, BANDWIDTH = 100, 24, 5.0
EXPONENT = "exponent in the events"
ALL, COUNT = "event after event", "events"
FIRST, LAST, LATER = "first tenth", "last tenth", "last tenth to first"


def measure(figures: Figures, *, quick: bool) -> None:
    """The cost of chunk after chunk, in batches, for some learners in turn."""
    chunks = QUICK_CHUNKS if quick else CHUNKS
    size = CHUNK // 10 if quick else CHUNK
    learners = {name: make_learner(name, **_settings(name)) for name in LEARNERS}
    states = {name: learner.init(DIM) for name, learner in learners.items()}
    took: dict[str, list[float]] = {name: [] for name in LEARNERS}

    def costs(name: str, X: Array, y: Array) -> float:
        return 1e6 * seconds(lambda: learners[name].step(states[name], X, y)) / size

    warm, labels = streams.rings(4 * BUDGET, dim=DIM, seed=0)  # which fill the models
    for name, learner in learners.items():
        learner.step(states[name], warm, labels)
    for chunk in range(chunks):
        X, y = streams.rings(size, dim=DIM, seed=1 + chunk)
        for name, found in took.items():
            found.append(costs(name, X, y))
    figures.count(ALL, COUNT, "", float(chunks * size))
    for name, found in took.items():
        describe(figures, name, found)


def describe(figures: Figures, name: str, costs: Sequence[float]) -> None:
    """What the costs of a learner's chunks say."""
    case, tenth = f"{name}, {ALL}", len(costs) // 10
    first, last = costs[:tenth], costs[-tenth:]
    figures.add(case, FIRST, "µs", first)
    figures.add(case, LAST, "µs", last)
    figures.add_ratio(case, LATER, last, first)
    places, logs = np.log(np.arange(1, len(costs) + 1) - 0.5), np.log(costs)
    turns = min(TURNS, len(costs) // 2)
    slopes = [float(np.polyfit(places[t::turns], logs[t::turns], 1)[0]) for t in range(turns)]
    figures.add(case, EXPONENT, "", slopes)


def sections(figures: Figures) -> list[str]:
    """The part of the page."""
    text = (
        f"{figures.value(ALL, COUNT):,.0f} events through one model, budget {BUDGET}, {DIM} "
        "features: the cost of an event in the first and in the last tenth of them, and the "
        "exponent of the cost in the number of events, where 0 is flat."
    )
    return ["## Event after event", text, table(figures)]


def table(figures: Figures) -> str:
    """A line per learner."""
    header = ["learner", "first tenth, µs", "last tenth, µs", "last to first", "exponent",
              "from and to"]  # fmt: skip
    lines = []
    for name in LEARNERS:
        case = f"{name}, {ALL}"
        cells = [figures.text(case, what) for what in (FIRST, LAST, LATER, EXPONENT)]
        lines.append([name, *cells, figures.spread(case, EXPONENT)])
    return markdown(header, lines)


def _settings(name: str) -> dict[str, float]:
    known = make_learner(name).describe()
    bandwidth = {"bandwidth": BANDWIDTH} if "bandwidth" in known else {}
    return {**sizes_of(name, BUDGET), **bandwidth}
