"""The topics of a flow: what it reads and writes, found in its steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bytewax.dataflow import Dataflow

from okl_flow.kafka.connection import Connection
from okl_flow.kafka.reader import Reading
from okl_flow.kafka.sink import _EXACTLY_ONCE, _TopicSink
from okl_flow.kafka.source import _TopicsSource

__all__ = ["Input", "Output", "topics_of"]


@dataclass(frozen=True)
class Input:
    """What a step reads."""

    step_id: str
    reading: Reading


@dataclass(frozen=True)
class Output:
    """What a step writes."""

    step_id: str
    connection: Connection
    topic: str
    is_exactly_once: bool
    parts: int

    @property
    def producer(self) -> str:
        """What its transactional ids begin with."""
        return self.step_id.removesuffix(".write").replace(".", "-") + "-"


def topics_of(flow: Dataflow) -> tuple[list[Input], list[Output]]:
    """The inputs and outputs of a flow that are topics."""
    inputs, outputs = [], []
    for step in _steps(flow):
        source, sink = getattr(step, "source", None), getattr(step, "sink", None)
        if isinstance(source, _TopicsSource):
            inputs.append(Input(step.step_id, source._reading))
        if isinstance(sink, _TopicSink):
            exactly = sink._delivery == _EXACTLY_ONCE
            outputs.append(Output(step.step_id, sink._connection, sink._topic, exactly, sink.count))
    return inputs, outputs


def _steps(owner: Any) -> Iterator[Any]:
    """The innermost steps, which alone the engine runs."""
    for step in owner.substeps:
        if step.substeps:
            yield from _steps(step)
        else:
            yield step
