"""LIBSVM lines and CSV rows."""

import numpy as np
import pytest

from okl_flow.events import Event, Forget, Label, Reason
from okl_flow.wire import Columns, Csv, Decoder, Hashing, Libsvm, Names, Raw
from tests.wire.plain import one


def libsvm(line, **options):
    return one(Decoder(Libsvm(**options), Columns(4), key="all"), Raw(line, None, "t", 0, 1, 9))


def test_a_libsvm_line():
    event = libsvm(b" +1 1:0.5 4:-2e1 # said by hand\n")
    assert (event.key, event.id, event.time, event.label) == ("all", None, 9, 1.0)
    assert event.features.tolist() == [0.5, 0.0, 0.0, -20.0]
    assert libsvm(b"nan").label is None
    assert libsvm(b"-2.5").features.tolist() == [0.0] * 4


def test_the_comment_may_be_the_id():
    assert libsvm(b"1 1:2 # e 1 ", comment="id").id == "e 1"
    assert libsvm(b"1 1:2#", comment="id").id is None
    assert libsvm(b"1 1:2", comment="id").id is None
    assert libsvm(b"1 1:2 # " + b"x" * 1025, comment="id").reason == Reason.MALFORMED


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        (b"", "malformed", "expected 'label index:value ...', found nothing"),
        (b"  # nothing", "malformed", "expected 'label index:value ...', found nothing"),
        (
            b"1:2 2:3",
            "malformed",
            "expected a label before the features, found '1:2' at character 1",
        ),
        (b"1 0:1", "features", "features: expected an index of at least 1, found '0:1' at char"),
        (b"1 1:1 5:1", "features", "features: expected an index of at most 4, the number of feat"),
        (b"1 2:1 2:1", "features", "features: expected an index above 2, as indices must ascend"),
        (
            b"1 2:inf",
            "features",
            "features: expected a finite number after the colon, found '2:inf'",
        ),
        (b"1 2", "malformed", "expected index:value, found '2' at character 3"),
        (b"spam 2:1", "label", "label: expected a finite number, found 'spam'"),
        (b"\xff 2:1", "label", "label: expected a finite number, found"),
    ],
)
def test_what_is_wrong_with_a_libsvm_line(line, reason, message):
    rejected = libsvm(line)
    assert (rejected.reason, rejected.key, rejected.original) == (reason, "all", line)
    assert rejected.message.startswith(message)


COLUMNS = ["user", "a", "when", "b", "what", "event", "kind"]
FULL = Csv(COLUMNS, key="user", id="event", time="when", label="what", type="kind")


def csv(line, features=None, format=FULL, **options):
    return one(Decoder(format, features, **options), Raw(line, None, "t", 0, 1, 9))


def test_a_csv_row():
    event = csv(b"ann,1,5,-0.5,1,e1,\r\n")
    assert type(event) is Event
    assert (event.key, event.id, event.time, event.label) == ("ann", "e1", 5, 1.0)
    assert event.features.tolist() == [1.0, -0.5]


def test_empty_cells_are_not_there():
    event = csv(b"ann, ,,NaN,,, event ")
    assert (event.id, event.time, event.label) == (None, 9, None)
    np.testing.assert_array_equal(event.features, [np.nan, np.nan])
    assert csv(b",1,2,3,4,5,", key="all").key == "all"
    assert csv(b",1,2,3,4,5,").reason == Reason.KEY


def test_quoted_cells():
    event = csv(b'"an ""n"", x", "1",,"2","",e1,')
    assert (event.key, event.features.tolist(), event.label) == ('an "n", x', [1.0, 2.0], None)


def test_rows_of_another_type():
    assert csv(b"ann,,7,,-1,e1,label") == Label("ann", "e1", -1.0, csv(b"").cause, 7)
    assert csv(b"ann,x,,,,,forget") == Forget("ann", csv(b"").cause, 9)
    assert csv(b"ann,,,,1,,label").reason == Reason.MALFORMED
    assert csv(b"ann,,,,,e1,label").reason == Reason.LABEL


