"""The tutorial works as printed: its programs, its commands in their order, and what they print."""

import re

from tests.dataflows.conftest import ROOT
from tests.dataflows.test_commands import BROKERS, check
from tests.kafka.flows import unique

PAGE = ROOT / "docs" / "tutorial.md"
KINDS = {"sh", "python", "console"}  # what is set up, programs, and commands


def blocks(kind, text):
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.S | re.M)


def test_the_tutorial_works_as_printed(broker, folder):
    name = unique("visits")
    text = PAGE.read_text().replace(BROKERS, broker).replace("visits", name)
    for program in blocks("python", text):
        path = re.match(r"# (\w+\.py)\n", program)[1]
        (folder.path / path).write_text(program)
    check(folder, "".join(blocks("console", text)), OKL_NAME=name)
    assert (folder.path / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert "finished" in (folder.path / "resumed").read_text()
    assert "finished" not in (folder.path / "killed").read_text()


def test_what_is_set_up_is_what_the_makefile_makes():
    text = PAGE.read_text()
    assert set(re.findall(r"^```(\w+)$", text, flags=re.M)) == KINDS
    make, activate = blocks("sh", text)
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{make.split()[1]}: kafka", makefile, flags=re.M)
    assert re.search(r"^VENV := \.venv$", makefile, flags=re.M)
    assert activate == ". .venv/bin/activate\n"
