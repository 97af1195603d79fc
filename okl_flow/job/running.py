"""The settings of `okl-flow run`, whatever the flow."""

from dataclasses import dataclass

from okl_flow.job.kinds import OneOf, Real, Text, Whole
from okl_flow.job.settings import setting

__all__ = ["PORT_MAX", "RunSettings"]

PORT_MAX = 65535

_RUN, _METRICS = "run", "metrics"
_PROCESSES_MAX = 10_000


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a flow is kept running."""

    processes: int = setting(1, "processes of the cluster", Whole(1, _PROCESSES_MAX), section=_RUN)
    recovery_dir: str | None = setting(
        None,
        "directory of the engine, to go on from; made if it is not there",
        Text("a directory"),
        section=_RUN,
        files="always",
        otherwise="none",
        example="recovery",
    )
    epoch: float = setting(
        10.0, "seconds after which everything is snapshotted", Real(low=0.001), section=_RUN
    )
    grace: float = setting(30.0, "seconds that a drain may take", Real(low=0.0), section=_RUN)
    failures: int = setting(5, "failures that are too many", Whole(1), section=_RUN)
    within: float = setting(
        600.0,
        "seconds in which they are; then the run gives up",
        Real(low=0.001),
        section=_RUN,
    )
    pause: float = setting(
        1.0, "seconds before the first start after a failure", Real(low=0.0), section=_RUN
    )
    healthy: float = setting(
        60.0,
        "seconds that a run has to last for the next pause to be the first one again",
        Real(low=0.0),
        section=_RUN,
    )
    log: str | None = setting(
        None,
        "what a log record looks like: text or json",
        OneOf("text", "json"),
        section=_RUN,
        otherwise="text on a terminal",
        example="text",
    )
    metrics_port: int | None = setting(
        None,
        "port of the run's own figures, for Prometheus; each process has one of the next",
        Whole(1, PORT_MAX),
        section=_METRICS,
        otherwise="nowhere",
        example="9100",
    )
    metrics_host: str | None = setting(
        None,
        "address of these ports",
        Text("an address"),
        section=_METRICS,
        otherwise="127.0.0.1",
        example="0.0.0.0",
    )
