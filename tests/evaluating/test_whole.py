"""The whole stream's figures: the same whichever way its partitions' chunks are mixed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from sklearn import metrics

from okl_flow import Binary, Regression
from okl_flow.evaluating.blob import FiguresError
from okl_flow.evaluating.columns import by_partition, columns_of, joined
from okl_flow.evaluating.partition import PartitionFigures
from okl_flow.evaluating.recent import Recent
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.sums import ENTRY, add_entries, width_of
from okl_flow.evaluating.whole import WholeFigures
from okl_flow.events import Cause, Prediction

SMALL = Settings(
    window=60, fading=20, report_every=60, partitions=4, keys_in_memory=20, keys_reported=3
)


def predictions(count, *, task=None, keys=9, seed=0, timed=True):
    """Predictions of some keys; every eighth has no label."""
    generator = np.random.default_rng(seed)
    made = []
    for i in range(count):
        if isinstance(task, Regression):
            label = float(generator.normal(3.0))
            score = predicted = label + float(generator.normal())
        else:
            label = 1.0 if generator.random() < 0.7 else -1.0
            score = 0.7 * label + float(generator.normal())
            predicted = 1.0 if score >= 0.0 else -1.0
        known = i % 8 != 3
        made.append(
            Prediction(
                f"key-{generator.integers(keys)}",
                score,
                predicted,
                i,
                "kogd",
                Cause("t", 0, i),
                time=1000 + i // 3 if timed else None,
                label=label if known else None,
                loss=float(generator.exponential()) if known else None,
            )
        )
    return made


def told_by(configured, made, cuts=()):
    """Figures of the partitions, and what each told, in its order."""
    parts, told = {}, {}
    edges = [0, *sorted(cuts), len(made)]
    for begin, end in itertools.pairwise(edges):
        columns = columns_of(made[begin:end], configured.task)
        for number, part in by_partition(columns, configured.partitions):
            figures = parts.setdefault(number, PartitionFigures(configured, number))
            told.setdefault(number, []).extend(figures.take(part).chunks)
    return parts, told


def one_by_one(told):
    """What was told, each chunk by itself."""
    for i in range(len(told.causes)):
        last = i == len(told.causes) - 1
        yield replace(
            told,
            rows=told.rows[i : i + 1],
            causes=told.causes[i : i + 1],
            times=told.times[i : i + 1],
            listed=told.listed if last else None,
        )


def mixed(told, generator):
    """The chunks of all partitions, mixed, each partition's in their order."""
    queues = {
        number: [one for part in parts for one in one_by_one(part)]
        for number, parts in told.items()
    }
    while any(queues.values()):
        number = generator.choice(sorted(n for n, queue in queues.items() if queue))
        yield queues[int(number)].pop(0)


def test_how_chunks_are_mixed_changes_no_bit():
    _parts, told = told_by(replace(SMALL, drift=None), predictions(900))
    seen = set()
    for seed in range(6):
        whole = WholeFigures(replace(SMALL, drift=None))
        for chunk in mixed(told, np.random.default_rng(seed)):
            list(whole.take([chunk]))
        seen.add(whole.packed())
    assert len(seen) == 1


def test_chunks_may_come_together_or_alone():
    made = predictions(900)
    _parts, told = told_by(SMALL, made)
    order = list(mixed(told, np.random.default_rng(1)))
    said = []
    for size in (1, 3, len(order)):
        whole = WholeFigures(SMALL)
        moments = []
        for begin in range(0, len(order), size):
            moments += whole.take(order[begin : begin + size])
        said.append(([(m.cause, m.events, m.values) for m in moments], whole.packed()))
        assert len(moments) >= 12
    assert said[0] == said[1] == said[2]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 500), max_size=5), st.sampled_from(["worst", "all", "none"]))
def test_batches_change_nothing_that_is_told(cuts, keys):
    configured = replace(SMALL, keys=keys, key_report_every=5)
    made = predictions(500)
    parts, told = told_by(configured, made)
    parts_cut, told_cut = told_by(configured, made, cuts)
    for number in parts:
        assert parts[number].packed() == parts_cut[number].packed()
        whole = [one for part in told[number] for one in one_by_one(part)]
        cut = [one for part in told_cut[number] for one in one_by_one(part)]
        assert [one.causes for one in whole] == [one.causes for one in cut]
        for one, other in zip(whole, cut, strict=True):
            np.testing.assert_array_equal(one.rows, other.rows)
            assert (one.listed is None) == (other.listed is None)
            if one.listed and other.listed:
                assert one.listed.names == other.listed.names
                np.testing.assert_array_equal(one.listed.rows, other.listed.rows)


def test_the_keys_are_listed_wherever_a_batch_ends():
    configured = replace(SMALL, partitions=1)
    made = [one for one in predictions(900) if one.label is not None]
    marks = []
    every = configured.listed_every
    for cuts in ([], [every], [every - 1, every + 1], [2 * every, 300], range(0, 787, 7)):
        told = told_by(configured, made, cuts)[1][0]
        ends = [one.causes[-1] for one in told if one.listed]
        marks.append((ends, [one.listed.names for one in told if one.listed]))
    assert marks[0][0] == [made[i - 1].cause for i in range(every, len(made), every)]
    assert all(one == marks[0] for one in marks)


