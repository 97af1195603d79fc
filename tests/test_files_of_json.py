"""Readers of JSON Lines: their damage."""

import pytest

from tests.files import FLAT, LIST, NAMED, refusal


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
