"""What an event costs each learner, over budgets and dimensions, beside the least it could be.

All learners and limits of one size are timed in turns, round after round, on other events each
time: the ratios are what counts.
"""

import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.report import markdown
from benchmarks.speed import flat
from benchmarks.speed.contestants import Contestant, Size, limits_of, sizes_of
from benchmarks.speed.figures import Figures, shown
from benchmarks.speed.report import Report
from okl_flow.registry import REGISTRY

__all__ = [
    "BOTH",
    "IN_BUDGET",
    "IN_DIM",
    "LIMITS",
    "MAIN",
    "OFTEN",
    "ROW",
    "TIMES_LIMIT",
    "TIMES_ROW",
    "TIMES_WIDE",
    "grid_table",
    "limits_table",
    "measured",
    "row_of",
]

BUDGETS = (20, 100, 400)
DIMS = (8, 24, 128)
MAIN = Size(100, 24)
ROUNDS = 7

BOTH, SCORE, SINGLE, PACKED = "score + learn", "score", "one call", "snapshot"
TIMES_ROW, TIMES_LIMIT = "score + learn, bare rows", "score + learn, its limit"
ROW = "bare kernel row"
LIMITS = {
    "fogd": "bare product, dim × budget",
    "rrf": "bare product, dim × budget",
    "skegd": "bare products of a sketched map",
    "ons": "bare product, budget × budget",
}
"""The limits of those that are not measured by a kernel row."""
WIDE, TIMES_WIDE = "bare product, dim × twice the budget", "score + learn, products of its width"
OFTEN_EVERY = 200
OFTEN = f"skegd, an update every {OFTEN_EVERY} events"

IN_BUDGET, IN_DIM = "exponent in the budget", "exponent in the dimension"
MORE_BUDGET, MORE_DIM = "one more in the budget", "one more feature"

COLD_START = """
import time
begin = time.perf_counter()
import numpy as np
from okl_flow import make_learner
learner = make_learner("kogd", budget=100)
state = learner.init(24)
learner.step(state, np.zeros((1, 24)), np.ones(1))
print(time.perf_counter() - begin)
"""

Rounds = dict[tuple[str, str], list[float]]


def measured(*, quick: bool) -> Report:
    """The cost of every learner, how it grows, and that it does not grow with the events."""
    figures = Figures("learners")
    rounds = 2 if quick else ROUNDS
    costs: dict[tuple[str, int, int], list[float]] = {}
    for budget, dim in itertools.product(BUDGETS, DIMS):
        size = Size(budget, dim)
        if quick and MAIN.budget != budget and MAIN.dim != dim:
            continue
        for name, found in measure(figures, size, rounds).items():
            costs[name, budget, dim] = found
    for name in REGISTRY:
        growth(figures, name, costs)
    flat.measure(figures, quick=quick)
    figures.add("first import to first event", "cold start", "s", cold_starts())
    sections = [
        main_text(figures),
        main_table(figures),
        "## Beside the limit of each",
        f"Budget {MAIN.budget}, {MAIN.dim} features. *Its limit*: a bare native kernel row; for "
        "those that say so the bare matrix-vector products that a score takes, of the same size, "
        "by the native loop `products`. `fogd` stands there twice: its product has a column for "
        "each direction, and its features are twice as many, a cosine and a sine of each. `skegd` "
        f"stands there twice, with the updates of its default and with one every {OFTEN_EVERY} "
        "events. The ratios are made round by round.",
        limits_table(figures),
        "## Over budgets and dimensions",
        "Score and learn, µs an event; then the exponents that fit best (1 is linear), in the "
        f"budget at {MAIN.dim} features and in the features at a budget of {MAIN.budget}, and "
        "what one more of each costs beyond the middle size, ns.",
        grid_table(figures),
        *flat.sections(figures),
    ]
    return Report(figures, "Cost of an event", sections)


def measure(figures: Figures, size: Size, rounds: int) -> dict[str, list[float]]:
    """All learners and limits of one size; what score and learn took, round by round."""
    names = [name for name in REGISTRY if size.budget == MAIN.budget or sizes_of(name, size.budget)]
    contestants = {name: Contestant(name, size) for name in names}
    for name, one in contestants.items():  # before rounds whose events depend on the clock
        figures.count(size.case(name), PACKED, "bytes", one.packed_bytes())
    works: dict[tuple[str, str], Callable[[], float]] = {
        (name, BOTH): work for name, work in limits_of(size)
    }
    for name, one in contestants.items():
        works |= {(name, BOTH): one.both, (name, SCORE): one.score, (name, SINGLE): one.single}
    if size == MAIN:
        works[OFTEN, BOTH] = Contestant("skegd", size, update_every=OFTEN_EVERY).both
    took: Rounds = {key: [] for key in works}
    for _ in range(rounds):
        for key, work in works.items():
            took[key].append(work())
    for (name, what), found in took.items():
        figures.add(size.case(name), what, "µs", found)
    for name in names:
        both = took[name, BOTH]
        figures.add_ratio(size.case(name), TIMES_ROW, both, took[ROW, BOTH])
        limit = LIMITS.get(name, ROW)
        figures.add_ratio(size.case(name), TIMES_LIMIT, both, took[limit, BOTH])
    if size == MAIN:
        limit = LIMITS["skegd"]
        figures.add_ratio(size.case(OFTEN), TIMES_LIMIT, took[OFTEN, BOTH], took[limit, BOTH])
        figures.add_ratio(size.case("fogd"), TIMES_WIDE, took["fogd", BOTH], took[WIDE, BOTH])
    return {name: took[name, BOTH] for name in names}


