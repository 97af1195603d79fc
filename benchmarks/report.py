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


def circumstances() -> str:
    """Date, commit, machine and versions, in a line."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    date = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"{date}, commit {commit or 'unknown'}, {processor()}, "
        f"Python {platform.python_version()}, {versions}"
    )


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
    name: str, title: str, text: str, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Write a table as Markdown and as CSV into benchmarks/results/."""
    RESULTS.mkdir(exist_ok=True)
    page = f"# {title}\n\n{circumstances()}\n\n{text}\n\n{markdown(header, rows)}\n"
    (RESULTS / f"{name}.md").write_text(page)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(page)
    print(f"written to benchmarks/results/{name}.md and {name}.csv")
