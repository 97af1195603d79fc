"""The machine: versions, limits, ports, and variables that nobody reads."""

import os
import resource
import socket
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.job import Job, Plan

__all__ = ["limits", "ports", "versions"]

_TRIED = {  # from, and below
    "bytewax": ((0, 21, 1), (0, 22)),
    "confluent-kafka": ((2, 6), (3,)),
    "kafka-python": ((3,), (4,)),
    "numba": ((0, 61), (1,)),
    "numpy": ((2,), (3,)),
    "rocksdict": ((0, 3, 24), (0, 4)),
}
_PYTHONS = ((3, 11), (3, 13))
_FILES = 24  # of a state partition, kept open
_FILES_BESIDE = 200  # sockets, recovery, logs, libraries


def versions() -> Iterator[Finding]:
    """Whether what is installed is what this was tested with."""
    told, wrong = [f"okl-flow {version('okl-flow')}"], False
    python = sys.version_info[:3]
    told.append(f"Python {_dotted(python)}")
    if not _PYTHONS[0] <= python < _PYTHONS[1]:
        wrong = True
        yield problem(
            "versions", f"Python is {_dotted(python)}", "use Python 3.11 or 3.12: Bytewax needs it"
        )
    for name, (low, high) in _TRIED.items():
        try:
            text = version(name)
        except PackageNotFoundError:
            wrong = True
            yield problem("versions", f"{name} is not installed", "install okl-flow anew by pip")
            continue
        told.append(f"{name} {text}")
        if not low <= _numbers(text) < high:
            wrong = True
            yield warning(
                "versions",
                f"{name} is {text}, and was tested from {_dotted(low)} to below {_dotted(high)}",
                f'pip install "{name}>={_dotted(low)},<{_dotted(high)}"',
            )
    try:
        __import__("numba")
    except ImportError as error:
        wrong = True
        yield problem(
            "versions",
            f"numba does not start: {error}",
            "install versions of numba and numpy that go together: pip install -U numba numpy",
        )
    if not wrong:
        yield fine("versions", ", ".join(told))


def limits(job: Job, plan: Plan | None) -> Iterator[Finding]:
    """Whether enough files may be open."""
    partitions = sum(one.partitions for one in plan.kept if one.path) if plan else 0
    needed = _FILES_BESIDE + -(-partitions * _FILES // job.processes)
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    words = f"a process may open {soft:,} files, and may need {needed:,}"
    if soft != resource.RLIM_INFINITY and soft < needed:
        yield warning(
            "limits.files", words, f"ulimit -n {2 * needed}, or LimitNOFILE in the service's unit"
        )
    else:
        yield fine("limits.files", words)


def ports(job: Job, running: bool) -> Iterator[Finding]:
    """Whether the ports of the metrics are free."""
    if job.metrics is None or running:
        return
    host, first = job.metrics
    taken = []
    for port in range(first, first + job.processes + 1):
        try:
            socket.create_server((host, port)).close()
        except OSError as error:
            taken.append(f"{host}:{port} ({os.strerror(error.errno or 0)})")
    last = first + job.processes
    if taken:
        yield problem(
            "ports",
            f"metrics cannot be served at {', '.join(taken)}",
            f"end what listens there, or give another metrics port: {first} to {last} are needed",
        )
    else:
        yield fine("ports", f"{host}:{first} to {last} are free")


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with."""
    found = []
    for part in text.split("."):
        if not part.isdecimal():
            break
        found.append(int(part))
    return tuple(found)


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
