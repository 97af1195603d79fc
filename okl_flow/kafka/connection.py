"""How clients reach the brokers, with secrets that are never shown, and the errors they meet."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "OF_CONSUMERS",
    "START_SECONDS",
    "TROUBLE_SECONDS",
    "BrokerError",
    "Config",
    "Connection",
    "whole",
]

OF_CONSUMERS = (
    "group.id",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "enable.partition.eof",
)
"""Settings that our consumers make themselves, as it depends on them what is read."""

START_SECONDS = 15.0
"""So long a broker may take to answer when a flow starts."""

TROUBLE_SECONDS = 120.0
"""So long all brokers may be away, or a record undelivered, before a running flow stops."""

_log = logging.getLogger("okl_flow.kafka")
_SECRET_WORDS = ("password", "secret", "key.pem", "jaas", "token")
_HIDDEN = "***"
_LEAST_HIDDEN = 3  # characters; a shorter text stands everywhere by chance

Setting = str | int | float | bool
Config = Mapping[str, Setting]
"""Settings of librdkafka by their names."""


class BrokerError(RuntimeError):
    """Something that the brokers cannot or do not do, and what to do about it.

    It is logged too: the engine shows no error of a process that is one of several.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _log.error("%s", message)


class Connection:
    """Addresses and security settings of a cluster.

    Neither its representation nor its errors show the value of a setting.

    Parameters:
        brokers: "host:port", several separated by commas, or a sequence of them.
        config: settings of librdkafka, such as "security.protocol" or "sasl.password".
        reserved: settings that must not be in `config`, as results depend on them.
    """

    def __init__(
        self, brokers: str | Sequence[str], config: Config | None, reserved: Iterable[str]
    ) -> None:
        self.brokers = brokers if isinstance(brokers, str) else ",".join(brokers)
        if not self.brokers.strip():
            raise ValueError('brokers must be "host:port", or several of them, and there is none')
        self._config: dict[str, Any] = dict(config or {})
        for name in ("bootstrap.servers", *reserved):
            if name in self._config:
                raise ValueError(f"config: {name} is set by okl_flow and cannot be given")
        self._secrets = [
            str(value)
            for name, value in self._config.items()
            if any(word in name for word in _SECRET_WORDS) and len(str(value)) >= _LEAST_HIDDEN
        ]

    def __repr__(self) -> str:
        return f"Connection({self.brokers!r}, settings: {sorted(self._config)})"

    def settings(self, **own: Any) -> dict[str, Any]:
        """Settings for a client: the given ones go before ours, whose names have underscores."""
        ours = {name.replace("_", "."): value for name, value in own.items()}
        calm = {"log_level": 4, "reconnect.backoff.ms": 250, "reconnect.backoff.max.ms": 2000}
        return {**calm, **ours, **self._config, "bootstrap.servers": self.brokers}

    def made(self, kind: Any, settings: dict[str, Any]) -> Any:
        """A client; if its settings are wrong an error says so without their values."""
        try:
            return kind(settings, logger=_Cleaned(_log, {"connection": self}))
        except Exception as error:  # TypeError, ValueError, KafkaException, as it comes
            message = self.clean(error)
            hidden = BrokerError(f"config: the settings of {self!r} do not fit: {message}")
        raise hidden  # outside of the handler: the other error is not shown with it

    def clean(self, text: object) -> str:
        """A text without the secrets that may be in it."""
        cleaned = str(text)
        for secret in self._secrets:
            cleaned = cleaned.replace(secret, _HIDDEN)
        return cleaned


class _Cleaned(logging.LoggerAdapter[logging.Logger]):
    """What librdkafka logs, without secrets."""

    def log(self, level: int, msg: object, *args: object, **more: Any) -> None:
        assert self.extra is not None
        connection = self.extra["connection"]
        assert isinstance(connection, Connection)
        text = str(msg) % args if args else str(msg)
        self.logger.log(level, "%s", connection.clean(text))


def whole(name: str, value: object, low: int) -> int:
    """A whole number that is at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"{name} must be a whole number at least {low}, not {value!r}")
    return value
