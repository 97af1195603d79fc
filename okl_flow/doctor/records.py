"""What the latest records of the inputs are like: a sample, decoded as the flow does it."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.job import Plan
from okl_flow.doctor.words import listed, span
from okl_flow.events import Incoming, Label, Reject
from okl_flow.kafka.look import Look
from okl_flow.murmur import partitions_of
from okl_flow.placing import engine_key, slot_of, worker_of
from okl_flow.wire import Raw
from okl_flow.wire.raw import Part

__all__ = ["records", "sampled"]

_SAMPLE = 1000  # records, of all inputs together
_MS = 1000
_AHEAD = 5.0  # seconds that a record may be younger than our clock says
_FEW = 0.01


def sampled(look: Look, edges: Mapping[Part, tuple[int, int]]) -> list[Raw]:
    """The latest records of some partitions."""
    each = max(1, _SAMPLE // max(1, len(edges)))
    begins = {part: max(low, high - each) for part, (low, high) in edges.items()}
    return look.records(begins, {part: high for part, (_low, high) in edges.items()})


def records(plan: Plan, raws: Sequence[Raw], processes: int) -> Iterator[Finding]:
    """Keys, formats, partitions, labels and clocks."""
    if not raws:
        yield fine("records", "the inputs are empty, or hold nothing that can be read yet")
        return
    yield _clock(raws)
    without = [raw for raw in raws if raw.key is None]
    if len(plan.decoders) != 1:
        yield fine("records", f"{len(raws):,} records were read; several formats, none decoded")
        return
    items, rejects = plan.decoders[0](list(raws))
    yield _decoded(len(raws), items, rejects)
    if items:
        yield from _keys(items, without, len(raws))
    if items and processes > 1 and plan.kept:
        yield _crossing(items, plan.kept[0].partitions, processes)
    labels = {item.cause.topic for item in items if isinstance(item, Label)}
    events = {item.cause.topic for item in items if not isinstance(item, Label)}
    if labels and not labels & events:
        yield fine(
            "records.labels",
            f"labels have a topic of their own, {listed(sorted(labels))}: a replay may meet them "
            "in another order, so leave labels_wait wide",
        )


def _clock(raws: Sequence[Raw]) -> Finding:
    """Whether records come from the future."""
    stamps = [raw.time for raw in raws if raw.time is not None]
    ahead = max(stamps, default=0) / _MS - time.time()
    if ahead > _AHEAD:
        return warning(
            "records.clock",
            f"the latest record is from {span(ahead)} ahead of this machine's clock",
            "let producers, brokers and this machine have their time from one source (NTP): "
            "waits for labels and forgetting go by the events' time",
        )
    return fine("records.clock", "no record is from the future")


def _decoded(count: int, items: Sequence[Incoming], rejects: Sequence[Reject]) -> Finding:
    if not rejects:
        return fine("records.format", f"all of {count:,} records that were read can be used")
    reasons = Counter(one.reason.value for one in rejects)
    one = rejects[-1]
    words = (
        f"{len(rejects):,} of {count:,} records cannot be used "
        f"({', '.join(f'{reason} {number:,}' for reason, number in reasons.most_common())}), such "
        f"as offset {one.cause.offset} of {one.cause.topic}/{one.cause.partition}: {one.message}"
    )
    remedy = "mend what produces them, or format, features and classes of the job"
    made = problem if not items else warning
    return made("records.format", words, remedy)


def _crossing(items: Sequence[Incoming], partitions: int, processes: int) -> Finding:
    """Whether events are learned by the process that reads them."""
    numbers = partitions_of([item.key for item in items], partitions).tolist()
    learned_by = [worker_of(engine_key(number), processes) for number in numbers]
    read_by = [slot_of(item.cause.partition) % processes for item in items]
    count = sum(one != other for one, other in zip(read_by, learned_by, strict=True))
    if count <= _FEW * len(items):
        return fine("records.crossing", "events are learned by the process that reads them")
    return warning(
        "records.crossing",
        f"{count:,} of {len(items):,} events are read by one process and learned by another, "
        "which costs time for each of them",
        "place keys by murmur2 (librdkafka: partitioner=murmur2_random), and let the number of "
        f"processes divide that of the topic's partitions, of state partitions ({partitions}), and "
        "48. Or pass over this: nothing but time is lost",
    )


def _keys(items: Sequence[Incoming], without: Sequence[Raw], count: int) -> Iterator[Finding]:
    """Whether the events of a key are in one partition."""
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    for item in items:
        where[item.cause.topic, item.key].add(item.cause.partition)
    keys = {key for _topic, key in where}
    scattered = sorted(key for (_topic, key), numbers in where.items() if len(numbers) > 1)
    if scattered and len(keys) > 1:
        yield problem(
            "records.key",
            f"events of one key lie in several partitions: {len(scattered):,} of {len(keys):,} "
            f"keys, such as {scattered[0]!r}; their order is lost, and a replay may bring another "
            "result",
            "give every record its event's key as Kafka's key, and let all producers place keys "
            "alike (murmur2); then begin with a new topic",
        )
    elif without and len(keys) > 1:
        yield warning(
            "records.key",
            f"{len(without):,} of {count:,} records have no Kafka key, so that chance places them",
            "give every record its event's key as Kafka's key, or the topic one partition",
        )
    else:
        yield fine("records.key", f"{len(keys):,} keys, each in one partition")
