"""What clients tell of their troubles, and what is to be done about it."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import admin as clients_admin

from okl_flow.kafka.connection import START_SECONDS, Connection

__all__ = ["Address", "Heard", "brokers_of", "described", "fits", "served", "words"]

_PAUSE = 0.25
_MISSING_SECONDS = 3.0  # a topic may be known to one broker before it is to another
_SAYS_NOTHING = (KafkaError._ALL_BROKERS_DOWN,)
_ACL = "an ACL has to let the user {}; docs/kafka.md lists what a job needs"
_REMEDIES = {
    KafkaError._AUTHENTICATION: "mend user, password or certificate in config",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: _ACL.format("Read inputs and Write outputs"),
    KafkaError.GROUP_AUTHORIZATION_FAILED: _ACL.format("Read the group"),
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _ACL.format("Write the transactional id"),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: _ACL.format("Write the topic"),
}


@dataclass(frozen=True)
class Address:
    """Where a broker says that it is."""

    number: int
    host: str
    port: int


class Heard:
    """The error that a client has told of last, and that says something.

    That all brokers are down, it says after every other error.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.text: str | None = None

    def note(self, error: KafkaError) -> str:
        """Take note of an error; what it says."""
        text = words(error, self._connection)
        if self.text is None or error.code() not in _SAYS_NOTHING:
            self.text = text
        return text

    def instead_of(self, error: KafkaError) -> str:
        """What was told, or what an error says if nothing was."""
        return self.text or words(error, self._connection)


def described(client: Any, topic: str) -> Any:
    """What the cluster says of a topic, which may have been made a moment ago."""
    end = time.monotonic() + _MISSING_SECONDS
    while True:
        found = _listed(client, topic).topics[topic]
        if (found.error is None and found.partitions) or time.monotonic() > end:
            return found
        time.sleep(_PAUSE)


def _listed(client: Any, topic: str) -> Any:
    """All of it; raises a KafkaException if the cluster says nothing for a while.

    The client gives up at once where all brokers that it knows have just refused it.
    """
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return client.list_topics(topic, timeout=max(_PAUSE, end - time.monotonic()))
        except KafkaException:
            if time.monotonic() >= end:
                raise
            time.sleep(_PAUSE)


def fits(connection: Connection, **own: Any) -> Any:
    """A client to look with; a BrokerError tells which settings it does not take."""
    admin: Any = clients_admin
    return connection.made(admin.AdminClient, {**connection.settings(), "log_level": 0, **own})


def brokers_of(connection: Connection, seconds: float) -> list[Address] | str:
    """The brokers of a cluster as they tell of themselves, or why it does not answer."""
    heard = Heard(connection)
    client = fits(connection, error_cb=heard.note)
    try:
        found = client.list_topics(timeout=seconds).brokers.values()
    except KafkaException as error:
        client.poll(0)  # lets the client tell what it has met
        return heard.instead_of(error.args[0])
    return [Address(one.id, one.host, one.port) for one in found]


def served(
    call: Callable[[float], int], seconds: float
) -> tuple[int, KafkaError | SystemError | None]:
    """What a call returns in which the client calls back, and the fatal error that it raises.

    confluent-kafka 2.16 raises a KafkaError, which is no exception and is caught by no name; or a
    SystemError, if a function that it has called back was the first to meet the fatal one.
    """
    try:
        return call(seconds), None
    except:  # noqa: E722
        raised: Any = sys.exc_info()[1]
        if isinstance(raised, KafkaException):
            raised = raised.args[0]
        if isinstance(raised, KafkaError | SystemError):
            return 0, raised
        raise


def words(error: KafkaError, connection: Connection) -> str:
    """What an error says, without secrets, and what to do where that is known."""
    try:
        text, code = error.str(), error.code()
    except SystemError as raised:
        # confluent-kafka 2.16 calls back with a fatal error raised already, of which this tells.
        cause = raised.__cause__
        if not isinstance(cause, KafkaException):
            raise
        text, code = cause.args[0].str(), cause.args[0].code()
    remedy = f"; {_REMEDIES[code]}" if code in _REMEDIES else ""
    return connection.clean(text).rstrip(".") + remedy
