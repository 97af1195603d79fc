"""What stands between the marks of docs/speed.md: every figure of it, from the results."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.report import RESULTS, markdown
from benchmarks.speed import engine, flat, kafka, kafka_keys, learners, peers, profile, resume
from benchmarks.speed.figures import Figures, results, shown
from benchmarks.speed.goals import goal_table
from benchmarks.speed.parts import PARTS

__all__ = ["CONTENTS"]


@dataclass(frozen=True)
class Gap:
    """Something of ours beside its limit, and what we know of what lies between."""

    ours: str
    limit: str
    part: str
    cost: tuple[str, str]  # case and measure of ours
    least: tuple[str, str]  # and of the limit
    between: str


MAIN = learners.MAIN.case
GAPS = (
    Gap("`kogd`", "a bare kernel row", "learners", (MAIN("kogd"), learners.BOTH),
        (MAIN(learners.ROW), learners.BOTH),
        "the sum over the row, the loss, and a new example in the place of an old one"),
    Gap("`nogd`", "a bare kernel row", "learners", (MAIN("nogd"), learners.BOTH),
        (MAIN(learners.ROW), learners.BOTH),
        "the product with its triangular map, as long as the row again"),
    Gap("`fogd`", "its bare Fourier map", "learners", (MAIN("fogd"), learners.BOTH),
        (MAIN("bare Fourier map"), learners.BOTH),
        "two passes over twice as many weights as directions: the score and the step"),
    Gap("`fogd`", "a bare matrix-vector product", "learners", (MAIN("fogd"), learners.BOTH),
        (MAIN(learners.LIMITS["fogd"]), learners.BOTH),
        "a cosine and a sine of each direction, which cost more than the product"),
    Gap("`skegd`", "its bare products", "learners", (MAIN("skegd"), learners.BOTH),
        (MAIN(learners.LIMITS["skegd"]), learners.BOTH),
        "distances, which are one operation more than products, exponentials, score and step"),
    Gap("one key on the engine", "the learner alone", "engine", (engine.ONE_KEY, engine.COST),
        (engine.ALONE, engine.COST),
        "the events themselves, which are objects, the engine's steps, and the predictions"),
    Gap("a million keys", "a bare write into RocksDB", "engine",
        (engine.case_of(1_000_000), engine.COST), (engine.BARE, engine.COST),
        "the versions to which one can go back, the records found again in memory that no cache "
        "holds, and all that one key costs"),
    Gap("from topic to topic", "a bare loop, client's defaults", "kafka",
        (kafka.OURS.title, kafka.COST), (kafka.BARE.title, kafka.COST),
        "the bare loop waits for its client, which pauses whenever it has fetched enough"),
    Gap("from topic to topic", "a bare loop, our settings", "kafka",
        (kafka.OURS.title, kafka.COST), (kafka.FAST_BARE.title, kafka.COST),
        "the stages of the picture that it has not: all between decoding and encoding"),
)  # fmt: skip


def gaps() -> str:
    """Ours beside the limits, in µs."""
    header = ["ours", "limit", "what lies between", "ours, µs", "limit, µs", "times"]
    lines = []
    for gap in GAPS:
        figures = results(gap.part)
        ours, least = figures.get(*gap.cost), figures.get(*gap.least)
        times = "-" if ours is None or least is None else shown(ours.value / least.value)
        costs = [figures.text(*gap.cost), figures.text(*gap.least)]
        lines.append([gap.ours, gap.limit, gap.between, *costs, times])
    return markdown(header, lines, left=3)


def circumstances() -> str:
    """A line per part: when, where and with what it was measured."""
    lines = []
    for part in PARTS:
        path = RESULTS / f"{part}.md"
        said = path.read_text().split("\n\n")[1] if path.exists() else "not measured yet"
        lines.append(f"- [`{part}`](../benchmarks/results/{part}.md): {said}")
    return "\n".join(lines)


def _table(part: str, table: Callable[[Figures], str]) -> str:
    return table(results(part))


CONTENTS: dict[str, Callable[[], str]] = {
    "goals": goal_table,
    "gaps": gaps,
    "limits": partial(_table, "learners", learners.limits_table),
    "growth": partial(_table, "learners", learners.grid_table),
    "events": partial(_table, "learners", flat.table),
    "peers": partial(_table, "peers", peers.table),
    "keys": partial(_table, "engine", engine.table),
    "resume": partial(_table, "resume", resume.table),
    "topics": partial(_table, "kafka", kafka.rate_table),
    "many": partial(_table, "kafka", kafka_keys.table),
    "stages": partial(_table, "profile", profile.table),
    "circumstances": circumstances,
}
