"""What a part says, and how it is written down: its figures as CSV, and a page beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import PACKAGES, circumstances
from benchmarks.speed.figures import Figures

__all__ = ["Report", "write_report"]


@dataclass(frozen=True)
class Report:
    """A part, measured."""

    figures: Figures
    title: str
    sections: Sequence[str]  # of the page, in Markdown
    packages: Sequence[str] = PACKAGES


def write_report(report: Report, folder: Path, remark: str) -> None:
    """Write the figures and the page into a folder; the remark is about the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    report.figures.write(folder)
    head = [f"# {report.title}", f"{circumstances(report.packages)}; {remark}"]
    page = "\n\n".join([*head, *report.sections]) + "\n"
    (folder / f"{report.figures.part}.md").write_text(page)