def growth(figures: Figures, name: str, costs: dict[tuple[str, int, int], list[float]]) -> None:
    """How the cost of a learner grows with its budget and with the dimension."""
    for exponent, more, sizes, cells in (
        (IN_BUDGET, MORE_BUDGET, BUDGETS, [(name, budget, MAIN.dim) for budget in BUDGETS]),
        (IN_DIM, MORE_DIM, DIMS, [(name, MAIN.budget, dim) for dim in DIMS]),
    ):
        if not all(cell in costs for cell in cells):
            continue  # it has no budget
        turns = list(zip(*(costs[cell] for cell in cells), strict=True))
        figures.add(name, exponent, "", [exponent_of(sizes, turn) for turn in turns])
        steps = [1e3 * (turn[-1] - turn[-2]) / (sizes[-1] - sizes[-2]) for turn in turns]
        figures.add(name, more, "ns", steps)


def exponent_of(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The exponent that fits best: the slope of the logarithms."""
    slope: float = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    return slope


def cold_starts() -> list[float]:
    """Seconds from the first import to the first learned event, loops compiled before."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", COLD_START], capture_output=True, text=True, check=True
        )
        for _ in range(4)
    ]
    return [float(run.stdout) for run in runs[1:]]


def main_text(figures: Figures) -> str:
    """What the first table shows."""
    row = figures.text(MAIN.case(ROW), BOTH)
    start = figures.text("first import to first event", "cold start")
    return (
        f"Budget (or Fourier directions) {MAIN.budget}, {MAIN.dim} features, `streams.rings`, "
        "which in so many dimensions stays so hard that nearly every event is learned from: the "
        "dear case. *Score + learn* and *score* are in batches, *one call* is a `step` of one "
        "event with all its checks; processor time, the median of the rounds. `skegd` updates its "
        "map when its events have doubled, which is in fewer than half of the rounds; of `nolana` "
        f"no landmark moves. A bare native kernel row of this size takes {row} µs. From the first "
        f"import to the first learned event, loops compiled before: {start} s."
    )


def row_of(figures: Figures, name: str) -> tuple[list[str], list[str]]:
    """What the columns of the main table are, and what they are for a learner."""
    case = MAIN.case(name)
    row = figures.get(case, TIMES_ROW)
    cells = {
        "score + learn, µs": figures.text(case, BOTH),
        "× bare row": "-" if row is None else f"{row.value:.1f}",
        "score, µs": figures.text(case, SCORE),
        "one call, µs": figures.text(case, SINGLE),
        "snapshot, bytes": figures.text(case, PACKED),
    }
    return list(cells), list(cells.values())


def main_table(figures: Figures) -> str:
    """Every learner at the main size."""
    header = row_of(figures, "")[0]
    return markdown(["learner", *header], [[name, *row_of(figures, name)[1]] for name in REGISTRY])


def limits_table(figures: Figures) -> str:
    """Every learner beside its limit, with what the rounds said, then the limits themselves."""
    header = ["learner", "limit", "µs", "from and to", "× its limit", "from and to"]
    rows = [(name, LIMITS.get(name, ROW), TIMES_LIMIT) for name in REGISTRY]
    rows += [("fogd", WIDE, TIMES_WIDE), (OFTEN, LIMITS["skegd"], TIMES_LIMIT)]
    lines = [
        [
            name,
            limit,
            *_told(figures, MAIN.case(name), BOTH),
            *_told(figures, MAIN.case(name), times),
        ]
        for name, limit, times in rows
    ]
    for limit in (ROW, *dict.fromkeys(LIMITS.values()), WIDE, "bare Fourier map"):
        lines.append([limit, "", *_told(figures, MAIN.case(limit), BOTH), "", ""])
    return markdown(header, lines, left=2)


def _told(figures: Figures, case: str, measure: str) -> tuple[str, str]:
    """A figure, and from where to where its rounds went."""
    return figures.text(case, measure), figures.spread(case, measure)


def grid_table(figures: Figures) -> str:
    """Every learner at every size, and how its cost grows."""
    sizes = [Size(budget, dim) for budget, dim in itertools.product(BUDGETS, DIMS)]
    header = ["learner", *(f"{size.budget} × {size.dim}" for size in sizes)]
    header += ["in budget", "in features", "one more in the budget", "one more feature"]
    lines = []
    for name in (*REGISTRY, ROW):
        cells = [figures.text(size.case(name), BOTH) for size in sizes]
        grown = [figures.get(name, what) for what in (IN_BUDGET, IN_DIM, MORE_BUDGET, MORE_DIM)]
        lines.append([name, *cells, *("-" if one is None else shown(one.value) for one in grown)])
    return markdown(header, lines)
