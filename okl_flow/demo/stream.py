"""What is sent: the events and labels of many users, and some records that are damaged."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from okl_flow.replay import Message
from okl_flow.streams import delayed_users, user_name
from okl_flow.user_records import messages_of_users

__all__ = ["Stream", "number_of"]

DAMAGED_EVERY = 100  # records
_CHUNK = 10_000
_TOO_HIGH = 7  # for a label that is to be -1 or 1

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A stream of `okl-flow make-stream users`, in which one more record in a hundred is damaged.

    >>> stream = Stream(events=200, keys=10, seed=0)
    >>> len(stream.ids), stream.ids[-1], sorted(stream.changing)
    (200, 'e200', ['user-000004', 'user-000009'])
    """

    events: int
    keys: int
    seed: int

    @cached_property
    def messages(self) -> list[Message]:
        """All of it, in order."""
        messages: list[Message] = []
        for _events, chunk in messages_of_users(self._made, _CHUNK):
            for message in chunk:
                messages.append(message)
                if len(messages) % DAMAGED_EVERY == DAMAGED_EVERY - 1:
                    messages.append(_damaged(message, len(messages) // DAMAGED_EVERY))
        return messages

    @cached_property
    def ids(self) -> list[str]:
        """Those of the events, all of which are to be predicted."""
        return [f"e{number}" for number in range(1, self.events + 1)]

    @cached_property
    def changing(self) -> set[str]:
        """The users whose classes change places half-way through."""
        return {user_name(int(user)) for user in np.unique(self._made.users[self._made.drifted])}

    @cached_property
    def _made(self) -> Any:
        return delayed_users(self.events, users=self.keys, seed=self.seed)


def number_of(id: str) -> int:
    """Which event of the stream an id is of, from 1.

    >>> number_of("e17")
    17
    """
    return int(id[1:])


def _damaged(message: Message, turn: int) -> Message:
    """A record once more, but torn, with too many features, or with a label that is none.

    A label on its own comes once more as it is.
    """
    record = msgspec.json.decode(message.value)
    if "features" not in record:
        return message
    if turn % 3 == 0:
        return Message(message.key, message.value[: len(message.value) // 2])
    if turn % 3 == 1:
        record["features"].append(0.0)
    else:
        record["label"] = _TOO_HIGH
    return Message(message.key, _encode(record))
