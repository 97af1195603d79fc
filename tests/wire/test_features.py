"""What makes columns of features: names, categories, and hashes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

from okl_flow.events import Reason
from okl_flow.wire import Columns, Decoder, Hashing, Names, Raw
from okl_flow.wire.hashing import murmur3
from tests.wire.plain import one


def decoded(choice, **features):
    value = json.dumps({"key": "ann", "features": features}).encode()
    return one(Decoder("json", choice), Raw(value))


def row(choice, **features):
    return decoded(choice, **features).features.tolist()


def test_names_give_the_order():
    names = Names(["b", "a", "a b"])
    assert row(names, **{"a": 1, "a b": True, "b": -2.5}) == [-2.5, 1.0, 1.0]
    assert row(names, a=False, b=0, **{"a b": 0}) == [0.0, 0.0, 0.0]


def test_a_missing_name_is_nan():
    np.testing.assert_array_equal(row(Names(["a", "b", "c"]), b=1, c=None), [np.nan, 1, np.nan])
    np.testing.assert_array_equal(row(Names(["a", "b"])), [np.nan, np.nan])


def test_categories_have_a_column_each():
    names = Names(["p", "x", "q", "y"], categories={"p": ["u", "v"], "q": ["u", "w", "z"]})
    assert names.columns == ("p=u", "p=v", "x", "q=u", "q=w", "q=z", "y")
    assert names.dim == 7
    assert row(names, y=9, x=8, p="v", q="w") == [0, 1, 8, 0, 1, 0, 9]
    missing = row(names, y=9, x=8, p=None, q="u")
    np.testing.assert_array_equal(missing, [np.nan, np.nan, 8, 1, 0, 0, 9])


def test_only_categories():
    names = Names(["p"], categories={"p": ["u", "v"]})
    assert row(names, p="v") == [0.0, 1.0]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"height": "x"}, "features.height: expected true or false or a number or null, found 'x'"),
        ({"heigth": 1}, "features.heigth: expected no member of this name; did you mean 'height'?"),
        ({"land": 7}, "features.land: expected a text or null, found '7'"),
        ({"land": "fi"}, "features.land: expected one of de, fr, found 'fi'"),
        ({"height": [1]}, "features.height: expected true or false or a number or null, found [1]"),
    ],
)
def test_what_does_not_fit_the_names(features, message):
    rejected = decoded(Names(["height", "land"], categories={"land": ["de", "fr"]}), **features)
    assert (rejected.reason, rejected.message) == (Reason.FEATURES, message)


def test_unknown_names_and_categories_are_ignored_by_choice():
    names = Names(["a", "p"], categories={"p": ["u", "v"]}, unknown="ignore")
    assert row(names, a=1, p="w", z="more") == [1.0, 0.0, 0.0]
    rejected = decoded(names, a="x", p="u")
    assert rejected.reason == Reason.FEATURES


def test_a_long_list_of_categories_is_cut_in_the_message():
    texts = [f"t{i}" for i in range(12)]
    message = decoded(Names(["p"], categories={"p": texts}), p="?").message
    assert message == f"features.p: expected one of {', '.join(texts[:10])}, ..., found '?'"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Columns(0), "Columns: dim must be a whole number at least 1, not 0"),
        (lambda: Hashing(dim=True), "Hashing: dim must be"),
        (lambda: Hashing(seed=-1), "Hashing: seed must be"),
        (lambda: Names([]), r"Names: names must be a list of texts, not \[\]"),
        (lambda: Names("ab"), "Names: names must be a list of texts, not 'ab'"),
        (lambda: Names(["a", "b", "a"]), "Names: names must be distinct; 'a' stands there twice"),
        (lambda: Names(["a"], unknown="x"), "Names: unknown must be one of refuse, ignore"),
        (
            lambda: Names(["country"], categories={"contry": ["x"]}),
            "Names: categories are given for 'contry', no name; did you mean 'country'",
        ),
        (lambda: Names(["a"], categories={"a": "x"}), "Names: categories of 'a' must be a list"),
    ],
)
def test_what_features_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_configurations_compare():
    assert Names(["a"], categories={"a": ["x"]}) == Names(("a",), categories={"a": ("x",)})
    assert Hashing(8) != Hashing(8, seed=1)


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_the_hash_is_murmur3(octets, seed, before):
    buffer = np.frombuffer(b"x" * before + octets + b"y", np.uint8)
    expected = murmurhash3_32(octets, seed, positive=True)
    assert murmur3(buffer, before, before + len(octets), seed) == expected


values = st.one_of(
    st.floats(-1e9, 1e9), st.integers(-3, 3), st.booleans(), st.text(max_size=3), st.none()
)
by_name = st.dictionaries(st.text(max_size=4), values, max_size=5)


@settings(deadline=None)
@given(st.lists(by_name, min_size=1, max_size=4), st.integers(1, 9))
def test_hashed_columns_are_those_of_scikit_learn(batch, dim):
    decoder = Decoder("json", Hashing(dim))
    raws = [Raw(json.dumps({"key": "a", "features": features}).encode()) for features in batch]
    try:
        hasher = FeatureHasher(dim)
        known = [{n: v for n, v in features.items() if v is not None} for features in batch]
        expected = hasher.transform(known).toarray()
    except UnicodeEncodeError:
        return
    events, _rejects = decoder(raws)
    np.testing.assert_allclose(
        [event.features for event in events], expected, rtol=1e-12, atol=1e-6
    )


def test_another_seed_is_another_hash():
    assert row(Hashing(1000), a=1, b=2) != row(Hashing(1000, seed=1), a=1, b=2)


def test_hashed_columns_are_golden():
    """Models that are kept for years rely on them."""
    columns = {i: v for i, v in enumerate(row(Hashing(64), age=37, land="de", new=True)) if v}
    assert columns == {7: 1.0, 17: 37.0, 59: -1.0}


def test_hashed_features_that_do_not_fit():
    rejected = decoded(Hashing(8), good=1, bad=[2])
    expected = "features.bad: expected true or false or a number or a text or null, found [2]"
    assert (rejected.reason, rejected.message) == (Reason.FEATURES, expected)
    too_large = decoded(Hashing(1), a=1.7e308, b=-1.7e308, c=1.7e308, d=1.7e308, e=1.7e308)
    assert too_large.reason == Reason.FEATURES
