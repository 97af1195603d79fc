"""What makes columns of the features of events: by position, by name, or by hashing.

Each is a frozen configuration. Its `reader` takes the features of a batch, as the decoders of
the formats have typed them, and makes one matrix of them.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from okl_flow.native import Array
from okl_flow.parameters import check, choice, nearest, whole
from okl_flow.wire.hashing import add_hashed
from okl_flow.wire.problems import Problem, problem_at, seen

__all__ = ["Columns", "Features", "Hashing", "Names", "Reader", "Sparse"]

_LISTED_MAX = 10  # categories that a message lists

Problems = dict[int, Problem]
Number = float | bool | None
Value = float | bool | str | None
_LISTED: tuple[set[Any], ...] = ({list}, {np.ndarray})


class Sparse(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Features of which only some are listed; the others are 0."""

    indices: list[int]  # from 0, ascending
    values: list[float | None]
    dim: int | None = None


class Reader(ABC):
    """Makes rows of a matrix of the features of events."""

    dim: int
    form: Any  # the type that the features of an event are decoded to
    names: Sequence[str] = ()  # that the features may have, where they are fixed
    expected: str = "an object with features by name"

    @abstractmethod
    def fill(self, values: list[Any], X: Array) -> Problems:
        """Write the features of each event to its row; the problems with some, by number.

        X comes filled with zeros. The row of an event with a problem may hold anything.
        """

    def matrix(self, values: list[Any]) -> tuple[Array, Problems]:
        """A row for each event, and the problems with some, by number."""
        X = np.zeros((len(values), self.dim))
        problems = self.fill(values, X) if values else {}
        infinite = np.isinf(X)
        if infinite.any():
            for at in np.flatnonzero(infinite.any(axis=1)).tolist():
                problems.setdefault(at, self.infinite(int(infinite[at].argmax())))
        return X, problems

    def infinite(self, column: int) -> Problem:
        """The problem with an event that is infinite in a column."""
        return problem_at("features", f"expected finite numbers, found infinity in column {column}")


class Features(ABC):
    """The choice of what makes columns of features."""

    @abstractmethod
    def reader(self) -> Reader:
        """What reads the features of events."""


@dataclass(frozen=True)
class Columns(Features):
    """Features in a list, each in the column of its position; or sparse, by index.

    In a list, null is a missing feature, NaN from then on. Sparse features are an object with
    `indices`, which ascend from 0, and `values`; what is not listed is 0.

    Parameters:
        dim: number of features. At least 1.
    """

    dim: int = whole(1, low=1)

    def __post_init__(self) -> None:
        check(self)

    def reader(self) -> Reader:
        """What reads the features of events."""
        return _ColumnsReader(self.dim)


