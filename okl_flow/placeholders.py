"""Values that stand in the environment, and are named in a file: `${KAFKA_PASSWORD}`."""

import os
import re
from collections.abc import Mapping

__all__ = ["filled"]

_NAMED = re.compile(r"\$\{([^}]*)\}")


def filled(text: str, place: str, variables: Mapping[str, str] | None = None) -> str:
    """A text of a file with the environment's variables in the places of their names.

    `place` says in errors where the text stands.

    >>> filled("ann:${SECRET}", "a.toml, line 3", {"SECRET": "hunter2"})
    'ann:hunter2'
    >>> filled("${SECRET}", "a.toml, line 3", {})
    Traceback (most recent call last):
    ValueError: a.toml, line 3: expected the variable SECRET in the environment, and it is not set
    """
    given = os.environ if variables is None else variables

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in given:
            raise ValueError(
                f"{place}: expected the variable {name} in the environment, and it is not set"
            )
        return given[name]

    return _NAMED.sub(value, text)
