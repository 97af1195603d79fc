"""Files as messages: every one is what the decoder of a flow takes."""

import gzip
import json

import numpy as np
import pytest

from okl_flow.files import DataError
from okl_flow.replay import Replay
from okl_flow.wire import Columns, Decoder, Names, Raw


@pytest.fixture
def messages(tmp_path):
    """The messages of a text."""

    def of(text, name="a.jsonl", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return list(Replay(path=str(path), **options).messages())

    return of


def decoded(messages, features, **options):
    raws = [Raw(value, key) for key, value in messages]
    items, rejects = Decoder("json", features, **options)(raws)
    assert rejects == []
    return items


def test_records_stay_as_they_are_and_are_placed_by_their_key(messages):
    lines = [
        '{"key": "ann", "id": "e1", "features": [0.10, 2], "label": 1}',
        '{"type": "label", "key": 17, "id":"e1", "label": -1}',
        '{"features": [1e3, 2]}',
        '{"type":"forget","key":"b\\u00f6b"}',
    ]
    found = messages("\r\n".join(lines) + "\n\n")
    assert [one.value.decode() for one in found] == lines
    assert [one.key for one in found] == [b"ann", b"17", None, "böb".encode()]


def test_another_member_may_be_the_key_or_the_label(messages):
    line = '{"user": "ann", "features": [1, 2], "bought": true}\n'
    [message] = messages(line, key="user")
    assert message == (b"ann", line.strip().encode())
    [message] = messages(line, key="user", label="bought")
    [event] = decoded([message], Columns(2))
    assert (event.key, event.label) == ("ann", 1.0)


def test_flat_objects_have_features_with_names(messages):
    [message] = messages('{"key": "ann", "a": 1, "b": null, "label": "ham", "time": 5}')
    [event] = decoded([message], Names(["b", "a"]), labels=["ham", "spam"])
    assert (event.key, event.label, event.time) == ("ann", -1.0, 5)
    assert np.isnan(event.features[0])
    assert event.features[1] == 1.0


def test_rows_of_csv_are_events_whose_features_are_in_the_order_of_the_columns(messages):
    text = 'user,x,label,y,time\nann,0.5,spam,2,1000\n"b, c",,,1e3,2026-01-31T12:00:00Z\n'
    found = messages(text, "a.csv", key="user")
    assert [one.key for one in found] == [b"ann", b"b, c"]
    first, second = decoded(found, Columns(2), labels=["ham", "spam"])
    assert (first.key, first.label, first.time) == ("ann", 1.0, 1000)
    assert first.features.tolist() == [0.5, 2.0]
    assert (second.label, second.time) == (None, 1769860800000)
    assert np.isnan(second.features[0])


def test_rows_of_csv_may_be_labels_and_wishes(messages):
    text = "type,key,id,x,label\nevent,ann,1,0.5,\nlabel,ann,1,,-1\nforget,ann,,,\n"
    event, label, forget = decoded(messages(text, "a.csv"), Columns(1))
    assert (event.id, label.label, forget.key) == ("1", -1.0, "ann")


def test_libsvm_text_has_sparse_features(messages):
    text = "+1 1:0.5 3:2 # first\n\n-1\nnan 2:1\n"
    first, second, third = decoded(messages(text, "a.libsvm"), Columns(3), key="all")
    assert first.features.tolist() == [0.5, 0.0, 2.0]
    assert [first.label, second.label, third.label] == [1.0, -1.0, None]


def test_files_may_be_gzipped_and_formats_given(messages):
    text = gzip.compress(b"x,label\n1,2\n")
    [message] = messages(text, "a.data", format="csv")
    assert json.loads(message.value) == {"label": 2.0, "features": [1.0]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"features": []}\n{', "line 2: expected a JSON object"),
        ("a.jsonl", "[1]", r"line 1: expected a JSON object, found \[1\]"),
        ("a.csv", "x,label\n1\n", "line 2: expected 2 cells, as in the header, found 1"),
        ("a.csv", "x,label\nb,1\n", "line 2, column 'x': expected a number, found 'b'"),
        ("a.csv", "x,x\n1,1\n", "line 1: two columns have one name"),
        ("a.csv", b"x\n\xff\n", "line 2, byte 1: expected UTF-8"),
        ("a.csv", 'x\n"1\n', "expected comma-separated values"),
        ("a.libsvm", "1 0:1\n", "line 1, character 3: expected an index of at least 1"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(name, text, message, messages):
    with pytest.raises(DataError, match=message):
        messages(text, name)


def test_columns_that_are_not_there_are_refused(messages):
    with pytest.raises(DataError, match="no column is named 'user', to be the key; there 'x'"):
        messages("x\n1\n", "a.csv", key="user")
    with pytest.raises(DataError, match="LIBSVM text has no columns with names"):
        messages("1 1:1\n", "a.libsvm", key="user")
    with pytest.raises(DataError, match="'a' cannot be both key and label"):
        messages("a\n1\n", "a.csv", key="a", label="a")
