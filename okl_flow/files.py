"""Events from files: LIBSVM text, CSV and JSON lines, each plain or gzipped, and from a pipe.

A file is read as a stream, in batches, and never as a whole. A regular file is looked through
once beforehand, for what a learner must know: how many features there are, and which labels.
Of standard input, or a pipe, these must be known without looking.
"""

import errno
import gzip
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from okl_flow.formats.base import Chunk, DataError, Lines, Parser, Stream
from okl_flow.formats.comma import CsvParser
from okl_flow.formats.jsonl import JsonlParser
from okl_flow.formats.libsvm import DIM_MAX, LibsvmParser
from okl_flow.labels import LabelCoder, LabelError, LabelsFound
from okl_flow.native import Array
from okl_flow.parameters import nearest
from okl_flow.rescaling import Moments

__all__ = ["FORMATS", "DataError", "Source", "Summary", "format_of", "open_source", "opened"]

FORMATS = ("libsvm", "csv", "jsonl")

_SUFFIXES = {
    "": "libsvm",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".txt": "libsvm",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_GZIP = b"\x1f\x8b"
_BATCH = 1000

Progress = Callable[[int], None]
"""Told of each further number of events that has been dealt with."""


def format_of(path: str) -> str:
    """The format that the name of a file speaks of.

    >>> format_of("a/b.csv.gz"), format_of("german"), format_of("-")
    ('csv', 'libsvm', 'libsvm')
    """
    name = PurePath(path).name.lower().removesuffix(".gz")
    suffix = PurePath(name).suffix
    if suffix not in _SUFFIXES:
        known = ", ".join(other for other in _SUFFIXES if other)
        raise DataError(
            f"{path}: the suffix {suffix!r} says nothing of the format; known are {known}, "
            f"each also with .gz; otherwise name the format: {', '.join(FORMATS)}"
        )
    return _SUFFIXES[suffix]


@dataclass(slots=True)
class Summary:
    """What a pass over a file has found."""

    labels: LabelsFound
    moments: Moments

    @property
    def rows(self) -> int:
        """Events, with and without a label."""
        return self.moments.count

    @property
    def dim(self) -> int:
        """Features of an event."""
        return self.moments.dim


@dataclass(slots=True)
class Source:
    """A file, or standard input, as a stream of events.

    `dim` is the number of features: given, or found by `scan`, or by `batches` in the header
    or the first record.
    """

    path: str
    format: str
    label: str
    dim: int | None
    may_miss: bool = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once: a regular file, no pipe."""
        return self.path != "-" and stat.S_ISREG(os.stat(self.path).st_mode)

    def scan(self, progress: Progress | None = None) -> Summary:
        """Look through the whole file; memory does not grow with its rows."""
        summary = Summary(LabelsFound(), Moments())
        for chunk in self._chunks(_BATCH):
            summary.labels.add(chunk.labels)
            summary.moments.add(chunk.X)
            if progress:
                progress(len(chunk.labels))
        self.dim = summary.dim
        return summary

    def batches(self, coder: LabelCoder, size: int = _BATCH) -> Iterator[tuple[Array, Array]]:
        """The events in their order, as features (events, dim) and labels, `size` at most at once.

        `coder` says which labels there may be. For LIBSVM `dim` must be known.
        """
        if self.format == "libsvm" and self.dim is None:
            raise ValueError(f"{self.name}: the number of features of LIBSVM text must be known")
        for chunk in self._chunks(size):
            try:
                y = coder.codes_of(chunk.labels)
            except LabelError as error:
                where = f"line {chunk.numbers[error.position]}, {chunk.label_place(error.position)}"
                raise DataError(f"{self.name}, {where}: {error}") from None
            yield chunk.X, y

    def load(self, coder: LabelCoder, progress: Progress | None = None) -> tuple[Array, Array]:
        """All events at once."""
        parts = []
        for X, y in self.batches(coder):
            parts.append((X, y))
            if progress:
                progress(y.shape[0])
        return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])

    def _chunks(self, size: int) -> Iterator[Chunk]:
        """The parsed events; an error if there are none."""
        if size < 1:
            raise ValueError(f"a batch must have at least 1 event, not {size}")
        parser = self._parser()
        empty = True
        with opened(self.path) as stream:
            for chunk in parser.chunks(Lines(stream, self.name), size):
                if self.dim is None and parser.dim is not None:
                    self.dim = parser.dim
                empty = False
                yield chunk
        if empty:
            raise DataError(f"{self.name}: there are no events in it")

    def _parser(self) -> Parser:
        if self.format == "libsvm":
            return LibsvmParser(self.dim)
        if self.format == "csv":
            return CsvParser(self.label, self.may_miss)
        return JsonlParser(self.label, self.may_miss)


def open_source(
    path: str,
    *,
    format: str | None = None,
    label: str = "label",
    dim: int | None = None,
    may_miss: bool = False,
) -> Source:
    """A file as a stream of events; "-" is standard input.

    Parameters:
        path: the file. Whether it is gzipped is seen from its first bytes.
        format: libsvm, csv or jsonl; by default what the suffix says.
        label: name of the column or field of the label, in CSV and JSON lines.
        dim: number of features, in LIBSVM text that cannot be looked through beforehand.
        may_miss: take an empty cell, nan or null for a feature that is missing, which is NaN
            from then on. LIBSVM text has none: what is not listed there is 0.
    """
    if format is None:
        format = format_of(path)
    if format not in FORMATS:
        hint = nearest(format, FORMATS)
        raise DataError(f"there is no format {format!r}{hint}; known: {', '.join(FORMATS)}")
    if dim is not None and format != "libsvm":
        raise DataError(f"{path}: the number of features is given for LIBSVM only, not {format}")
    if dim is not None and not 1 <= dim <= DIM_MAX:
        raise DataError(f"the number of features must be from 1 to {DIM_MAX}, not {dim}")
    with _errors_of(path):
        if path != "-" and stat.S_ISDIR(os.stat(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a directory, and a file was expected")
    if may_miss and format == "libsvm":
        raise DataError(f"{path}: LIBSVM text has no missing features: what is not listed is 0")
    return Source(path, format, label, dim, may_miss)


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Errors of the operating system as ours, with the file's name."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: {(error.strerror or str(error)).lower()}") from None


@contextmanager
def opened(path: str) -> Iterator[Stream]:
    """The bytes of a file or of standard input, unpacked if they are gzipped."""
    with _errors_of(path):
        # Below the buffer of standard input, which would wait until it is full.
        pipe = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        raw: Any = pipe if path == "-" else open(path, "rb", buffering=0)
    buffered = io.BufferedReader(raw)
    try:
        with _errors_of(path):
            gzipped = buffered.peek(len(_GZIP)).startswith(_GZIP)
        yield gzip.GzipFile(fileobj=buffered) if gzipped else buffered
    finally:
        if path != "-":
            buffered.close()
        elif not buffered.closed:  # a reader left half-way may outlive standard input
            buffered.detach()
