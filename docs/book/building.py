"""From the documents to the site: gather the sources, and have Sphinx make pages of them."""

import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.report import RESULTS
from docs.book.navigation import BookError, chapters, tree, with_contents
from docs.book.rewriting import relinked
from docs.book.written import written

__all__ = ["BookError", "build", "gather"]

DOCS = Path(__file__).parents[1]
SETTINGS = {
    "project": "okl_flow",
    "author": "The okl_flow authors",
    "version": importlib.metadata.version("okl-flow"),
    "extensions": "myst_parser",
    "myst_heading_anchors": 4,
    "html_theme": "furo",
    "html_title": "okl_flow",
    "html_copy_source": 0,
    "html_show_copyright": 0,
    "html_show_search_summary": 0,  # a page on a disk may not fetch other pages
}


def build(
    folder: Path, docs: Path = DOCS, pages: Callable[[], Mapping[str, str]] = written
) -> None:
    """Build the site of a folder of documents and of the pages that nobody writes.

    A `BookError` names what is wrong with them.
    """
    with tempfile.TemporaryDirectory(prefix="okl-docs-") as room:
        source, made = Path(room, "source"), Path(room, "site")
        gather(source, docs, pages())
        given = [word for name, value in SETTINGS.items() for word in ("-D", f"{name}={value}")]
        words = ["-C", *given, "-q", "-W", "--keep-going", "--no-color", "-d", f"{room}/trees"]
        done = subprocess.run(  # a second Sphinx in one process finds what the first has left
            [sys.executable, "-m", "sphinx", *words, source, made],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BookError(f"Sphinx refuses them:\n{done.stdout}".replace(f"{source}/", ""))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)


def gather(source: Path, docs: Path, pages: Mapping[str, str]) -> None:
    """Put documents, further pages and what they show into a folder.

    A page `learners/kogd.md` stands in the contents below the document `learners.md`.
    """
    shutil.copytree(
        docs, source, ignore=shutil.ignore_patterns("book", "conftest.py", "__pycache__")
    )
    for name, text in pages.items():
        page = source / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text)
    for picture in RESULTS.glob("*.png"):
        copy = source / "measured" / picture.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(picture, copy)
    for page in sorted(source.rglob("*.md")):
        page.write_text(relinked(page.read_text(), page.relative_to(source), source))
    for folder in sorted({Path(name).parent for name in pages}):
        with (source / f"{folder}.md").open("a") as parent:
            parent.write(tree([name for name in pages if Path(name).parent == folder]))
    index = source / "index.md"
    documents = {path.name for path in docs.glob("*.md")} - {index.name}
    text = index.read_text()
    index.write_text(with_contents(text, chapters(text), documents))
