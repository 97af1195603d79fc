"""Whether the outputs of a job are those of its input, as kafka-python reads both.

Each check returns complaints, an empty list if it is satisfied.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

import msgspec

from okl_flow.events import Event, Label
from okl_flow.wire import Columns, Decoder, decode_outgoing
from tests.kafka.chaos.flows import LEARNER, OUTPUTS, REPORT_EVERY, WAIT_COUNT, WAIT_MS
from tests.kafka.chaos.stream import DIM
from tests.kafka.judge import read
from tests.kafka.running import as_raws
from tests.operators.oracle import Oracle, as_oracle_says, rejects_as_oracle_says

SHOWN = 5  # complaints of one kind


@dataclass
class Found:
    """What readers with `read_committed` find."""

    raws: list  # of the input, all topics
    predictions: list
    rejects: list
    reports: list
    torn: list  # complaints about records that cannot be decoded
    visible: int
    in_log: int  # with the aborted ones


def found(bootstrap, settings):
    """Everything that a job has read and written."""
    raws = [raw for topic in settings["inputs"] for raw in as_raws(read(bootstrap, topic))]
    outputs, torn, in_log = {}, [], 0
    for name in OUTPUTS:
        outputs[name] = []
        for record in read(bootstrap, settings[name]):
            try:
                outputs[name].append(decode_outgoing(record.value))
            except (ValueError, msgspec.MsgspecError) as error:
                where = f"{name}, partition {record.partition}, offset {record.offset}"
                torn.append(f"torn: {where}: {error}")
        in_log += len(read(bootstrap, settings[name], "read_uncommitted"))
    visible = len(torn) + sum(map(len, outputs.values()))
    return Found(raws, **outputs, torn=torn, visible=visible, in_log=in_log)


def check_one_topic(one, *, exact):
    """Against the oracle, to the bit; with `exact` each output once, else at least once."""
    complaints = list(one.torn)
    predictions, rejects, reports = _expected(one.raws)
    for name, outputs, said, wanted in (
        ("predictions", one.predictions, as_oracle_says(one.predictions), predictions),
        ("reports", one.reports, _reports_said(one.reports), reports),
    ):
        complaints += _repeats(name, outputs, exact=exact)
        once = said if exact else dict.fromkeys(said)
        complaints += _differences(name, _by_key(once), _by_key(wanted))
    complaints += _repeats("rejects", one.rejects, exact=exact)
    said = Counter(rejects_as_oracle_says(one.rejects))
    if not exact:
        said = Counter(set(said))
    wanted = Counter(rejects)
    complaints += _few(f"rejects: missing {each}" for each in wanted - said)
    complaints += _few(f"rejects: too often, or wrong: {each}" for each in said - wanted)
    return complaints


def check_labels_apart(one, *, exact):
    """Each event predicted, and each label applied or rejected; with `exact` just once.

    Scores are not compared: in which order two topics are read is not fixed.
    """
    complaints, scored, outcomes = list(one.torn), Counter(), Counter()
    applied, came = Counter(), {}
    for each in one.predictions:
        scored[each.cause] += 1
        if each.label is not None:
            applied[each.key, each.id] += 1
            came[each.key, each.id] = each.event or each.cause
    outcomes.update(applied)
    outcomes.update((each.key, each.id) for each in one.rejects if each.id is not None)
    items, refused = Decoder("json", Columns(DIM))(one.raws)
    bad = {each.cause for each in one.rejects} | {each.cause for each in refused}
    events = [each for each in items if isinstance(each, Event)]
    wrong = [each for each in events if came.get((each.key, each.id), each.cause) != each.cause]
    complaints += _few(f"labels: another's for {each.key}, {each.cause}" for each in wrong)
    labels = Counter((each.key, each.id) for each in items if isinstance(each, Label))
    missing = [each for each in events if not scored[each.cause] and each.cause not in bad]
    complaints += _few(f"predictions: none for {each.key}, {each.cause}" for each in missing)
    complaints += _few(
        f"labels: {label}: {wanted} came, {applied[label]} applied, {outcomes[label]} told of"
        for label, wanted in labels.items()
        if outcomes[label] < wanted or (exact and (outcomes[label] > wanted or applied[label] > 1))
    )
    for name in OUTPUTS if exact else ():
        complaints += _repeats(name, getattr(one, name), exact=True)
    untold = {each.cause for each in refused} - {each.cause for each in one.rejects}
    return complaints + _few(f"rejects: none for {cause}" for cause in untold)


def _expected(raws):
    """What the plain loop over each partition makes: predictions, rejects, and reports of keys."""
    decoder, predictions, rejects = Decoder("json", Columns(DIM)), [], []
    parts = defaultdict(list)
    for raw in raws:
        parts[raw.partition].append(raw)
    for part in parts.values():
        items, refused = decoder(part)
        oracle = Oracle(LEARNER, count=WAIT_COUNT, wait=WAIT_MS).run(items)
        predictions += oracle.predictions
        rejects += rejects_as_oracle_says(refused) + oracle.rejects
    return predictions, rejects, _reports(predictions)


def _reports(predictions):
    """Of every key after every so many labels: predictions, and the share of mistakes."""
    reports = []
    for key, own in _by_key(predictions).items():
        labels = mistakes = 0
        for number, (_key, score, label, _seen, offset, *_of_event) in enumerate(own, 1):
            if label is None:
                continue
            labels += 1
            mistakes += (1.0 if score > 0.0 else -1.0) != label
            if labels % REPORT_EVERY == 0:
                reports.append((key, number, mistakes / labels, offset))
    return reports


def _reports_said(reports):
    return [(one.name, one.events, one.values["mistake_rate"], one.cause.offset) for one in reports]


def _by_key(said):
    found = defaultdict(list)
    for one in said:
        found[one[0]].append(one)
    return found


def _differences(name, said, wanted):
    """What differs, the first difference of each key."""
    complaints = []
    for key in sorted({*said, *wanted}):
        pairs = zip(said[key], wanted[key], strict=False)
        place = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
        if place is not None:
            complaints.append(
                f"{name} of {key}, {place}: {said[key][place]}, not {wanted[key][place]}"
            )
        elif len(said[key]) != len(wanted[key]):
            complaints.append(f"{name} of {key}: {len(said[key])}, not {len(wanted[key])}")
    return _few(complaints)


def _repeats(name, outputs, *, exact):
    """Outputs of one name that come again, if none may, or that come again and differ."""
    said, complaints = {}, []
    for one in outputs:
        identity = (getattr(one, "key", None), one.cause, one.ordinal)
        first = said.get(identity)
        if first is None:
            said[identity] = one
        elif exact or first != one:
            complaints.append(f"{name}: again {identity}{'' if first == one else ', and differs'}")
    return _few(complaints)


def _few(complaints):
    listed = list(complaints)
    more = [f"... and {len(listed) - SHOWN} more"] if len(listed) > SHOWN else []
    return listed[:SHOWN] + more
