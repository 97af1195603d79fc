"""The commands that the flows and the pages on them show work, and print what is shown."""

import ast
import doctest
import re
import textwrap

import pytest

from tests.dataflows.conftest import ROOT

FLOWS = ("classify", "regress", "per_user", "choose_kernel", "compare")
PAGES = (
    "docs/dataflows.md",
    "docs/running.md",
    "docs/exactly_once.md",
    "docs/late_labels.md",
    "docs/page.md",
    "docs/plotting.md",
    "docs/recovering.md",
)
BROKERS = "localhost:9092"
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


def needs_broker(block):
    """Whether a block is for tests/kafka/test_dataflows.py to run."""
    return BROKERS in block


def blocks_of_pages(*more):
    """The parts of the pages, each with the commands of its own."""
    for name in (*PAGES, *more):
        page = (ROOT / name).read_text()
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
    for number, block in enumerate(blocks_of_flow(name))
    if not needs_broker(block)
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
        for words in (
            "make-stream",
            "bytewax.recovery",
            "-r recovery",
            "-w 3",
            "--processes 2",
            f"--brokers {BROKERS}",
            "OKL_",
        ):
            assert words in text, f"{name} does not show {words}"


@pytest.mark.parametrize(
    "block", [one for one in blocks_of_pages() if not needs_broker(one.values[0])]
)
def test_what_a_page_shows(block, folder):
    check(folder, block)
