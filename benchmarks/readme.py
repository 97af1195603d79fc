"""Put the tables into the README: the learners from the registry, figures from results/.

`python -m benchmarks.readme` rewrites what stands between the marks; a test holds the README to
it. No figure is typed by hand.
"""

import csv
import re
from functools import partial
from pathlib import Path

from benchmarks.report import RESULTS, markdown
from okl_flow.registry import REGISTRY

README = Path(__file__).parents[1] / "README.md"
GROUPS = {
    "expansion": "examples",
    "feature_map": "features",
    "second_order": "curvature",
    "kernel_choice": "examples, kernel",
    "linear": "weights",
}


def learners() -> str:
    """A line per learner: what it keeps, its tasks, memory, cost, speed, and where it is from."""
    with (RESULTS / "learners.csv").open() as file:
        speed = {row["learner"]: row["score + learn, µs"] for row in csv.DictReader(file)}
    header = ["learner", "keeps", "tasks", "memory", "work per event", "µs", "paper"]
    rows = [
        [
            f"`{name}`",
            GROUPS[row.learner.__module__.split(".")[2]],
            ", ".join(row.tasks),
            row.memory,
            row.cost,
            speed.get(name, "-"),
            row.paper,
        ]
        for name, row in REGISTRY.items()
    ]
    return markdown(header, rows, left=len(header))


def result(name: str) -> str:
    """What a benchmark wrote, without its title."""
    page = (RESULTS / f"{name}.md").read_text()
    return page.partition("\n\n")[2].rstrip()


def neighbours() -> str:
    """The summary on the comparison's page, with its circumstances."""
    page = (RESULTS / "compare.md").read_text()
    found = re.search(r"\A[^\n]*\n\n(.*?)\n\n## Summary\n\n(.*?)(?=\n## |\Z)", page, flags=re.S)
    if found is None:
        raise SystemExit("benchmarks/results/compare.md has no summary: run `make compare`")
    return f"{found[1]}\n\n{found[2].rstrip()}"


def headlines() -> str:
    """The headlines on the papers' page, without their title."""
    page = (RESULTS / "papers.md").read_text()
    found = re.search(r"## Headlines\n\n(.*?)(?=\n## |\Z)", page, flags=re.S)
    if found is None:
        raise SystemExit("benchmarks/results/papers.md has no headlines: run `make papers`")
    return found[1].rstrip()


def _between(content: str, marks: re.Match[str]) -> str:
    return marks[1] + content + "\n" + marks[2]


def filled(text: str) -> str:
    """The README with every marked place filled in."""
    contents = {
        "learners": learners(),
        "compare": neighbours(),
        "accuracy": result("accuracy"),
        "speed": result("learners"),
        "systems": result("systems"),
        "headlines": headlines(),
    }
    for mark, content in contents.items():
        pattern = rf"(<!-- {mark}: [^>]*-->\n).*?(<!-- end -->)"
        text, count = re.subn(pattern, partial(_between, content), text, flags=re.S)
        if count != 1:
            raise SystemExit(f"README.md: expected one mark {mark!r}, found {count}")
    return text


if __name__ == "__main__":
    README.write_text(filled(README.read_text()))
