"""Readers of files: every format, plain, gzipped and piped, and every kind of damage."""

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
from hypothesis import given
from hypothesis import strategies as st

from okl_flow.files import DataError, format_of, open_source
from okl_flow.formats import base
from okl_flow.formats.base import Lines
from okl_flow.formats.libsvm import LibsvmParser, well_formed
from okl_flow.labels import LabelCoder

X = np.array([[0.5, 0.0, -2.0], [0.0, 0.0, 0.0], [1e-3, 7.0, 0.0], [3.0, 0.25, 1.5]])
Y = np.array([1.0, -1.0, np.nan, -1.0])
TEXTS = {
    "a.libsvm": "# made by hand\n+1 1:0.5 3:-2\n\n-1\n"
    "nan 1:1e-3 2:7 # no label\n  -1 1:3 2:.25 3:1.5\n",
    "a.csv": "p,label,q,r\n0.5,1,0,-2\n0, -1 ,0,0\n1e-3,,7,0\n3,-1.0,.25,1.5\n",
    "flat.jsonl": '{"p":0.5,"label":1,"q":0,"r":-2}\n{"label":-1,"r":0,"q":0,"p":0}\n\n'
    '{"p":1e-3,"q":7,"r":0,"label":null}\n{"p":3,"q":0.25,"r":1.5,"label":-1}\n',
    "list.jsonl": '{"id":"a","features":[0.5,0,-2],"label":1}\n{"features":[0,0,0],"label":-1}\n'
    '{"features":[1e-3,7,0],"label":null}\n{"label":-1,"features":[3,0.25,1.5]}\n',
    "named.ndjson": '{"features":{"p":0.5,"q":0,"r":-2},"label":1}\n'
    '{"features":{"r":0,"q":0,"p":0},"label":-1}\n'
    '{"features":{"p":1e-3,"q":7,"r":0},"label":null}\n'
    '{"features":{"p":3,"q":0.25,"r":1.5},"label":-1}\n',
}


def written(folder, name, text):
    path = folder / name
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def read(source, task="binary", labels=None, size=1000):
    batches = list(source.batches(LabelCoder.of(task, labels), size))
    return np.concatenate([X for X, _ in batches]), np.concatenate([y for _, y in batches])


def refusal(folder, name, text, *, task="binary", **options):
    """What a file is refused for, without its path."""
    path = written(folder, name, text)
    with pytest.raises(DataError) as caught:
        source = open_source(path, **options)
        source.scan()
        read(source, task)
    message = str(caught.value)
    assert message.startswith(path)
    return message.removeprefix(path).removeprefix(", ").removeprefix(": ")


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


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1 1:0.5 2:x", "character 9: expected a finite number after the colon, found '2:x'"),
        ("1 1:0.5 2:", "character 9: expected a finite number after the colon, found '2:'"),
        ("1 1:1_0", "character 3: expected a finite number after the colon, found '1:1_0'"),
        ("1 1:nan", "character 3: expected a finite number after the colon, found '1:nan'"),
        ("1 1:-inf", "character 3: expected a finite number after the colon, found '1:-inf'"),
        ("1 1:1e999", "character 3: expected a finite number after the colon, found '1:1e999'"),
        ("1 0:1", "character 3: expected an index of at least 1, found '0:1'"),
        (
            "1 2:1 1:1",
            "character 7: expected an index above 2, as indices must ascend, found '1:1'",
        ),
        (
            "1 2:1 2:1",
            "character 7: expected an index above 2, as indices must ascend, found '2:1'",
        ),
        ("1 -1:1", "character 3: expected index:value, found '-1:1'"),
        ("1 a:1", "character 3: expected index:value, found 'a:1'"),
        ("1 :1", "character 3: expected index:value, found ':1'"),
        ("1 7", "character 3: expected index:value, found '7'"),
        ("1 1:2:3 4", "character 3: expected a finite number after the colon, found '1:2:3'"),
        ("  1:1 2:1", "character 3: expected a label before the features, found '1:1'"),
        (
            "1 1:1 99999999999999999999:1",
            "character 7: expected an index of at most 1000000, found '99999999999999999999:1'",
        ),
    ],
)
def test_damaged_libsvm_is_refused_with_its_place(tmp_path, line, problem):
    text = f"-1 1:1 2:1\n# a comment\n\n{line}\n1 1:1\n"
    assert refusal(tmp_path, "a.libsvm", text) == f"line 4, {problem}"


