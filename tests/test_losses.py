"""Losses and their slopes against the plain formulas, and the slopes against the losses."""

import numpy as np
import pytest

from okl_flow import EpsilonInsensitive, Hinge, Logistic, Square, SquaredHinge
from okl_flow.losses import Loss, loss_slope, loss_value
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


def test_a_hinge_is_not_active_at_its_kink():
    assert loss_slope(Hinge().native, 1.0, 1.0) == 0.0
    assert loss_slope(Hinge().native, np.nextafter(1.0, 0.0), 1.0) == -1.0


def test_every_loss_is_tested():
    assert {loss.name for loss in LOSSES} == set(Loss.members)
