"""All that can be set, in rows: for documents, and for whoever asks."""

from collections.abc import Iterable

from okl_flow.job.checking import FlowError, settings_in
from okl_flow.job.running import RunSettings
from okl_flow.job.settings import Setting, declared

__all__ = ["default_of", "markdown_of", "rows_of"]


def rows_of(flow: str) -> list[list[str]]:
    """A row for each setting of a flow and of its run, as far as the flow says them."""
    try:
        settings = settings_in(flow)
    except FlowError:
        settings = None
    known = [] if settings is None else declared(settings)
    return [
        [one.path, one.variable, default_of(one), one.about]
        for one in [*known, *declared(RunSettings)]
    ]


def markdown_of(settings: Iterable[Setting]) -> str:
    """A table in Markdown."""
    rows = ["| in the file | variable | what it says | by default |", "|---|---|---|---|"]
    for one in settings:
        default = default_of(one)
        shown = default if one.default is None else f"`{default}`"
        row = f"| `{one.path}` | `{one.variable}` | {one.about} | {shown} |"
        rows.append(row.replace("|  |", "| |"))
    return "\n".join(rows) + "\n"


def default_of(one: Setting) -> str:
    """What holds where nothing is given."""
    if one.default is None:
        return one.otherwise
    if isinstance(one.default, float):
        return f"{one.default:g}"
    return str(one.default).lower() if isinstance(one.default, bool) else str(one.default)
