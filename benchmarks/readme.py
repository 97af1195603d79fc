"""Put the tables into README and documents: from the registry, and from results/.

`python -m benchmarks.readme` rewrites what stands between the marks of the pages, and draws where
the time goes; a test holds the pages to it. No figure is typed by hand.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.report import RESULTS, markdown
from benchmarks.speed import filling
from benchmarks.speed.figures import results
from benchmarks.speed.learners import BOTH, MAIN
from benchmarks.speed.picture import draw_profile
from okl_flow.registry import REGISTRY

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
PROFILE = DOCS / "images" / "profile.svg"
COST = "spambase"  # the file on which time and bytes are told
FILES = ("elec2", "spambase", "german.numer", "svmguide3", "usps", "cpusmall")
GROUPS = {
    "expansion": "examples",
    "feature_map": "features",
    "second_order": "curvature",
    "kernel_choice": "examples, kernel",
    "linear": "weights",
}


def learners() -> str:
    """A line per learner: what it keeps, its tasks, memory, cost, speed, and where it is from."""
    speed = results("learners")
    header = ["learner", "keeps", "tasks", "memory", "work per event", "µs", "paper"]
    rows = [
        [
            f"`{name}`",
            GROUPS[row.learner.__module__.split(".")[2]],
            ", ".join(row.tasks),
            row.memory,
            row.cost,
            speed.text(MAIN.case(name), BOTH),
            row.paper,
        ]
        for name, row in REGISTRY.items()
    ]
    return markdown(header, rows, left=len(header))


def result(name: str) -> str:
    """What a benchmark wrote, without its title, up to its first section."""
    page = (RESULTS / f"{name}.md").read_text()
    return page.partition("\n\n")[2].partition("\n## ")[0].rstrip()


def neighbours() -> str:
    """The summary on the comparison's page, with its circumstances."""
    page = (RESULTS / "compare.md").read_text()
    found = re.search(r"\A[^\n]*\n\n(.*?)\n\n## Summary\n\n(.*?)(?=\n## |\Z)", page, flags=re.S)
    if found is None:
        raise SystemExit("benchmarks/results/compare.md has no summary: run `make compare`")
    return f"{found[1]}\n\n{found[2].rstrip()}"


def compared() -> Iterator[dict[str, str]]:
    """Each row of each learner on the comparison's page, by its columns, with its file."""
    page = (RESULTS / "compare.md").read_text()
    for part in page.split("\n## ")[1:]:
        file, _, rest = part.partition("\n")
        header: list[str] = []
        for line in rest.splitlines():
            cells = [one.strip() for one in line.removesuffix("|").removeprefix("|").split(" | ")]
            if cells[0] in ("learner", "peer"):
                header = cells
            elif header[:1] == ["learner"] and cells[0].startswith("`"):
                yield {"file": file, **dict(zip(header, cells, strict=True))}


def chosen() -> str:
    """Learners with their errors under "auto", on travelling examples, and what they cost."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in compared():
        found.setdefault(row["learner"].strip("`"), {})[row["file"].partition(":")[0]] = row
    with (RESULTS / "soak.csv").open() as file:  # of its two columns "last" the first
        travels = {row[0]: row[4] for row in csv.reader(file)}
    header = ["learner", *FILES, "travelling", "µs", "kB"]
    rows = []
    for name, files in found.items():
        errors = [files.get(file, {"auto": "-"})["auto"].partition(" ")[0] for file in FILES]
        size = f"{float(files[COST]['bytes'].replace(',', '')) / 1000:.0f}"
        rows.append([f"`{name}`", *errors, travels.get(name, "-"), files[COST]["µs"], size])
    rows.sort(key=lambda row: float(row[1 + FILES.index(COST)]))
    return markdown(header, rows)


def _between(content: str, marks: re.Match[str]) -> str:
    return marks[1] + content + "\n" + marks[2]


def filled(text: str, contents: Mapping[str, Callable[[], str]]) -> str:
    """A page with every marked place filled in."""
    for mark, content in contents.items():
        pattern = rf"(<!-- {mark}: [^>]*-->\n).*?(<!-- end -->)"
        text, count = re.subn(pattern, partial(_between, content()), text, flags=re.S)
        if count != 1:
            raise SystemExit(f"expected one mark {mark!r}, found {count}")
    return text


PAGES: dict[Path, dict[str, Callable[[], str]]] = {
    README: {
        "learners": learners,
        "compare": neighbours,
        "speed": partial(result, "learners"),
        "peers": partial(result, "peers"),
    },
    DOCS / "choosing.md": {"figures": chosen},
    DOCS / "speed.md": filling.CONTENTS,
}

if __name__ == "__main__":
    for page, contents in PAGES.items():
        page.write_text(filled(page.read_text(), contents))
    draw_profile(results("profile"), PROFILE)
