"""A cluster as kafka-python sees it: a second opinion, beside the client that does the work.

Nothing is changed, and no group is joined.
"""

import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import kafka
from kafka import errors
from kafka.admin import (
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    OffsetSpec,
)

from okl_flow.kafka.connection import Connection
from okl_flow.wire import Raw
from okl_flow.wire.raw import Part

__all__ = ["Look", "LookError", "Partition", "Topic", "Transaction"]

_MS = 1000
_VERIFY, _NAME_CHECK = (
    "enable.ssl.certificate.verification",
    "ssl.endpoint.identification.algorithm",
)
_NO_FILES = ("ssl.certificate.pem", "ssl.key.pem", "ssl.keystore.location")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ONGOING = ("Ongoing", "PrepareCommit", "PrepareAbort")

_PASSING = (
    errors.CoordinatorLoadInProgressError,
    errors.CoordinatorNotAvailableError,
    errors.NotCoordinatorError,
)

T = TypeVar("T")


class LookError(RuntimeError):
    """What cannot be looked at, and why."""


@dataclass(frozen=True)
class Partition:
    """A partition of a topic."""

    number: int
    leader: int  # -1 if there is none
    replicas: int
    in_sync: int


@dataclass(frozen=True)
class Topic:
    """A topic, if it is there and is shown to us."""

    name: str
    partitions: list[Partition]
    rights: list[str] | None  # what we may do with it; None where the broker does not say


@dataclass(frozen=True)
class Transaction:
    """A transaction that is not finished."""

    name: str
    state: str


