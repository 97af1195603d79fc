"""Readers of libsvm: its dimension, its damage, and its short way."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from okl_flow.files import DataError, open_source
from okl_flow.formats import base
from okl_flow.formats.base import Lines
from okl_flow.formats.libsvm import LibsvmParser, well_formed
from okl_flow.labels import LabelCoder
from tests.files import TEXTS, read, refusal, written


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
