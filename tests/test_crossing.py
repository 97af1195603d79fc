"""What another process gets is what was sent, to the last bit, and in its order."""

import pickle
import pickletools

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from okl_flow.crossing import Crossing
from okl_flow.events import Cause, Event, Forget, Label
from okl_flow.wire import Encoded

texts = st.text(max_size=8)  # some with surrogates, which UTF-8 cannot hold
whole = st.integers(-(2**63), 2**63 - 1)
maybe = {
    one: st.none() | strategy
    for one, strategy in (("text", texts), ("whole", whole), ("number", st.floats()))
}
causes = st.builds(Cause, texts, whole, whole)
octets = st.binary(max_size=8)


@st.composite
def features(draw):
    """Some numbers, lying side by side or not: NaN, -0.0 and infinities among them."""
    numbers = draw(st.lists(st.floats(), max_size=3))
    apart = np.array(numbers, dtype=np.float64).repeat(2)[::2]
    return apart if draw(st.booleans()) else np.ascontiguousarray(apart)


events = st.builds(Event, texts, features(), causes, maybe["text"], maybe["whole"], maybe["number"])
labels = st.builds(Label, texts, texts, st.floats(), causes, maybe["whole"])
wishes = st.builds(Forget, texts, causes, maybe["whole"])
encoded = st.builds(Encoded, st.none() | octets, octets, st.none() | causes, st.none() | causes)
lists = st.lists(events | labels | wishes, max_size=12) | st.lists(encoded, max_size=12)


def bits(value):
    """A value and its kind, such that two are equal if nothing can tell them apart."""
    if isinstance(value, msgspec.Struct):
        return type(value), tuple(map(bits, msgspec.structs.astuple(value)))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), np.float64(value).tobytes() if isinstance(value, float) else value


@given(lists)
def test_records_arrive_as_they_were(records):
    back = pickle.loads(pickle.dumps(Crossing(records)))
    assert type(back) is Crossing
    assert list(map(bits, back)) == list(map(bits, records))


@given(st.lists(events, min_size=1, max_size=5), st.lists(encoded, min_size=1, max_size=5))
def test_what_has_arrived_goes_on(records, others):
    for some in (records, others):
        once = pickle.loads(pickle.dumps(Crossing(some)))
        again = pickle.loads(pickle.dumps(once))
        assert list(map(bits, again)) == list(map(bits, some))


NAN = np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f")  # not the usual one


@pytest.mark.parametrize("row", [NAN, np.array([-0.0, np.inf]), np.zeros(0), np.eye(3)[:, 1]])
def test_features_keep_their_bits(row):
    some = [Event("ann", row, Cause("t", 0, 0)), Event("ann", row, Cause("t", 0, 1))]
    for back in (pickle.loads(pickle.dumps(Crossing(some[:count]))) for count in (1, 2)):
        assert {bits(event.features) for event in back} == {bits(row)}


def test_within_a_process_it_is_a_list_of_the_same_records():
    some = [Forget("ann", Cause("t", 0, 0))]
    here = Crossing(some)
    assert here == some and here[0] is some[0]
    assert isinstance(here, list)


def test_no_record_is_pickled_on_its_own():
    causes = [Cause("events", 3, at) for at in range(50)]
    every = [Event("ann", np.ones(24), cause) for cause in causes]
    every += [Label("ann", "e", 1.0, cause) for cause in causes]
    every += [Encoded(b"ann", b"{}", cause, cause) for cause in causes]
    steps = [step.name for step, *_rest in pickletools.genops(pickle.dumps(Crossing(every)))]
    assert steps.count("REDUCE") == 1
    assert not {"NEWOBJ", "BUILD"} & set(steps)
