"""The table of keys against the summary written out plainly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.evaluating.columns import Columns
from okl_flow.evaluating.drift import PageHinkley
from okl_flow.evaluating.keys import EVENTS, HEAD, OVER, SEEN, KeyTable, listed_width
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.sums import COUNT, ERROR
from okl_flow.events import Cause


def columns(keys, seed=0, wrong=0.3):
    generator = np.random.default_rng(seed)
    numbers = np.zeros((len(keys), 4))
    numbers[:, 0] = generator.integers(0, 2, size=len(keys))
    numbers[generator.random(len(keys)) < 0.1, 0] = np.nan
    numbers[:, 1] = np.where(generator.random(len(keys)) < wrong, 1 - numbers[:, 0], numbers[:, 0])
    numbers[:, 2] = generator.random(len(keys))
    causes = [Cause("t", 0, i) for i in range(len(keys))]
    return Columns(numbers, list(keys), causes, [None] * len(keys))


def plain(keys, places):
    """Space-saving in a dozen lines: per slot key, count, excess and where its figures begin."""
    slots = []
    search, lowest = 0, 0
    for i, key in enumerate(keys):
        known = [slot for slot in slots if slot[0] == key]
        if not known and len(slots) < places:
            known = [[key, 0, 0, i]]
            slots += known
        elif not known:
            while slots[search][1] != lowest:
                search += 1
                if search == places:
                    search, lowest = 0, min(slot[1] for slot in slots)
            slots[search][:] = [key, lowest, lowest, i]
            known = [slots[search]]
        known[0][1] += 1
    return slots


def rows_of(table):
    return {name: table.rows[i].copy() for i, name in enumerate(table.names)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abcdefghij"), max_size=120),
    st.integers(1, 6),
    st.lists(st.integers(0, 120), max_size=4),
)
def test_the_table_is_the_plain_summary_however_it_is_cut(keys, places, cuts):
    configured = Settings(keys_in_memory=places, partitions=1)
    everything = columns(keys)
    table = KeyTable(configured)
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(keys)], strict=True):
        table.take(everything.cut(begin, end))
    slots = plain(keys, places)
    assert [slot[0] for slot in slots] == table.names
    for (key, count, over, begin), row in zip(slots, table.rows, strict=False):
        own = [i for i in range(begin, len(keys)) if keys[i] == key]
        assert (row[SEEN], row[OVER], row[EVENTS]) == (count, over, len(own))
        truth, guess = everything.numbers[own, 0], everything.numbers[own, 1]
        labelled = ~np.isnan(truth)
        assert row[HEAD + COUNT] == labelled.sum()
        assert row[HEAD + ERROR] == (truth != guess)[labelled].sum()
        assert keys.count(key) <= row[SEEN] <= keys.count(key) + row[OVER]


def test_a_busy_key_stays_whatever_else_comes():
    generator = np.random.default_rng(2)
    keys = [f"k{i}" if one else "busy" for i, one in enumerate(generator.random(5000) < 0.8)]
    table = KeyTable(Settings(keys_in_memory=20, partitions=1))
    table.take(columns(keys))
    row = rows_of(table)["busy"]
    assert row[SEEN] - row[OVER] <= keys.count("busy") <= row[SEEN]
    assert row[EVENTS] == keys.count("busy") - keys[: keys.index("busy")].count("busy")


@pytest.mark.parametrize("cut", [0, 1, 37, 200])
def test_packed_and_restored_it_goes_on_to_the_bit(cut):
    configured = Settings(keys_in_memory=5, partitions=1)
    everything = columns([f"k{i % 7}" for i in range(200)])
    whole, first, second = (KeyTable(configured) for _ in range(3))
    whole.take(everything)
    first.take(everything.cut(0, cut))
    arrays, plain_data = first.packed()
    second.restore({name: value.copy() for name, value in arrays.items()}, dict(plain_data))
    second.take(everything.cut(cut, 200))
    assert second.names == whole.names
    np.testing.assert_array_equal(second.rows[: len(second.names)], whole.rows[: len(whole.names)])
    np.testing.assert_array_equal(second.search, whole.search)


def test_the_worst_and_the_busiest_are_listed():
    parts = [("good", 300, 0.05), ("bad", 100, 0.9), ("unlucky", 1, 1.0), ("busy", 400, 0.1)]
    table = KeyTable(Settings(keys_in_memory=100, partitions=1, keys_reported=1))
    for key, count, wrong in parts:
        table.take(columns([key] * count, seed=9, wrong=wrong))
    assert sorted(table.listed().names) == ["bad", "busy"]
    everything = KeyTable(Settings(keys_in_memory=100, partitions=1, keys_reported=9))
    everything.take(columns(["x", "y"]))
    assert everything.listed().names == ["x", "y"]
    assert everything.listed().rows.shape == (2, listed_width(everything.settings))


def test_a_list_does_not_change_while_the_table_does():
    table = KeyTable(Settings())
    table.take(columns(["x"] * 5))
    listed = table.listed()
    before = listed.rows.copy()
    table.take(columns(["x"] * 5))
    np.testing.assert_array_equal(listed.rows, before)


def test_keys_are_due_after_so_many_of_their_labels():
    configured = Settings(keys="all", key_report_every=3, partitions=1)
    keys = list("aababbbaaabbbab" * 4)
    everything = columns(keys)
    table = KeyTable(configured)
    found = []
    for begin, end in ((0, 11), (11, 12), (12, 60)):
        _rings, due = table.take(everything.cut(begin, end))
        found += [(begin + place, row[HEAD + COUNT]) for place, row in due]
    expected = []
    for key in "ab":
        places = [i for i in range(60) if keys[i] == key and not np.isnan(everything.numbers[i, 0])]
        expected += [(place, n) for n, place in enumerate(places, 1) if n % 3 == 0]
    assert found == sorted(expected)


def test_the_alarm_is_that_of_the_key():
    generator = np.random.default_rng(0)
    keys = [f"k{i % 4}" for i in range(4000)]
    everything = columns(keys, wrong=0.1)
    changed = [i for i in range(2000, 4000) if keys[i] == "k2" and generator.random() < 0.8]
    everything.numbers[changed, 1] = 1.0 - everything.numbers[changed, 0]
    table = KeyTable(Settings(partitions=1, drift=PageHinkley(threshold=30.0)))
    rings = table.take(everything)[0]
    assert len(rings) >= 1
    assert all(keys[ring.place] == "k2" and ring.place >= 2000 for ring in rings)
    assert not KeyTable(Settings(partitions=1, drift=None)).take(everything)[0]


def test_the_row_of_a_key_is_small():
    configured = Settings()
    assert 8 * (listed_width(configured) + configured.drift_size) == 288
