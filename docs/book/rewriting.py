"""Links of the documents as they stand in the repository, made to lead somewhere in the site."""

import re
import shutil
from functools import partial
from pathlib import Path

__all__ = ["relinked"]

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(!?\[[^\]]*\]\()((?:\.\./)+)([^)#\s]+)(#[^)\s]+)?\)")
_BARE = re.compile(r"\[(?:docs/)?(\w+\.md)\]\((\1(?:#[\w-]+)?)\)")  # Sphinx puts the title there
_MEASURED = "benchmarks/results/"


def relinked(text: str, page: Path, source: Path) -> str:
    """The text of a page, whose links out of the folder of documents lead to copies in it.

    A link that names a file names its title instead.
    """
    return _BARE.sub(r"[](\2)", _LINK.sub(partial(_target, page, source), text))


def _target(page: Path, source: Path, link: re.Match[str]) -> str:
    before, climbs, path, anchor = link[1], link[2], link[3], link[4] or ""
    if climbs.count("../") < len(page.parts):
        return link[0]  # to another document
    home = "../" * (len(page.parts) - 1)
    if path.startswith(_MEASURED) and path.endswith(".md"):
        return f"{before}{home}measured/{path.removeprefix(_MEASURED)}{anchor})"
    copy = source / "files" / path
    if (ROOT / path).is_file():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, copy)
    return f"{before}{home}files/{path}{anchor})"
