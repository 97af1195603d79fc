"""Losses and their slopes against the plain formulas, and the slopes against the losses."""

import numpy as np
import pytest

from okl_flow import EpsilonInsensitive, Hinge, Logistic, Square, SquaredHinge
from okl_flow.losses import Loss, implicit_slope, loss_slope, loss_value
from tests import plain

LOSSES = [Hinge(), SquaredHinge(), Logistic(), Square(), EpsilonInsensitive(epsilon=0.3)]
SCORES = [-800.0, -30.0, -1.0, -0.25, 0.0, 0.7, 1.0, 2.5, 40.0, 800.0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_value_and_slope_are_the_plain_ones(loss, y):
    for f in SCORES:
        value, slope = loss_value(loss.native, f, y), loss_slope(loss.native, f, y)
        assert value == pytest.approx(plain.value(loss, f, y), rel=1e-13, abs=1e-15)
        assert slope == pytest.approx(plain.slope(loss, f, y), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_slope_is_the_derivative(loss, y):
    step = 1e-6
    for f in (-2.2, -0.4, 0.1, 0.55, 1.9):
        rise = loss_value(loss.native, f + step, y) - loss_value(loss.native, f - step, y)
        assert loss_slope(loss.native, f, y) == pytest.approx(rise / (2 * step), abs=1e-6)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Square()])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_an_implicit_slope_is_that_of_the_score_after_the_step(loss, y):
    for f in SCORES:
        for spread in (0.0, 1e-3, 0.5, 15.0, 1e4, 1e8, 1e100):
            slope, curvature = implicit_slope(loss.native, f, y, spread)
            after = f - spread * slope
            # Where the spread is great, the score after the step is known from the slope alone:
            # a slope that is right to the last bits moves it by as much as it is wide.
            wide = 1e-12 * max(1.0, abs(f), abs(after)) + 1e-15 * spread * abs(slope)
            around = [loss_slope(loss.native, after + sign * wide, y) for sign in (-1, 1)]
            assert min(around) - 1e-14 <= slope <= max(around) + 1e-14
            if loss.name == "logistic":
                assert curvature == pytest.approx(abs(slope) * (1 - abs(slope)), rel=1e-12)
            else:
                assert curvature == (2.0 if slope != 0.0 or loss.name == "square" else 0.0)


def test_an_implicit_step_does_not_go_beyond_the_least_of_the_loss():
    for spread in np.geomspace(1e-3, 1e120, 50):
        for f in np.linspace(-40.0, 1.0, 15):
            slope = implicit_slope(SquaredHinge().native, f, 1.0, spread)[0]
            assert f - spread * slope <= 1.0 + 1e-12 * abs(f)


def test_a_hinge_is_not_active_at_its_kink():
    assert loss_slope(Hinge().native, 1.0, 1.0) == 0.0
    assert loss_slope(Hinge().native, np.nextafter(1.0, 0.0), 1.0) == -1.0


def test_every_loss_is_tested():
    assert {loss.name for loss in LOSSES} == set(Loss.members)