class Look:
    """Looks at a cluster; a LookError says what cannot be seen.

    Parameters:
        connection: how the flow reaches it.
        seconds: so long an answer may take.
        addresses: those of its brokers to begin with, if not all.
    """

    def __init__(
        self, connection: Connection, seconds: float, addresses: Sequence[str] | None = None
    ) -> None:
        self._connection = connection
        self._settings = {
            **client_settings(connection),
            "bootstrap_servers": list(addresses or connection.brokers.split(",")),
            "request_timeout_ms": round(seconds * _MS),
        }
        self._seconds = seconds
        with self._explained("the cluster"):
            self._admin: Any = KafkaAdminClient(
                **self._settings, bootstrap_timeout_ms=round(seconds * _MS)
            )

    def close(self) -> None:
        """End all connections."""
        self._admin.close()

    def topics(self, names: Sequence[str]) -> dict[str, Topic]:
        """Those of the topics that are there, by their names."""
        with self._explained("the topics"):
            found = self._admin.describe_topics(list(names))
        return {one["name"]: _topic(one) for one in found if not one["error_code"]}

    def settings(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        """The settings of topics."""
        asked = [ConfigResource(ConfigResourceType.TOPIC, name, None) for name in topics]
        return self._configs(asked, "the settings of topics")

    def broker_settings(self, number: int) -> dict[str, str]:
        """The settings of a broker."""
        name = str(number)
        asked = [ConfigResource(ConfigResourceType.BROKER, name, None)]
        return self._configs(asked, "the settings of a broker").get(name, {})

    def edges(self, parts: Sequence[Part]) -> dict[Part, tuple[int, int]]:
        """Of each partition the first offset, and the one after the last."""
        wanted = [kafka.TopicPartition(*part) for part in parts]
        with self._explained("the offsets of partitions"):
            first, last = (
                self._admin.list_partition_offsets(dict.fromkeys(wanted, spec))
                for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
            )
        return {(one.topic, one.partition): (first[one].offset, last[one].offset) for one in wanted}

    def group(self, name: str) -> dict[Part, int]:
        """The offsets of a group; one that never was has none."""

        def asked() -> Any:
            return self._admin.list_group_offsets({name: None})

        with self._explained(f"the group {name}"):
            found = self._patiently(asked).get(name, {})
        told = {(part.topic, part.partition): one.offset for part, one in found.items()}
        return {part: offset for part, offset in told.items() if offset >= 0}

    def transactions(self, prefix: str) -> list[Transaction]:
        """Unfinished transactions whose names begin so."""
        with self._explained("the transactions"):
            found = self._admin.list_transactions()
        return [
            Transaction(one.transactional_id, str(getattr(one.state, "value", one.state)))
            for some in found.values()
            for one in some
            if one.transactional_id.startswith(prefix)
            and str(getattr(one.state, "value", one.state)) in _ONGOING
        ]

    def records(self, begins: Mapping[Part, int], ends: Mapping[Part, int]) -> list[Raw]:
        """The records of partitions from some offsets to others."""
        wanted = {part: end for part, end in ends.items() if begins[part] < end}
        if not wanted:
            return []
        consumer: Any = kafka.KafkaConsumer
        found: list[Raw] = []
        with self._explained("the records"):
            client = consumer(
                **self._settings, enable_auto_commit=False, auto_offset_reset="earliest"
            )
            try:
                client.assign([kafka.TopicPartition(*part) for part in wanted])
                for part in wanted:
                    client.seek(kafka.TopicPartition(*part), begins[part])
                limit = time.monotonic() + self._seconds
                while wanted and time.monotonic() < limit:
                    for records in client.poll(timeout_ms=200).values():
                        found += [_raw(one) for one in records if one.offset < ends[_part(one)]]
                    wanted = {
                        part: end
                        for part, end in wanted.items()
                        if client.position(kafka.TopicPartition(*part)) < end
                    }
            finally:
                client.close()
        return found

    def _configs(self, asked: list[Any], what: str) -> dict[str, dict[str, str]]:
        with self._explained(what):
            kinds = self._admin.describe_configs(asked, config_filter="all")
        found: dict[str, dict[str, str]] = {}
        for by_name in kinds.values():
            for name, settings in by_name.items():
                if not settings:  # so it tells of a right that is missing
                    raise LookError(f"{what}: not allowed")
                found[name] = {
                    key: one["value"] for key, one in settings.items() if one["value"] is not None
                }
        return found

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask again while a coordinator is being found; a new cluster makes its topic for it."""
        end = time.monotonic() + self._seconds
        while True:
            try:
                return ask()
            except _PASSING:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """What kafka-python raises, without secrets; what it logs besides is not for people."""
        log = logging.getLogger("kafka")
        before, log.disabled = log.level, True
        log.setLevel(logging.CRITICAL + 1)
        try:
            yield
        except errors.KafkaError as error:
            hidden = LookError(f"{what}: {_words(error)}")
        except (OSError, ValueError, TypeError, AssertionError) as error:
            hidden = LookError(f"{what}: {self._connection.clean(error)}")
        else:
            return
        finally:
            log.disabled = False
            log.setLevel(before)
        raise hidden


def _words(error: Exception) -> str:
    """The name of an error as words: its text may hold anything.

    >>> _words(errors.TopicAuthorizationFailedError())
    'topic authorization failed'
    """
    name = type(error).__name__.removesuffix("Error")
    return "".join(f" {one.lower()}" if one.isupper() else one for one in name).strip()


def client_settings(connection: Connection) -> dict[str, Any]:
    """The settings of librdkafka as those of kafka-python; a LookError if they have none."""
    given = connection.settings()
    for name in _NO_FILES:
        if name in given:
            raise LookError(f"{name}: only files of certificates and keys can be looked with")
    protocol = str(given.get("security.protocol", "PLAINTEXT")).upper()
    settings: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        settings["ssl_context"] = tls_context(connection)
    mechanism = mechanism_of(connection)
    if mechanism is not None:
        if mechanism not in _MECHANISMS:
            raise LookError(
                f"sasl.mechanism: with {mechanism} only the flow itself can find out more; known "
                f"here: {', '.join(_MECHANISMS)}"
            )
        settings |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": str(given.get("sasl.username", "")),
            "sasl_plain_password": str(given.get("sasl.password", "")),
        }
    return settings


def mechanism_of(connection: Connection) -> str | None:
    """The mechanism of SASL, if there is any."""
    given = connection.settings()
    if not str(given.get("security.protocol", "")).upper().startswith("SASL"):
        return None
    return str(given.get("sasl.mechanism", given.get("sasl.mechanisms", "GSSAPI"))).upper()


def tls_context(connection: Connection) -> ssl.SSLContext | None:
    """What TLS is spoken with; a LookError names the file that is of no use."""
    given = connection.settings()
    if not str(given.get("security.protocol", "")).upper().endswith("SSL"):
        return None
    try:
        where = given.get("ssl.ca.location")
        ca = None if where in (None, "", "probe") else str(where)
        context = ssl.create_default_context(cafile=ca, cadata=given.get("ssl.ca.pem"))
    except (OSError, ValueError) as error:
        raise LookError(f"ssl.ca.location: {connection.clean(error)}") from None
    if str(given.get(_NAME_CHECK, "https")).lower() == "none":
        context.check_hostname = False
    if str(given.get(_VERIFY, "true")).lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if "ssl.certificate.location" in given:
        key, password = given.get("ssl.key.location"), given.get("ssl.key.password")
        try:
            context.load_cert_chain(
                str(given["ssl.certificate.location"]), key, lambda: str(password or "")
            )
        except (OSError, ValueError) as error:
            raise LookError(
                "ssl.certificate.location, ssl.key.location and ssl.key.password do not fit: "
                f"{connection.clean(error)}"
            ) from None
    return context


def _topic(found: Mapping[str, Any]) -> Topic:
    partitions = [
        Partition(
            one["partition_index"],
            one["leader_id"],
            len(one["replica_nodes"]),
            len(one["isr_nodes"]),
        )
        for one in found["partitions"]
    ]
    partitions.sort(key=lambda one: one.number)
    return Topic(found["name"], partitions, found.get("authorized_operations"))


def _part(record: Any) -> Part:
    return record.topic, record.partition


def _raw(record: Any) -> Raw:
    stamp = record.timestamp if record.timestamp is not None and record.timestamp >= 0 else None
    return Raw(record.value, record.key, record.topic, record.partition, record.offset, stamp)
