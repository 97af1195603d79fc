"""Files of records followed as they grow: what `okl_flow.kafka.following` is for topics."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from okl_flow.kafka.following import Followed, Written

__all__ = ["Lines"]

_BYTES = 1 << 20  # read at once
_LINE_MAX = 4 << 20  # a longer line is left out


class Lines:
    r"""Reads files of JSON lines from their beginning, and waits for those that are missing.

    A file that has become shorter, or is another one of the same name, is read anew. The time of
    a line is that when the file was last written to.

    >>> folder = getfixture("tmp_path")
    >>> lines = Lines([folder / "reports.jsonl"])
    >>> lines.poll(10, 0.0)
    []
    >>> _ = (folder / "reports.jsonl").write_bytes(b'{"one": 1}\n{"tw')
    >>> [one.value for one in lines.poll(10, 0.0)]
    [b'{"one": 1}']
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.trouble: str | None = None
        self.topics = {str(path): Followed(str(path)) for path in paths}
        self._files = {str(path): _File(Path(path)) for path in paths}

    def poll(self, count: int, seconds: float) -> list[Written]:
        """Lines that have come, up to so many of each file; without any after so many seconds."""
        found = []
        for name, file in self._files.items():
            found += [Written(name, line, file.written) for line in file.read(count)]
        if not found:
            time.sleep(seconds)
        return found

    def standing(self) -> list[Followed]:
        """How it stands with the files."""
        for name, file in self._files.items():
            followed = self.topics[name]
            followed.partitions = int(file.is_there)
            followed.trouble = file.trouble
            followed.read, followed.total = file.at, file.size
        return list(self.topics.values())

    def close(self) -> None:
        """Nothing is held open."""


class _File:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_there = False
        self.trouble: str | None = None
        self.at = self.size = 0
        self.written = 0  # milliseconds since 1970
        self._which = 0  # its number on the disk
        self._rest = b""
        self._lines: list[bytes] = []

    def read(self, count: int) -> list[bytes]:
        """The next lines that are whole."""
        if not self._lines:
            self._lines = self._more()
        taken, self._lines = self._lines[:count], self._lines[count:]
        return taken

    def _more(self) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_ino != self._which or found.st_size < self.at:
                    self._which, self.at, self._rest = found.st_ino, 0, b""
                file.seek(self.at)
                text = file.read(_BYTES)
        except FileNotFoundError:
            self.is_there, self.trouble, self._which = False, None, 0
            return []
        except OSError as error:
            self.is_there, self.trouble = False, error.strerror
            return []
        self.is_there, self.trouble, self.size = True, None, found.st_size
        self.written = found.st_mtime_ns // 1_000_000
        self.at += len(text)
        *lines, self._rest = (self._rest + text).split(b"\n")
        if len(self._rest) > _LINE_MAX:
            self._rest = b"?"  # which is no record, whatever follows
        return [line for line in lines if line]
