"""Features that are missing in a file, from the reader to the learner's counter."""

import json

import numpy as np
import pytest

from okl_flow.files import DataError, open_source
from okl_flow.labels import LabelCoder

CSV = "a,b,label\n1,2,1\n,3,-1\n4,nan,1\n5,NULL,-1\n2,1,1\n"
JSON_LINES = [
    {"features": [1, 2], "label": 1},
    {"features": [None, 3], "label": -1},
    {"features": [4, None], "label": 1},
    {"features": [5, None], "label": -1},
    {"features": [2, 1], "label": 1},
]
EXPECTED = [[1, 2], [np.nan, 3], [4, np.nan], [5, np.nan], [2, 1]]


@pytest.fixture(params=["csv", "jsonl"])
def file(request, tmp_path):
    path = tmp_path / f"events.{request.param}"
    path.write_text(CSV if request.param == "csv" else "\n".join(map(json.dumps, JSON_LINES)))
    return str(path)


def test_missing_features_are_nan_by_choice(file):
    coder = LabelCoder.of("binary", None)
    X, y = open_source(file, may_miss=True).load(coder)
    np.testing.assert_array_equal(X, EXPECTED)
    assert y.tolist() == [1, -1, 1, -1, 1]
    with pytest.raises(DataError, match="line [23].*expected a finite number, found"):
        open_source(file).load(coder)


def test_a_word_is_no_missing_feature(tmp_path):
    for name, text in (("a.csv", "a,label\nnone,1\n"), ("a.jsonl", '{"a": "", "label": 1}\n')):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match="expected a finite number, found"):
            open_source(str(tmp_path / name), may_miss=True).load(LabelCoder.of("binary", None))


def test_libsvm_text_has_none(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("1 1:2\n")
    with pytest.raises(DataError, match="LIBSVM text has no missing features"):
        open_source(str(path), may_miss=True)


def test_the_command_fills_them_in(file, call):
    scaled = ["--missing", "mean", "--set", "scale=standard", "--json"]
    done = call("eval", file, "--learner", "kogd", *scaled)
    assert json.loads(done.stdout)["config"]["missing"] == "mean"
    assert "expected a finite number" in call("eval", file, "--learner", "kogd").output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--missing", "mean", "--rescale", "minmax"], "--set scale=standard scales while"),
        (["--missing", "median"], "--missing must be refuse or mean"),
        (["--missing", "mean", "--set", "bandwidth=median"], "--set bandwidth=auto takes it"),
    ],
)
def test_what_does_not_go_together_is_refused(file, call, arguments, reason):
    done = call("eval", file, "--learner", "kogd", *arguments)
    assert done.exit_code != 0
    assert reason in done.output
