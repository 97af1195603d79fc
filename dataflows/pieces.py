"""What the flows have in common: reading, writing, and saying in words what happens."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
from bytewax.dataflow import Dataflow, Stream

from dataflows import formats, topics
from dataflows.settings import Settings, known_as
from okl_flow.evaluating.drift import Drift
from okl_flow.events import Alarm, Cause, Incoming, Outgoing, Prediction, Reject, Report
from okl_flow.job import parsed
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
from okl_flow.wire import Csv, Format, Raw

__all__ = ["ONE", "after", "in_words", "judge", "read", "under_one_key", "write"]

ONE = "all"
"""The key of everything, where there is one model."""

_REJECTS_SHOWN = 5


def read(flow: Dataflow, settings: Settings, *, key: str | None = None) -> DecodeOut:
    """Events of the files or topics; `key` is that of records that name none."""
    if settings.brokers is None:
        raws, format = _read_files(flow, settings)
    else:
        topics.prepare(settings)
        raws = topics.read_topics(flow, settings)
        format = formats.topic_format(
            settings.format, settings.features, settings.schema, settings.schema_registry()
        )
    named = settings.classes and [canonical(word) or "" for word in settings.classes.split(",")]
    return decode(
        "decode",
        raws,
        format=format,
        features=None if isinstance(format, Csv) else formats.features_of(settings.features),
        labels=named or None,
        key=key,
    )


def _read_files(flow: Dataflow, settings: Settings) -> tuple[Stream[Raw], str | Format]:
    """The lines of the files, and their format."""
    paths = settings.paths
    format = formats.file_format(settings.format, paths[0])
    raws = lines("read", flow, paths, skip=1 if format == "csv" else 0)
    return raws, _csv(paths) if format == "csv" else {"jsonl": "json"}.get(format, format)


def _csv(paths: Sequence[str]) -> Format:
    """CSV with the columns of the header; columns named key, id, time, label, type are that."""
    columns = first_line(paths[0]).decode().strip().split(",")
    for path in paths[1:]:
        if first_line(path).decode().strip().split(",") != columns:
            raise ValueError(f"{known_as('events')}: {path} has not the header of {paths[0]}")
    return Csv(columns, **{name: name for name in formats.MEMBERS if name in columns})


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
    settings: Settings,
    *,
    partitions: int,
) -> EvaluateOut:
    """Evaluate predictions as the settings say, and once more where the files end."""
    drift, parameters = parsed(settings.evaluation_drift)
    return evaluate(
        step_id,
        predictions,
        task=learner.task,
        window=settings.evaluation_window,
        fading=settings.evaluation_fading,
        report_every=settings.evaluation_report_every,
        report_at_end=True,
        keys=settings.evaluation_keys,
        keys_reported=settings.evaluation_keys_reported,
        key_lists_every=settings.evaluation_key_lists_every,
        key_report_every=settings.evaluation_key_report_every,
        keys_in_memory=settings.evaluation_keys_in_memory,
        drift=None if drift == "none" else Drift.members[drift](**parameters),
        confidence=settings.evaluation_confidence,
        partitions=partitions,
    )


def after(count: float | None, unit: timedelta) -> timedelta | None:
    """So many units of time; None, which is for ever, for None."""
    return None if count is None else count * unit


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
    where, is_files = settings.outputs, settings.brokers is None
    if is_files:
        _make_folders(where)
    for name, streams in kinds.items():
        merged: Stream[Outgoing] = op.merge(f"all_{name}", *streams)
        if name != "predictions":
            merged = op.inspect(f"say_{name}", merged, _speaker(where[name], is_files))
        if is_files:
            write_lines(f"write_{name}", encode(f"encode_{name}", merged), where[name])
        else:
            format = topics.writer(settings, name)
            topics.write_topic(settings, name, encode(f"encode_{name}", merged, format=format))


def _make_folders(paths: Mapping[str, str]) -> None:
    """Make the folders of files that are written, if they are missing."""
    for path in paths.values():
        if path != "-":
            Path(path).parent.mkdir(parents=True, exist_ok=True)


def _speaker(where: str, is_file: bool) -> Callable[[str, Outgoing], None]:
    """What says on standard error what records tell; of many rejects the first ones."""
    rejects, last = 0, ""

    def say(_step: str, record: Outgoing) -> None:
        nonlocal rejects, last
        words = in_words(record, is_file)
        if isinstance(record, Reject):
            rejects += 1
            if rejects > _REJECTS_SHOWN + 1:
                return
            if rejects > _REJECTS_SHOWN:
                words = "more rejects are not shown" + ("" if where == "-" else f"; see {where}")
        if words and words != last:  # the end of the files may come just after a report
            print(words, file=sys.stderr, flush=True)
            last = words

    return say


def in_words(record: Outgoing, is_file: bool = True) -> str:
    """A line for people; empty for what only programs want to know.

    Its cause is a line of a file, or a record of a topic.

    >>> from okl_flow.events import Cause, Reason
    >>> in_words(Reject(Reason.KEY, "key: expected one", Cause("events.jsonl", 0, 7)))
    'rejected, line 7 of events.jsonl: key: expected one'
    """
    if isinstance(record, Reject):
        whose = f" of {record.key}" if record.key else ""
        return f"rejected{whose}, {_place(record.cause, is_file)}: {record.message}"
    if isinstance(record, Alarm):
        where = f" at {_place(record.cause, is_file)}" if record.cause else ""
        whose = f" of {record.name}" if record.name and record.name not in record.message else ""
        return f"{record.kind}{whose}{where}: {record.message}"
    return _report_in_words(record) if isinstance(record, Report) and record.values else ""


def _place(cause: Cause, is_file: bool) -> str:
    if is_file:
        return f"line {cause.offset} of {cause.topic}"
    return f"offset {cause.offset} of partition {cause.partition} of {cause.topic}"


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
