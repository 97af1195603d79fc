"""The table of contents: the sections of docs/index.md, and the pages that they link to."""

import re
from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["BookError", "Chapter", "chapters", "tree", "with_contents"]

_SECTION = re.compile(r"^## (.+)$", flags=re.M)
_LINK = re.compile(r"^- \[[^\]]+\]\(([\w./-]+\.md)\)", flags=re.M)


class BookError(ValueError):
    """The documents do not make a site."""


@dataclass(frozen=True)
class Chapter:
    """A section of the index, with its pages in their order."""

    title: str
    pages: tuple[str, ...]


def chapters(index: str) -> list[Chapter]:
    r"""The sections of the index that list pages.

    >>> chapters("# A\n## How to\n- [Begin](begin.md): so.\n- [End](end.md)\n")
    [Chapter(title='How to', pages=('begin.md', 'end.md'))]
    """
    _before, *parts = _SECTION.split(index)
    sections = zip(parts[::2], parts[1::2], strict=True)
    found = [Chapter(title, tuple(_LINK.findall(text))) for title, text in sections]
    return [one for one in found if one.pages]


def with_contents(index: str, found: list[Chapter], documents: Collection[str]) -> str:
    """The index with the contents that stand beside each page, of all documents."""
    listed = [page for chapter in found for page in chapter.pages]
    for page in sorted(documents):
        if page not in listed:
            raise BookError(f"docs/{page} is in no list of docs/index.md: give it a line there")
    return index + "".join(tree(chapter.pages, chapter.title) for chapter in found)


def tree(pages: Collection[str], caption: str = "") -> str:
    """Contents in the words of Sphinx, which are not shown in the page itself."""
    title = [f":caption: {caption}"] if caption else []
    return "\n".join(["", "```{toctree}", *title, ":hidden:", "", *pages, "```", ""])
