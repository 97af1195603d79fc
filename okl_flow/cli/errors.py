"""How the command line ends: exit codes, and messages instead of tracebacks.

0 is fine, 2 wrong usage or bad data, 130 an interruption, 141 a reader that went away, as with
`okl-flow ... | head`: the codes that a shell gives for these signals.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["Commands", "CommandError", "explained"]

REFUSED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141

# The error of all wrong usage has no public name, but its best-known kind has.
UsageError: Any = typer.BadParameter.__mro__[1]


class CommandError(ValueError):
    """Wrong usage or bad data, in words for the user."""


@contextmanager
def explained(*kinds: type[Exception]) -> Iterator[None]:
    """Errors that are the user's to mend, as the command line tells of them."""
    try:
        yield
    except kinds as error:
        raise CommandError(str(error)) from error


class Commands(TyperGroup):
    """The group of all commands, which turns what they raise into messages and exit codes."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; exit with its code, or return it if `standalone_mode` is False."""
        standalone = extra.pop("standalone_mode", True)
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False}) or 0
        except UsageError as error:
            code = _explain_usage(error)
        except CommandError as error:
            code = _explain(str(error))
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        if standalone:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run a command within its context; a closed pipe ends it quietly."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whatever is still buffered goes nowhere, so that the last flush finds no fault.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        return result


def _explain(message: str) -> int:
    typer.echo(f"okl-flow: {message}", err=True)
    return REFUSED


def _explain_usage(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return REFUSED
    command = error.ctx.command_path if error.ctx else "okl-flow"
    return _explain(f"{error.format_message().rstrip('.')} (see {command} --help)")