class _ColumnsReader(Reader):
    form = list[float | None] | Sparse

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.expected = f"a list of {dim} numbers, or an object with indices and values"
        self._packed = struct.Struct(f"{dim}d").pack

    def fill(self, values: list[Any], X: Array) -> Problems:
        kinds = set(map(type, values))
        if kinds in _LISTED and set(map(len, values)) == {self.dim}:
            X[:] = self._numbers(values) if kinds == {list} else values
            return {}
        if kinds == {Sparse} and self._scatter_all(values, X):
            return {}
        problems: Problems = {}
        for at, listed in enumerate(values):
            if type(listed) is Sparse:
                problem = self._scatter(listed, X[at])
                if problem is not None:
                    problems[at] = problem
            elif len(listed) == self.dim:
                X[at] = listed
            else:
                message = f"expected {self.dim} numbers, found {len(listed)}"
                problems[at] = problem_at("features", message)
        return problems

    def _numbers(self, values: list[list[float | None]]) -> Any:
        """What numpy is to make rows of: bytes take it half the time that lists do."""
        try:
            packed = b"".join([self._packed(*listed) for listed in values])
        except struct.error:  # a feature is missing
            return values
        return np.frombuffer(packed).reshape(len(values), self.dim)

    def _scatter_all(self, values: list[Sparse], X: Array) -> bool:
        """Write sparse features to their columns, if nothing is wrong with any of them."""
        counts = [len(sparse.indices) for sparse in values]
        fit = counts == [len(sparse.values) for sparse in values]
        fit = fit and {sparse.dim for sparse in values} <= {None, self.dim}
        try:
            listed = chain.from_iterable([sparse.indices for sparse in values])
            column = np.array(list(listed), dtype=np.int64)
        except OverflowError:
            return False
        row = np.repeat(np.arange(len(values)), counts)
        ascending = (np.diff(column) > 0) | (np.diff(row) > 0)
        within = column.min(initial=0) >= 0 and column.max(initial=0) < self.dim
        if not (fit and within and ascending.all()):
            return False
        numbers = chain.from_iterable([sparse.values for sparse in values])
        X[row, column] = np.array(list(numbers), dtype=np.float64)
        return True

    def _scatter(self, sparse: Sparse, row: Array) -> Problem | None:
        """Write sparse features to their columns, unless something is wrong with them."""
        indices, values = sparse.indices, sparse.values
        if sparse.dim is not None and sparse.dim != self.dim:
            return problem_at("features.dim", f"expected {self.dim}, found {sparse.dim}")
        if len(indices) != len(values):
            message = f"expected one for each of the {len(indices)} indices, found {len(values)}"
            return problem_at("features.values", message)
        before = -1
        for at, index in enumerate(indices):
            if not before < index < self.dim:
                expected = f"expected an index from {before + 1} to {self.dim - 1}, as they ascend"
                return problem_at(f"features.indices[{at}]", f"{expected}, {seen(index)}")
            before = index
        if indices:
            row[indices] = values
        return None


