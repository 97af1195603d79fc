"""What a setting may be: each kind takes a text, as variables have it, and knows TOML's types."""

import math
import re
from abc import ABC, abstractmethod
from typing import Any

import msgspec

from okl_flow.parameters import nearest

__all__ = [
    "FLAG",
    "LIST",
    "NUMBER",
    "TEXT",
    "Addresses",
    "Features",
    "Flag",
    "Kind",
    "OneOf",
    "Real",
    "Text",
    "Whole",
    "Words",
    "quoted",
]

TEXT, NUMBER, FLAG, LIST = "text", "number", "truth value", "list"
"""The types that TOML has, as far as settings are concerned."""


_PORT_MAX = 65535


class Kind(ABC):
    """What a value may be."""

    expected: str
    types: tuple[str, ...] = (TEXT,)  # of TOML

    @abstractmethod
    def value(self, text: str) -> Any:
        """The value of a text; a ValueError says what was expected."""

    def toml(self, text: str) -> str:
        """A text that is a value, as TOML has it."""
        return quoted(text)

    def refusal(self, text: str) -> ValueError:
        """What is raised for a text that is no value."""
        return ValueError(f"expected {self.expected}, found {text!r:.80}")


class Whole(Kind):
    """A whole number in a range."""

    types = (NUMBER,)

    def __init__(self, low: int, high: int | None = None) -> None:
        self._low, self._high = low, high
        self.expected = f"a whole number at least {low}"
        if high is not None:
            self.expected = f"a whole number from {low} to {high}"

    def value(self, text: str) -> int:
        """The number."""
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise self.refusal(text)
        found = int(text)
        if found < self._low or (self._high is not None and found > self._high):
            raise self.refusal(text)
        return found

    def toml(self, text: str) -> str:
        """The number, as it is."""
        return text


class Real(Kind):
    """A number in a range; or a word that says that there is no limit."""

    def __init__(
        self,
        *,
        low: float = -math.inf,
        above: float = -math.inf,
        below: float = math.inf,
        unlimited: str | None = None,
    ) -> None:
        self._low, self._above, self._below, self._unlimited = low, above, below, unlimited
        bounds = [f"at least {low:g}"] if low > -math.inf else []
        bounds += [f"above {above:g}"] if above > -math.inf else []
        bounds += [f"below {below:g}"] if below < math.inf else []
        self.expected = " ".join(["a number", " and ".join(bounds)]).strip()
        self.types = (NUMBER,)
        if unlimited is not None:
            self.expected += f", or {unlimited!r}"
            self.types = (NUMBER, TEXT)

    def value(self, text: str) -> float | None:
        """The number, or None for the word."""
        if self._unlimited is not None and text == self._unlimited:
            return None
        try:
            found = float(text) if "_" not in text else math.nan
        except ValueError:
            found = math.nan
        inside = self._low <= found and self._above < found < self._below
        if not inside or not math.isfinite(found):
            raise self.refusal(text)
        return found

    def toml(self, text: str) -> str:
        """The number as it is, or the word."""
        return quoted(text) if text == self._unlimited else text


class Flag(Kind):
    """True or false."""

    expected = "true or false"
    types = (FLAG,)

    def value(self, text: str) -> bool:
        """Which of the two."""
        if text not in ("true", "false"):
            raise self.refusal(text)
        return text == "true"

    def toml(self, text: str) -> str:
        """The word as it is."""
        return text


class Text(Kind):
    """A text of any sort, of which the name says what it is."""

    def __init__(self, expected: str = "a text") -> None:
        self.expected = expected

    def value(self, text: str) -> str:
        """The text."""
        return text


class Addresses(Kind):
    """Hosts with their ports, with commas between them."""

    expected = "host:port, or several with commas between them"
    types = (TEXT, LIST)

    def value(self, text: str) -> str:
        """The addresses."""
        for one in text.split(","):
            _host, _, port = one.rpartition(":")
            if not re.fullmatch(r"\s*[^\s:/@]+|\[[^\s/@]+\]", _host) or not (
                port.strip().isdecimal() and 0 < int(port) <= _PORT_MAX
            ):
                raise self.refusal(text)
        return text


class OneOf(Kind):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self.expected = f"one of {', '.join(words)}"

    def value(self, text: str) -> str:
        """The word."""
        if text not in self._words:
            raise ValueError(f"{self.refusal(text)}{nearest(text, self._words)}")
        return text


class Words(Kind):
    """One or more words, with commas between them in a text; each once."""

    types: tuple[str, ...] = (TEXT, NUMBER, FLAG, LIST)

    def __init__(self, expected: str, least: int = 1) -> None:
        self.expected = expected
        self._least = least

    def value(self, text: str) -> str:
        """The words, with commas between them."""
        words = text.split(",")
        if not all(words) or len(words) < self._least:
            raise self.refusal(text)
        for number, word in enumerate(words):
            if word in words[:number]:
                raise ValueError(f"expected each word once, found {word!r} twice")
        return text

    def toml(self, text: str) -> str:
        """A list, if there are several."""
        words = text.split(",")
        return quoted(text) if len(words) == 1 else f"[{', '.join(map(quoted, words))}]"


class Features(Words):
    """How many features, or their names."""

    types = (TEXT, NUMBER, LIST)

    def __init__(self) -> None:
        super().__init__("how many features there are, at least 1, or their names")

    def value(self, text: str) -> str:
        """The number or the names, as a text."""
        if re.fullmatch(r"[+-]?[0-9.]+", text) and not (text.isdecimal() and int(text) > 0):
            raise self.refusal(text)
        return str(super().value(text))

    def toml(self, text: str) -> str:
        """The number as it is, or the names."""
        return text if text.isdecimal() else super().toml(text)


def quoted(text: str) -> str:
    """A text as TOML has it: the escapes of JSON are among those of TOML."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
