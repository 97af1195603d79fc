"""Learners without a kernel."""

from okl_flow.learners.linear.arow import AROW
from okl_flow.learners.linear.passive_aggressive import PassiveAggressive
from okl_flow.registry.row import Limit, Row

__all__ = ["ROWS"]

ROWS = (
    Row(
        AROW,
        paper="Crammer, Kulesza and Dredze, 2009",
        memory="dim^2, or dim with a diagonal covariance",
        cost="dim^2, or dim with a diagonal covariance",
        tasks=("binary", "multiclass", "regression"),
        limits=(
            Limit(
                tuple({"intercept": "none", "regularization": r} for r in (1e2, 1e4, 1e6)),
                "passive_aggressive",
                {"variant": "pa2", "aggressiveness": 5e-7},
                tolerance=1e-7,
            ),
        ),
    ),
    Row(
        PassiveAggressive,
        paper="Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, 2006",
        memory="dim",
        cost="dim",
        tasks=("binary", "multiclass", "regression"),
        limits=(
            Limit(
                tuple({"aggressiveness": most} for most in (0.1, 1.0, 10.0)),
                "passive_aggressive",
                {"variant": "pa"},
            ),
        ),
        exceptions={
            "it_learns": "no line divides either stream; test_passive_aggressive.py has one"
        },
    ),
)
