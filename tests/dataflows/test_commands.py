"""The commands that the flows and docs/dataflows.md show work, and print what is shown."""

import ast
import doctest
import re
import textwrap

import pytest

from tests.dataflows.conftest import ROOT

FLOWS = ("classify", "regress", "per_user", "choose_kernel", "compare")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(block):
    """Each command of a block, and the output that is shown."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def blocks_of_flow(name):
    """The blocks of commands in what is said at the top of a flow."""
    text = ast.get_docstring(ast.parse((ROOT / "dataflows" / f"{name}.py").read_text()))
    indented = re.findall(r"(?:^    .*\n)+", text + "\n", flags=re.M)
    return [textwrap.dedent(block) for block in indented]


def blocks_of_page():
    """The parts of the page, each with the commands of its own."""
    page = (ROOT / "docs" / "dataflows.md").read_text()
    for part in page.split("\n## "):
        blocks = re.findall(r"```console\n(.*?)```", part, flags=re.S)
        if blocks:
            yield pytest.param("".join(blocks), id=part.partition("\n")[0])


def check(folder, block, **variables):
    """Run the commands of a block, and compare what they print."""
    prelude = ""
    for command, shown in examples(block):
        if command.startswith("export "):
            prelude += f"{command}\n"
            continue
        printed = folder.run(prelude + command, **variables)
        if shown:
            matches = doctest.OutputChecker().check_output(shown, printed, FLAGS)
            assert matches, f"{command}\n{printed}"


CASES = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name in FLOWS
    for number in range(len(blocks_of_flow(name)))
]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_what_a_flow_says_of_itself(name, number, folder):
    blocks = blocks_of_flow(name)
    first, shown = list(examples(blocks[0]))[:2]
    if number > 0:
        folder.run(first[0])
    if number == 1:
        folder.run(shown[0])
    check(folder, blocks[number])


def test_every_flow_shows_all_ways_to_run_it():
    for name in FLOWS:
        text = "".join(blocks_of_flow(name))
        for words in ("make-stream", "bytewax.recovery", "-r recovery", "-w 3", "-p 2", "OKL_"):
            assert words in text, f"{name} does not show {words}"


@pytest.mark.parametrize("block", list(blocks_of_page()))
def test_what_the_page_shows(block, folder):
    check(folder, block)
