"""LIBSVM lines: "label index:value index:value ... # comment"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from okl_flow.events import Reason
from okl_flow.formats.libsvm import LineError, Rows, read_line, well_formed
from okl_flow.parameters import check, choice
from okl_flow.wire.features import Columns, Features, Sparse
from okl_flow.wire.formats import EXPECTED, NAME_LONGEST, FaultError, Format, Parser, Wire
from okl_flow.wire.problems import Problem, problem_at, seen

__all__ = ["Libsvm"]

_NOTHING = re.compile(rb"\s*+(?:#.*)?", re.DOTALL)


@dataclass(frozen=True)
class Libsvm(Format):
    """LIBSVM text: a line per event, with indices from 1 that ascend.

    What a line does not list is 0. The label comes first; nan says that there is none. The key
    is that of the Kafka record, or the fixed one.

    Parameters:
        comment: ignore what comes after #, or take it for the id of the event.
    """

    comment: str = choice("ignore", "id")

    def __post_init__(self) -> None:
        check(self)

    def parser(self, features: Features | None) -> Parser:
        """What parses records of the format, with the features as chosen."""
        if not isinstance(features, Columns):
            raise ValueError(
                f"features must be Columns for the format libsvm, not {features!r:.80}"
            )
        return _LibsvmParser(features.dim, self.comment == "id")


class _LibsvmParser(Parser):
    texts = True

    def __init__(self, dim: int, named: bool) -> None:
        self._dim = dim
        self._named = named  # by the comments

    def parse_all(self, values: Sequence[bytes]) -> list[Wire | Problem]:
        """What the values are; an error if one is not of the format."""
        rows = well_formed(values, self._dim)
        if rows is None:
            rows = Rows()
            for value in values:
                self._read(value, rows)
        wires: list[Wire | Problem] = []
        begin = 0
        for value, label, count in zip(values, rows.labels, rows.counts, strict=True):
            listed = slice(begin, begin + count)
            indices = [index - 1 for index in rows.indices[listed]]
            wires.append(
                Wire(
                    id=_id(value) if self._named else None,
                    features=Sparse(indices, [*rows.values[listed]]),
                    label=cast(bytes, label).decode("utf-8", "backslashreplace"),
                )
            )
            begin += count
        return wires

    def _read(self, value: bytes, rows: Rows) -> None:
        """Add a line to the rows, or raise what is wrong with it."""
        if _NOTHING.fullmatch(value):
            message = "expected 'label index:value ...', found nothing"
            raise FaultError(Problem(Reason.MALFORMED, message))
        try:
            read_line(value, self._dim, rows)
        except LineError as fault:
            begun = b":" in value[fault.position - 1 :].split(maxsplit=1)[0] and rows.labels
            place = "features" if begun else ""
            where = f"at character {fault.position}"
            problem = problem_at(place, f"{fault} {where}")
            raise FaultError(problem) from None


def _id(value: bytes) -> str | None:
    """The comment of a line, without spaces around it; None if there is none."""
    text = value.partition(b"#")[2].strip().decode("utf-8", "backslashreplace")
    if len(text) > NAME_LONGEST:
        raise FaultError(problem_at("id", f"expected {EXPECTED['id']}, {seen(text)}"))
    return text or None
