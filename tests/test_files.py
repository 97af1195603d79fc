"""Readers of files: every format, plain, gzipped and piped."""

import gzip
import io
import json
import os
import sys
import threading
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from okl_flow.files import DataError, format_of, open_source
from okl_flow.labels import LabelCoder
from tests.files import FLAT, TEXTS, read, refusal, written

X = np.array([[0.5, 0.0, -2.0], [0.0, 0.0, 0.0], [1e-3, 7.0, 0.0], [3.0, 0.25, 1.5]])
Y = np.array([1.0, -1.0, np.nan, -1.0])


def piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("name", TEXTS)
def test_every_format_gives_the_same_events(tmp_path, name, packed, size):
    source = open_source(written(tmp_path, name + packed, TEXTS[name]))
    assert source.rereadable
    summary = source.scan()
    assert (summary.rows, summary.dim, source.dim) == (4, 3, 3)
    assert summary.labels.labelled == 3
    assert summary.labels.classes == (-1.0, 1.0)
    np.testing.assert_array_equal(summary.moments.minimum, X.min(axis=0))
    np.testing.assert_array_equal(summary.moments.maximum, X.max(axis=0))
    np.testing.assert_allclose(summary.moments.mean, X.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(summary.moments.deviation, X.std(axis=0), rtol=1e-15)
    for features, labels in (read(source, size=size), source.load(LabelCoder.of("binary"))):
        np.testing.assert_array_equal(features, X)
        np.testing.assert_array_equal(labels, Y)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_standard_input_is_read_without_a_first_pass(monkeypatch, name, packed):
    data = TEXTS[name].encode()
    piped(monkeypatch, gzip.compress(data) if packed else data)
    form = format_of(name)
    source = open_source("-", format=form, dim=3 if form == "libsvm" else None)
    assert not source.rereadable
    features, labels = read(source, size=2)
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(labels, Y)
    assert source.dim == 3
    assert not sys.stdin.buffer.closed


def test_a_named_pipe_is_read_like_standard_input(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TEXTS["a.csv"],))
    source = open_source(str(path))
    assert not source.rereadable
    writer.start()
    features, _labels = read(source)
    writer.join()
    np.testing.assert_array_equal(features, X)


def test_libsvm_that_goes_by_once_needs_the_dimension(monkeypatch):
    piped(monkeypatch, b"1 1:1\n")
    with pytest.raises(ValueError, match="standard input: the number of features .* must be known"):
        read(open_source("-"))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a", "libsvm"),
        ("a.gz", "libsvm"),
        ("a.libsvm", "libsvm"),
        ("a.svm.gz", "libsvm"),
        ("a.TXT", "libsvm"),
        ("x.y/a", "libsvm"),
        ("-", "libsvm"),
        ("a.csv", "csv"),
        ("a.CSV.GZ", "csv"),
        ("a.jsonl.gz", "jsonl"),
        ("a.ndjson", "jsonl"),
    ],
)
def test_the_suffix_says_the_format(name, form):
    assert format_of(name) == form


def test_an_unknown_suffix_or_format_is_refused(tmp_path):
    path = written(tmp_path, "a.parquet", "1 1:1\n")
    with pytest.raises(DataError, match="'.parquet' says nothing"):
        open_source(path)
    assert open_source(path, format="libsvm").scan().rows == 1
    with pytest.raises(DataError, match="no format 'cvs'; did you mean 'csv'"):
        open_source(path, format="cvs")


def test_the_label_may_have_another_name(tmp_path):
    source = open_source(written(tmp_path, "a.csv", "y,p\n1,5\n0,6\n"), label="y")
    np.testing.assert_array_equal(read(source)[1], [1, -1])
    source = open_source(
        written(tmp_path, "a.jsonl", '{"y":true,"p":5}\n{"y":false,"p":6}'), label="y"
    )
    np.testing.assert_array_equal(read(source)[1], [1, -1])


@pytest.mark.parametrize(
    ("name", "first"), [("a", "1 1:1"), ("a.csv", "p,label\n1,1"), ("a.jsonl", FLAT)]
)
def test_packed_data_that_are_cut_are_refused_where_they_end(tmp_path, name, first):
    more = {"a": "1 1:%d\n", "a.csv": "%d,1\n", "a.jsonl": '{"p":%d,"q":1,"label":1}\n'}[name]
    numbers = np.random.default_rng(0).integers(0, 10**9, 20_000)
    text = first.rstrip() + "\n" + "".join(more % number for number in numbers)
    packed = gzip.compress(text.encode())
    path = tmp_path / name
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=r"line (\d+): cannot read on, .* cut or damaged") as caught:
        open_source(str(path)).scan()
    line = int(str(caught.value).partition("line ")[2].partition(":")[0])
    assert 5_000 < line < 15_000


