"""Whether the brokers can be reached, also where they say that they are."""

import re
from collections.abc import Iterator

from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.words import counted
from okl_flow.kafka.address import AddressError, try_address
from okl_flow.kafka.connection import BrokerError, Connection
from okl_flow.kafka.look import LookError, mechanism_of, tls_context
from okl_flow.kafka.telling import Address, brokers_of, fits

__all__ = ["addresses", "advertised", "refused"]

_LOST = re.compile(r"\S+/(\d+): (?:Failed to resolve|Connect to)")  # a broker by its own address
_SECURITY = "mend the file of kafka_config, or what its values name in the environment"


def addresses(connection: Connection, seconds: float) -> tuple[list[str], list[Finding]]:
    """The addresses that the job is given and that can be reached, and what is to be said."""
    found = list(_settings(connection))
    given = [one.strip() for one in connection.brokers.split(",") if one.strip()]
    reached, failed = [], []
    for one in given:
        host, colon, port = one.rpartition("://")[2].rpartition(":")
        if not colon or not port.isdecimal():
            found.append(problem("brokers", f"{one!r} is no address", "give it as host:port"))
            continue
        try:
            failure = _tried(connection, host.strip("[]"), int(port), seconds)
        except LookError as error:
            return [], [*found, problem("brokers", str(error), _SECURITY)]
        reached += [] if failure else [one]
        failed += [failure] if failure else []
    for failure in failed:
        made = warning if reached else problem
        found.append(made("brokers", failure.message, failure.remedy))
    if reached:
        found.append(fine("brokers", f"{', '.join(reached)} can be reached"))
    return reached, found


def _settings(connection: Connection) -> Iterator[Finding]:
    """Whether the client that does the work takes its settings."""
    try:
        fits(connection)
    except BrokerError as error:
        yield problem("brokers.security", str(error), _SECURITY)


def advertised(connection: Connection, seconds: float) -> tuple[list[Address], list[Finding]]:
    """Each address that a broker gives itself: clients go there, whatever they were given."""
    found = brokers_of(connection, seconds)
    if isinstance(found, str):
        lost = _LOST.match(found)  # the client may know the address before it has told us
        return [], [misplaced(int(lost[1]), found) if lost else refused(found)]
    reached, findings = [], []
    for one in found:
        failure = _tried(connection, one.host, one.port, seconds)
        if failure:
            findings.append(misplaced(one.number, failure.message))
        else:
            reached.append(one)
    if not findings:
        words = f"{counted(len(found), 'broker')}, each at the address that it gives itself"
        findings.append(fine("brokers.advertised", words))
    return reached, findings


def misplaced(number: int, why: str) -> Finding:
    """A broker is not where it says that it is."""
    return problem(
        "brokers.advertised",
        f"broker {number} gives itself an address at which it is not: {why}",
        f"mend advertised.listeners of broker {number}, or let this machine reach it",
    )


def refused(why: str) -> Finding:
    """Why the cluster does not speak with us."""
    return problem("brokers.security", f"the cluster does not let us in: {why}", _SECURITY)


def _tried(connection: Connection, host: str, port: int, seconds: float) -> AddressError | None:
    return try_address(host, port, tls_context(connection), mechanism_of(connection), seconds)
