"""What the speed is to be, and whether it is: each goal held to the figures of one run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.report import markdown
from benchmarks.speed import engine, flat, kafka, kafka_keys, learners, peers, resume
from benchmarks.speed.figures import Figure, Figures, results, shown
from okl_flow.registry import REGISTRY

__all__ = ["GOALS", "Goal", "goal_table"]

LINEAR = ("budget * dim", "feature_count * dim")
"""The work of the learners whose cost is to grow like this, in the words of the registry."""


@dataclass(frozen=True)
class Goal:
    """A figure, or several of which the worst counts, and what it is to be."""

    words: str
    part: str
    cases: Sequence[str]
    measure: str
    bound: float
    at_least: bool = False

    def reached(self, value: float) -> bool:
        """Whether a value is as it is to be."""
        return value >= self.bound if self.at_least else value <= self.bound

    def worst(self, figures: Figures) -> Figure | None:
        """The figure that counts, of those that were measured: a new learner was not yet."""
        found = [figures.get(case, self.measure) for case in self.cases]
        measured = [one for one in found if one is not None]
        choose = min if self.at_least else max
        return choose(measured, key=lambda one: one.value, default=None)

    def judged(self, figure: Figure) -> str:
        """Whether it is reached, and whether all rounds say so."""
        said = "yes" if self.reached(figure.value) else "no"
        agree = self.reached(figure.low) == self.reached(figure.high)
        return said if agree else f"{said}, but not in every round"


def _row_goals() -> list[Goal]:
    times_row = [
        Goal(f"`{name}`: bare kernel rows", "learners", [learners.MAIN.case(name)],
             learners.TIMES_ROW, 2.0)
        for name in ("kogd", "bogd", "rbp", "bpa_s", "oks_sil", "nogd")
    ]  # fmt: skip
    times_product = [
        Goal(f"`{name}`: matrix-vector products of its size", "learners",
             [learners.MAIN.case(name)], learners.TIMES_LIMIT, 1.5)
        for name in ("fogd", "skegd")
    ]  # fmt: skip
    times_product += [
        Goal("`fogd`: products as wide as its features", "learners",
             [learners.MAIN.case("fogd")], learners.TIMES_WIDE, 1.5),
    ]  # fmt: skip
    ons = Goal("`ons` with 100 features, µs", "learners", [learners.MAIN.case("ons")],
               learners.BOTH, 8.0)  # fmt: skip
    return [*times_row, *times_product, ons]


def _growth_goals() -> list[Goal]:
    linear = [name for name, row in REGISTRY.items() if row.cost in LINEAR]
    events = [f"{name}, {flat.ALL}" for name in flat.LEARNERS]
    return [
        Goal("exponent in the budget, of linear work, at most linear", "learners", linear,
             learners.IN_BUDGET, 1.05),
        Goal("exponent in the features, of linear work, at most linear", "learners", linear,
             learners.IN_DIM, 1.05),
        Goal("exponent in the number of events, flat", "learners", events, flat.EXPONENT, 0.02),
    ]  # fmt: skip


def _engine_goals() -> list[Goal]:
    million, one = [engine.case_of(1_000_000)], [engine.ONE_KEY]
    small = [engine.case_of(1_000_000, small=True)]
    return [
        Goal("one key: µs that engine and operator add", "engine", one, engine.ADDED, 1.5),
        Goal("a million keys, events/s per process", "engine", million, engine.RATE, 80_000.0,
             at_least=True),
        Goal("the same, as it was asked at first", "engine", million, engine.RATE, 50_000.0,
             at_least=True),
        Goal("a million keys: an event, to one of 1,000 keys", "engine", million, engine.GROWN,
             2.0),
        Goal("the same in source batches of 1,000", "engine", small, engine.GROWN, 2.0),
        Goal("the same, as it was asked at first", "engine", million, engine.GROWN, 3.0),
        Goal("the same in source batches of 1,000, as it was asked at first", "engine", small,
             engine.GROWN, 3.0),
        Goal("a million keys: % of the time in snapshots", "engine", million, engine.SHARE, 20.0),
        Goal("a million stored keys: s to the first event of a resumed job", "resume",
             [resume.case_of(1_000_000)], resume.FIRST_EVENT, 5.0),
    ]  # fmt: skip


def _peer_goals() -> list[Goal]:
    return [
        Goal("`fogd` is faster than River's kernel route by", "peers", [peers.RIVER], peers.TIMES,
             500.0, at_least=True),
        Goal("`fogd` is faster than scikit-learn's, event by event, by", "peers", [peers.SKLEARN],
             peers.TIMES, 300.0, at_least=True),
    ]  # fmt: skip


def _kafka_goals() -> list[Goal]:
    def rate(words: str, bound: float) -> Goal:
        return Goal(words, "kafka", [kafka.OURS.title], kafka.RATE, bound, at_least=True)

    def ratio(words: str, job: kafka.Job, other: kafka.Job, bound: float) -> Goal:
        return Goal(words, "kafka", [job.title], kafka.times_of(other), bound, at_least=True)

    ours, first = kafka.OURS, "the same, as it was asked at first"
    return [
        rate("topic to topic, events/s per process", 100_000.0),
        rate(first, 80_000.0),
        Goal("topic to topic, a million keys, events/s per process", "kafka",
             [kafka_keys.MILLION.title], kafka.RATE, 80_000.0, at_least=True),
        Goal("topic to topic, a million keys: an event, to one of 1,000 keys", "kafka",
             [kafka_keys.MILLION.title], kafka_keys.GROWN, 2.0),
        ratio("topic to topic, to a bare loop with the client's defaults", ours, kafka.BARE, 0.7),
        ratio(first, ours, kafka.BARE, 0.6),
        ratio("topic to topic, to a bare loop with our settings", ours, kafka.FAST_BARE, 0.7),
        ratio("50 partitions, to 2", kafka.MANY, ours, 0.8),
        ratio("exactly_once, to at_least_once", kafka.EXACTLY, ours, 0.8),
        ratio("two processes, to one, on two cores with the broker", kafka.TWO, kafka.MANY, 1.6),
        Goal("two processes, to one, each with half a core of its own", "kafka", [kafka.TWO.title],
             kafka.HELD_TIMES, 1.6, at_least=True),
    ]  # fmt: skip


GOALS = (*_row_goals(), *_peer_goals(), *_kafka_goals(), *_engine_goals(), *_growth_goals())


def goal_table(read: Callable[[str], Figures] = results) -> str:
    """Every goal, what was measured, and whether it is reached."""
    header = ["what", "goal", "measured", "from and to", "reached"]
    parts = {part: read(part) for part in dict.fromkeys(goal.part for goal in GOALS)}
    lines = []
    for goal in GOALS:
        found = goal.worst(parts[goal.part])
        asked = f"{'at least' if goal.at_least else 'at most'} {shown(goal.bound)}"
        if found is None:
            lines.append([goal.words, asked, "-", "-", "not measured"])
            continue
        words = goal.words
        if len(goal.cases) > 1:
            words += f" (the worst: `{found.case.partition(',')[0]}`)"
        spread = f"{shown(found.low)} to {shown(found.high)}"
        lines.append([words, asked, shown(found.value), spread, goal.judged(found)])
    return markdown(header, lines)
