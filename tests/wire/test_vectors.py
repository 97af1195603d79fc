"""Vectors of floats."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.events import Cause, Forget, Reason, Reject
from okl_flow.wire import Columns, Decoder, Names, Raw, Vectors
from tests.wire.plain import one, plain

KINDS = {"float32": "<f4", "float64": "<f8"}


def vector(numbers, kind="float32"):
    return np.array(numbers, dtype=KINDS[kind]).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_is_the_features(kind):
    event = one(Decoder(kind, Columns(3)), Raw(vector([0.5, -2, 1e9], kind), b"ann", "t", 1, 2, 9))
    assert (event.key, event.id, event.time, event.label) == ("ann", None, 9, None)
    assert event.cause == Cause("t", 1, 2)
    assert event.features.dtype == np.float64
    assert event.features.tolist() == [0.5, -2.0, 1e9]


def test_bytes_are_little_endian():
    event = one(Decoder("float32", Columns(1), key="a"), Raw(b"\x00\x00\x80\x3f"))
    assert event.features.tolist() == [1.0]
    event = one(Decoder("float64", Columns(1), key="a"), Raw(b"\x00" * 6 + b"\xf0\x3f"))
    assert event.features.tolist() == [1.0]


@pytest.mark.parametrize(("label", "numbers"), [("first", [-1, 2, 3]), ("last", [2, 3, -1])])
def test_the_label_is_first_or_last(label, numbers):
    decoder = Decoder(Vectors("float64", label=label), Columns(2), key="all")
    event = one(decoder, Raw(vector(numbers, "float64")))
    assert (event.features.tolist(), event.label) == ([2.0, 3.0], -1.0)
    unlabelled = [np.nan if number == -1 else number for number in numbers]
    assert one(decoder, Raw(vector(unlabelled, "float64"))).label is None
    infinite = [np.inf if number == -1 else number for number in numbers]
    assert one(decoder, Raw(vector(infinite, "float64"))).reason == Reason.LABEL
    named = Decoder(Vectors("float64", label=label), Columns(2), key="all", labels=[-1, 0, 1])
    assert one(named, Raw(vector(numbers, "float64"))).label == 0.0


def test_the_place_may_be_the_id():
    decoder = Decoder(Vectors(id="place"), Columns(1), key="all")
    assert one(decoder, Raw(vector([1]), None, "clicks", 3, 17)).id == "clicks-3-17"
    assert one(decoder, Raw(b"", None, "clicks", 3, 17)).id == "clicks-3-17"


def test_what_is_missing_and_what_is_infinite():
    decoder = Decoder("float32", Columns(2), key="all")
    np.testing.assert_array_equal(one(decoder, Raw(vector([np.nan, 1]))).features, [np.nan, 1.0])
    rejected = one(decoder, Raw(vector([1, -np.inf])))
    assert rejected.reason == Reason.FEATURES
    assert rejected.message == "features: expected finite numbers, found infinity in column 1"


def test_a_nan_may_have_any_bits():
    decoder = Decoder("float32", Columns(2), key="all")
    signalling = b"\x01\x00\x80\x7f"
    assert np.isnan(one(decoder, Raw(signalling * 2)).features).all()
    labelled = Decoder(Vectors(label="last"), Columns(1), key="all")
    assert one(labelled, Raw(signalling * 2)).label is None


def test_a_tombstone_is_a_wish_to_forget():
    assert type(one(Decoder("float32", Columns(2)), Raw(None, b"ann"))) is Forget


@pytest.mark.parametrize(
    ("format", "value", "expected"),
    [
        (Vectors(), b"", "8 bytes, 2 numbers of float32, found 0 bytes"),
        (Vectors(), b"x" * 7, "8 bytes, 2 numbers of float32, found 7 bytes"),
        (Vectors("float64"), b"x" * 24, "16 bytes, 2 numbers of float64, found 24 bytes"),
        (
            Vectors(label="last"),
            b"x" * 8,
            "12 bytes, 2 numbers of float32 and a label, found 8 bytes",
        ),
    ],
)
def test_vectors_of_another_length(format, value, expected):
    rejected = one(Decoder(format, Columns(2)), Raw(value, b"ann"))
    assert (rejected.reason, rejected.key, rejected.original) == (Reason.FEATURES, "ann", value)
    assert rejected.message == f"features: expected {expected}"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vectors("float16"), "Vectors: number must be one of float32, float64, not 'fl"),
        (lambda: Vectors(label="second"), "Vectors: label must be one of none, first, last, not"),
        (lambda: Vectors(id="key"), "Vectors: id must be one of none, place, not 'key'"),
        (lambda: Decoder("float32"), "features must be Columns for vectors of floats, not None"),
        (lambda: Decoder("float32", Names(["a"])), "features must be Columns for vectors of flo"),
    ],
)
def test_what_vectors_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()


numbers = st.lists(st.floats(width=32, allow_infinity=False), min_size=3, max_size=3)


@settings(deadline=None)
@given(st.lists(numbers, max_size=5), st.sampled_from(sorted(KINDS)))
def test_every_vector_comes_back(rows, kind):
    events, rejects = Decoder(kind, Columns(3), key="a")([Raw(vector(row, kind)) for row in rows])
    assert rejects == []
    assert [event.features.tobytes() for event in events] == [
        np.array(row, dtype=np.float64).tobytes() for row in rows
    ]


formats = st.builds(
    Vectors,
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(["none", "first", "last"]),
    st.sampled_from(["none", "place"]),
)
octets = st.none() | st.sampled_from([8, 12, 16, 24]).flatmap(
    lambda size: st.binary(min_size=size, max_size=size)
)


@settings(deadline=None)
@given(formats, st.lists(octets | st.binary(max_size=30), max_size=6))
def test_every_record_has_one_outcome_however_it_is_batched(format, values):
    decoder = Decoder(format, Columns(2), key="all")
    raws = [Raw(value, None, "t", 0, at) for at, value in enumerate(values)]
    records, rejects = decoder(raws)
    alone = [one(decoder, raw) for raw in raws]
    known = [outcome for outcome in alone if not isinstance(outcome, Reject)]
    assert list(map(plain, records)) == list(map(plain, known))
    assert rejects == [outcome for outcome in alone if isinstance(outcome, Reject)]
