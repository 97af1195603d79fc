"""How far the job is, and whether what it would go on from is still there."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.job import Job, Plan
from okl_flow.doctor.words import counted, span
from okl_flow.kafka.connection import TROUBLE_SECONDS
from okl_flow.kafka.look import Look, LookError, Transaction
from okl_flow.operators.recovered import Recovered
from okl_flow.wire import Raw
from okl_flow.wire.raw import Part

__all__ = ["kept_by_size", "lag", "limits", "positions", "resumed_at", "unfinished"]

_MS = 1000
_MINUTE = 60.0
_SOON = 3600.0  # seconds
_DAY = 86_400.0
_DOWN_LEAST = _DAY

Edges = Mapping[Part, tuple[int, int]]


def resumed_at(plan: Plan, found: Recovered | None) -> dict[Part, int]:
    """Where each partition of the inputs would go on."""
    positions: dict[Part, int] = {}
    if found is not None:
        for one in plan.inputs:
            for state in found.of_step(one.step_id).values():
                _topics, parts = state
                positions |= {(topic, number): offset for topic, number, offset in parts}
    return positions


def positions(
    look: Look,
    at: Mapping[Part, int],
    edges: Edges,
    settings: Mapping[str, Mapping[str, str]],
) -> Iterator[Finding]:
    """Whether the offsets to resume from are there, and for how long."""
    known = {part: offset for part, offset in at.items() if part in edges}
    wrong = False
    for part, offset in sorted(known.items()):
        low, high = edges[part]
        if offset > high:
            wrong = True
            yield problem(
                "resume",
                f"{part[0]}/{part[1]}: the job has read up to offset {offset}, and the topic ends "
                f"at {high}: it was made anew",
                "begin anew with empty recovery and state directories, or set on_lost_offsets",
            )
        elif offset < low:
            wrong = True
            yield problem(
                "resume",
                f"{part[0]}/{part[1]}: offsets {offset} to {low - 1} that the job has not read "
                "are gone by retention",
                "set on_lost_offsets to earliest to go on without them; raise retention.ms "
                "against the next time",
            )
    if wrong or not known:
        return
    left = _time_left(look, known, edges, settings)
    if left is not None and left < _SOON:
        yield warning(
            "resume",
            f"the oldest record that the job has not read goes by retention in "
            f"{span(max(0.0, left))}",
            "start the job, or raise retention.ms of its input at once",
        )
    else:
        kept = "" if left is None else f", and stays for {span(left)} more"
        yield fine("resume", f"what the job would go on from is there{kept}")


def _time_left(
    look: Look, at: Mapping[Part, int], edges: Edges, settings: Mapping[str, Mapping[str, str]]
) -> float | None:
    """Seconds until the first unread record goes; None if nothing waits, or all stays."""
    waiting = {part: offset for part, offset in at.items() if offset < edges[part][1]}
    ends = {part: offset + 1 for part, offset in waiting.items()}
    left = []
    for raw in look.records(waiting, ends):
        kept = int(settings.get(raw.topic, {}).get("retention.ms", -1))
        if kept >= 0 and raw.time is not None:
            left.append((raw.time + kept) / _MS - time.time())
    return min(left, default=None)


def kept_by_size(
    look: Look, edges: Edges, settings: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    """How far back inputs reach that keep so many bytes, by the oldest record that is left."""
    cut = {
        part: low
        for part, (low, high) in edges.items()
        if 0 < low < high and int(settings.get(part[0], {}).get("retention.bytes", -1)) >= 0
    }
    raws = look.records(cut, {part: low + 1 for part, low in cut.items()})
    youngest = max((raw for raw in raws if raw.time is not None), key=_time_of, default=None)
    if youngest is None:
        return
    reach = time.time() - _time_of(youngest) / _MS
    if reach < _DAY:
        name = youngest.topic
        yield warning(
            "topics.retention",
            f"the input {name} keeps so many bytes that partition {youngest.partition} reaches "
            f"back {span(max(0.0, reach))}: after a longer outage the job has lost some, and does "
            "not start by itself",
            f"raise retention.bytes of {name} to what comes in an outage, of a day at least",
        )


def _time_of(raw: Raw) -> int:
    return raw.time or 0


def lag(plan: Plan, look: Look, edges: Edges) -> Iterator[Finding]:
    """How much is unread, by what the job has told its groups."""
    for one in plan.inputs:
        try:
            told = look.group(one.reading.group)
        except LookError as error:
            yield warning(
                "lag",
                f"how far the job is cannot be seen: {error}",
                f"let the user Read the group {one.reading.group}, for lag tools too",
            )
            continue
        told = {part: offset for part, offset in told.items() if part in edges}
        if not told:
            yield fine("lag", f"group {one.reading.group}: nothing was read yet")
            continue
        behind = sum(max(0, edges[part][1] - offset) for part, offset in told.items())
        yield fine("lag", f"group {one.reading.group}: {counted(behind, 'record')} unread")


def limits(job: Job, plan: Plan, broker: Mapping[str, str]) -> Iterator[Finding]:
    """Whether transactions may last an epoch, and what brokers forget."""
    exactly = [one for one in plan.outputs if one.is_exactly_once]
    if not exactly:
        return
    given: Any = exactly[0].connection.settings().get("transaction.timeout.ms")
    ours = TROUBLE_SECONDS if given is None else int(given) / _MS
    most = int(broker.get("transaction.max.timeout.ms", 900_000)) / _MS
    wrong = False
    if ours > most:
        wrong = True
        yield problem(
            "transactions.limit",
            f"a transaction of ours may last {span(ours)}, and the brokers allow {span(most)}",
            "raise transaction.max.timeout.ms of the brokers, or lower transaction.timeout.ms in "
            "kafka_config, to more than the epoch",
        )
    if job.epoch * 2 > ours:
        wrong = True
        yield warning(
            "transactions.limit",
            f"an epoch of {span(job.epoch)} leaves a transaction of at most {span(ours)} too "
            "little time",
            "shorten the epoch, or raise transaction.timeout.ms in kafka_config",
        )
    forgotten = {
        "offsets.retention.minutes": _MINUTE,
        "transactional.id.expiration.ms": 1 / _MS,
    }
    for name, unit in forgotten.items():
        lasts = int(broker.get(name, 10_080 if unit > 1 else 604_800_000)) * unit
        if lasts < _DOWN_LEAST:
            wrong = True
            yield warning(
                "transactions.memory",
                f"after an outage of {span(lasts)} the brokers forget what has appeared "
                f"({name}): the last outputs would be written twice",
                f"raise {name} of the brokers to a day at least",
            )
    if not wrong:
        yield fine(
            "transactions.limit", f"a transaction may last {span(ours)}, longer than an epoch"
        )


def unfinished(
    plan: Plan, found: Mapping[str, list[Transaction]], is_running: bool
) -> Iterator[Finding]:
    """Transactions that a job left open, for which the readers of its outputs wait."""
    names = [one.name for some in found.values() for one in some]
    if names and not is_running:
        yield warning(
            "transactions.open",
            f"no job runs here, and {counted(len(names), 'transaction')} of it are open, such as "
            f"{names[0]}: "
            "readers of the outputs wait for their end",
            "start the job, which decides them at once; they end by themselves after "
            "transaction.timeout.ms. If the job runs on another machine, all is well",
        )
    elif any(one.is_exactly_once for one in plan.outputs):
        yield fine(
            "transactions.open",
            "no transaction was left open"
            if not names
            else f"{len(names)} transactions of the running job are open",
        )
