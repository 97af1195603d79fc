"""Whether the topics are there and as the job needs them."""

from collections.abc import Iterator, Mapping, Sequence

from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.job import Job, Plan
from okl_flow.doctor.words import counted, listed, size, span
from okl_flow.kafka.look import Topic

__all__ = ["settings", "topics"]

_MS = 1000
_READ, _WRITE = "READ", "WRITE"
_RETENTION_LEAST = 86_400.0  # seconds; an outage of a night and a morning
_COMPACT = "compact"
_DEFAULT_BYTES = 1_048_588


def topics(job: Job, plan: Plan, found: Mapping[str, Topic], brokers: int) -> Iterator[Finding]:
    """Topics, partitions, replicas and rights."""
    missing = [name for name in plan.topics if name not in found]
    if missing and job.makes_topics:
        yield fine("topics", f"to be made at the start: {', '.join(missing)}")
    elif missing:
        yield problem(
            "topics",
            f"not there, or not shown to us: {', '.join(missing)}",
            "make them, let okl-flow run --create-topics PARTITIONS do it, or mend the names; or "
            "let the user Describe them",
        )
    present = [found[name] for name in plan.topics if name in found]
    if not missing and present:
        counts = ", ".join(f"{one.name} ({len(one.partitions)})" for one in present)
        yield fine("topics", f"all are there, with so many partitions: {counts}")
    inputs = [topic for one in plan.inputs for topic in one.reading.topics]
    outputs = [one.topic for one in plan.outputs]
    if present:
        yield from _rights(found, inputs, outputs)
        yield from _leaders(present, brokers)
    read = [found[name] for name in inputs if name in found]
    count = sum(len(one.partitions) for one in read)
    if read and count < job.processes:
        yield warning(
            "topics.partitions",
            f"{job.processes} processes share {counted(count, 'partition')}: some read nothing",
            "give the input topics more partitions, before keys have their events in them, or the "
            "job fewer processes",
        )


def _rights(
    found: Mapping[str, Topic], inputs: Sequence[str], outputs: Sequence[str]
) -> Iterator[Finding]:
    wrong = False
    for names, right in ((inputs, _READ), (outputs, _WRITE)):
        without = [
            name
            for name in names
            if name in found
            and found[name].rights is not None
            and right not in (found[name].rights or ())
        ]
        if without:
            wrong = True
            yield problem(
                "topics.rights",
                f"the user may not {right.capitalize()}: {listed(without)}",
                f"give an ACL for {right.capitalize()} on each; docs/kafka.md lists what a job "
                "needs",
            )
    if not wrong:
        yield fine("topics.rights", "the user may read the inputs and write the outputs")


def _leaders(present: Sequence[Topic], brokers: int) -> Iterator[Finding]:
    """Partitions whose brokers are away, and topics of one replica."""
    gone = [
        f"{topic.name}/{one.number}"
        for topic in present
        for one in topic.partitions
        if one.leader < 0
    ]
    behind = [
        f"{topic.name}/{one.number}"
        for topic in present
        for one in topic.partitions
        if one.leader >= 0 and one.in_sync < one.replicas
    ]
    single = [topic.name for topic in present if any(one.replicas == 1 for one in topic.partitions)]
    if gone:
        yield problem(
            "topics.leaders",
            f"nobody leads {listed(gone)}: they can neither be read nor written",
            "start the brokers that have their replicas",
        )
    if behind:
        yield warning(
            "topics.replicas",
            f"not all replicas are in sync: {listed(behind)}",
            "see which broker is away or slow; until then the loss of one more may stop the job",
        )
    if single and brokers > 1:
        yield warning(
            "topics.replicas",
            f"one replica only: {listed(single)}; without its broker the job stands still, and "
            "with its disk the records are lost",
            "give them more with kafka-reassign-partitions, or make them anew with "
            "--replication-factor 3",
        )
    if not (gone or behind or (single and brokers > 1)):
        yield fine("topics.replicas", "all partitions have their leaders and replicas")


def settings(
    plan: Plan, found: Mapping[str, Topic], given: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    """Settings of topics that lose, hide or refuse what the job needs."""
    inputs = [name for one in plan.inputs for name in one.reading.topics if name in given]
    outputs = [one for one in plan.outputs if one.topic in given]
    kept = [finding for name in inputs for finding in _kept(name, given[name])]
    yield from kept
    if inputs and not kept:
        spans = ", ".join(f"{name} {_retention(given[name])}" for name in inputs)
        yield fine("topics.retention", f"inputs keep their records long enough: {spans}")
    wrong: list[Finding] = []
    for one in outputs:
        wrong += _in_sync(one.topic, found.get(one.topic), given[one.topic])
        if one.is_exactly_once and _COMPACT in given[one.topic].get("cleanup.policy", ""):
            wrong.append(
                warning(
                    "topics.cleanup",
                    f"{one.topic} is compacted: of each key only the latest record stays",
                    "set cleanup.policy=delete, unless that is what you want",
                )
            )
    largest = max(
        (_number(given[name], "max.message.bytes", _DEFAULT_BYTES) for name in inputs),
        default=_DEFAULT_BYTES,
    )
    small = [
        one.topic
        for one in outputs
        if _number(given[one.topic], "max.message.bytes", _DEFAULT_BYTES)
        < min(largest, _DEFAULT_BYTES)
    ]
    if small:
        wrong.append(
            warning(
                "topics.size",
                f"{listed(small)} take smaller records than the inputs, up to {size(largest)}: a "
                "reject brings the record with it that it is about, and one that does not fit "
                "ends the flow",
                "raise max.message.bytes of the outputs",
            )
        )
    yield from wrong
    if outputs and not wrong:
        yield fine("topics.outputs", "outputs take and keep what is written")


def _kept(name: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with how an input keeps its records."""
    policy = given.get("cleanup.policy", "delete")
    if _COMPACT in policy:
        yield warning(
            "topics.cleanup",
            f"the input {name} is compacted: events go as soon as their key has a later one, "
            "whether they were learned or not",
            f"set cleanup.policy=delete for {name}",
        )
    milliseconds = _number(given, "retention.ms", -1)
    if "delete" in policy and 0 <= milliseconds < _RETENTION_LEAST * _MS:
        yield warning(
            "topics.retention",
            f"the input {name} keeps records for {span(milliseconds / _MS)}: after a longer "
            "outage the job has lost some, and does not start by itself",
            f"raise retention.ms of {name} to what an outage may last, a day at least",
        )


def _in_sync(name: str, topic: Topic | None, given: Mapping[str, str]) -> Iterator[Finding]:
    """Whether enough replicas are there to be written to."""
    least = _number(given, "min.insync.replicas", 1)
    for one in topic.partitions if topic else ():
        if one.leader >= 0 and one.in_sync < least:
            yield problem(
                "topics.replicas",
                f"{name}/{one.number} has {one.in_sync} replicas in sync, and takes no records "
                f"below {least}",
                "start the brokers that have the others, or lower min.insync.replicas",
            )
            return
        if one.replicas == least > 1:
            yield warning(
                "topics.replicas",
                f"{name} needs all of its {least} replicas in sync: without one broker nothing "
                "can be written",
                "set min.insync.replicas one below the number of replicas",
            )
            return


def _retention(given: Mapping[str, str]) -> str:
    milliseconds, most = _number(given, "retention.ms", -1), _number(given, "retention.bytes", -1)
    kept = "for ever" if milliseconds < 0 else span(milliseconds / _MS)
    return kept if most < 0 else f"{kept}, or up to {size(most)} a partition"


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    value = given.get(name)
    return default if value is None else int(value)
