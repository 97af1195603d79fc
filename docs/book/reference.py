"""The pages of the command line and of the functions, from their own help and docstrings."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

import okl_flow
from okl_flow import kafka, operators, snapshot
from okl_flow.cli import app

__all__ = ["command_page", "python_page"]

_WIDE = 92
_MODULES = (okl_flow, snapshot, operators, kafka)


def command_page() -> str:
    """A section per command, with its own help."""
    sections = ["# Commands", "What `okl-flow COMMAND --help` says."]
    for words in _commands(typer.main.get_command(app)):
        help_of = CliRunner().invoke(
            app, [*words, "--help"], env={"COLUMNS": str(_WIDE)}, prog_name="okl-flow"
        )
        lines = "\n".join(line.rstrip() for line in help_of.stdout.strip().splitlines())
        sections.append(f"## okl-flow {' '.join(words)}\n\n```text\n{lines}\n```")
    return "\n\n".join(sections) + "\n"


def _commands(group: Any, *words: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, *words, name)
        else:
            yield (*words, name)


def python_page() -> str:
    """A section per module, with what it exports."""
    sections = ["# Python", "What the docstrings say, of all that is meant to be imported."]
    for module in _MODULES:
        sections.append(f"## {module.__name__}\n\n```text\n{inspect.getdoc(module)}\n```")
        for name in module.__all__:
            one = getattr(module, name)
            if not callable(one):
                continue
            said = inspect.getdoc(one) or ""
            head = f"### {name}\n\n```python\n{name}{_signature(one)}\n```"
            sections.append(f"{head}\n\n```text\n{said}\n```")
    return "\n\n".join(sections) + "\n"


def _signature(one: Any) -> str:
    """Its parameters, one per line where there are many."""
    try:
        parameters = [str(each) for each in inspect.signature(one).parameters.values()]
    except (TypeError, ValueError):
        return ""
    short = f"({', '.join(parameters)})"
    return short if len(short) < _WIDE else "(\n    " + ",\n    ".join(parameters) + ",\n)"
