"""The page of a learner: what its docstring and the registry say, and what was measured."""

import csv
import inspect
import re
import sys
import textwrap
from functools import cache

from benchmarks.readme import GROUPS, compared
from benchmarks.report import RESULTS, markdown
from benchmarks.speed.figures import results
from benchmarks.speed.learners import BOTH, MAIN, row_of
from docs.book.navigation import BookError
from okl_flow.factory import make_learner
from okl_flow.registry import MAPS, REGISTRY, Row

__all__ = ["learner_page", "parts_of"]

_HEADS = ("Formula:", "Parameters:", "Cost:", ">>> ")
_PARAMETER = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", flags=re.M)
_OF_KERNEL = "of the kernel"


def learner_page(name: str) -> str:
    """The page of one learner."""
    row = REGISTRY[name]
    text = parts_of(name)
    module = inspect.cleandoc(sys.modules[row.learner.__module__].__doc__ or "")
    _said, _, origin = module.partition("\n\nPaper: ")
    paper, _, notes = origin.partition("\n\n")
    paper, _, deviations = paper.partition("\nDeviations: ")
    sections = [
        f"# {name}",
        text["idea"],
        _keeps(row),
        f"## Formula\n\n```text\n{text['Formula:']}\n```",
        f"## Parameters\n\n{_parameters(name, text['Parameters:'])}",
        'Besides these every learner takes `scale`, `missing`, and "auto" for a bandwidth, a '
        "learning rate or a forgetting: [raw features](../raw_features.md).",
        f"## Cost\n\n{text['Cost:'][:1].upper()}{text['Cost:'][1:]}",
        _speed(name),
        f"## Example\n\n```python\n{text['>>> ']}\n```",
        f"## Error, measured\n\n{_errors(name)}",
        _travelling(name),
        f"## Where it is from\n\n{_sentence(paper)}",
        f"**Deviations**: {_plain(deviations)}",
        _plain(notes),
        _limits(name, row),
    ]
    return "\n\n".join(part for part in sections if part) + "\n"


def parts_of(name: str) -> dict[str, str]:
    """The parts of a learner's docstring: the idea, and what follows each of the heads."""
    text = inspect.cleandoc(REGISTRY[name].learner.__doc__ or "")
    places = []
    for head in _HEADS:
        found = re.search(rf"^{re.escape(head)}", text, flags=re.M)
        if found is None:
            raise BookError(f"the docstring of {name} has no {head!r}")
        places.append(found.start())
    if places != sorted(places):
        raise BookError(f"the docstring of {name} has not the order {', '.join(_HEADS)}")
    parts = {"idea": text[: places[0]].strip()}
    for head, start, end in zip(_HEADS, places, [*places[1:], len(text)], strict=True):
        body = text[start:end].rstrip()
        parts[head] = body if head == ">>> " else _block(body.removeprefix(head))
    return parts


def _block(text: str) -> str:
    """What follows a head, on its line or indented below it."""
    first, _, rest = text.partition("\n")
    below = textwrap.dedent(rest)
    if not first.strip():
        return textwrap.indent(below, "    ") if _PARAMETER.search(rest) else below
    return f"{first.strip()}\n{below}".rstrip()


def _keeps(row: Row) -> str:
    keeps = GROUPS[row.learner.__module__.split(".")[2]]
    return f"Keeps: {keeps}. Tasks: {', '.join(row.tasks)}."


def _parameters(name: str, text: str) -> str:
    """A row per parameter, with its default; those of the kernel follow it."""
    defaults = make_learner(name).describe()
    del defaults["learner"]
    meanings = _meanings(text)
    if "map" in defaults:
        own = inspect.cleandoc(MAPS[defaults["map"]].__doc__ or "")
        meanings = {**_meanings(own), **meanings}
    rows = [
        [f"`{one}`", f"`{default}`", _plain(meanings.get(one, _OF_KERNEL))]
        for one, default in defaults.items()
    ]
    return markdown(["parameter", "default", "meaning"], rows, left=3)


def _meanings(text: str) -> dict[str, str]:
    return {found[1]: " ".join(found[2].split()) for found in _PARAMETER.finditer(text)}


def _speed(name: str) -> str:
    figures = results("learners")
    if figures.get(MAIN.case(name), BOTH) is None:
        return ""
    header, row = row_of(figures, name)
    return (
        "Measured in batches, at a budget or feature count of 100 and 24 features "
        "([all learners](../measured/learners.md)):\n\n" + markdown(header, [row], left=0)
    )


def _errors(name: str) -> str:
    """The rows of the learner, and of its variants, on each file of the comparison."""
    rows, header = [], []
    for row in compared():
        if re.match(rf"`{name}[`,]", row["learner"]):
            del row["chosen"]
            row["file"] = row["file"].replace("root mean square error", "RMSE").replace(": ", ", ")
            header = list(row)
            rows.append([cell.replace(" ± 0.00", "") for cell in row.values()])
    if not rows:
        return "Not measured yet: `make compare`."
    said = "What the columns mean, and the other learners: [compare](../measured/compare.md)."
    return f"{said}\n\n{markdown(header, rows, left=2)}"


def _travelling(name: str) -> str:
    found = _soaked().get(name)
    if found is None:
        return ""
    first, last = found["mistakes, %, first"], found["last"]
    return (
        f"On ten million events of a cloud that travels: {first} % mistakes in the first tenth, "
        f"{last} % in the last ([soak](../measured/soak.md))."
    )


def _limits(name: str, row: Row) -> str:
    lines = []
    for limit in row.limits:
        under = _settings(limit.settings[-1])
        of = f" with {_settings(limit.with_settings)}" if limit.with_settings else ""
        kind = (
            "itself without these bounds"
            if limit.equals == name and not of
            else f"`{limit.equals}`{of}"
        )
        lines.append(f"- Under {under} it comes to {kind}.")
    said = [f"- The law `{law}` does not hold: {why}" for law, why in row.exceptions.items()]
    return "## Beside the others\n\n" + "\n".join([*lines, *said]) if lines or said else ""


def _settings(settings: object) -> str:
    assert hasattr(settings, "items")
    return ", ".join(f"`{key}={value}`" for key, value in settings.items())


def _sentence(text: str) -> str:
    return _plain(text if text.endswith(".") else f"{text}.")


def _plain(text: str) -> str:
    """Text of a docstring as Markdown: what stands for itself there must do so here."""
    parts = re.split(r"(`[^`]*`|\n {4}.*)", text)
    return "".join(
        part if at % 2 else re.sub(r"([*_<>\[\]|$\\])", r"\\\1", part)
        for at, part in enumerate(parts)
    )


@cache
def _soaked() -> dict[str, dict[str, str]]:
    """What `make soak` found, by learners; of columns of one name the last counts."""
    with (RESULTS / "soak.csv").open(newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}
