"""The job that is looked at, and what its flow says of itself."""

import gc
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from okl_flow import looking, origins
from okl_flow.kafka.topology import Input, Output, topics_of
from okl_flow.operators.engine import flow_named
from okl_flow.operators.keyed import Kept
from okl_flow.origins import Origin
from okl_flow.wire import Decoder

__all__ = ["Job", "Plan", "plan_of"]

_MAKES = "OKL_CREATE_TOPICS"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What `okl-flow run` would keep running."""

    flow: str  # module:name
    processes: int = 1
    epoch: float = 10.0  # seconds
    recovery: Path | None = None
    metrics: tuple[str, int] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)  # beside those of the environment
    origins: Mapping[str, Origin] = field(default_factory=dict)

    @property
    def makes_topics(self) -> bool:
        """Whether topics that are missing are made at the start."""
        given = {**os.environ, **self.variables}
        return any(value for name, value in given.items() if name.endswith(_MAKES))


@dataclass(frozen=True)
class Plan:
    """What a flow reads, writes, decodes and keeps."""

    name: str
    inputs: list[Input]
    outputs: list[Output]
    decoders: list[Decoder]
    kept: list[Kept]

    @property
    def topics(self) -> list[str]:
        """All topics, each once."""
        read = [topic for one in self.inputs for topic in one.reading.topics]
        return list(dict.fromkeys([*read, *(one.topic for one in self.outputs)]))


def plan_of(job: Job) -> Plan:
    """Build the flow, without anything being made or asked for it; raises what it raises."""
    with _environment(job.variables), looking.only() as seen:
        origins.note(job.origins)
        try:
            flow = flow_named(job.flow)
        finally:
            origins.note({})
            gc.unfreeze()  # which a flow does for a process that goes on to run it
    inputs, outputs = topics_of(flow)
    return Plan(
        flow.flow_id,
        inputs,
        outputs,
        [one for one in seen if isinstance(one, Decoder)],
        [one for one in seen if isinstance(one, Kept)],
    )


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """The variables and the path that a process of the job has."""
    before, here = {name: os.environ.get(name) for name in variables}, os.getcwd()
    os.environ.update(variables)
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
