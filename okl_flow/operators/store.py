"""Where an operator keeps the records of its keys, by state partition.

A state directory holds a file that says what it is for, a RocksDB per partition, and what the
command line asks of the job:

    state.json  p000/  p001/ ...  requests/p000/ ...
"""

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from okl_flow.learner import Learner
from okl_flow.operators.contract import Store, StoreError, description_of, refuse_another
from okl_flow.operators.disk import JOURNAL_MAX, DiskStore, Place
from okl_flow.operators.memory import MemoryStore
from okl_flow.operators.requests import Request, sync_folder, write_whole
from okl_flow.placing import partition_name

__all__ = [
    "DiskStore",
    "MemoryStore",
    "Place",
    "Request",
    "StateDirectory",
    "Store",
    "StoreError",
]

_ABOUT = "state.json"
_KEPT_MIN = 2


class StateDirectory:
    """A state directory, made or checked by `open`, or opened by `find` to look into it."""

    def __init__(
        self,
        path: Path,
        about: dict[str, Any],
        versions_kept: int = 4,
        journal_max: int = JOURNAL_MAX,
    ) -> None:
        self.path = path
        self.about = about
        self._kept = versions_kept
        self._journal_max = journal_max

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        step: str,
        partitions: int,
        learners: Sequence[Learner],
        names: Sequence[str] = (),
        versions_kept: int = 4,
        journal_max: int = JOURNAL_MAX,
    ) -> "StateDirectory":
        """The directory of an operator, which is made if there is none.

        Parameters:
            path: the directory.
            step: the operator's name in its flow.
            partitions: how many partitions the keys are spread over.
            learners: those of the operator.
            names: what they are called, if there are several.
            versions_kept: how many of the latest commits one can go back to. At least 2.
            journal_max: how many changed records of a partition may wait for their place.
        """
        if versions_kept < _KEPT_MIN:
            raise ValueError(
                f"versions_kept must be at least {_KEPT_MIN}, as the engine may go back, "
                f"not {versions_kept}"
            )
        path = Path(path).absolute()
        asked = {"step": step, **description_of(partitions, learners, names)}
        if not (path / _ABOUT).exists():
            _begin(path, {"id": uuid.uuid4().hex, **asked})
        found = cls.find(path)
        refuse_another(found.about, asked, f"the state directory {path}")
        return cls(path, found.about, versions_kept, journal_max)

    @classmethod
    def find(cls, path: Path | str) -> "StateDirectory":
        """The directory that is there, to look into it."""
        path = Path(path).absolute()
        try:
            about = msgspec.json.decode((path / _ABOUT).read_bytes(), type=dict[str, Any])
            missing = {"id", "step", "format", "partitions", "learners", "layout"} - about.keys()
        except FileNotFoundError:
            raise StoreError(f"{path} is no state directory: there is no {_ABOUT} in it") from None
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(f"{path / _ABOUT} cannot be read: {error}") from error
        if missing:
            raise StoreError(f"{path / _ABOUT} is damaged: it does not say {min(missing)}")
        return cls(path, about)

    @property
    def partitions(self) -> int:
        """How many partitions the keys are spread over."""
        count: int = self.about["partitions"]
        return count

    def place(self, partition: int) -> Place:
        """Where a partition lies."""
        if not 0 <= partition < self.partitions:
            raise StoreError(
                f"the state directory {self.path} has {self.partitions} partitions, from 0 on: "
                f"there is no partition {partition}"
            )
        name = partition_name(partition)
        return Place(self.about["id"], partition, self.path / name, self.path / "requests" / name)

    def store(self, partition: int, pointer: bytes | None) -> DiskStore:
        """The store of a partition, at the version that the engine kept a pointer to.

        The pointer is None at the first start.
        """
        return DiskStore(
            self.place(partition),
            pointer,
            versions_kept=self._kept,
            journal_max=self._journal_max,
        )


def _begin(path: Path, about: dict[str, Any]) -> None:
    """Write what a directory is for, unless another process has just done so."""
    path.mkdir(parents=True, exist_ok=True)
    # Another process may have begun all of it since it was looked for: that file comes first.
    if any(path.glob("p[0-9]*/CURRENT")) and not (path / _ABOUT).exists():
        raise StoreError(
            f"{path} has lost its {_ABOUT}: put it back from a copy, or begin anew with the "
            "directory and the engine's recovery directory empty"
        )
    mine = path / f".{_ABOUT}.{about['id']}"
    write_whole(mine, msgspec.json.format(msgspec.json.encode(about), indent=2))
    try:
        os.link(mine, path / _ABOUT)
    except FileExistsError:
        pass
    finally:
        mine.unlink()
    sync_folder(path)