@dataclass(frozen=True)
class Names(Features):
    """Features by name, in the columns of a fixed schema.

    A number stands in the column of its name, true and false are 1 and 0, and a feature that is
    null or not there is NaN. A text is one of the categories of its name, which have a column
    each, 1 for the one that it is and 0 for the others, all of them NaN if it is missing.

    Parameters:
        names: the names, in the order of their columns.
        categories: the texts that features may be, by name; every other feature is a number.
        unknown: refuse a name or a category that is not among them, or ignore it; the columns
            of an ignored category are all 0.

    >>> Names(["age", "country"], categories={"country": ["de", "fr"]}).columns
    ('age', 'country=de', 'country=fr')
    """

    names: Sequence[str]
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unknown: str = choice("refuse", "ignore")

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "names", _distinct("names", self.names))
        for name, texts in self.categories.items():
            if name not in self.names:
                hint = nearest(name, self.names)
                raise ValueError(f"Names: categories are given for {name!r}, no name{hint}")
            _distinct(f"categories of {name!r}", texts)
        plain = {name: tuple(texts) for name, texts in self.categories.items()}
        object.__setattr__(self, "categories", plain)

    @property
    def columns(self) -> tuple[str, ...]:
        """What each column of the features holds."""
        return tuple(
            column
            for name in self.names
            for column in (
                [f"{name}={text}" for text in self.categories[name]]
                if name in self.categories
                else [name]
            )
        )

    @property
    def dim(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def reader(self) -> "NamesReader":
        """What reads the features of events."""
        return NamesReader(self)


class NamesReader(Reader):
    """Reads features by name. They come as `form`, with the numbers first, then the categories."""

    def __init__(self, names: Names) -> None:
        """`names` is the schema."""
        self.dim = names.dim
        self.names = names.names
        self._columns = names.columns
        self._refuses = names.unknown == "refuse"
        self._numbers = [name for name in self.names if name not in names.categories]
        self._texts = [name for name in self.names if name in names.categories]
        columns = {name: at for at, name in enumerate(self._columns)}
        self._places = np.array([columns[name] for name in self._numbers], dtype=np.intp)
        self._categories = [
            {text: columns[f"{name}={text}"] for text in names.categories[name]}
            for name in self._texts
        ]
        self.order = (*self._numbers, *self._texts)
        """The names of the fields of `form`."""
        kinds = [Number] * len(self._numbers) + [str | None] * len(self._texts)
        self.form = msgspec.defstruct(
            "Features",
            [(f"f{at}", kind, None) for at, kind in enumerate(kinds)],
            rename={f"f{at}": name for at, name in enumerate(self.order)},
            forbid_unknown_fields=self._refuses,
            gc=False,
        )

    def is_number(self, name: str) -> bool:
        """Whether the feature of a name is a number, no text."""
        return name in self._numbers

    def fill(self, values: list[Any], X: Array) -> Problems:
        """Write the features of each event to its row; the problems with some, by number."""
        rows = list(map(msgspec.structs.astuple, values))
        if not self._texts:
            X[:] = rows
            return {}
        count = len(self._numbers)
        if count:
            X[:, self._places] = np.array([row[:count] for row in rows], dtype=np.float64)
        problems: Problems = {}
        for which, columns in enumerate(self._categories):
            for at, row in enumerate(rows):
                text = row[count + which]
                if text in columns:
                    X[at, columns[text]] = 1.0
                elif text is None:
                    X[at, list(columns.values())] = np.nan
                elif self._refuses:
                    more = ", ..." if len(columns) > _LISTED_MAX else ""
                    known = ", ".join(list(columns)[:_LISTED_MAX]) + more
                    problems.setdefault(
                        at,
                        problem_at(
                            f"features.{self._texts[which]}",
                            f"expected one of {known}, {seen(text)}{nearest(text, columns)}",
                        ),
                    )
        return problems

    def infinite(self, column: int) -> Problem:
        """The problem with an event that is infinite in a column."""
        name = self._columns[column]
        return problem_at(f"features.{name}", "expected a finite number, found infinity")


@dataclass(frozen=True)
class Hashing(Features):
    """Features by name, each in the column that its name hashes to: any names, known or not.

    A number is added in the column of its name, a text adds 1 in that of "name=text", and true
    and false are 1 and 0; null adds nothing. Half of the hashes add with a minus, so that two
    names in one column do not always add up. The hash is MurmurHash3, and the columns are
    those of scikit-learn's FeatureHasher.

    Parameters:
        dim: number of columns. At least 1.
        seed: starts the hash.
    """

    dim: int = whole(1024, low=1)
    seed: int = whole(0, low=0)

    def __post_init__(self) -> None:
        check(self)

    def reader(self) -> Reader:
        """What reads the features of events."""
        return _HashingReader(self.dim, self.seed)


class _HashingReader(Reader):
    form = dict[str, Value]

    def __init__(self, dim: int, seed: int) -> None:
        self.dim = dim
        self._seed = seed

    def fill(self, values: list[Any], X: Array) -> Problems:
        items = list(chain.from_iterable([features.items() for features in values]))
        words = [
            (f"{name}={value}" if type(value) is str else name).encode() for name, value in items
        ]
        ends = np.cumsum(np.array(list(map(len, words)), dtype=np.int64))
        rows = np.repeat(np.arange(len(values)), list(map(len, values)))
        numbers = [1.0 if type(value) is str else value for _name, value in items]
        octets = np.frombuffer(b"".join(words), dtype=np.uint8)
        add_hashed(octets, ends, rows, np.array(numbers, dtype=np.float64), self._seed, X)
        return {}


def _distinct(what: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words as a tuple; refused if they are none, not texts, or one stands twice."""
    if isinstance(words, str) or not words or not all(isinstance(word, str) for word in words):
        raise ValueError(f"Names: {what} must be a list of texts, not {words!r:.80}")
    twice = [word for at, word in enumerate(words) if word in words[:at]]
    if twice:
        raise ValueError(f"Names: {what} must be distinct; {twice[0]!r} stands there twice")
    return tuple(words)