def test_an_index_above_the_dimension_is_refused(tmp_path):
    message = refusal(tmp_path, "a", "1 1:1\n1 1:1 4:1\n", dim=3)
    expected = "expected an index of at most 3, the number of features, found '4:1'"
    assert message == f"line 2, character 7: {expected}"


@pytest.mark.parametrize("dim", [0, 10_000_000])
def test_a_dimension_out_of_range_is_refused(tmp_path, dim):
    with pytest.raises(DataError, match="from 1 to 1000000"):
        open_source(written(tmp_path, "a", "1 1:1\n"), dim=dim)


def test_the_dimension_is_given_for_libsvm_only(tmp_path):
    with pytest.raises(DataError, match="for LIBSVM only, not csv"):
        open_source(written(tmp_path, "a.csv", TEXTS["a.csv"]), dim=3)


def test_a_given_dimension_may_exceed_the_highest_index(tmp_path):
    source = open_source(written(tmp_path, "a", "1 1:1\n0 2:1\n"), dim=5)
    assert source.scan().dim == 5
    assert read(source)[0].shape == (2, 5)


numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)
junk = st.text(alphabet="1290:.#-+e_ \tx", max_size=12)
libsvm_lines = st.one_of(
    junk,
    st.builds(
        lambda label, values: " ".join([label, *(f"{i}:{v}" for i, v in enumerate(values, 1))]),
        st.sampled_from(["1", "-1", "+1", "spam_1"]),
        st.lists(st.one_of(numbers, junk), max_size=3),
    ),
)


@given(st.lists(libsvm_lines, max_size=4), st.sampled_from([None, 2]))
def test_the_short_way_accepts_only_what_the_careful_way_does(texts, dim):
    """Whatever the lines are, both give the same rows, or the short way leaves it to the other."""
    said = [
        (number, text.encode())
        for number, text in enumerate(texts, 1)
        if text.strip() and not text.strip().startswith("#")
    ]
    quick = well_formed([line for _number, line in said], dim)
    try:
        careful = LibsvmParser(dim)._careful(Lines(io.BytesIO(), "x"), said)
    except DataError:
        assert quick is None
    else:
        assert quick is None or quick == careful


@given(st.lists(numbers, min_size=1, max_size=5))
def test_well_formed_libsvm_takes_the_short_way(values):
    line = " ".join(["1", *(f"{i}:{v}" for i, v in enumerate(values, 1))]).encode()
    rows = well_formed([line], None)
    assert rows is not None
    assert rows.values == [float(value) for value in values]


