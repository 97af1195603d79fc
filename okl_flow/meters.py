"""What a process tells Prometheus of the flow that it runs.

Metrics are those of prometheus_client's default registry, which Bytewax serves as well. What state
partitions count anyway, for their reports, is added up when somebody asks: an event costs nothing
more. Labels are steps and reasons, never keys.
"""

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from threading import Lock
from typing import Any
from weakref import WeakSet

from prometheus_client import REGISTRY, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

__all__ = ["RESUMED", "SNAPSHOT", "Meter", "evaluated", "rejected"]

_REJECTED = "rejected_"
_COUNTED = {
    "events": "Events that were scored.",
    "joined": "Labels that came apart from their event and found it.",
    "expired": "Events that waited for a label until their time was up.",
    "keys": "Keys that began.",
    "forgotten": "Keys that were forgotten.",
}
_NAMES = {
    "joined": "labels_joined",
    "expired": "waits_expired",
    "keys": "keys_begun",
    "forgotten": "keys_forgotten",
}
_FIGURES = ("mistake_rate", "loss", "rmse", "mae")
_PERIODS = {"all": "", "window": "window_", "fading": "fading_"}

SNAPSHOT = Histogram(
    "okl_flow_snapshot_seconds",
    "Time that a state partition took to write what had changed in an epoch.",
    ["step"],
)
RESUMED = Gauge(
    "okl_flow_resume_seconds",
    "Time that this process took to open the state partitions that it has resumed.",
    ["step"],
)
_EVALUATED = {
    name: Gauge(f"okl_flow_{name}", f"The {name} in the last report of a stream.", ["step", "over"])
    for name in _FIGURES
}
_INFO = Gauge("okl_flow_info", "Versions.", ["version", "bytewax", "python"])
_INFO.labels(version("okl-flow"), version("bytewax"), platform.python_version()).set(1)


class Meter:
    """What a state partition has counted in this process; forgotten with the partition.

    Parameters:
        step: the step that the partition belongs to.
        counts: its counts, by the names that they have in its reports.
        keys: how many keys it holds in memory.
        size: how many bytes its store has.
    """

    def __init__(
        self,
        step: str,
        counts: Mapping[str, int],
        keys: Callable[[], int],
        size: Callable[[], int],
    ) -> None:
        self.step = step
        self.keys = keys
        self.size = size
        self.predictions = 0
        self._counts = counts
        self._before = dict(counts)  # as it resumes: Prometheus counts by process
        with _lock:
            _meters.add(self)

    def counts(self) -> Iterator[tuple[str, int]]:
        """What was counted, by name."""
        yield "predictions", self.predictions
        # One call that no other thread comes between.
        for name, count in dict(self._counts).items():
            yield name, count - self._before.get(name, 0)


_lock = Lock()  # partitions open in the threads of workers, and Prometheus asks in another
_meters: WeakSet[Meter] = WeakSet()
_rejected: Counter[tuple[str, str]] = Counter()


def rejected(step: str, reasons: Iterable[str]) -> None:
    """Count rejects of a step that has no partitions."""
    for reason in reasons:
        _rejected[step, reason] += 1


def evaluated(step: str, values: Mapping[str, float | None]) -> None:
    """Take note of the figures in a report of the whole stream."""
    for name, gauge in _EVALUATED.items():
        for over, prefix in _PERIODS.items():
            value = values.get(prefix + name)
            if value is not None:
                gauge.labels(step, over).set(value)


class _Partitions:
    """The figures of all state partitions of the process, by step."""

    def collect(self) -> Iterator[Metric]:
        """What there is at the moment."""
        counts: Counter[tuple[str, str]] = Counter()
        keys: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        with _lock:
            meters = list(_meters)
        for meter in meters:
            keys[meter.step] += meter.keys()
            sizes[meter.step] += meter.size()
            for name, count in meter.counts():
                counts[meter.step, name] += count
        told = {"predictions": "Scores that were told, again where a label came later.", **_COUNTED}
        for name, about in told.items():
            found = {(step,): count for (step, one), count in counts.items() if one == name}
            yield _counter(_NAMES.get(name, name), about, ["step"], found)
        refused = Counter(dict(_rejected))
        for (step, name), count in counts.items():
            if name.startswith(_REJECTED):
                refused[step, name.removeprefix(_REJECTED)] += count
        yield _counter("rejects", "What could not be used.", ["step", "reason"], refused)
        yield _gauge("keys_in_memory", "Keys whose models are in memory.", keys)
        yield _gauge("state_bytes", "Bytes of the stores, on disk if there are directories.", sizes)


def _counter(name: str, about: str, labels: list[str], counts: Mapping[Any, int]) -> Metric:
    family: Any = CounterMetricFamily(f"okl_flow_{name}", about, labels=labels)
    for key, count in counts.items():
        family.add_metric(key, count)
    told: Metric = family
    return told


def _gauge(name: str, about: str, values: Mapping[str, int]) -> Metric:
    family: Any = GaugeMetricFamily(f"okl_flow_{name}", about, labels=["step"])
    for step, value in values.items():
        family.add_metric([step], value)
    told: Metric = family
    return told


_collector: Any = _Partitions()
REGISTRY.register(_collector)
