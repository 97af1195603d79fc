"""What fills the topic while the flow runs, in a thread of its own."""

import time
from collections.abc import Iterator, Mapping, Sequence
from threading import Thread

from okl_flow.kafka.producing import Producing, ProducingError
from okl_flow.replay import Message

__all__ = ["Feeder"]

_SECONDS = 30.0  # for an answer, and for each delivery
_STOP_SECONDS = 2.0
_PAUSE = 0.01


class Feeder:
    """Sends messages, so many a second, up to a limit that may be raised.

    Parameters:
        brokers: "host:port", or several of them.
        topic: where to; it must be there.
        config: more settings of librdkafka.
        messages: what is sent.
        rate: so many a second at most.
        limit: so many are sent for now.
    """

    def __init__(
        self,
        brokers: str,
        topic: str,
        config: Mapping[str, str],
        messages: Sequence[Message],
        *,
        rate: float,
        limit: int,
    ) -> None:
        self._producing = Producing(brokers, topic, config, _SECONDS)
        self._producing.prepare(None)
        self._messages = messages
        self.limit = limit
        self._is_stopped = False
        self._thread = Thread(target=self._run, args=[rate], daemon=True)
        self._thread.start()

    @property
    def sent(self) -> int:
        """How many have left."""
        return self._producing.sent

    def check(self) -> None:
        """A ProducingError if one was not delivered."""
        for why in self._producing.undelivered:
            raise ProducingError(f"a record was not delivered: {why}")

    def stop(self) -> None:
        """Send nothing more."""
        self._is_stopped = True
        self._thread.join(_STOP_SECONDS)  # longer than that only where the brokers are gone

    def _run(self, rate: float) -> None:
        self._producing.send(self._released(), rate)
        if not self._is_stopped:
            self._producing.finish()

    def _released(self) -> Iterator[Message]:
        for number, message in enumerate(self._messages):
            while number >= self.limit and not self._is_stopped:
                time.sleep(_PAUSE)
            if self._is_stopped:
                return
            yield message
