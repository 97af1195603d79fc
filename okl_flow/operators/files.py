"""Raw records from the lines of files, and lines to a file or the terminal.

The source keeps how far it has read each file, and the sink how long its file was; after a crash
both go back to that, so every line stands in the output once.
"""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream, operator
from bytewax.inputs import (
    DynamicSource,
    FixedPartitionedSource,
    StatefulSourcePartition,
    StatelessSourcePartition,
)
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition

from okl_flow import draining
from okl_flow.wire import Encoded, Raw

__all__ = ["LinesSink", "LinesSource", "first_line", "lines", "write_lines"]

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_STDOUT = "-"

Position = tuple[int, int, int]
"""The number of a file, the bytes of it that were read, unpacked, and the lines."""


def lines(
    step_id: str,
    flow: Dataflow,
    paths: str | Path | Sequence[str | Path],
    *,
    batch_size: int = 1000,
    skip: int = 0,
) -> Stream[Raw]:
    r"""The lines of one or several files as raw records, each file to its end.

    The topic of a record is the name of its file, the partition the number of the file in
    `paths`, from 0, and the offset the number of the line, from 1. Blank lines are left out. On
    resume each file goes on where it was; give them in the same order as before.

    Parameters:
        step_id: name of the step.
        flow: the dataflow.
        paths: the files, each gzipped or not.
        batch_size: lines handed over at once; no result depends on it.
        skip: lines to leave out at the beginning of each file, such as 1 for a header.

    >>> from bytewax.testing import TestingSink, run_main
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.jsonl").write_text('{"key": "ann"}\n')
    >>> flow, out = Dataflow("example"), []
    >>> op.output("out", lines("read", flow, folder / "a.jsonl"), TestingSink(out))
    >>> run_main(flow)
    >>> out
    [Raw(value=b'{"key": "ann"}', key=None, topic='a.jsonl', partition=0, offset=1, time=None)]
    """
    return op.input(step_id, flow, LinesSource(paths, batch_size=batch_size, skip=skip))


@operator
def write_lines(step_id: str, up: Stream[Encoded | bytes], path: str | Path) -> None:
    """Write each record as a line to a file, or to the terminal, whose name is "-".

    A first run empties the file, even if it writes nothing. A resumed one cuts it back to the
    length that it had at the moment it resumes from, so that no line stands there twice. What is
    on the terminal stays, so there the last lines before a crash come again. All workers write
    through one of them. Records must hold no line ends: JSON has none, MessagePack may.

    Parameters:
        step_id: name of the step.
        up: records as bytes.
        path: the file, or "-".
    """
    # A batch goes through the engine as one item.
    chunks = op.flat_map_batch("chunks", up, lambda batch: [("lines", _joined(batch))])
    # The engine opens a sink at its first item: without one, what an older run had written would
    # stay and pass for this run's.
    begin = op.input("begin", up.flow(), _Beginning())
    op.output("write", op.merge("merge", begin, chunks), LinesSink(path))


def _joined(batch: list[Encoded | bytes]) -> bytes:
    values = [one if isinstance(one, bytes) else one.value for one in batch]
    return b"\n".join([*values, b""])


class _Beginning(DynamicSource[tuple[str, bytes]]):
    """Nothing to be written, once."""

    def build(
        self, step_id: str, worker_index: int, worker_count: int
    ) -> StatelessSourcePartition[tuple[str, bytes]]:
        """The same for every worker."""
        return _Nothing()


class _Nothing(StatelessSourcePartition[tuple[str, bytes]]):
    def __init__(self) -> None:
        self._left = [("lines", b"")]

    def next_batch(self) -> list[tuple[str, bytes]]:
        """Nothing, then the end."""
        if not self._left:
            raise StopIteration
        return [self._left.pop()]


