"""What stands beside the states in a record: what waits for labels, and the learners' contest.

Nothing where neither is there; the room alone, in three parts, where there is no contest; and
else a pair of the room and the contest.
"""

import msgspec

from okl_flow.contest import Contest, Terms
from okl_flow.waiting import WaitingRoom

__all__ = ["pack", "unpack", "waiting_in"]

_PAIR = 2


def pack(room: WaitingRoom | None, contest: Contest | None) -> bytes:
    """The notes of a record."""
    waiting = room.pack() if room else b""
    if contest is None:
        return waiting
    return msgspec.msgpack.encode((waiting, contest.pack()))


def unpack(
    key: str, packed: bytes, terms: Terms | None
) -> tuple[WaitingRoom | None, Contest | None]:
    """What was packed for a key; `terms` are those of the contest, if there is one."""
    contest = None
    if terms is not None and packed:
        parts = msgspec.msgpack.decode(packed)
        if len(parts) == _PAIR:
            packed, contest = parts[0], Contest.unpack(terms, parts[1])
    return WaitingRoom.unpack(key, packed) if packed else None, contest


def waiting_in(packed: bytes) -> tuple[int, int]:
    """How many events wait for their labels, and how many labels for their events."""
    parts = msgspec.msgpack.decode(packed) if packed else []
    if len(parts) == _PAIR:
        return waiting_in(parts[0])
    return (len(parts[0]), len(parts[1])) if parts else (0, 0)
