"""What the flows have in common: reading, writing, and saying in words what happens."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
from bytewax.dataflow import Dataflow, Stream

from dataflows.settings import PREFIX, Settings
from okl_flow.events import Alarm, Incoming, Outgoing, Prediction, Reject, Report
from okl_flow.files import format_of
from okl_flow.labels import canonical
from okl_flow.learner import Learner
from okl_flow.operators import (
    CompareOut,
    DecodeOut,
    EvaluateOut,
    PrequentialOut,
    decode,
    encode,
    evaluate,
    lines,
    write_lines,
)
from okl_flow.operators.files import first_line
from okl_flow.wire import Columns, Csv, Features, Format, Names

__all__ = ["ONE", "in_words", "judge", "read", "under_one_key", "write"]

ONE = "all"
"""The key of everything, where there is one model."""

_MEMBERS = ("key", "id", "time", "label", "type")
_REJECTS_SHOWN = 5


def read(flow: Dataflow, settings: Settings, *, key: str | None = None) -> DecodeOut:
    """Events of the files; `key` is that of records that name none."""
    paths = settings.paths
    format = settings.format or format_of(paths[0])
    raws = lines("read", flow, paths, skip=1 if format == "csv" else 0)
    named = settings.labels and [canonical(word) or "" for word in settings.labels.split(",")]
    return decode(
        "decode",
        raws,
        format=_csv(paths) if format == "csv" else {"jsonl": "json"}.get(format, format),
        features=None if format == "csv" else _features(settings.features),
        labels=named or None,
        key=key,
    )


def _csv(paths: Sequence[str]) -> Format:
    """CSV with the columns of the header; columns named key, id, time, label, type are that."""
    columns = first_line(paths[0]).decode().strip().split(",")
    for path in paths[1:]:
        if first_line(path).decode().strip().split(",") != columns:
            raise ValueError(f"{PREFIX}EVENTS: {path} has not the header of {paths[0]}")
    return Csv(columns, **{name: name for name in _MEMBERS if name in columns})


def _features(text: str) -> Features:
    """So many numbers in a list, or numbers with names."""
    return Columns(int(text)) if text.isdecimal() else Names(text.split(","))


def under_one_key(events: Stream[Incoming]) -> Stream[Incoming]:
    """The events with one key for all, whatever key they had."""

    def renamed(batch: list[Incoming]) -> list[Incoming]:
        return [
            item if item.key == ONE else msgspec.structs.replace(item, key=ONE) for item in batch
        ]

    return op.flat_map_batch("one_key", events, renamed)


def judge(
    step_id: str,
    predictions: Stream[Prediction],
    learner: Learner,
    *,
    partitions: int,
    keys: str = "worst",
) -> EvaluateOut:
    """Evaluate predictions as `evaluate` does, and once more where the files end."""
    return evaluate(
        step_id,
        predictions,
        task=learner.task,
        partitions=partitions,
        keys=keys,
        report_at_end=True,
    )


def write(
    settings: Settings,
    decoded: DecodeOut,
    learned: PrequentialOut | CompareOut,
    judged: Sequence[EvaluateOut],
) -> None:
    """Write all that comes out to where the settings say, and say in words what happens."""
    kinds: dict[str, list[Stream[Any]]] = {
        "predictions": [learned.predictions],
        "reports": [learned.reports, *(out.reports for out in judged)],
        "alarms": [out.alarms for out in judged],
        "rejects": [decoded.rejects, learned.rejects],
    }
    if isinstance(learned, CompareOut):
        kinds["alarms"].append(learned.alarms)
    paths = {name: str(getattr(settings, name)) for name in kinds}
    _check(paths, settings.paths)
    for name, streams in kinds.items():
        merged: Stream[Outgoing] = op.merge(f"all_{name}", *streams)
        if name != "predictions":
            merged = op.inspect(f"say_{name}", merged, _speaker(paths[name]))
        write_lines(f"write_{name}", encode(f"encode_{name}", merged), paths[name])


def _check(paths: dict[str, str], taken: Sequence[str]) -> None:
    """Refuse to write over what is read or written by another sink; make missing folders."""
    known = [os.path.realpath(path) for path in taken]
    for name, path in paths.items():
        if path == "-":
            continue
        if os.path.realpath(path) in known:
            raise ValueError(f"{PREFIX}{name.upper()}: {path} is read or written already")
        known.append(os.path.realpath(path))
        Path(path).parent.mkdir(parents=True, exist_ok=True)


def _speaker(path: str) -> Callable[[str, Outgoing], None]:
    """What says on standard error what records tell; of many rejects the first ones."""
    rejects, last = 0, ""

    def say(_step: str, record: Outgoing) -> None:
        nonlocal rejects, last
        words = in_words(record)
        if isinstance(record, Reject):
            rejects += 1
            if rejects > _REJECTS_SHOWN + 1:
                return
            if rejects > _REJECTS_SHOWN:
                words = "more rejects are not shown" + ("" if path == "-" else f"; see {path}")
        if words and words != last:  # the end of the files may come just after a report
            print(words, file=sys.stderr, flush=True)
            last = words

    return say


def in_words(record: Outgoing) -> str:
    """A line for people; empty for what only programs want to know.

    >>> from okl_flow.events import Cause, Reason
    >>> in_words(Reject(Reason.KEY, "key: expected one", Cause("events.jsonl", 0, 7)))
    'rejected, line 7 of events.jsonl: key: expected one'
    """
    if isinstance(record, Reject):
        whose = f" of {record.key}" if record.key else ""
        where = f"line {record.cause.offset} of {record.cause.topic}"
        return f"rejected{whose}, {where}: {record.message}"
    if isinstance(record, Alarm):
        where = f" at line {record.cause.offset} of {record.cause.topic}" if record.cause else ""
        whose = f" of {record.name}" if record.name and record.name not in record.message else ""
        return f"{record.kind}{whose}{where}: {record.message}"
    return _report_in_words(record) if isinstance(record, Report) and record.values else ""


def _report_in_words(report: Report) -> str:
    step, found = report.step.partition(".")[2], report.values
    if report.subject == "key" and "labelled" not in found:
        chosen = ", ".join(f"{name} {_number(value)}" for name, value in found.items())
        return f"{step}, {report.name} after {report.events:,} events: {chosen}"
    if report.subject != "stream":
        return ""
    about = f"{step}, {found['labelled']:,.0f} labels"
    if "rmse" in found:
        return (
            f"{about}: root mean squared error {_number(found['rmse'])}, "
            f"lately {_number(found['window_rmse'])}; "
            f"mean label {_number(found['baseline_rmse'])}"
        )
    low, high = _share(found["mistake_rate_low"]), _share(found["mistake_rate_high"])
    return (
        f"{about}: {_share(found['mistake_rate'])} % mistakes ({low} to {high}), "
        f"lately {_share(found['window_mistake_rate'])} %; "
        f"commonest label {_share(found['baseline_mistake_rate'])} %"
    )


def _share(value: float | None) -> str:
    return "?" if value is None else f"{100.0 * value:.1f}"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"