class LinesSource(FixedPartitionedSource[Raw, Position]):
    """The lines of files as raw records; see `lines`."""

    def __init__(
        self, paths: str | Path | Sequence[str | Path], *, batch_size: int = 1000, skip: int = 0
    ) -> None:
        """One file or several; `batch_size` lines at once; without the first `skip` of each."""
        listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
        self._paths = [str(path) for path in listed]
        if not listed or len(set(self._paths)) < len(listed):
            raise ValueError(f"paths must be one or more different files, not {paths!r:.80}")
        for path in self._paths:
            if not os.path.isfile(path):
                raise ValueError(f"paths: {path} is no file")
        for name, value, low in (("batch_size", batch_size, 1), ("skip", skip, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ValueError(f"{name} must be a whole number at least {low}, not {value!r}")
        self._batch_size = batch_size
        self._skip = skip

    def list_parts(self) -> list[str]:
        """The files."""
        return self._paths

    def build_part(
        self, step_id: str, for_part: str, resume_state: Position | None
    ) -> "_FileLines":
        """The lines of a file, from its beginning or from where they were."""
        number = self._paths.index(for_part)
        if resume_state is not None and resume_state[0] != number:
            raise ValueError(
                f"{step_id}: {for_part} is file number {number}, and it was number "
                f"{resume_state[0]} before; give the files in the same order as before"
            )
        position = resume_state or (number, 0, 0)
        return _FileLines(for_part, position, self._batch_size, self._skip)


class _FileLines(StatefulSourcePartition[Raw, Position]):
    def __init__(self, path: str, position: Position, batch_size: int, skip: int) -> None:
        self._path = path
        # A name that is no text in UTF-8 could not be written with the predictions.
        self._topic = os.path.basename(path).encode("utf-8", "backslashreplace").decode()
        self._partition, self._bytes, self._count = position
        self._batch_size = batch_size
        self._skip = skip
        self._file = _opened(path)
        try:
            self._seek()
        except ValueError:
            self._file.close()
            raise

    def _seek(self) -> None:
        """Go to where the file was read to, if it is still that long."""
        try:
            found = self._file.seek(self._bytes)
        except (EOFError, OSError, zlib.error) as error:
            raise self._damaged(error) from None
        if not isinstance(self._file.raw, gzip.GzipFile):  # any place can be sought in others
            found = min(found, os.path.getsize(self._path))
        if found < self._bytes:
            raise ValueError(
                f"{self._path}: {self._bytes} bytes of it were read before, and now it is shorter; "
                "put the file back, or start anew without the recovery store"
            )

    def next_batch(self) -> list[Raw]:
        """The next lines; none are left for a process that has been asked to end."""
        if draining.requested():
            raise StopIteration
        try:
            held = list(islice(self._file, self._batch_size))
        except (EOFError, OSError, zlib.error) as error:
            raise self._damaged(error) from None
        if not held:
            raise StopIteration
        first, begin = self._count + 1, self._bytes
        self._bytes += sum(map(len, held))
        self._count += len(held)
        if begin == 0:
            held[0] = held[0].removeprefix(_BOM)
        return [
            Raw(line.rstrip(b"\r\n"), None, self._topic, self._partition, number)
            for number, line in enumerate(held, first)
            if number > self._skip and line.strip()
        ]

    def snapshot(self) -> Position:
        """How far the file was read."""
        return self._partition, self._bytes, self._count

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(
            f"{self._path}, line {self._count + 1} or after: cannot read on, the file is cut or "
            f"damaged: {error}"
        )


def _opened(path: str) -> io.BufferedReader:
    """The bytes of a file, unpacked if they are gzipped."""
    file = open(path, "rb")
    if not file.peek(len(_GZIP)).startswith(_GZIP):
        return file
    file.close()
    unpacked: Any = gzip.open(path)
    return io.BufferedReader(unpacked)


def first_line(path: str | Path) -> bytes:
    """The first line of a file, gzipped or not, such as the header of a CSV file."""
    with _opened(str(path)) as file:
        return file.readline().removeprefix(_BOM).rstrip(b"\r\n")


class LinesSink(FixedPartitionedSink[bytes, int]):
    """Lines at the end of a file, or on the terminal; see `write_lines`."""

    def __init__(self, path: str | Path) -> None:
        """`path` is the file, or "-" for the terminal."""
        self._path = str(path)
        folder = os.path.dirname(self._path) or "."
        if os.path.isdir(self._path) or not os.path.isdir(folder):
            raise ValueError(f"path must be a file in a folder that is there, not {self._path}")

    def list_parts(self) -> list[str]:
        """The one partition: whatever is written goes through it."""
        return ["lines"]

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> StatefulSinkPartition[bytes, int]:
        """The file as long as it was, or empty at first."""
        if self._path == _STDOUT:
            return _Terminal()
        return _File(self._path, resume_state or 0)


class _Terminal(StatefulSinkPartition[bytes, int]):
    def write_batch(self, values: list[bytes]) -> None:
        """Write lines, for all to see at once."""
        sys.stdout.write(b"".join(values).decode("utf-8", "backslashreplace"))
        sys.stdout.flush()

    def snapshot(self) -> int:
        """Nothing: what is written cannot be taken back."""
        return 0


class _File(StatefulSinkPartition[bytes, int]):
    def __init__(self, path: str, length: int) -> None:
        self._file: IO[bytes] = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        found = os.fstat(self._file.fileno()).st_size
        if found < length:
            self._file.close()
            raise ValueError(
                f"{path} had {length} bytes at the moment to resume from, and now it has {found}; "
                "put the file back, or start anew without the recovery store"
            )
        self._file.truncate(length)
        self._file.seek(length)
        self._length = length
        self._synced = length

    def write_batch(self, values: list[bytes]) -> None:
        """Write lines, for all to see at once."""
        self._file.writelines(values)
        self._file.flush()
        self._length += sum(map(len, values))

    def snapshot(self) -> int:
        """The length of the file, which is on the disk before the engine takes note of it."""
        if self._synced != self._length:
            os.fsync(self._file.fileno())
            self._synced = self._length
        return self._length

    def close(self) -> None:
        """Close the file."""
        self._file.close()
