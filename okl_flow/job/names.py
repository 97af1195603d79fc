"""What a setting is called: by its section and key in a file, and as a variable.

The variable is OKL_, the section and the key. Sections that say no more than what everybody
knows are left away, and so are keys that say no more than their section.
"""

from collections.abc import Iterable

from okl_flow.parameters import nearest

__all__ = [
    "OF_PAGE",
    "OF_RUN",
    "PREFIX",
    "SHORT",
    "is_of_run",
    "nearest_path",
    "sink_of",
    "variable_of",
]

PREFIX = "OKL_"
"""What all variables begin with."""

SHORT = ("source", "sinks", "state", "settings")
"""Sections that are left away."""

SILENT = ("name", "from", "dir")
"""Keys that are left away, where they are in a section."""

OF_PAGE = f"{PREFIX}DASHBOARD_"
"""What variables of `okl-flow dashboard` begin with, which are no settings of a job."""

OF_RUN = ("run", "metrics")
"""Sections for `okl-flow run`, whatever the flow."""


def sink_of(kind: str, first: str, *, is_topic: bool) -> str:
    """Where records of a kind go by default, by the first that is read.

    >>> sink_of("reports", "clicks", is_topic=True), sink_of("reports", "a.csv", is_topic=False)
    ('clicks.reports', 'out/reports.jsonl')
    """
    return f"{first}.{kind}" if is_topic else f"out/{kind}.jsonl"


def variable_of(path: str) -> str:
    """The variable of a setting.

    >>> variable_of("evaluation.window"), variable_of("source.events"), variable_of("name")
    ('OKL_EVALUATION_WINDOW', 'OKL_EVENTS', 'OKL_NAME')
    >>> variable_of("state.dir"), variable_of("learner.name"), variable_of("learner.budget")
    ('OKL_STATE', 'OKL_LEARNER', 'OKL_LEARNER_BUDGET')
    """
    words = path.split(".")
    if len(words) > 1 and words[-1] in SILENT:
        words.pop()
    if len(words) > 1 and words[0] in SHORT:
        words.pop(0)
    return PREFIX + "_".join(words).upper()


def is_of_run(variable: str) -> bool:
    """Whether a variable is for `okl-flow run`, and so none of the flow's."""
    return variable.startswith(tuple(f"{PREFIX}{section.upper()}_" for section in OF_RUN))


def nearest_path(path: str, known: Iterable[str]) -> str:
    """A hint at the setting that was meant: one of the same key, or one of a similar name.

    >>> nearest_path("epoch", ["run.epoch", "name"]), nearest_path("run.epok", ["run.epoch"])
    ("; did you mean 'run.epoch'?", "; did you mean 'run.epoch'?")
    """
    paths = list(known)
    key = path.rpartition(".")[2]
    same = [one for one in paths if one.rpartition(".")[2] == key]
    if len(same) == 1:
        return f"; did you mean {same[0]!r}?"
    by_key = {one.rpartition(".")[2]: one for one in paths}
    section = path.rpartition(".")[0]
    beside = [one for one in paths if one.rpartition(".")[0] == section]
    hint = nearest(path, beside) or nearest(path, paths)
    if not hint and (meant := nearest(key, by_key)):
        hint = f"; did you mean {by_key[meant.split(chr(39))[1]]!r}?"
    return hint
