"""What keeps a board up to date: a thread that reads records, and one that asks for the lag."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from okl_flow.kafka.following import Follower, Written
from okl_flow.kafka.lag import Lag
from okl_flow.page.board import Board
from okl_flow.page.lines import Lines
from okl_flow.wire.outgoing import decode_outgoing, seems_json

__all__ = ["Source", "Watching"]

_RECORDS = 500  # taken in at once, before others may look at the board
_SECONDS = 0.2  # that one waits for more
_LAG_SECONDS = 2.0
_GROUPS_MAX = 4
_READ_STEP = "read"  # of the flows in dataflows: their groups are called name.read


@dataclass(frozen=True)
class Source:
    """Where records come from.

    Parameters:
        names: topics, or files without `brokers`.
        brokers: "host:port", or several of them.
        config: more settings of librdkafka, such as those of security.
        group: the consumer group of the job; by default that of the flow that reports.
        inputs: topics that the job reads; those that its records name are known besides.
    """

    names: Sequence[str]
    brokers: str | None = None
    config: dict[str, str] | None = None
    group: str | None = None
    inputs: Sequence[str] = ()


class Watching:
    """A board, and the threads that keep it up to date.

    Whoever looks at the board holds the lock for as long.
    """

    def __init__(self, source: Source) -> None:
        self.board = Board()
        self.lock = threading.Lock()
        self._source = source
        self._end = threading.Event()
        self._follower: Follower | Lines
        if source.brokers is None:
            self._follower = Lines(source.names)
        else:
            self._follower = Follower(source.names, source.brokers, source.config)
        self._standing: list[dict[str, Any]] = []
        self._lag_trouble: str | None = None
        self._threads = [threading.Thread(target=self._read, name="okl_flow page", daemon=True)]
        if source.brokers is not None:
            self._threads.append(
                threading.Thread(target=self._measure, name="okl_flow lag", daemon=True)
            )

    def start(self) -> None:
        """Begin to read."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, and wait for that."""
        self._end.set()
        for thread in self._threads:
            thread.join()

    def standing(self) -> dict[str, Any]:
        """How it stands with the topics, the brokers, and the lag."""
        return {
            "kind": "files" if self._source.brokers is None else "topics",
            "brokers": self._source.brokers,
            "trouble": self._follower.trouble,
            "sources": self._standing,
            "groups": self._groups(),
            "lag_trouble": self._lag_trouble,
        }

    def _groups(self) -> list[str]:
        if self._source.brokers is None:
            return []
        if self._source.group is not None:
            return [self._source.group]
        return [f"{flow}.{_READ_STEP}" for flow in self.board.flows[:_GROUPS_MAX]]

    def _read(self) -> None:
        stood_at = 0.0
        while not self._end.is_set():
            records = self._follower.poll(_RECORDS, _SECONDS)
            if records:
                with self.lock:
                    for record in records:
                        self._take(record)
            if time.monotonic() >= stood_at + 0.5:
                stood_at = time.monotonic()
                self._standing = [msgspec.to_builtins(one) for one in self._follower.standing()]
        self._follower.close()

    def _take(self, written: Written) -> None:
        if written.value is None:
            return  # a tombstone
        form = "json" if seems_json(written.value) else "msgpack"
        try:
            record = decode_outgoing(written.value, form)
        except (ValueError, RecursionError):
            self.board.leave_out(
                f"records of {written.topic} that are neither JSON nor MessagePack"
            )
            return
        moment = written.time if written.time is not None else getattr(record, "time", None)
        self.board.take(record, moment or 0)

    def _measure(self) -> None:
        lags: dict[str, Lag] = {}
        while not self._end.wait(_LAG_SECONDS):
            with self.lock:
                groups = self._groups()
                topics = list(dict.fromkeys([*self._source.inputs, *self.board.inputs]))
            offsets: dict[tuple[str, int], tuple[int, int]] = {}
            try:
                for group in groups:
                    if group not in lags:
                        assert self._source.brokers is not None
                        lags[group] = Lag(group, self._source.brokers, self._source.config)
                    offsets |= lags[group].measure(topics)
                self._lag_trouble = None
            except ConnectionError as error:
                self._lag_trouble = str(error)
                continue
            if offsets:
                with self.lock:
                    self.board.measure(int(1000 * time.time()), offsets)
        for lag in lags.values():
            lag.close()
