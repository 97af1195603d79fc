"""Labels on the wire, and the numbers that learners get."""

import json
import math

import pytest

from okl_flow.wire import Columns, Csv, Decoder, Raw
from okl_flow.wire.classes import Classes
from tests.wire.plain import one


def codes(names, *values, texts=False):
    found, problems = Classes(names).codes(list(values), texts)
    return [problems[at].message if at in problems else code for at, code in enumerate(found)]


def test_numbers_are_themselves_and_truth_values_signs():
    assert codes(None, 2.5, -1.0, None) == [2.5, -1.0, None]
    assert codes(None, True, False, 0.0, math.nan, None) == [1.0, -1.0, 0.0, None, None]
    assert codes(None, math.inf, 1.0) == ["label: expected a finite number, found 'inf'", 1.0]


def test_two_names_are_signs_and_more_are_counted():
    assert codes(["spam", "ham"], "ham", "spam", None) == [1.0, -1.0, None]
    assert codes(["c", "a", "b"], "a", "b", "c") == [1.0, 2.0, 0.0]
    assert codes([0, 1], 1.0, 0.0) == [1.0, -1.0]
    assert codes([1, 2.5, -7], 2.5, -7.0) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("names", "value", "message"),
    [
        (["ham", "spam"], "Spam", "label: expected one of ham, spam, found 'Spam'"),
        (["ham", "spam"], 1.0, "label: expected one of ham, spam, found '1.0'"),
        ([0, 1], -1.0, "label: expected one of 0, 1, found '-1.0'"),
        ([0, 1], True, "label: expected one of 0, 1, found true"),
        ([0, 1], "1", "label: expected one of 0, 1, found '1'"),
        ([True, False], 1.0, "label: expected one of true, false, found '1.0'"),
    ],
)
def test_other_labels_are_refused(names, value, message):
    assert codes(names, value) == [message]


def test_truth_values_may_be_named():
    assert codes([True, False], True, False) == [-1.0, 1.0]
    assert codes([1, True, "1"], 1.0, True, "1") == [0.0, 1.0, 2.0]


def test_labels_in_texts():
    assert codes(None, "1", " +2.5", "", "nan", "TRUE", texts=True) == [1.0, 2.5, None, None, 1.0]
    assert codes([0, 1], "1", "0.0", "", texts=True) == [1.0, -1.0, None]
    assert codes(["0", "1"], " 1 ", "0", texts=True) == [1.0, -1.0]
    assert codes(["0", "1"], "1.0", texts=True)[0].startswith("label: expected one of 0, 1, found")
    assert codes(["nan", "true"], "true", "nan", texts=True) == [1.0, -1.0]
    assert codes([False, True], "true", "False", texts=True) == [1.0, -1.0]
    assert codes(None, "spam", texts=True)[0].startswith(
        "label: expected a finite number, found 's"
    )


@pytest.mark.parametrize(
    "names", [[], ["a"], ["a", "a"], [1, 1.0], "ab", [1, math.nan], [None, 1], [[1], [2]]]
)
def test_what_names_cannot_be(names):
    with pytest.raises(ValueError, match="labels must be two or more distinct texts, numbers or"):
        Classes(names)


def test_a_decoder_uses_them():
    decoder = Decoder("json", Columns(1), labels=("ham", "spam"))
    for label, code in (("ham", -1.0), ("spam", 1.0)):
        record = {"key": "a", "id": "i", "features": [1], "label": label}
        assert one(decoder, Raw(json.dumps(record).encode())).label == code
        record["type"] = "label"
        assert one(decoder, Raw(json.dumps(record).encode())).label == code
    row = Decoder(Csv(["x", "y"], label="y"), labels=(0, 1), key="all")
    assert one(row, Raw(b"1,0")).label == -1.0


def test_the_label_of_a_wish_to_forget_does_not_matter():
    decoder = Decoder("json", Columns(1), labels=("ham", "spam"))
    assert one(decoder, Raw(b'{"type":"forget","key":"a","label":"eggs"}')).key == "a"
