"""Topics before a flow begins: which are missing, and making them."""

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import admin as clients_admin

from okl_flow import looking
from okl_flow.kafka.connection import START_SECONDS, Config, Connection
from okl_flow.kafka.telling import Heard, words

__all__ = ["Topics"]

_DEFAULT_REPLICATION = -1
_PAUSE = 0.1


class Topics:
    """The topics of a cluster.

    They are asked for by the client that reads and writes them, so the same settings let it in.
    A ConnectionError says that no broker answers.

    Parameters:
        brokers: "host:port", or several of them.
        config: more settings of librdkafka, such as those of security. They are never shown.
        seconds: so long brokers may take to answer.
    """

    def __init__(
        self,
        brokers: str | Sequence[str],
        config: Config | None = None,
        seconds: float = START_SECONDS,
    ) -> None:
        self._connection = Connection(brokers, config, ())
        self._seconds = seconds
        self._heard = Heard(self._connection)

    @cached_property
    def _client(self) -> Any:
        admin: Any = clients_admin
        settings = {**self._connection.settings(), "error_cb": self._heard.note}
        return self._connection.made(admin.AdminClient, settings)

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of the topics that are not there; nobody is asked for a flow only looked at."""
        if looking.is_only():
            return []
        there = self._listed()
        # A broker that makes topics by itself does so when one is asked for.
        return [name for name in names if name not in there and name not in self._listed(name)]

    def make(self, names: Sequence[str], partitions: int) -> None:
        """Make topics, and wait until they are known; one that is there already is left alone."""
        admin: Any = clients_admin
        wanted = [admin.NewTopic(name, partitions, _DEFAULT_REPLICATION) for name in names]
        made = self._client.create_topics(wanted, operation_timeout=self._seconds)
        for name in names:
            try:
                made[name].result(self._seconds)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    why = words(error.args[0], self._connection)
                    raise ValueError(
                        f"the topic {name} of {self._connection.brokers} cannot be made: {why}; "
                        "mend that, or let somebody make it who may"
                    ) from None
            except TimeoutError:
                raise self._silent("the topic was not made") from None
        end = time.monotonic() + self._seconds
        while not self._listed().issuperset(names):
            if time.monotonic() > end:
                raise self._silent("the topics that were made are not known")
            time.sleep(_PAUSE)

    def _listed(self, name: str | None = None) -> set[str]:
        try:
            found = self._client.list_topics(name, timeout=self._seconds).topics
        except KafkaException as error:
            self._client.poll(0)  # lets the client tell what it has met
            raise self._silent(self._heard.instead_of(error.args[0])) from None
        return {name for name, topic in found.items() if topic.error is None}

    def _silent(self, why: str) -> ConnectionError:
        return ConnectionError(
            f"no answer from {self._connection.brokers} in {self._seconds:g} s: "
            f"{why}; see that the brokers run, and that the address and the security settings "
            "are right"
        )
