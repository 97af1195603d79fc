"""A job's file: TOML, of which every value knows its line."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["JobText", "TextError"]

_AT = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_ERRORS_MAX = 5

Keys = tuple[str, ...]


class TextError(ValueError):
    """A file that cannot be read at all."""


class JobText:
    """The text of a file, as tables of values.

    A line that is no TOML is told in `errors`, and left away, so that the rest can be looked at.
    """

    def __init__(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise TextError(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError:
            raise TextError(f"{path}: expected text in UTF-8") from None
        self.path = path
        self.errors: list[tuple[int, str]] = []  # lines, and what is wrong with them
        self.values: dict[str, Any] = {}
        lines = text.splitlines()
        self.values = self._read(lines)
        self._lines = dict(_placed(lines))

    def line(self, path: str) -> int:
        """The line where something stands, by its section and key; 0 if it cannot be told."""
        keys = tuple(path.split("."))
        inner = [line for one, line in self._lines.items() if one[: len(keys)] == keys]
        if inner:
            return min(inner)
        while keys:
            if keys in self._lines:
                return self._lines[keys]
            keys = keys[:-1]
        return 0

    def place(self, path: str) -> str:
        """Where something stands, in words."""
        line = self.line(path)
        return f"{self.path}, line {line}: {path}" if line else f"{self.path}: {path}"

    def _read(self, lines: list[str]) -> dict[str, Any]:
        while True:
            try:
                return tomllib.loads("\n".join(lines))
            except tomllib.TOMLDecodeError as error:
                found = _AT.search(str(error))
                is_placed = found is not None and found["line"] is not None
                number = int(found["line"]) if found and is_placed else _unfinished(lines)
                self.errors.append((number, _AT.sub("", str(error))))
                if not is_placed or len(self.errors) == _ERRORS_MAX or not lines[number - 1]:
                    return {}
                lines[number - 1] = ""


def _placed(lines: list[str]) -> Iterator[tuple[Keys, int]]:
    """The keys of tables and values, each with the line that it begins in.

    A statement ends with the first line after which it is TOML by itself.
    """
    table: Keys = ()
    begin = 0
    while begin < len(lines):
        end = begin
        while (found := _parsed(lines[begin : end + 1])) is None and end < len(lines) - 1:
            end += 1
        if found is None:  # a part of something that was left away
            begin += 1
            continue
        if lines[begin].lstrip().startswith("["):
            table = next(_keys(found), ())
            yield table, begin + 1
        else:
            yield from ((table + keys, begin + 1) for keys in _keys(found))
        begin = end + 1


def _unfinished(lines: list[str]) -> int:
    """The line where something begins that never ends."""
    return next(
        number for number in range(len(lines), 0, -1) if _parsed(lines[: number - 1]) is not None
    )


def _parsed(lines: list[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _keys(values: Mapping[str, Any]) -> Iterator[Keys]:
    """The keys of values, the innermost first."""
    for name, value in values.items():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict):
            yield from ((name, *keys) for keys in _keys(inner))
        yield (name,)
