"""Readers of CSV: its quotes and its damage."""

import numpy as np
import pytest

from okl_flow.files import open_source
from tests.files import read, refusal, written


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
