"""The lines of a file, whatever TOML it has."""

import pytest

from okl_flow.job.text import JobText, TextError

TEXT = '''\
# [not.a.table]
flow = "a:b" # [neither]

[source]
events = [
  "a", # features = 3
  "b",
]
"format" = { name = "float32", label = "last" }
schema = """
[learner]
budget = 1
"""
features.count = 3
[learners."old one"]
name = "arow"
[[many]]
key = 1
'''


@pytest.fixture
def text(tmp_path):
    """A file's text."""

    def read(words):
        (tmp_path / "a.toml").write_text(words)
        return JobText(tmp_path / "a.toml")

    return read


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("flow", 2),
        ("source", 4),
        ("source.events", 5),
        ("source.format", 9),
        ("source.format.label", 9),
        ("source.schema", 10),
        ("source.features.count", 14),
        ("learners.old one", 15),
        ("learners.old one.name", 16),
        ("many.key", 18),
        ("learner", 0),
        ("learner.budget", 0),
    ],
)
def test_every_key_knows_its_line(path, line, text):
    found = text(TEXT)
    assert found.errors == []
    assert found.line(path) == line


def test_what_is_not_there_is_where_its_section_is(text):
    found = text(TEXT)
    assert found.line("source.tail") == 4
    assert found.place("source.tail") == f"{found.path}, line 4: source.tail"
    assert found.place("run.epoch") == f"{found.path}: run.epoch"


def test_several_lines_that_are_no_toml_are_all_told_and_the_rest_is_read(text):
    found = text("a = 1\nb =\n[c]\nd = 2\ne = ]\nf = 3\n")
    assert [line for line, _message in found.errors] == [2, 5]
    assert found.values == {"a": 1, "c": {"d": 2, "f": 3}}
    assert found.line("c.f") == 6


def test_a_key_that_comes_twice_is_told(text):
    [(line, message)] = text("a = 1\n[b]\nc = 1\nc = 2\n").errors
    assert line == 4
    assert "Cannot overwrite" in message


def test_what_never_ends_is_told_once(text):
    for words in ('a = 1\nb = """\nc = 1\n', "a = 1\nb = [\n  1,\n"):
        [(line, _message)] = text(words).errors
        assert line == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file or directory"), (b"\xff\xfe", "expected text in UTF-8")],
)
def test_a_file_that_cannot_be_read(content, message, tmp_path):
    if content is not None:
        (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(TextError, match=f"a.toml: {message}"):
        JobText(tmp_path / "a.toml")
