"""A job's file, written: what was chosen, and a comment for everything else that can be set."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap

from okl_flow.job.kinds import quoted
from okl_flow.job.lines import Learners, Line, line_of, parsed, parted
from okl_flow.job.settings import Setting

__all__ = ["written"]

_HEAD = """\
# A job, for `okl-flow run`; `okl-flow check` says what is wrong with it, and what holds.
#
# What begins with "# " and a name is what holds anyway, or an example. Paths start from this
# file's folder. The command line goes before the environment, and that before this file:
# --set learner.budget=50, OKL_LEARNER_BUDGET=50. A text may name a variable of the environment,
# so that no password need stand here: "${KAFKA_PASSWORD}".
"""
_WIDTH = 98


def written(flow: str, declared: Sequence[Setting], chosen: Mapping[str, str]) -> str:
    """The text of a file.

    Parameters:
        flow: its name.
        declared: all that can be set.
        chosen: texts of settings, by section and key; of a learner the whole line.
    """
    lines = [_HEAD, f"flow = {quoted(flow)}"]
    for section, group in groupby(declared, key=lambda one: one.section):
        settings = list(group)
        if not settings[0].key:
            lines += _tables(settings[0], chosen.get(section))
            continue
        lines += ["", f"[{section}]"] if section else []
        for one in settings:
            lines += [*_comment(one), _assigned(one, chosen.get(one.path))]
    return "\n".join(lines) + "\n"


def _comment(one: Setting) -> Iterator[str]:
    """What a setting is for."""
    about = one.about or one.kind.expected
    words = f"{about[:1].upper()}{about[1:]}"
    if one.default is None and one.otherwise:
        words += f". By default: {one.otherwise}"
    yield from (f"# {line}" for line in wrap(f"{words}.", _WIDTH))


def _assigned(one: Setting, text: str | None) -> str:
    """A setting as it was chosen; else, as a comment, as it is by default, or could be."""
    shown = text
    if shown is None:
        shown = one.example if one.default is None else _text_of(one)
    value = _inline(shown) if isinstance(one.kind, Line) else one.kind.toml(shown)
    return f"{'# ' if text is None else ''}{one.key} = {value}"


def _text_of(one: Setting) -> str:
    """The default as a text."""
    if isinstance(one.default, bool):
        return "true" if one.default else "false"
    return f"{one.default:g}" if isinstance(one.default, float) else str(one.default)


def _inline(line: str) -> str:
    """A name, or a name and parameters, within one line."""
    name, parameters = parsed(line)
    if not parameters:
        return quoted(name)
    members = ", ".join(_members({"name": name, **parameters}))
    return f"{{ {members} }}"


def _tables(one: Setting, text: str | None) -> Iterator[str]:
    """Something with a name and parameters as a section, or several of them."""
    line = text or one.default
    lines = parted(line) if isinstance(one.kind, Learners) else {"": line}
    for own, inner in lines.items():
        name, parameters = parsed(inner)
        yield ""
        if own == next(iter(lines)):
            yield from _comment(one)
        yield f"[{one.section}{'.' * bool(own)}{own}]"
        yield from _members({"name": name, **parameters})


def _members(values: Mapping[str, object]) -> Iterator[str]:
    """Values of TOML with their names; those of JSON are such, but for null."""
    for name, value in values.items():
        word = line_of("", {"value": value}).partition("=")[2]
        is_text = isinstance(value, str) and not word.startswith('"')
        yield f"{name} = {quoted(str(value)) if is_text else word}"
