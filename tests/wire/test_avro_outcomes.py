"""Whatever the bytes are, every record in Avro has one outcome."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.events import Reject
from okl_flow.wire import Avro, Columns, Decoder, Hashing, Raw
from tests.wire.avro_records import FULL, NAMED, confluent, framed, record, written
from tests.wire.plain import one, plain
from tests.wire.registry import serving

floats = st.floats(allow_infinity=False)
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
records = st.fixed_dictionaries(
    {
        "key": texts,
        "id": st.none() | texts,
        "time": st.none() | st.integers(-(10**12), 10**12),
        "features": st.lists(st.none() | floats, min_size=2, max_size=2),
        "label": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    }
)


@settings(deadline=None)
@given(st.lists(records, max_size=4))
def test_events_come_back_as_they_were_written(given):
    decoder = Decoder(Avro(FULL), Columns(2))
    events, rejects = decoder([Raw(written(FULL, one)) for one in given])
    assert rejects == []
    for event, was in zip(events, given, strict=True):
        assert (event.key, event.id, event.time) == (was["key"], was["id"], was["time"])
        assert event.label == was["label"]
        expected = [np.nan if one is None else one for one in was["features"]]
        np.testing.assert_array_equal(event.features, expected)


@pytest.fixture(scope="module")
def served():
    """A decoder of a registry with some schemas."""
    with serving() as registry:
        for schema in (FULL, record(features=NAMED), [FULL, "null"]):
            registry.add(schema)
        yield confluent(registry), confluent(registry, Hashing(3), key="all")


@st.composite
def octets(draw):
    value = bytearray(written(FULL, draw(records)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(value)))
        value[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return framed(draw(st.integers(0, 4)), bytes(value))


@settings(deadline=None)
@given(batch=st.lists(st.none() | octets() | st.binary(max_size=9), max_size=5))
def test_every_record_has_one_outcome_however_it_is_batched(served, batch):
    raws = [Raw(value, b"k", "t", 0, at) for at, value in enumerate(batch)]
    for decoder in served:
        records, rejects = decoder(raws)
        alone = [one(decoder, raw) for raw in raws]
        known = [outcome for outcome in alone if not isinstance(outcome, Reject)]
        assert list(map(plain, records)) == list(map(plain, known))
        assert rejects == [outcome for outcome in alone if isinstance(outcome, Reject)]
