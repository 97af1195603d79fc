"""From reports to curves: an error against labelled events, with interval and baseline."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from okl_flow.events import Report

__all__ = ["Curve", "curves_of_keys", "curves_of_learners", "curves_of_stream"]

_LABELLED = "labelled"
_MISTAKES, _SQUARES = "mistakes_", "squared_error_"


@dataclass(slots=True)
class Curve:
    """An error so far, at ever more labels; NaN stands for what is not known."""

    name: str
    is_rate: bool  # a share of mistakes, else a root of squared errors
    labels: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    lately: list[float] = field(default_factory=list)  # in the window, or fading for a key
    span: str = ""  # what "lately" is


def curves_of_stream(reports: Iterable[Report]) -> list[Curve]:
    """A curve for each step that has reported the whole stream."""
    found: dict[str, list[Report]] = {}
    for one in reports:
        if one.subject == "stream" and one.values.get(_LABELLED):
            found.setdefault(one.step, []).append(one)
    return [_curve(step, run) for step, run in found.items()]


def curves_of_keys(reports: Iterable[Report], keys: Sequence[str]) -> list[Curve]:
    """A curve for each of these keys that was reported; of several steps, the first's."""
    found: dict[str, list[Report]] = {}
    for one in reports:
        if one.subject == "key" and one.name in keys and one.values.get(_LABELLED):
            known = found.setdefault(one.name, [])
            if not known or known[0].step == one.step:
                known.append(one)
    return [_curve(key, found[key]) for key in keys if key in found]


def curves_of_learners(reports: Iterable[Report]) -> list[Curve]:
    """A curve for each learner of a `compare`, of the counts of its partitions added up.

    >>> values = {"labelled": 10.0, "mistakes_old": 4.0, "mistakes_new": 1.0}
    >>> [(one.name, one.error) for one in curves_of_learners([
    ...     Report("compare", "partition", name, 10, values) for name in ("0", "1")
    ... ])]
    [('old', [0.4, 0.4]), ('new', [0.1, 0.1])]
    """
    latest: dict[str, dict[str, float]] = {}
    curves: dict[str, Curve] = {}
    for one in reports:
        if one.subject != "partition" or not one.values.get(_LABELLED):
            continue
        counts = {name: value for name, value in one.values.items() if value is not None}
        learners = _learners(counts)
        if not learners:
            continue
        latest[one.name] = counts
        labels = sum(each[_LABELLED] for each in latest.values())
        for name in learners:
            member = _SQUARES + name if _SQUARES + name in counts else _MISTAKES + name
            curve = curves.setdefault(name, Curve(name, member.startswith(_MISTAKES)))
            if curve.labels and labels <= curve.labels[-1]:
                continue  # repeated after a crash
            share = sum(each.get(member, 0.0) for each in latest.values()) / labels
            curve.labels.append(labels)
            curve.error.append(share if curve.is_rate else math.sqrt(share))
    for curve in curves.values():
        nothing = [math.nan] * len(curve.labels)
        curve.low = curve.high = curve.baseline = curve.lately = nothing
    return list(curves.values())


def _learners(counts: Iterable[str]) -> list[str]:
    return [one.removeprefix(_MISTAKES) for one in counts if one.startswith(_MISTAKES)]


def _curve(name: str, reports: Sequence[Report]) -> Curve:
    """The curve of the reports of one subject; of those of one count the last is taken."""
    at: dict[float, Report] = {}
    for one in reports:
        labelled = one.values[_LABELLED]
        assert labelled is not None
        if at and labelled <= min(at):
            at = {}  # the job has begun anew
        at[labelled] = one
    measure = "mistake_rate" if "mistake_rate" in reports[-1].values else "rmse"
    lately = "window_" if f"window_{measure}" in reports[-1].values else "fading_"
    curve = Curve(name, measure == "mistake_rate", span=lately.rstrip("_"))
    for labelled, one in sorted(at.items()):
        curve.labels.append(labelled)
        for values, member in (
            (curve.error, measure),
            (curve.low, f"{measure}_low"),
            (curve.high, f"{measure}_high"),
            (curve.baseline, f"baseline_{measure}"),
            (curve.lately, f"{lately}{measure}"),
        ):
            value = one.values.get(member)
            values.append(math.nan if value is None else value)
    return curve
