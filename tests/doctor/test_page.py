"""The page about the doctor: it names every check that there is, and no other."""

import re
from pathlib import Path

import okl_flow

ROOT = Path(okl_flow.__file__).parents[1]


def test_the_page_has_each_check():
    code = "".join(path.read_text() for path in (ROOT / "okl_flow" / "doctor").glob("*.py"))
    checks = set(re.findall(r'(?:fine|warning|problem|made)\(\s*"([a-z.]+)"', code))
    table = (ROOT / "docs" / "doctor.md").read_text().partition("## What is looked at")[2]
    lines = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall("`([a-z.]+)`", "".join(lines))) == checks
