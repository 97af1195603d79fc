"""The data of a command: from what was asked for to events as the learners take them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from okl_flow.cli.errors import CommandError
from okl_flow.cli.progress import Steps
from okl_flow.evaluation import median_distance, sampled
from okl_flow.files import DataError, Source, Summary, open_source
from okl_flow.labels import Label, LabelCoder, canonical, decide, shown
from okl_flow.native import Array
from okl_flow.parameters import nearest
from okl_flow.rescaling import RESCALINGS, Rescaling

__all__ = ["Data", "DataRequest", "prepare"]

_TWO = 2

Batches = Iterator[tuple[Array, Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRequest:
    """What data are asked for, and how they are to be read."""

    path: str
    task: str | None
    labels: str | None
    label: str
    dim: int | None
    format: str | None
    rescale: str
    may_miss: bool = False
    batch: int
    load: bool  # all events are needed at once


@dataclass(slots=True)
class Data:
    """A stream as the learners will see it."""

    source: Source
    coder: LabelCoder
    reason: str  # why the task is what it is
    dim: int
    rows: int | None  # None where they go by once and cannot be counted before
    rescaling: Rescaling | None
    loaded: tuple[Array, Array] | None = None
    begun: Batches | None = None  # a pipe of which the first batch has been looked at

    def batches(self, size: int) -> Batches:
        """The events in their order; those of a pipe only once, as they were begun."""
        if self.begun is not None:
            return self.begun
        return self._rescaled(self.source.batches(self.coder, size))

    def _rescaled(self, batches: Batches) -> Batches:
        for X, y in batches:
            yield (self.rescaling.apply(X) if self.rescaling else X), y

    def median(self, seed: int) -> float:
        """The median distance of two events."""
        if self.source.may_miss:
            raise CommandError(
                "there is no median distance of events with missing features; "
                "--set bandwidth=auto takes it once they are filled in"
            )
        if self.loaded is not None:
            return median_distance(self.loaded[0], seed=seed)
        if self.rows is None:
            raise CommandError(
                f"{self.source.name} goes by once, so there is no median distance to choose a "
                "bandwidth by; give numbers, or --permutations, which loads all events"
            )
        return median_distance(sampled(self.batches(1000), self.rows, seed=seed))


def prepare(asked: DataRequest, steps: Steps) -> Data:
    """Open the data, look through them if they allow it, and settle the task."""
    if asked.rescale not in RESCALINGS:
        hint = nearest(asked.rescale, RESCALINGS)
        known = ", ".join(RESCALINGS)
        raise CommandError(f"--rescale: there is no {asked.rescale!r}{hint}; known: {known}")
    if asked.may_miss and asked.rescale != "none":
        raise CommandError(
            "--rescale knows nothing of --missing; --set scale=standard scales while learning"
        )
    source = open_source(
        asked.path,
        format=asked.format,
        label=asked.label,
        dim=asked.dim,
        may_miss=asked.may_miss,
    )
    labels = None if asked.labels is None else _parse_labels(asked.labels)
    if asked.task == "regression" and labels:
        raise CommandError("--labels names classes, and a regression has none")
    if not source.rereadable:
        return _from_pipe(asked, source, labels, steps)
    summary = source.scan(steps("looking through", None))
    coder, reason = _settled(asked.task, labels, summary)
    _refuse_misfits(source, coder, summary)
    rescaling = Rescaling(asked.rescale, summary.moments)
    data = Data(source, coder, reason, summary.dim, summary.rows, rescaling)
    if asked.load:
        X, y = source.load(coder, steps("loading", summary.rows))
        data.loaded = rescaling.apply(X), y
    return data


def _from_pipe(
    asked: DataRequest, source: Source, labels: tuple[Label, ...] | None, steps: Steps
) -> Data:
    """The data of a pipe, of which all must be known beforehand."""
    if asked.rescale != "none":
        raise CommandError(
            f"--rescale takes a pass of its own over the data, and {source.name} goes by once"
        )
    if source.format == "libsvm" and source.dim is None:
        raise CommandError(
            f"{source.name} goes by once, and LIBSVM text does not say how many features there "
            "are: give --dim"
        )
    task = asked.task or ("multiclass" if labels and len(labels) > _TWO else "binary")
    if task == "multiclass" and labels is None:
        raise CommandError(f"{source.name} goes by once: give --labels, all classes that may come")
    reason = "as asked" if asked.task else f"by {len(labels)} --labels" if labels else "assumed"
    coder = LabelCoder.of(task, labels)
    if asked.load:
        X, y = source.load(coder, steps("loading", None))
        return Data(source, coder, reason, X.shape[1], y.shape[0], None, loaded=(X, y))
    batches = source.batches(coder, asked.batch)
    first = next(batches)
    dim = first[0].shape[1]
    return Data(source, coder, reason, dim, None, None, begun=chain([first], batches))


def _settled(
    task: str | None, labels: tuple[Label, ...] | None, summary: Summary
) -> tuple[LabelCoder, str]:
    """The coder of the labels of a file, and why its task is what it is."""
    if not summary.labels.labelled:
        raise CommandError("no event has a label, so there is nothing to measure by")
    if labels is not None:
        task_of_labels = task or ("binary" if len(labels) == _TWO else "multiclass")
        return LabelCoder.of(task_of_labels, labels), f"{len(labels)} --labels: {shown(labels)}"
    if task is None:
        task, reason = decide(summary.labels)
    else:
        reason = "as asked"
    return LabelCoder.of(task, summary.labels.classes), reason


def _refuse_misfits(source: Source, coder: LabelCoder, summary: Summary) -> None:
    """Find the first label that does not fit before any learner has begun, if there is one."""
    if coder.labels:
        misfit = not summary.labels.distinct.issubset(coder.labels)
    else:
        misfit = not summary.labels.numbers
    if misfit:
        for _X, _y in source.batches(coder):
            pass
        raise DataError(f"{source.name}: it has changed while it was read")


def _parse_labels(text: str) -> tuple[Label, ...]:
    labels = []
    for word in text.split(","):
        label = canonical(word)
        if label is None:
            raise CommandError(f"--labels {text}: {word!r} stands for no label")
        if label in labels:
            raise CommandError(f"--labels {text}: {word!r} is given twice")
        labels.append(label)
    if len(labels) < _TWO:
        raise CommandError(f"--labels {text}: at least 2 labels are needed")
    return tuple(labels)