def test_a_tail_does_not_change_while_the_partition_does():
    columns = columns_of(predictions(400), SMALL.task)
    figures = PartitionFigures(replace(SMALL, partitions=1), 0)
    figures.take(columns.cut(0, 200))
    tail = figures.tail()
    before = repr(tail)
    figures.take(columns.cut(200, 400))
    assert repr(tail) == before


def final(configured, made):
    """The last moment of a stream, everything told."""
    parts, told = told_by(configured, made)
    whole = WholeFigures(configured)
    for number in sorted(told):
        for one in told[number]:
            list(whole.take([one]))
    before = whole.packed()
    moment = whole.last_moment({number: part.tail() for number, part in parts.items()})
    assert whole.packed() == before, "what is said at the end is no part of the state"
    return moment


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("partitions", [1, 4, 16])
@pytest.mark.parametrize("count", [40, 777])
def test_the_last_figures_are_those_of_sklearn(count, partitions, timed):
    made = predictions(count, timed=timed)
    configured = replace(SMALL, partitions=partitions)
    moment = final(configured, made)
    judged = [one for one in made if one.label is not None]
    y = np.array([one.label for one in judged])
    guess = np.array([one.predicted for one in judged])
    scores = np.array([one.score for one in judged])
    losses = np.array([one.loss for one in judged])
    values = moment.values
    assert moment.events == count
    assert moment.cause == judged[-1].cause
    assert values["labelled"] == len(judged)
    assert values["mistake_rate"] == np.mean(y != guess)
    assert values["loss"] == pytest.approx(losses.mean())
    assert values["f1"] == pytest.approx(metrics.f1_score(y, guess))
    assert values["mistake_rate_low"] < values["mistake_rate"] < values["mistake_rate_high"]
    if partitions == 1:
        recent = slice(-60, None)
        assert values["window_labelled"] == min(60, len(judged))
        assert values["window_mistake_rate"] == np.mean((y != guess)[recent])
        kappa = metrics.cohen_kappa_score(y[recent], guess[recent])
        assert values["window_kappa"] == pytest.approx(kappa)
        area = metrics.roc_auc_score(y[recent], scores[recent])
        assert values["window_auc"] == pytest.approx(area)
        weights = 0.95 ** np.arange(len(judged))[::-1] * (np.arange(len(judged))[::-1] < 160)
        accuracy = metrics.balanced_accuracy_score(y, guess, sample_weight=weights)
        assert values["fading_balanced_accuracy"] == pytest.approx(accuracy)


def test_the_window_is_of_the_latest_chunks_by_time():
    made = predictions(900, timed=True)
    values = final(replace(SMALL, partitions=4), made).values
    judged = [one for one in made if one.label is not None]
    # Chunks of 15 predictions of 4 partitions: those of the window began at most so far back.
    possible = {one.cause.offset: one.label != one.predicted for one in judged[-200:]}
    assert values["window_labelled"] == 60
    assert values["window_mistake_rate"] == pytest.approx(np.mean(list(possible.values())), abs=0.2)


def test_a_partition_that_fell_silent_leaves_the_window():
    made = predictions(1500, keys=40)
    silent = [one for i, one in enumerate(made) if i < 300 or one.key != "key-7"]
    wrong = [
        one
        if i >= 300 or one.label is None
        else structs.replace(one, score=-one.label, predicted=-one.label)
        for i, one in enumerate(silent)
    ]
    values = final(replace(SMALL, partitions=16), wrong).values
    assert values["mistake_rate"] > 0.3
    judged = [one for one in wrong if one.label is not None][-150:]
    recent = np.mean([one.label != one.predicted for one in judged])
    assert values["window_mistake_rate"] == pytest.approx(recent, abs=0.12)


def test_regression_has_its_own_figures():
    task = Regression()
    made = predictions(777, task=task)
    values = final(replace(SMALL, task=task, partitions=1), made).values
    judged = [one for one in made if one.label is not None]
    y, guess = (np.array([getattr(p, name) for p in judged]) for name in ("label", "predicted"))
    assert values["r2"] == pytest.approx(metrics.r2_score(y, guess))
    assert values["window_rmse"] == pytest.approx(
        metrics.root_mean_squared_error(y[-60:], guess[-60:])
    )
    assert values["window_r2"] == pytest.approx(metrics.r2_score(y[-60:], guess[-60:]))
    assert values["rmse_low"] < values["rmse"] < values["rmse_high"]
    assert values["mae_low"] < values["mae"] < values["mae_high"]
    assert "f1" not in values and "window_auc" not in values