def test_very_wide_rows_come_in_smaller_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "_CELLS_MAX", 1000)
    text = "".join(f"1 {400 if i == 5 else 1}:{i}\n" for i in range(20))
    source = open_source(written(tmp_path, "a", text))
    assert source.scan().dim == 400
    sizes = [y.shape[0] for _, y in source.batches(LabelCoder.of("binary"), 100)]
    assert sizes == [2] * 10
    np.testing.assert_array_equal(read(source)[0].sum(axis=1), np.arange(20))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("p,label\n1,1\nx,1\n", "line 3, column 1 ('p'): expected a finite number, found 'x'"),
        ("p,label\n1,1\n1_0,1\n", "line 3, column 1 ('p'): expected a finite number, found '1_0'"),
        ("p,label\n,1\n", "line 2, column 1 ('p'): expected a finite number, found ''"),
        ("p,label\n1,1\nnan,1\n", "line 3, column 1 ('p'): expected a finite number, found 'nan'"),
        (
            "p,label\n1,1\n\ninf,1\n",
            "line 4, column 1 ('p'): expected a finite number, found 'inf'",
        ),
        ("p,label\n1,1\n1\n", "line 3, column 2: expected 2 cells as in the header, found 1"),
        ("p,label\n1,1\n1,1,2\n", "line 3, column 3: expected 2 cells as in the header, found 3"),
        ("p,p,label\n", "line 1, column 2: a second column is named 'p'"),
        ("label\n1\n", "line 1: there are no features, only the label 'label'"),
        (
            "p,class\n1,1\n",
            "line 1: no column is named 'label'; the columns are 'p', 'class'; "
            "name the one that is the label",
        ),
        (
            "0.5,1\n1,1\n",
            "line 1: no column is named 'label'; the columns are '0.5', '1'; "
            "the first line must be a header with names",
        ),
        (
            "p;label\n1;1\n",
            "line 1: no column is named 'label'; the columns are 'p;label'; "
            "cells must be separated by commas",
        ),
        (
            'p,label\n1,1\n"1"2,1\n',
            "line 3: expected comma-separated values: ',' expected after '\"'",
        ),
        ('p,label\n1,1\n"1,1\n', "line 3: expected comma-separated values: unexpected end of data"),
        (b"p,label\n1,1\n\xff,1\n", "line 3, byte 1: expected text in UTF-8, found the byte 0xff"),
        ("p,label\n", "there are no events in it"),
        (
            "p,label\n1,maybe\n",
            "line 2, column 2 ('label'): expected one of the labels -1, 0, 1, found 'maybe'",
        ),
    ],
)
def test_damaged_csv_is_refused_with_its_place(tmp_path, text, problem):
    assert refusal(tmp_path, "a.csv", text) == problem