def test_times_in_cells():
    assert csv(b"ann,1,1970-01-01T00:00:01Z,2,,,").time == 1000
    for cell in (b"1_0", b"9" * 19, b"1.5", b"noon"):
        rejected = csv(b"ann,1," + cell + b",2,,e1,")
        assert rejected.message.startswith("time: expected milliseconds since 1970")
        assert (rejected.key, rejected.id) == ("ann", "e1")


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        (b"", "malformed", "expected 7 cells, found 1: found ''"),
        (b"ann,1,2,3,4,5,,", "malformed", "expected 7 cells, found 8: found 'ann,1,2,3,4,5,,'"),
        (b'ann,1,2,3,4,5,"', "malformed", "expected a row of CSV: unexpected end of data: found"),
        (b"\xff,1,2,3,4,5,", "malformed", "expected text in UTF-8: found"),
        (b"ann,1,2,x,4,5,", "features", "features.b: expected a finite number, found 'x'"),
        (b"ann,1_0,2,3,4,5,", "features", "features.a: expected a finite number, found '1_0'"),
        (b"ann,inf,2,3,4,5,", "features", "features.a: expected a finite number, found infinity"),
        (b"ann,inf,2,,4,5,", "features", "features.a: expected a finite number, found "),
        (b"ann,1,2,3,spam,5,", "label", "label: expected a finite number, found 'spam'"),
        (b"ann,1,2,3,4,5,x", "malformed", "type: expected 'event', 'label' or 'forget', found 'x'"),
        (b"a" * 1025 + b",1,2,3,4,5,", "key", "key: expected a text of 1 to 1024 characters"),
    ],
)
def test_what_is_wrong_with_a_csv_row(line, reason, message):
    rejected = csv(line)
    assert (rejected.reason, rejected.original) == (reason, line)
    assert rejected.message.startswith(message)


def test_features_of_rows_by_choice():
    plain = Csv(["p", "x", "y"], label="y")
    names = Names(["x", "p"], categories={"p": ["u", "v"]})
    assert csv(b" v ,7,1", names, plain, key="k").features.tolist() == [7.0, 0.0, 1.0]
    np.testing.assert_array_equal(
        csv(b",7,1", names, plain, key="k").features, [7.0, np.nan, np.nan]
    )
    assert csv(b"3,7,1", Columns(2), plain, key="k").features.tolist() == [3.0, 7.0]
    only = Names(["x"])
    assert csv(b"word,7,1", only, plain, key="k").features.tolist() == [7.0]
    hashed = csv(b"v,7,1", Hashing(16), plain, key="k").features
    by_json = one(
        Decoder("json", Hashing(16)), Raw(b'{"key":"k","features":{"p":"v","x":7,"z":null}}')
    )
    assert hashed.tolist() == by_json.features.tolist()
    np.testing.assert_array_equal(
        csv(b"nan,,1", Hashing(16), plain, key="k").features, np.zeros(16)
    )


def test_another_separator():
    plain = Csv(["x", "y"], separator=";")
    assert csv(b"1.5;2", None, plain, key="k").features.tolist() == [1.5, 2.0]
    assert csv(b'"1";2', None, plain, key="k").features.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Csv([]), "Csv: columns must be distinct names"),
        (lambda: Csv("abc"), "Csv: columns must be distinct names, not 'abc'"),
        (lambda: Csv(["a", "a"]), "Csv: columns must be distinct names"),
        (
            lambda: Csv(["label", "a"], label="lable"),
            "must be one of the columns, not 'lable'; did",
        ),
        (lambda: Csv(["a", "b"], label="a", key="a"), "must be different columns"),
        (lambda: Csv(["a"], label="a"), "Csv: there must be a column for the features"),
        (lambda: Csv(["a"], separator=""), "Csv: separator must be one character, not ''"),
        (lambda: Csv(["a"], separator='"'), "Csv: separator must be one character"),
        (lambda: Decoder(Csv(["a", "b"]), Columns(3)), "does not fit the 2 columns of features: a"),
        (lambda: Decoder(Csv(["a", "b"], key="b"), Names(["b"])), "no column of features is named"),
        (lambda: Libsvm(comment="x"), "Libsvm: comment must be one of ignore, id"),
    ],
)
def test_what_formats_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()
