"""The site of the documents: it is whole, works without a network, and is refused if it is not."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.book.building import DOCS, BookError, build
from docs.book.learners import learner_page
from docs.book.navigation import chapters
from okl_flow.registry import REGISTRY

FETCHED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page is made of: names of places, links, and what it has a browser fetch."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.fetched = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in FETCHED and given.get(FETCHED[tag]):
            self.fetched.append(given[FETCHED[tag]])


def test_the_site_is_whole_and_needs_no_network(tmp_path):
    build(tmp_path / "site")
    pages = {path: Page(path) for path in (tmp_path / "site").rglob("*.html")}
    documents = [page for chapter in chapters((DOCS / "index.md").read_text())
                 for page in chapter.pages]  # fmt: skip
    learners = [f"learners/{name}.md" for name in REGISTRY]
    for name in (*documents, *learners, "reference/commands.md", "measured/compare.md"):
        assert (tmp_path / "site" / name).with_suffix(".html") in pages
    followed = 0
    for path, page in pages.items():
        for address in (*page.links, *page.fetched):
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                assert address not in page.fetched, f"{path} fetches {address}"
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            assert target.is_file(), f"{path} leads to {address}"
            anchor = unquote(parts.fragment)
            known = pages[target].ids if target in pages else set()
            assert not anchor or anchor in known, f"{path} leads to {address}"
            followed += 1
    assert followed > 1000


def test_a_learners_page_has_all_that_is_known_of_it():
    for name, row in REGISTRY.items():
        page = learner_page(name)
        for part in ("Formula", "Parameters", "Cost", "Example", "Error, measured"):
            assert f"\n## {part}\n" in page, f"{name} has no {part}"
        assert "Not measured yet" not in page
        for parameter in row.settings:
            assert f"\n| `{parameter}` | " in page, f"{name}: {parameter}"
        assert page.count("of the kernel |") <= 1, name  # its bandwidth


def test_documents_name_files_that_are_there():
    for page in (*DOCS.glob("*.md"), DOCS.parent / "README.md"):
        folder = Path("tests")
        for name in re.findall(r"`((?:tests/)?[\w/]*\w\.py|tests/[\w/]+/?)`", page.read_text()):
            if name.startswith("tests/"):
                folder = Path(name) if name.endswith("/") else Path(name).parent
                assert (DOCS.parent / name).exists(), f"{page.name}: {name}"
            elif name.startswith("test_"):
                found = [DOCS.parent / folder / name, DOCS.parent / "tests" / "kafka" / name]
                assert any(one.is_file() for one in found), f"{page.name}: {name}"


DOCUMENTS = {"index.md": "# A\n\n## How\n\n- [One](one.md)\n", "one.md": "# One\n\n## Two\n"}


def made_of(folder, **texts):
    docs = folder / "docs"
    docs.mkdir()
    for name, text in {**DOCUMENTS, **texts}.items():
        (docs / name).write_text(text)
    build(folder / "site", docs, dict)
    return Path(folder, "site")


def test_documents_become_a_site(tmp_path):
    text = "# One\n\n## A place\n\n[above](#a-place) [A](index.md#how) [all](../Makefile)\n"
    site = made_of(tmp_path, **{"one.md": text})
    assert "a-place" in Page(site / "one.html").ids
    [copy] = site.rglob("Makefile")
    assert copy.read_text() == (DOCS.parent / "Makefile").read_text()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"one.md": "# One\n\n[two](two.md)\n"}, "one.md:3: WARNING.*two.md"),
        ({"one.md": "# One\n\n[three](index.md#three)\n"}, "one.md:3: WARNING.*three"),
        ({"one.md": "# One\n\n[gone](../gone.md)\n"}, "one.md:3: WARNING.*gone.md"),
        ({"one.md": "# One\n\n![none](none.png)\n"}, "image file not readable: none.png"),
        ({"two.md": "# Two\n"}, "docs/two.md is in no list of docs/index.md"),
        ({"index.md": "# A\n\n## How\n\n- [T](two.md)\n- [One](one.md)\n"}, "two"),
    ],
)
def test_what_leads_nowhere_is_refused(tmp_path, texts, words):
    with pytest.raises(BookError, match=words):
        made_of(tmp_path, **texts)
    assert not (tmp_path / "site").exists()