def test_csv_may_be_quoted_spaced_and_marked_as_utf8(tmp_path):
    text = b'\xef\xbb\xbf"p, or so", label ,q\r\n"1", "a,b", 2\r\n3,c_d,4\r\n'
    source = open_source(written(tmp_path, "a.csv", text))
    assert source.scan().labels.classes == ("a,b", "c_d")
    features, labels = read(source, labels=["a,b", "c_d"])
    np.testing.assert_array_equal(features, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(labels, [-1, 1])


def test_the_label_may_have_another_name(tmp_path):
    source = open_source(written(tmp_path, "a.csv", "y,p\n1,5\n0,6\n"), label="y")
    np.testing.assert_array_equal(read(source)[1], [1, -1])
    source = open_source(
        written(tmp_path, "a.jsonl", '{"y":true,"p":5}\n{"y":false,"p":6}'), label="y"
    )
    np.testing.assert_array_equal(read(source)[1], [1, -1])


FLAT, LIST, NAMED = (
    '{"p":1,"q":2,"label":1}\n',
    '{"features":[1,2],"label":1}\n',
    '{"features":{"p":1,"q":2},"label":1}\n',
)


@pytest.mark.parametrize(
    ("first", "line", "place", "problem"),
    [
        (FLAT, '{"p":1,"label":1}', "", "feature 'q' is missing, which the first record has"),
        (
            FLAT,
            '{"p":1,"q":2,"s":3,"label":1}',
            "",
            "feature 's' is one that the first record does not have",
        ),
        (FLAT, '{"p":1,"q":"2","label":1}', "feature 'q'", "expected a finite number, found '2'"),
        (FLAT, '{"p":1,"q":null,"label":1}', "feature 'q'", "expected a finite number, found null"),
        (FLAT, '{"p":1,"q":true,"label":1}', "feature 'q'", "expected a finite number, found true"),
        (FLAT, '{"p":1,"q":[2],"label":1}', "feature 'q'", "expected a finite number, found [2]"),
        (
            FLAT,
            '{"p":1,"q":2}',
            "",
            "there is no field 'label'; null says that an event has no label",
        ),
        (FLAT, '{"p":1,"q":2,"label":[1]}', "field 'label'", "expected a label, found [1]"),
        (
            FLAT,
            '{"p":1,"q":2,"label":7}',
            "field 'label'",
            "expected one of the labels -1, 0, 1, found '7'",
        ),
        (
            FLAT,
            '{"p":1,"q":2,"label":1}}',
            "character 24",
            "expected a JSON object: JSON is malformed: trailing characters",
        ),
        (
            FLAT,
            '{"p":NaN}',
            "character 6",
            "expected a JSON object: JSON is malformed: invalid character",
        ),
        (FLAT, '{"p":1e999,"q":1}', "", "expected a JSON object: Number out of range"),
        (FLAT, "[1,2,3]", "", "expected a JSON object, found [1,2,3]"),
        (FLAT, '"text"', "", "expected a JSON object, found 'text'"),
        (
            LIST,
            '{"features":[1],"label":1}',
            "field 'features'",
            "expected 2, as in the first record, found 1",
        ),
        (
            LIST,
            '{"features":{"p":1},"label":1}',
            "field 'features'",
            'expected a list, as in the first record, found {"p":1}',
        ),
        (
            LIST,
            '{"label":1}',
            "field 'features'",
            "expected a list, as in the first record, found null",
        ),
        (
            LIST,
            '{"features":[1,"x"],"label":1}',
            "feature 2",
            "expected a finite number, found 'x'",
        ),
        (LIST, '{"features":[1,[]],"label":1}', "feature 2", "expected a finite number, found []"),
        (
            NAMED,
            '{"features":[1,2],"label":1}',
            "field 'features'",
            "expected an object, as in the first record, found [1,2]",
        ),
        (
            NAMED,
            '{"features":{"p":1},"label":1}',
            "",
            "feature 'q' is missing, which the first record has",
        ),
        (
            NAMED,
            '{"features":{"p":1,"q":2,"s":3},"label":1}',
            "",
            "feature 's' is one that the first record does not have",
        ),
        (
            NAMED,
            '{"features":{"p":1,"q":false},"label":1}',
            "feature 'q'",
            "expected a finite number, found false",
        ),
    ],
)
def test_damaged_json_lines_are_refused_with_their_place(tmp_path, first, line, place, problem):
    where = f"line 3, {place}" if place else "line 3"
    assert refusal(tmp_path, "a.jsonl", f"{first}\n{line}\n{first}") == f"{where}: {problem}"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            '{"p":1,"class":1}',
            "no field is named 'label'; the fields are 'p', 'class'; "
            "name the one that is the label",
        ),
        ('{"label":1}', "there are no features"),
        ('{"features":[],"label":1}', "there are no features"),
        ('{"features":{},"label":1}', "there are no features"),
    ],
)
def test_the_first_record_must_say_what_there_is(tmp_path, line, problem):
    assert refusal(tmp_path, "a.jsonl", line) == f"line 1: {problem}"


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("line", ['{"p":%s,"label":1}', '{"p":1,"label":%s}'])
def test_a_whole_number_beyond_all_floats_is_refused(tmp_path, line, digits):
    text = '{"p":1,"label":1}\n' + line % ("9" * digits)
    message = refusal(tmp_path, "a.jsonl", text, task="regression")
    assert message.startswith("line 2")
    assert "expected a" in message


def test_a_deep_or_undecodable_record_is_refused(tmp_path):
    assert refusal(tmp_path, "a.jsonl", "[" * 100_000).startswith("line 1: expected a JSON object")
    assert refusal(tmp_path, "a.jsonl", b'{"\xff":1}').startswith("line 1: expected a JSON object")


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
