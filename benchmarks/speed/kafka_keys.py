"""From topic to topic with a thousand keys, and with a million."""

from dataclasses import dataclass

from benchmarks.report import markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.kafka_load import Events, topic, write
from benchmarks.speed.kafka_run import COST, RATE, Job, rate

__all__ = ["GROWN", "MILLION", "QUICK", "Size", "measure", "section"]

BUDGET, DIM = 12, 8  # as where many keys are learned without Kafka
GROWN = "an event, to one of 1,000 keys"
IN_MEMORY = 2_000_000  # keys: all of them
TURNS = 2  # of all keys, before the part that is measured


def _job(keys: int, first: int) -> Job:
    return Job(
        f"{keys:,} keys, budget {BUDGET}",
        "okl_flow",
        events=Events(keys, DIM, in_turn=first),
        budget=BUDGET,
        keys_in_memory=IN_MEMORY,
    )


THOUSAND, MILLION = _job(1_000, 200_000), _job(1_000_000, TURNS * 1_000_000)


@dataclass(frozen=True)
class Size:
    """How many events are measured, and how often."""

    of_thousand: int = 1_000_000
    of_million: int = 3_000_000  # their journals are taken into their tables meanwhile
    rounds: int = 3


QUICK = Size(50_000, 300_000, 1)


def measure(figures: Figures, brokers: str, size: Size) -> None:
    """Both jobs in turns."""
    asked = {THOUSAND: size.of_thousand, MILLION: size.of_million}
    counts = {job: job.events.in_turn + events for job, events in asked.items()}
    found: dict[Job, list[float]] = {job: [] for job in asked}
    with (
        topic(brokers, "thousand", THOUSAND.partitions) as thousand,
        topic(brokers, "million", MILLION.partitions) as million,
    ):
        sources = {THOUSAND: thousand, MILLION: million}
        for job, source in sources.items():
            write(brokers, source, job.events, counts[job])
        for number in range(size.rounds):
            for job, source in sources.items():
                here = rate(job, brokers, source, counts[job], job.events.in_turn)
                found[job].append(here)
                print(f"round {number + 1}: {job.title}: {here:,.0f} events/s", flush=True)
    for job, rates in found.items():
        figures.add(job.title, RATE, "events/s", rates)
        figures.add(job.title, COST, "µs", [1e6 / one for one in rates])
    figures.add_ratio(MILLION.title, GROWN, found[THOUSAND], found[MILLION])


def section(figures: Figures) -> tuple[str, str, str]:
    """A heading, what was done, and a table of it."""
    text = (
        f"`bogd` with a budget of {BUDGET} and {DIM} features, all else as above. Before the part "
        f"that is measured, of a million keys each had {TURNS} events in turn; then keys are drawn "
        "at random. The broker and the threads of RocksDB have the job's two cores too."
    )
    lines = [
        [job.title, figures.text(job.title, RATE), figures.spread(job.title, RATE),
         figures.text(job.title, COST), figures.text(job.title, GROWN),
         figures.spread(job.title, GROWN)]
        for job in (THOUSAND, MILLION)
    ]  # fmt: skip
    header = ["", "events/s", "from and to", "µs per event", "to 1,000 keys", "from and to"]
    return "## Many keys", text, markdown(header, lines)
