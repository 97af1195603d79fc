"""Files followed as they grow."""

import os

from okl_flow.page.lines import Lines


def values(lines):
    return [one.value for one in lines.poll(100, 0.0)]


def test_lines_come_when_they_are_whole(tmp_path):
    path = tmp_path / "reports.jsonl"
    lines = Lines([path])
    assert values(lines) == []
    assert [one.partitions for one in lines.standing()] == [0]
    path.write_bytes(b'{"a": 1}\n\n{"b"')
    assert values(lines) == [b'{"a": 1}']
    with path.open("ab") as file:
        file.write(b": 2}\n")
    assert values(lines) == [b'{"b": 2}']
    [standing] = lines.standing()
    assert (standing.partitions, standing.read) == (1, standing.total)


def test_a_file_that_is_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"one\ntwo\n")
    lines = Lines([path])
    assert values(lines) == [b"one", b"two"]
    path.write_bytes(b"new\n")
    assert values(lines) == [b"new"]
    path.unlink()
    assert values(lines) == []
    path.write_bytes(b"another file of this name\n")
    assert values(lines) == [b"another file of this name"]


def test_a_long_file_comes_in_parts(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"".join(b"%d\n" % n for n in range(300_000)))
    lines, found = Lines([path]), []
    while some := values(lines):
        assert len(some) <= 100
        found += some
    assert found == [b"%d" % n for n in range(300_000)]


def test_the_time_of_a_line_is_that_of_its_file(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"one\n")
    os.utime(path, (1_790_000_000, 1_790_000_000))
    [line] = Lines([path]).poll(10, 0.0)
    assert line.time == 1_790_000_000_000
