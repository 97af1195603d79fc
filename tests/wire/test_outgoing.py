"""Records that go out, and back."""

import base64
import json
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.events import Alarm, Cause, Prediction, Reason, Reject, Report
from okl_flow.wire import Encoder, decode_outgoing
from okl_flow.wire.outgoing import ORIGINAL_BYTES_MAX

CAUSE = Cause("events", 3, 17)
EVENT = Cause("events", 3, 2)
PREDICTION = Prediction("ann", 0.1, 1.0, 7, "kogd", CAUSE, "e1", 5, 0.75, -1.0, 1.1, 2, EVENT)
REPORT = Report("evaluate", "key", "ann", 7, {"mistakes": 0.5, "auc": None}, CAUSE, 5, 1)
ALARM = Alarm("evaluate", "stream", "", "drift", "the error rose", {"before": 0.1}, None, 5, 0)
REJECT = Reject(Reason.FEATURES, "features: expected 2", CAUSE, "ann", "e1", b"\x00\xff", 3)


@pytest.fixture(params=["json", "msgpack"])
def format(request):
    return request.param


def test_a_prediction_in_json():
    [encoded] = Encoder()([PREDICTION])
    assert encoded.key == b"ann"
    assert json.loads(encoded.value) == {
        "type": "prediction",
        "key": "ann",
        "score": 0.1,
        "predicted": 1.0,
        "seen": 7,
        "learner": "kogd",
        "cause": {"topic": "events", "partition": 3, "offset": 17},
        "id": "e1",
        "time": 5,
        "probability": 0.75,
        "label": -1.0,
        "loss": 1.1,
        "ordinal": 2,
        "event": {"topic": "events", "partition": 3, "offset": 2},
    }


def test_every_record_comes_back(format):
    records = [PREDICTION, REPORT, ALARM, REJECT]
    values = [encoded.value for encoded in Encoder(format)(records)]
    assert [decode_outgoing(value, format) for value in values] == records


def test_bytes_are_base64_in_json_and_bytes_in_messagepack():
    [by_json], [packed] = Encoder("json")([REJECT]), Encoder("msgpack")([REJECT])
    assert base64.b64decode(json.loads(by_json.value)["original"]) == b"\x00\xff"
    assert msgspec.msgpack.decode(packed.value)["original"] == b"\x00\xff"


def test_what_a_record_is_about_is_its_key():
    keys = [encoded.key for encoded in Encoder()([PREDICTION, REJECT, REPORT, ALARM])]
    assert keys == [b"ann", b"ann", b"evaluate/key/ann", b"evaluate/stream/"]
    [nobody] = Encoder()([Reject(Reason.KEY, "no key", CAUSE)])
    assert nobody.key is None


def test_numbers_that_are_not_finite():
    odd = msgspec.structs.replace(PREDICTION, score=math.nan, predicted=math.nan, loss=math.inf)
    value = Encoder("json")([odd])[0].value
    assert json.loads(value)["score"] is json.loads(value)["loss"] is None
    back = decode_outgoing(value)
    assert math.isnan(back.score) and math.isnan(back.predicted) and back.loss is None
    back = decode_outgoing(Encoder("msgpack")([odd])[0].value, "msgpack")
    assert math.isnan(back.score) and back.loss == math.inf
    classes = msgspec.structs.replace(PREDICTION, score=[0.5, -math.inf])
    back = decode_outgoing(Encoder("json")([classes])[0].value)
    assert back.score[0] == 0.5 and math.isnan(back.score[1])
    report = msgspec.structs.replace(REPORT, values={"rmse": math.nan})
    assert decode_outgoing(Encoder("json")([report])[0].value).values == {"rmse": None}


def test_numbers_of_numpy(format):
    given = msgspec.structs.replace(
        PREDICTION, score=np.array([0.5, 0.1]), predicted=np.float64(1.0), seen=np.int64(7)
    )
    expected = msgspec.structs.replace(PREDICTION, score=[0.5, 0.1])
    assert decode_outgoing(Encoder(format)([given])[0].value, format) == expected


