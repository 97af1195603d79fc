"""Settings as they are declared: by the fields of a frozen dataclass.

A field says where it stands in a file, what it may be, and what it is for. In a class that comes
of another, a field of the same name has another default, and stays what it is. A field of one's
own is in the section [settings], if it does not say otherwise; whether it is a whole number, a
number, a text, or true or false, its type may say.
"""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal

from okl_flow.job.kinds import Flag, Kind, Real, Text, Whole
from okl_flow.job.names import variable_of

__all__ = ["OWN", "Fault", "Setting", "declared", "setting"]

OWN = "settings"
"""The section of what a flow has for itself."""

_META = "setting"
_FIRST = ("", "source", "labels")
_LAST = ("evaluation", "sinks", "state", OWN, "run", "metrics")
_KINDS: dict[Any, Kind] = {int: Whole(0), float: Real(), bool: Flag(), str: Text()}

Files = Literal["always", "files"]
"""That a setting names files: always, or where there are no brokers."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with settings that are right for themselves."""

    names: tuple[str, ...]  # of the fields that it is about, that to be blamed first
    message: str
    parameter: str = ""  # of that one, if it has parameters


@dataclass(frozen=True)
class Setting:
    """One setting: where it stands in a file, what it may be, and what it is for."""

    name: str  # of the field
    section: str  # empty for the top
    key: str  # empty for a section that is one setting as a whole
    kind: Kind
    about: str
    default: Any
    files: Files | None = None
    is_secret: bool = False
    otherwise: str = ""  # what holds by default, where that is no value
    example: str = ""  # a value as a text, where there is none by default

    @property
    def path(self) -> str:
        """Section and key."""
        return ".".join(filter(None, (self.section, self.key)))

    @property
    def variable(self) -> str:
        """The variable of the environment."""
        return variable_of(self.path)


def setting(
    default: Any,
    about: str,
    kind: Kind,
    *,
    section: str = OWN,
    key: str | None = None,
    files: Files | None = None,
    secret: bool = False,
    otherwise: str = "",
    example: str = "",
) -> Any:
    """A field that is a setting.

    Parameters:
        default: its value where none is given.
        about: what it is for, in one line.
        kind: what it may be.
        section: where it stands in a file.
        key: what it is called there; by default as the field, without the section before it.
            Empty for something with a name that is a section of its own.
        files: whether it names files: always, or where there are no brokers.
        secret: whether it must never be shown.
        otherwise: what holds by default, in words, if that is no value.
        example: a value as a text, if there is none by default.
    """
    words = otherwise, example
    meant = Setting("", section, key or "", kind, about, default, files, secret, *words)
    return field(default=default, metadata={_META: (meant, key is None)})


def declared(settings: type[Any]) -> list[Setting]:
    """The settings of a class, section by section."""
    found = [_declared(settings, one) for one in fields(settings)]
    return sorted(found, key=lambda one: _place_of(one.section))


def _place_of(section: str) -> int:
    """The place of a section: first what is read, then what is made of it, then all else."""
    if section in _FIRST:
        return _FIRST.index(section)
    return len(_FIRST) + (1 + _LAST.index(section) if section in _LAST else 0)


def _declared(settings: type[Any], one: "Field[Any]") -> Setting:
    """A setting as its field says; else as that of a parent, with another default."""
    for found in (one, *_fields_before(settings, one.name)):
        if _META in found.metadata:
            meant: Setting = found.metadata[_META][0]
            named: bool = found.metadata[_META][1]
            key = one.name.removeprefix(f"{meant.section}_") if named else meant.key
            return replace(meant, name=one.name, key=key, default=one.default)
    if one.type not in _KINDS:
        raise TypeError(
            f"{settings.__name__}: {one.name} must be int, float, bool or str, or say with "
            f"okl_flow.job.setting what it may be; it is {one.type}"
        )
    return Setting(one.name, OWN, one.name, _KINDS[one.type], "", one.default)


def _fields_before(settings: type[Any], name: str) -> "Iterator[Field[Any]]":
    """The fields of that name in the parents of a class."""
    for parent in settings.__mro__[1:]:
        known = getattr(parent, "__dataclass_fields__", {})
        if name in known:
            yield known[name]
