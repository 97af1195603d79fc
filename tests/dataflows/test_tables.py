"""The pages' tables of settings are those of the code: `python -m tests.dataflows.test_tables`
writes them anew."""

import importlib
import re
from pathlib import Path

import pytest

from dataflows.sections import Learning, State, Stored
from dataflows.settings import Settings
from okl_flow.job import RunSettings, declared
from okl_flow.job.table import default_of, markdown_of

DOCS = Path(__file__).parents[2] / "docs"
FLOWS = ("classify", "regress", "per_user", "choose_kernel", "compare")


def own(flow):
    """The settings that a flow has besides those of all."""
    common = {one.path for base in (Settings, State, Learning) for one in declared(base)}
    return [one for one in of(flow) if one.path not in common]


def of(flow):
    return declared(importlib.import_module(f"dataflows.{flow}").flow.settings)


def defaults():
    """What holds by default in a flow, if it is not what holds in all."""
    common = {one.path: one for base in (Settings, State, Learning) for one in declared(base)}
    rows = ["| flow | | by default |", "|---|---|---|"]
    for flow in FLOWS:
        for one in of(flow):
            if one.path in common and one.default != common[one.path].default:
                rows.append(f"| `{flow}` | `{one.path}` | `{default_of(one)}` |")
    return "\n".join(rows) + "\n"


TABLES = {
    ("running.md", "run"): lambda: markdown_of(declared(RunSettings)),
    ("dataflows.md", "all"): lambda: markdown_of(declared(Settings)),
    ("dataflows.md", "learner"): lambda: markdown_of(declared(Learning)),
    ("dataflows.md", "stored"): lambda: markdown_of(declared(Stored)),
    ("dataflows.md", "keyed"): lambda: markdown_of(
        one for one in declared(State) if one not in declared(Stored)
    ),
    ("dataflows.md", "choose_kernel"): lambda: markdown_of(own("choose_kernel")),
    ("dataflows.md", "compare"): lambda: markdown_of(own("compare")),
    ("dataflows.md", "defaults"): defaults,
}


def marked(name):
    return re.compile(rf"(<!-- table: {name} -->\n\n)([^<]*)(<!-- end -->)", flags=re.S)


@pytest.mark.parametrize(("page", "name"), TABLES)
def test_a_table_is_that_of_the_code(page, name):
    [(_begin, shown, _end)] = marked(name).findall((DOCS / page).read_text())
    assert shown == TABLES[page, name]() + "\n"


def test_every_flow_has_nothing_that_no_table_shows():
    assert [flow for flow in FLOWS if own(flow)] == ["choose_kernel", "compare"]
    for flow in FLOWS:
        paths = {one.path for one in of(flow)}
        assert {"source.events", "labels.wait", "state.dir", "evaluation.window"} <= paths


if __name__ == "__main__":
    for (page, name), table in TABLES.items():
        path = DOCS / page
        path.write_text(
            marked(name).sub(lambda m, t=table: f"{m[1]}{t()}\n{m[3]}", path.read_text())
        )
