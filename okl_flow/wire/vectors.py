"""Vectors of floats as they lie in memory, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from okl_flow.parameters import check, choice
from okl_flow.wire.features import Columns, Features
from okl_flow.wire.formats import Format, Parser, Wire
from okl_flow.wire.problems import Problem, problem_at

__all__ = ["Vectors"]

_NONE, _FIRST, _LAST = "none", "first", "last"
_PLACE = "place"


@dataclass(frozen=True)
class Vectors(Format):
    """Little-endian floats, one after another: the features of an event, as many as columns.

    NaN is a feature that is missing. The key is that of the Kafka record, or the fixed one, and
    the time that of the record.

    Parameters:
        number: the kind of all numbers: float32, of 4 bytes, or float64, of 8.
        label: whether a label stands with the features, and where: none, first or last.
            NaN says that there is none.
        id: none, or the place of the record, as in "clicks-0-7": topic, partition and offset.

    >>> from okl_flow.wire import Decoder, Raw
    >>> decoder = Decoder(Vectors("float64", label="last"), Columns(2), key="all")
    >>> [event], _ = decoder([Raw(np.array([0.5, 2.0, -1.0], dtype="<f8").tobytes())])
    >>> event.features, event.label
    (array([0.5, 2. ]), -1.0)
    """

    number: str = choice("float32", "float64")
    label: str = choice(_NONE, _FIRST, _LAST)
    id: str = choice(_NONE, _PLACE)

    def __post_init__(self) -> None:
        check(self)

    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""
        if not isinstance(features, Columns):
            raise ValueError(
                f"features must be Columns for vectors of floats, not {features!r:.80}"
            )
        return _VectorsParser(self, features.dim)


class _VectorsParser(Parser):
    def __init__(self, chosen: Vectors, dim: int) -> None:
        self.placed = chosen.id == _PLACE
        self._kind = np.dtype(chosen.number).newbyteorder("<")
        labelled = chosen.label != _NONE
        self._width = dim + labelled
        self._size = self._width * self._kind.itemsize
        self._label = {_NONE: None, _FIRST: 0, _LAST: dim}[chosen.label]
        begin = int(chosen.label == _FIRST)
        self._features = slice(begin, begin + dim)
        numbers = f"{dim} numbers of {chosen.number}" + (" and a label" if labelled else "")
        self._expected = f"expected {self._size} bytes, {numbers}"

    def parse_all(self, values: Sequence[bytes]) -> list[Wire | Problem]:
        """What the values are."""
        fit = [value for value in values if len(value) == self._size]
        numbers = np.frombuffer(b"".join(fit), self._kind).reshape(len(fit), self._width)
        with np.errstate(invalid="ignore"):  # which is what the bits of some NaN raise
            X = numbers.astype(np.float64)
        rows = list(X[:, self._features])
        labels = [None] * len(fit) if self._label is None else X[:, self._label].tolist()
        wires: list[Wire | Problem] = [
            Wire(features=row, label=label) for row, label in zip(rows, labels, strict=True)
        ]
        if len(fit) == len(values):
            return wires
        those = iter(wires)
        return [
            next(those) if len(value) == self._size else self._problem(value) for value in values
        ]

    def _problem(self, value: bytes) -> Problem:
        return problem_at("features", f"{self._expected}, found {len(value)} bytes")
