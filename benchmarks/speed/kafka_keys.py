"""From topic to topic with a thousand keys, and with a million."""

from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.report import markdown
from benchmarks.speed.engine import GROWN, LEARNER, TURNS_OF_MILLION
from benchmarks.speed.figures import Figures
from benchmarks.speed.kafka_load import Events, topic, write
from benchmarks.speed.kafka_run import COST, RATE, Job, Part, rates

__all__ = ["MILLION", "QUICK", "Size", "measure", "section", "table"]

BUDGET, DIM = LEARNER["budget"], 8  # as where many keys are learned without Kafka
IN_MEMORY = 2_000_000  # keys: all of them


def _job(keys: int, in_turn: int) -> Job:
    return Job(
        f"{keys:,} keys, budget {BUDGET}",
        "okl_flow",
        events=Events(keys, DIM, in_turn),
        budget=BUDGET,
        keys_in_memory=IN_MEMORY,
    )


THOUSAND, MILLION = _job(1_000, 200_000), _job(1_000_000, TURNS_OF_MILLION * 1_000_000)


@dataclass(frozen=True)
class Size:
    """How many events are measured, and how often."""

    of_thousand: int = 1_000_000
    of_million: int = 3_000_000  # their journals are taken into their tables meanwhile
    rounds: int = 3


QUICK = Size(50_000, 300_000, 1)


def measure(figures: Figures, brokers: str, size: Size) -> None:
    """Both jobs in turns."""
    with ExitStack() as topics:
        parts = {}
        for job, count in ((THOUSAND, size.of_thousand), (MILLION, size.of_million)):
            name = topics.enter_context(topic(brokers, "events", job.partitions))
            begin = job.events.in_turn
            write(brokers, name, job.events, begin + count)
            parts[job] = Part(name, begin, begin + count)
        found = rates(figures, brokers, parts, size.rounds)
    figures.add_ratio(MILLION.title, GROWN, found[THOUSAND], found[MILLION])


def section(figures: Figures) -> tuple[str, str, str]:
    """A heading, what was done, and a table of it."""
    text = (
        f"`bogd` with a budget of {BUDGET} and {DIM} features, all else as above. Before the part "
        f"that is measured, of a million keys each had {TURNS_OF_MILLION} events in turn; then "
        "keys are drawn at random. The broker and the threads of RocksDB have the job's two cores "
        "too."
    )
    return "## Many keys", text, table(figures)


def table(figures: Figures) -> str:
    """A line for each number of keys."""
    lines = [
        [job.title, figures.text(job.title, RATE), figures.spread(job.title, RATE),
         figures.text(job.title, COST), figures.text(job.title, GROWN),
         figures.spread(job.title, GROWN)]
        for job in (THOUSAND, MILLION)
    ]  # fmt: skip
    header = ["", "events/s", "from and to", "µs per event", "to 1,000 keys", "from and to"]
    return markdown(header, lines)
