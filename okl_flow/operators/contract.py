"""What an operator asks of the store of its records, however that is made."""

import json
from collections.abc import Sequence
from typing import Any, Protocol

from okl_flow.learner import Learner
from okl_flow.operators.record import RecordCodec
from okl_flow.operators.requests import Request
from okl_flow.packing import Pieces
from okl_flow.parameters import difference

__all__ = ["Store", "StoreError", "description_of", "refuse_another"]

_FORMAT = 3


class StoreError(RuntimeError):
    """A store that cannot be opened, read or written; the message says what to do."""


class Store(Protocol):
    """The records of one state partition, in versions."""

    def read(self, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
        """Of each key the version that its record was written in, and the packed record."""

    def spill(self, keys: Sequence[str], records: Pieces) -> int:
        """Write records ahead of the next commit; an empty one deletes what the key has.

        Each key is given once. Returns the version they will have. If that commit never comes
        they are undone.
        """

    def commit(self, keys: Sequence[str], records: Pieces) -> bytes:
        """Write the next version, all of it or nothing; returns what the engine has to keep.

        It may do so when that is settled.
        """

    def settle(self) -> None:
        """Wait until what was committed is on the disk."""

    def sweep(self, count: int) -> list[tuple[str, bytes]]:
        """Of the next so many stored records, going round for ever, those not changed lately."""

    def requests(self) -> list[Request]:
        """What the command line asks for; it is answered by the changes of the next commit."""

    def size(self) -> int:
        """How many bytes the store has; another thread may ask."""

    def close(self) -> None:
        """Let go of what the store holds."""


def description_of(
    partitions: int, learners: Sequence[Learner], names: Sequence[str] = ()
) -> dict[str, Any]:
    """What has to be the same for a store to be used again, as plain data.

    `names` are those of several learners.
    """
    described = {
        "format": _FORMAT,
        "partitions": partitions,
        "learners": [learner.describe() for learner in learners],
        "layout": RecordCodec(learners).layout,
    }
    if names:
        described["names"] = list(names)
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain


def refuse_another(held: dict[str, Any], asked: dict[str, Any], where: str) -> None:
    """Refuse to go on with a store that was begun otherwise, and name what differs."""
    advice = "go on with what it was begun with, or begin a new one in another place"
    for name in ("format", "step", "partitions", "names"):
        if held.get(name) != asked.get(name):
            raise StoreError(
                f"{where} was begun with {name} {held.get(name)!r}, and is opened with "
                f"{asked.get(name)!r}: {advice}"
            )
    if len(held["learners"]) != len(asked["learners"]):
        raise StoreError(
            f"{where} was begun with {len(held['learners'])} learners, and is opened with "
            f"{len(asked['learners'])}: {advice}"
        )
    for number, (one, other) in enumerate(zip(held["learners"], asked["learners"], strict=True)):
        differing = difference(other, one)
        if differing is not None:
            raise StoreError(
                f"{where} was begun with another configuration: the {differing} of learner "
                f"{number} was {one.get(differing)!r}, and is {other.get(differing)!r} now: "
                f"{advice}"
            )
    if held["layout"] != asked["layout"]:
        raise StoreError(
            f"{where} was written by a version of okl_flow whose states have other fields: go on "
            "with that version, or export the learners with it and import them here"
        )