@pytest.mark.parametrize("keys", ["worst", "none"])
def test_restored_it_goes_on_to_the_bit(keys):
    configured = replace(SMALL, keys=keys, key_lists_every=1)
    made = predictions(900)
    _parts, told = told_by(configured, made)
    order = list(mixed(told, np.random.default_rng(3)))
    whole = WholeFigures(configured)
    moments = list(whole.take(order))
    assert bool(moments[-1].listed) == (keys == "worst")
    for cut in (0, 1, 17, len(order)):
        first = WholeFigures(configured)
        again = list(first.take(order[:cut])) if cut else []
        second = WholeFigures.restored(configured, first.packed())
        again += list(second.take(order[cut:])) if cut < len(order) else []
        assert second.packed() == whole.packed()
        assert [(m.cause, m.values, len(m.listed)) for m in again] == [
            (m.cause, m.values, len(m.listed)) for m in moments
        ]


@pytest.mark.parametrize("cut", [0, 1, 250, 500])
def test_a_restored_partition_goes_on_to_the_bit(cut):
    configured = replace(SMALL, partitions=1)
    columns = columns_of(predictions(500), configured.task)
    whole, first = PartitionFigures(configured, 0), PartitionFigures(configured, 0)
    whole.take(columns)
    first.take(columns.cut(0, cut))
    second = PartitionFigures.restored(configured, first.packed())
    second.take(columns.cut(cut, 500))
    assert second.packed() == whole.packed()


def test_other_settings_are_refused_by_name():
    packed = WholeFigures(SMALL).packed()
    for change, name in (
        ({"window": 30}, "window"),
        ({"drift": None}, "drift"),
        ({"task": Regression()}, "task"),
        ({"partitions": 8}, "partitions"),
    ):
        with pytest.raises(FiguresError, match=f"kept with {name}="):
            WholeFigures.restored(replace(SMALL, **change), packed)
    with pytest.raises(FiguresError, match="damaged"):
        WholeFigures.restored(SMALL, packed[:-1])
    with pytest.raises(FiguresError, match="OKLE"):
        PartitionFigures.restored(SMALL, b"nothing")
    with pytest.raises(FiguresError, match="format 9"):
        PartitionFigures.restored(SMALL, packed[:4] + b"\x09\x00" + packed[6:])


def test_the_global_alarm_names_its_chunk():
    made = predictions(3000, keys=1)
    wrong = [
        Prediction(p.key, p.score, -p.label, 0, "kogd", p.cause, label=p.label)
        if p.label and p.cause.offset >= 2000 and p.cause.offset % 5
        else p
        for p in made
    ]
    _parts, told = told_by(SMALL, wrong)
    whole = WholeFigures(SMALL)
    rung = [m for part in told.values() for m in whole.take(part) if m.findings]
    assert 2000 < rung[0].cause.offset < 2200
    assert rung[0].findings[0][0] < rung[0].findings[0][1]


def test_columns_survive_the_way_to_another_process():
    columns = columns_of(predictions(20), Binary())
    make, content = columns.__reduce__()
    back = make(*content)
    np.testing.assert_array_equal(back.numbers, columns.numbers)
    assert (back.keys, back.causes, back.times) == (columns.keys, columns.causes, columns.times)
    twice = joined([columns, back])
    np.testing.assert_array_equal(twice.numbers, np.tile(columns.numbers, (2, 1)))
    assert twice.keys == columns.keys * 2


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40, unique=True),
    st.randoms(),
)
def test_the_latest_chunks_are_those_with_the_highest_stamps(pairs, random):
    stamps = [(time, offset, 0, 0) for time, offset in pairs]
    shuffled = stamps[:]
    random.shuffle(shuffled)
    recent = Recent(6, 2)
    entries = np.array([[float(10 * t + o)] * 2 * ENTRY for t, o, _p, _n in shuffled])
    recent.put(np.array(shuffled, dtype=np.int64).reshape(-1, 4), entries.reshape(-1, 2 * ENTRY))
    latest = sorted(stamps)[-6:]
    assert [tuple(stamp) for stamp in recent.stamps.tolist()] == latest
    assert recent.entries[::2, 0].tolist() == [10.0 * t + o for t, o, _p, _n in latest]
    assert recent.latest(4)[::2, 0].tolist() == [10.0 * t + o for t, o, _p, _n in latest[-2:]]


def test_faded_chunks_weigh_by_their_place():
    generator = np.random.default_rng(0)
    recent = Recent(9, 3)
    stamps = np.column_stack([generator.permutation(20), np.zeros((20, 3))]).astype(np.int64)
    chunks = generator.integers(0, 2, size=(20, 3 * ENTRY)).astype(float)
    recent.put(stamps, chunks)
    row, expected = np.zeros((2, width_of(2)))
    recent.fill_faded(2, 0.9, row)
    ordered = chunks[np.argsort(stamps[:, 0])[-9:]].reshape(-1, ENTRY)
    add_entries(expected, 2, 1.0, 0.9, ordered)
    np.testing.assert_allclose(row, expected, rtol=1e-12)
