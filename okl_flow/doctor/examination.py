"""All that is looked at, one after the other."""

from collections.abc import Iterator
from typing import Any

from okl_flow.doctor import brokers, directories, machine, progress, records, topics
from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.job import Job, Plan, plan_of
from okl_flow.doctor.words import counted
from okl_flow.kafka.connection import Connection
from okl_flow.kafka.look import Look, LookError, Topic, Transaction
from okl_flow.kafka.telling import Address
from okl_flow.operators.recovered import Recovered

__all__ = ["examine"]

_RIGHT = "give the user an ACL for {}, or pass over this"


def examine(job: Job, seconds: float = 10.0) -> Iterator[Finding]:
    """What is wrong with a job, and what is not; nothing is changed.

    Parameters:
        job: the job.
        seconds: so long a broker may take to answer.
    """
    yield from machine.versions()
    plan = None
    try:
        plan = plan_of(job)
    except (Exception, SystemExit) as error:
        yield problem("flow", _words(error), "mend that first; topics are looked at afterwards")
    else:
        reads = len({topic for one in plan.inputs for topic in one.reading.topics})
        writes = len({one.topic for one in plan.outputs})
        words = f"{job.flow} reads {counted(reads, 'topic')} and writes {counted(writes, 'topic')}"
        yield fine("flow", words)
    running = directories.is_running(job)
    yield from machine.limits(job, plan)
    yield from machine.ports(job, running)
    yield from directories.disks(job, plan)
    found, recovered = directories.recovery(job, plan, running)
    yield from found
    for kept in plan.kept if plan else ():
        yield from directories.state(kept, recovered, job.recovery is not None, running)
    if plan is not None and plan.topics:
        yield from _cluster(job, plan, recovered, running, seconds)


def _words(error: BaseException) -> str:
    text = str(error.code) if isinstance(error, SystemExit) else str(error)
    return f"the flow cannot be built: {text or type(error).__name__}"


def _cluster(
    job: Job, plan: Plan, found: Recovered | None, running: bool, seconds: float
) -> Iterator[Finding]:
    """The brokers, if they can be reached, and all that is on them."""
    first: Any = plan.inputs[0].reading if plan.inputs else plan.outputs[0]
    connection: Connection = first.connection
    reached, findings = brokers.addresses(connection, seconds)
    yield from findings
    if not reached:
        return
    there, findings = brokers.advertised(connection, seconds)
    yield from findings
    if not there:
        return
    try:
        look = Look(connection, seconds, [f"{one.host}:{one.port}" for one in there])
    except LookError as error:
        yield brokers.refused(str(error))
        return
    try:
        yield from _on_cluster(look, there, job, plan, found, running)
    except LookError as error:
        yield problem("brokers", f"cannot go on looking: {error}", "see that the brokers are well")
    finally:
        look.close()


def _on_cluster(
    look: Look,
    there: list[Address],
    job: Job,
    plan: Plan,
    found: Recovered | None,
    running: bool,
) -> Iterator[Finding]:
    known = look.topics(plan.topics)
    yield from topics.topics(job, plan, known, len(there))
    settings: dict[str, dict[str, str]] = {}
    try:
        settings = look.settings(list(known))
        yield from topics.settings(plan, known, settings)
        yield from progress.limits(job, plan, look.broker_settings(there[0].number))
    except LookError as error:
        yield warning(
            "topics.settings",
            f"not shown to us: {error}",
            _RIGHT.format("DescribeConfigs on topics and cluster"),
        )
    yield from _records(look, job, plan, known, settings, found)
    unfinished: dict[str, list[Transaction]] = {}
    for one in plan.outputs:
        if one.is_exactly_once:
            unfinished[one.topic] = look.transactions(one.producer)
    yield from progress.unfinished(plan, unfinished, running)


def _records(
    look: Look,
    job: Job,
    plan: Plan,
    known: dict[str, Topic],
    settings: dict[str, dict[str, str]],
    found: Recovered | None,
) -> Iterator[Finding]:
    """What is in the inputs, and how far they are read."""
    names = [name for one in plan.inputs for name in one.reading.topics if name in known]
    parts = [(name, one.number) for name in names for one in known[name].partitions]
    if not all(one.leader >= 0 for name in names for one in known[name].partitions):
        return
    edges = look.edges(parts)
    yield from progress.kept_by_size(look, edges, settings)
    yield from records.records(plan, records.sampled(look, edges), job.processes)
    yield from progress.positions(look, progress.resumed_at(plan, found), edges, settings)
    yield from progress.lag(plan, look, edges)
