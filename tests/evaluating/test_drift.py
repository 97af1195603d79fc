"""Detectors of drift on seeded streams, with river's beside them."""

import numpy as np
import pytest
from river import drift as river_drift

from okl_flow.evaluating.drift import FINDINGS, Adwin, Drift, PageHinkley, drift_of, watch

DETECTORS = [PageHinkley(), Adwin()]


def alarms(detector, errors, row=None):
    """Where the detector rang, and what it found."""
    row = np.zeros(detector.size) if row is None else row
    findings = np.zeros(len(FINDINGS))
    rung = []
    for i, error in enumerate(errors.tolist()):
        if watch(detector.native, row, error, findings):
            rung.append((i, dict(zip(FINDINGS, findings.tolist(), strict=True))))
    return rung


def mistakes(*stretches, seed=0):
    """0 and 1 by stretches of (count, chance)."""
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.random(n) < chance for n, chance in stretches]).astype(float)


def river_alarms(detector, errors):
    rung = []
    for i, error in enumerate(errors.tolist()):
        before = getattr(detector, "estimation", 0.0)
        detector.update(error)
        if detector.drift_detected and getattr(detector, "estimation", 1.0) > before:
            rung.append(i)
    return rung


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda one: one.name)
@pytest.mark.parametrize(("before", "after"), [(0.05, 0.25), (0.1, 0.3), (0.3, 0.5)])
def test_a_rise_rings_soon_and_once(detector, before, after):
    delays = []
    for seed in range(20):
        rung = alarms(detector, mistakes((3000, before), (1500, after), seed=seed))
        assert [at >= 3000 for at, _found in rung] == [True]
        [(at, found)] = rung
        delays.append(at - 3000)
        assert found["before"] == pytest.approx(before, abs=0.06)
        assert found["after"] > found["before"]
        assert found["statistic"] > found["threshold"]
    assert np.mean(delays) < 250


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda one: one.name)
@pytest.mark.parametrize("chance", [0.01, 0.1, 0.5])
def test_a_steady_stream_hardly_ever_rings(detector, chance):
    rung = sum(len(alarms(detector, mistakes((50_000, chance), seed=s))) for s in range(4))
    assert rung <= 2


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda one: one.name)
def test_a_learner_that_becomes_better_does_not_ring(detector):
    assert not alarms(detector, mistakes((2000, 0.5), (2000, 0.3), (4000, 0.1)))


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda one: one.name)
def test_the_unit_of_the_errors_does_not_matter(detector):
    generator = np.random.default_rng(3)
    errors = np.abs(generator.normal(size=6000)) * np.repeat([1.0, 2.0], 3000)
    plain = [at for at, _found in alarms(detector, errors)]
    assert plain and plain[0] >= 3000
    assert [at for at, _found in alarms(detector, 1024.0 * errors)] == plain


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda one: one.name)
def test_after_an_alarm_it_is_as_new(detector):
    errors = mistakes((3000, 0.1), (1500, 0.6))
    row = np.zeros(detector.size)
    [(at, _found)] = alarms(detector, errors, row)
    fresh = np.zeros(detector.size)
    alarms(detector, errors[at + 1 :], fresh)
    np.testing.assert_array_equal(row, fresh)


def test_adwin_rings_where_rivers_does():
    for seed in range(5):
        errors = mistakes((2000, 0.2), (1000, 0.5), (2000, 0.1), (1000, 0.3), seed=seed)
        # River's goes on with what is left of its window, ours begins anew: so only the first.
        ours, theirs = alarms(Adwin(), errors)[0][0], river_alarms(river_drift.ADWIN(), errors)[0]
        assert ours == theirs


def test_page_hinkley_is_sooner_and_more_seldom_wrong_than_rivers():
    delays, delays_river, wrong, wrong_river = [], [], 0, 0
    for seed in range(10):
        errors = mistakes((10_000, 0.3), (2000, 0.5), seed=seed)
        for detector, late in ((None, delays_river), (PageHinkley(), delays)):
            if detector is None:
                rung = river_alarms(river_drift.PageHinkley(mode="up"), errors)
                wrong_river += sum(at < 10_000 for at in rung)
            else:
                rung = [at for at, _found in alarms(detector, errors)]
                wrong += sum(at < 10_000 for at in rung)
            late.append(min((at for at in rung if at >= 10_000), default=12_000) - 10_000)
    assert np.mean(delays) < np.mean(delays_river)
    assert wrong == 0 < wrong_river


def test_adwin_never_takes_more_memory():
    detector = Adwin()
    row = np.zeros(detector.size)
    assert not alarms(detector, np.tile([0.0, 1.0, 0.0, 0.0, 0.0], 100_000), row)
    # Up to 5 stretches of each of the 16 lengths.
    assert 4 * 2**15 <= row[0] <= 5 * (2**16 - 1)
    assert row[1] == pytest.approx(0.2 * row[0], abs=1.0)


def test_adwins_sums_are_those_of_its_window():
    detector = Adwin()
    row = np.zeros(detector.size)
    errors = np.random.default_rng(1).random(3000)
    assert not alarms(detector, errors, row)
    assert row[0] == 3000
    assert row[1] == pytest.approx(errors.sum())
    assert row[2] == pytest.approx((errors**2).sum())


def test_parameters_matter():
    errors = mistakes((3000, 0.2), (3000, 0.5))
    usual = alarms(PageHinkley(), errors)
    for changed in (
        PageHinkley(tolerance=0.5),
        PageHinkley(threshold=5.0),
        PageHinkley(warm_up=3500),
        PageHinkley(memory=200),
    ):
        assert alarms(changed, errors) != usual
    assert alarms(Adwin(), errors) != alarms(Adwin(chance=1e-9), errors)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PageHinkley(threshold=0.0),
        lambda: PageHinkley(tolerance=-1.0),
        lambda: PageHinkley(warm_up=1),
        lambda: PageHinkley(memory=1),
        lambda: Adwin(chance=1.0),
        lambda: drift_of("adwim"),
    ],
)
def test_absurd_detectors_are_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_detectors_by_name():
    assert drift_of(None) is None
    assert [drift_of(name) for name in Drift.members] == DETECTORS
