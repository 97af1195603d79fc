"""From bytes to events, labels and wishes to forget, a batch at a time.

A batch goes along a short way, with one check for all of its records. Where a check fails, those
records alone are looked at that it fails for, so that every record has the same outcome in
any batch.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from okl_flow.events import Cause, Event, Forget, Incoming, Label, Reject
from okl_flow.parameters import nearest
from okl_flow.wire.classes import Classes
from okl_flow.wire.features import Features
from okl_flow.wire.formats import EXPECTED, NAME_LONGEST, Format, Wire, milliseconds
from okl_flow.wire.libsvm import Libsvm
from okl_flow.wire.objects import Json, MessagePack
from okl_flow.wire.problems import Problem, problem_at, seen
from okl_flow.wire.raw import Raw
from okl_flow.wire.vectors import Vectors

__all__ = ["FORMATS", "Decoder"]

FORMATS: dict[str, Callable[[], Format]] = {
    "json": Json,
    "msgpack": MessagePack,
    "libsvm": Libsvm,
    "float32": partial(Vectors, "float32"),
    "float64": partial(Vectors, "float64"),
}
"""The formats that go by a word; CSV needs to be told its columns, and Avro its schemas."""

Problems = dict[int, Problem]
_NOTHING = Wire(type="forget")
_WHOLE_LONGEST = 10 ** (NAME_LONGEST - 1)
_TEXT_OR_NONE = {str, type(None)}


class Decoder:
    """Makes records of bytes. Bad ones become rejects; none raises, and none is lost.

    Parameters:
        format: "json", "msgpack", "libsvm", "float32", "float64", or an object: Json,
            MessagePack, Libsvm, Csv, Vectors, Avro, Confluent.
        features: what makes columns of the features: Columns, Names or Hashing.
        labels: all labels that may come, in the order of their numbers: two are -1 and +1,
            more are 0, 1, 2 and so on. Without it labels are numbers, and false and true
            are -1 and +1.
        key: the key of records that name none. The key in the record comes first, then that of
            the Kafka record, then this one.

    >>> from okl_flow.wire import Columns, Raw
    >>> decoder = Decoder("json", Columns(2))
    >>> decoder([Raw(b'{"key": "ann", "features": [0.5, 2], "label": 1}')])
    ([Event(key='ann', features=array([0.5, 2. ]), cause=..., label=1.0)], [])
    """

    def __init__(
        self,
        format: str | Format = "json",
        features: Features | None = None,
        *,
        labels: Sequence[str | float | bool] | None = None,
        key: str | None = None,
    ) -> None:
        chosen = _format(format)
        features = features or chosen.features()
        if features is not None and not isinstance(features, Features):
            raise ValueError(f"features must be Columns, Names or Hashing, not {features!r:.80}")
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= NAME_LONGEST):
            raise ValueError(f"key must be {EXPECTED['key']}, not {key!r:.80}")
        self._parser = chosen.parser(features)
        self._reader = features.reader() if features is not None else None
        self._classes = Classes(labels)
        self._key = key

    def __call__(self, raws: Sequence[Raw]) -> tuple[list[Incoming], list[Reject]]:
        """The records, in their order, and those that are rejected, in theirs."""
        problems: Problems = {}
        wires = self._wires(raws, problems)
        kinds = [wire.type for wire in wires]
        keys = self._keys(raws, wires, problems)
        rows = self._rows(wires, kinds, problems)
        labels = self._labels(wires, kinds, problems)
        ids = _places(raws) if self._parser.placed else _ids(wires, kinds, problems)
        times = _times(raws, wires, problems)
        causes = [Cause(raw.topic, raw.partition, raw.offset) for raw in raws]
        if not problems and kinds.count("event") == len(kinds):
            return list(map(Event, keys, rows, causes, ids, times, labels)), []
        records: list[Incoming] = []
        rejects: list[Reject] = []
        for at, (raw, cause) in enumerate(zip(raws, causes, strict=True)):
            if at in problems:
                problem = problems[at]
                key, id = problem.key or keys[at], problem.id or ids[at]
                why = problem.reason, problem.message
                rejects.append(Reject(*why, cause, key or None, id, raw.value))
            elif kinds[at] == "event":
                records.append(Event(keys[at], rows[at], cause, ids[at], times[at], labels[at]))
            elif kinds[at] == "label":
                records.append(Label(keys[at], ids[at], labels[at], cause, times[at]))
            else:
                records.append(Forget(keys[at], cause, times[at]))
        return records, rejects

    def _wires(self, raws: Sequence[Raw], problems: Problems) -> list[Wire]:
        """The parsed records, with something harmless in the place of those that are none."""
        parsed = self._parser.parse([raw.value for raw in raws])
        if Problem in set(map(type, parsed)):
            problems.update((at, one) for at, one in enumerate(parsed) if isinstance(one, Problem))
            return [_NOTHING if isinstance(one, Problem) else one for one in parsed]
        return cast(list[Wire], parsed)

    def _keys(self, raws: Sequence[Raw], wires: list[Wire], problems: Problems) -> list[Any]:
        """The keys, empty where there is none."""
        keys: list[Any] = [wire.key for wire in wires]
        if set(map(type, keys)) <= {str}:
            return keys
        for at, key in enumerate(keys):
            if type(key) is not str:
                found = self._key_of(raws[at]) if key is None else _decimal("key", key)
                if isinstance(found, Problem):
                    problems.setdefault(at, found)
                keys[at] = "" if isinstance(found, Problem) else found
        return keys

    def _key_of(self, raw: Raw) -> str | Problem:
        """The key of a record that names none itself."""
        if raw.key is None:
            expected = "expected one, in the record or as the key of the Kafka record, found none"
            return self._key or problem_at("key", expected)
        return self._parser.key_of(raw.key)

    def _rows(self, wires: list[Wire], kinds: list[Any], problems: Problems) -> list[Any]:
        """The features of the events; None for what is no event, or none with features."""
        values = [wire.features for wire in wires]
        if self._reader is None:
            return values
        if kinds.count("event") == len(kinds) and not any([value is None for value in values]):
            X, faults = self._reader.matrix(values)
            for at, fault in faults.items():
                problems.setdefault(at, fault)
            return list(X)
        rows: list[Any] = [None] * len(values)
        events = [at for at, kind in enumerate(kinds) if kind == "event"]
        for at in events:
            if values[at] is None:
                message = 'expected some, found none; a label on its own says "type": "label"'
                problems.setdefault(at, problem_at("features", message))
        events = [at for at in events if values[at] is not None]
        X, faults = self._reader.matrix([values[at] for at in events])
        for which, at in enumerate(events):
            rows[at] = X[which]
            if which in faults:
                problems.setdefault(at, faults[which])
        return rows

    def _labels(self, wires: list[Wire], kinds: list[Any], problems: Problems) -> list[Any]:
        """The labels as numbers, None where there is none."""
        labels, faults = self._classes.codes([wire.label for wire in wires], self._parser.texts)
        for at, fault in faults.items():
            if kinds[at] != "forget":
                problems.setdefault(at, fault)
        if "label" in kinds:
            for at, kind in enumerate(kinds):
                if kind == "label" and labels[at] is None:
                    problems.setdefault(at, problem_at("label", "expected a label, found none"))
        return labels


def _ids(wires: list[Wire], kinds: list[Any], problems: Problems) -> list[Any]:
    """The ids as texts, None where there is none."""
    ids: list[Any] = [wire.id for wire in wires]
    if not set(map(type, ids)) <= _TEXT_OR_NONE:
        for at, id in enumerate(ids):
            if isinstance(id, int):
                text = _decimal("id", id)
                if isinstance(text, Problem):
                    problems.setdefault(at, text)
                ids[at] = None if isinstance(text, Problem) else text
    if "label" in kinds:
        for at, kind in enumerate(kinds):
            if kind == "label" and ids[at] is None:
                message = "expected the id of the event that the label is for, found none"
                problems.setdefault(at, problem_at("id", message))
    return ids


def _places(raws: Sequence[Raw]) -> list[Any]:
    """Where the records stand, as ids."""
    return [f"{raw.topic}-{raw.partition}-{raw.offset}" for raw in raws]


def _times(raws: Sequence[Raw], wires: list[Wire], problems: Problems) -> list[Any]:
    """The times in milliseconds, by default those of the raw records."""
    times: list[Any] = [
        raw.time if wire.time is None else wire.time for raw, wire in zip(raws, wires, strict=True)
    ]
    if str in set(map(type, times)):
        for at, time in enumerate(times):
            if type(time) is str:
                times[at] = milliseconds(time)
                if isinstance(times[at], Problem):
                    problems.setdefault(at, times[at])
    return times


def _decimal(member: str, number: int) -> str | Problem:
    """A whole number as text."""
    if abs(number) >= _WHOLE_LONGEST:
        return problem_at(member, f"expected {EXPECTED[member]}, {seen(number)}")
    return str(number)


def _format(format: str | Format) -> Format:
    if isinstance(format, Format):
        return format
    if isinstance(format, str) and format in FORMATS:
        return FORMATS[format]()
    hint = nearest(format, FORMATS) if isinstance(format, str) else ""
    known = ", ".join(map(repr, FORMATS))
    raise ValueError(
        f"format must be one of {known}, or an object such as Csv, not {format!r}{hint}"
    )