def test_packed_data_that_are_damaged_are_refused(tmp_path):
    packed = bytearray(gzip.compress(TEXTS["a.csv"].encode()))
    packed[-6] ^= 1
    path = tmp_path / "a.csv.gz"
    path.write_bytes(packed)
    with pytest.raises(DataError, match="cut or damaged: CRC"):
        open_source(str(path)).scan()


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_an_empty_file_is_refused(tmp_path, name, text):
    assert refusal(tmp_path, name, text) == "there are no events in it"
    assert refusal(tmp_path, "a.csv", "") == "there are no events in it"
    assert refusal(tmp_path, "a.jsonl", "\n") == "there are no events in it"


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="absent: no such file or directory"):
        open_source(str(tmp_path / "absent"))
    with pytest.raises(DataError, match="it is a directory"):
        open_source(str(tmp_path))
    path = written(tmp_path, "gone", "1 1:1\n")
    source = open_source(path)
    os.remove(path)
    with pytest.raises(DataError, match="gone: no such file"):
        source.scan()


def test_a_batch_must_have_events(tmp_path):
    source = open_source(written(tmp_path, "a", "1 1:1\n"), dim=1)
    with pytest.raises(ValueError, match="at least 1 event, not 0"):
        read(source, size=0)


@pytest.mark.parametrize(
    ("name", "line"), [("a", "1 1:1\n"), ("a.csv", "1,1\n"), ("a.jsonl", FLAT)]
)
def test_lines_of_many_batches_keep_their_numbers(tmp_path, name, line):
    """Blank lines and comments are counted, and so are those of earlier batches."""
    header = {"a": "# hello\n", "a.csv": "p,label\n", "a.jsonl": "\n"}[name]
    text = header + (line + "\n") * 50 + line.replace("1", "x") + "\n"
    source = open_source(written(tmp_path, name, text))
    with pytest.raises(DataError, match=r", line 102, "):
        if name == "a":
            source.dim = 1
        read(source, size=7)


def test_memory_does_not_grow_with_the_file(tmp_path):
    numbers = np.random.default_rng(0).random((40_000, 5))
    text = "".join(
        "1 " + " ".join(f"{i}:{v}" for i, v in enumerate(row, 1)) + "\n" for row in numbers
    )
    peaks = []
    for count in (10_000, 40_000):
        source = open_source(written(tmp_path, "a", "".join(text.splitlines(True)[:count])))
        tracemalloc.start()
        source.scan()
        for _ in source.batches(LabelCoder.of("binary"), 1000):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_progress_is_told(tmp_path):
    source = open_source(written(tmp_path, "a.csv", TEXTS["a.csv"]))
    told = []
    source.scan(told.append)
    source.load(LabelCoder.of("binary"), told.append)
    assert told == [4, 4]


def test_numbers_are_those_of_python(tmp_path):
    """Every digit counts, in all formats."""
    generator = np.random.default_rng(1)
    values = generator.normal(size=(200, 3)) * 10.0 ** generator.uniform(-300, 300, (200, 3))
    rows = values.tolist()
    libsvm = (" ".join(f"{i}:{value!r}" for i, value in enumerate(row, 1)) for row in rows)
    texts = {
        "a": "".join(f"1 {line}\n" for line in libsvm),
        "a.csv": "p,q,r,label\n" + "".join(",".join(map(repr, row)) + ",1\n" for row in rows),
        "a.jsonl": "".join(json.dumps({"features": row, "label": 1}) + "\n" for row in rows),
    }
    for name, text in texts.items():
        source = open_source(written(tmp_path, name, text))
        source.scan()
        np.testing.assert_array_equal(read(source)[0], values)


def test_a_reader_left_half_way_may_outlive_standard_input(monkeypatch):
    raw = io.BytesIO(b"1 1:2\n-1 1:3\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    batches = open_source("-", dim=1).batches(LabelCoder.of("binary", None), 1)
    next(batches)
    raw.close()
    batches.close()
