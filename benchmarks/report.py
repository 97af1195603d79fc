"""Where and with what a measurement was taken, and how it is written down."""

import csv
import datetime
import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "scipy", "numba", "river")


def circumstances(packages: Sequence[str] = PACKAGES) -> str:
    """Date, commit, machine and versions, in a line."""
    commit = _git("describe", "--always")
    # What the benchmarks themselves have written since is no other code.
    if _git("status", "--porcelain", "--", "*.py", "pyproject.toml"):
        commit += "-dirty"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    date = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"{date}, commit {commit or 'unknown'}, {processor()}, "
        f"Python {platform.python_version()}, {versions}"
    )


def _git(*words: str) -> str:
    root = Path(__file__).parents[1]
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def processor() -> str:
    """The name of the processor, as far as the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A table: so many columns to the left, the others to the right."""
    marks = ["---" if column < left else "---:" for column in range(len(header))]
    lines = [header, marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(
    name: str,
    title: str,
    text: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    more: str = "",
    packages: Sequence[str] = PACKAGES,
) -> None:
    """Write a table as Markdown, with more below it, and as CSV into benchmarks/results/."""
    RESULTS.mkdir(exist_ok=True)
    parts = [f"# {title}", circumstances(packages), text, markdown(header, rows), more]
    page = "\n\n".join(part for part in parts if part) + "\n"
    (RESULTS / f"{name}.md").write_text(page)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(page)
    print(f"written to benchmarks/results/{name}.md and {name}.csv")