@pytest.mark.parametrize(
    "record",
    [
        msgspec.structs.replace(PREDICTION, key="a\ud800"),
        msgspec.structs.replace(PREDICTION, id="a\ud800"),
        msgspec.structs.replace(PREDICTION, score=object()),
        msgspec.structs.replace(PREDICTION, cause=Cause("\ud800", 3, 17)),
        msgspec.structs.replace(REPORT, name="\ud800", cause=None),
        msgspec.structs.replace(ALARM, values={"x": object()}),
        msgspec.structs.replace(REJECT, message="\ud800"),
    ],
)
def test_what_cannot_be_written_is_rejected_in_its_place(record, format):
    encoded = Encoder(format)([REPORT, record, PREDICTION])
    before, reject, after = [decode_outgoing(one.value, format) for one in encoded]
    assert (before, after) == (REPORT, PREDICTION)
    assert reject.reason == Reason.UNWRITABLE
    kind = type(record).__name__.lower()
    assert reject.message.startswith(f"a {kind} cannot be written: ")
    if record.cause == CAUSE:
        assert (reject.cause, reject.ordinal) == (CAUSE, record.ordinal)
    if getattr(record, "key", None):
        assert reject.key == record.key.replace("\ud800", r"\ud800")
        assert reject.id == record.id.replace("\ud800", r"\ud800")
        assert encoded[1].key == reject.key.encode()


def test_whole_numbers_that_messagepack_cannot_hold():
    huge = msgspec.structs.replace(PREDICTION, seen=2**64)
    assert decode_outgoing(Encoder("json")([huge])[0].value) == huge
    reject = decode_outgoing(Encoder("msgpack")([huge])[0].value, "msgpack")
    assert (reject.reason, reject.cause) == (Reason.UNWRITABLE, CAUSE)


floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(codec="utf-8"), max_size=5)
predictions = st.builds(
    Prediction,
    texts,
    floats | st.lists(floats, max_size=3),
    floats,
    st.integers(0, 2**63),
    texts,
    st.builds(Cause, texts, st.integers(0, 99), st.integers(0, 2**63)),
    st.none() | texts,
    st.none() | st.integers(-(2**63), 2**63),
    st.none() | floats,
    st.none() | floats,
    st.none() | floats,
    st.integers(0, 9),
)


@settings(deadline=None)
@given(st.lists(predictions, max_size=3), st.sampled_from(["json", "msgpack"]))
def test_round_trips_are_exact(records, format):
    values = [encoded.value for encoded in Encoder(format)(records)]
    back = [decode_outgoing(value, format) for value in values]
    assert back == records
    assert [repr(record) for record in back] == [repr(record) for record in records]  # -0.0


@pytest.mark.parametrize(
    "value", [b"", b"{}", b'{"type":"event"}', b'{"type":"prediction","score":null}', b"[1]"]
)
def test_what_is_no_record_of_ours(value):
    with pytest.raises(ValueError, match=r"\w"):
        decode_outgoing(value)


def test_other_formats_are_refused():
    with pytest.raises(ValueError, match="must be 'json', 'msgpack' or an .*, not 'jsonn'; did"):
        Encoder("jsonn")
    with pytest.raises(ValueError, match="must be 'json', 'msgpack' or an .*, not 'csv'"):
        decode_outgoing(b"", "csv")


@pytest.mark.parametrize("format", ["json", "msgpack"])
def test_the_original_of_a_reject_is_written_up_to_a_limit(format):
    cause = Cause("t", 0, 1)
    for size in (ORIGINAL_BYTES_MAX, ORIGINAL_BYTES_MAX + 1):
        reject = Reject(Reason.MALFORMED, "cut off", cause, original=b"a" * size)
        [encoded] = Encoder(format)([reject])
        found = decode_outgoing(encoded.value, format)
        assert found.original == b"a" * ORIGINAL_BYTES_MAX
        assert ("of 500001 bytes the first 500000" in found.message) == (size == 500_001)
        assert encoded.cause == found.cause == cause
        assert len(encoded.value) < 1_000_000


def test_what_is_encoded_names_its_cause():
    cause = Cause("t", 3, 17)
    reject = Reject(Reason.KEY, "no key", cause)
    report = Report("s", "stream", "", 1, {})
    unwritable = Prediction("\ud800", 0.0, 1.0, 0, "kogd", cause)
    found = Encoder()([reject, report, unwritable])
    assert [one.cause for one in found] == [cause, None, cause]
