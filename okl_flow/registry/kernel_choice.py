"""Learners that choose their kernel."""

from okl_flow.learners.kernel_choice.okl_gd import OKLGD
from okl_flow.learners.kernel_choice.oks import OKS
from okl_flow.learners.kernel_choice.oks_sil import OKSSIL
from okl_flow.learners.kernel_choice.proj_ka import ProjKA
from okl_flow.registry.row import Limit, Row

__all__ = ["ROWS"]

ROWS = (
    Row(
        OKSSIL,
        paper="Zhang and Liao, 2020",
        memory="budget * dim",
        cost="budget * dim, and sample_size^3 after a loss",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20},
        learning={"budget": 100, "bandwidth": 0.25, "learning_rate": 0.5},
        mistakes_max=(0.1, 0.175),
        alternatives={
            "bandwidth_rate_min": (0.1,),
            "bandwidth_min": (0.99,),
            "bandwidth_max": (1.01,),
        },
        limits=(
            Limit(
                tuple(
                    {"budget": 400, "regularization": 0.1, "bandwidth_rate": rate}
                    for rate in (0.1, 0.01, 0.0)
                ),
                "kogd",
                {"regularization": 0.1},
            ),
        ),
    ),
    Row(
        OKS,
        paper="Yang, Mahdavi, Jin, Yi and Hoi, 2012",
        memory="kernels * budget * dim, unbounded without a budget",
        cost="budget * dim + kernels",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20},
        learning={
            "budget": 100,
            "bandwidth_min": 0.125,
            "bandwidth_max": 1.0,
            "learning_rate": 0.5,
        },
        mistakes_max=(0.2, 0.235),
        limits=(
            Limit(
                ({"budget": 30, "bandwidth_min": 1.5, "bandwidth_max": 1.5},),
                "kogd",
                {"budget": 30, "bandwidth": 1.5},
            ),
            Limit(({"budget": 20}, {"budget": 400}), "oks", {"budget": None}),
        ),
    ),
    Row(
        OKLGD,
        paper="Chen, Liang, Zheng and Principe, 2016",
        memory="budget * dim, unbounded without a budget",
        cost="budget * dim",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20},
        learning={"budget": 100, "bandwidth": 0.25, "learning_rate": 0.5},
        mistakes_max=(0.155, 0.155),
        alternatives={
            "bandwidth_rate": (100.0,),
            "bandwidth_min": (1.0,),
            "bandwidth_max": (1.01,),
        },
        limits=(
            Limit(
                tuple(
                    {"budget": 60, "bandwidth_rate": 0.0, "bandwidth_rate_min": rate}
                    for rate in (0.1, 0.01, 0.0)
                ),
                "kogd",
                {"budget": 60},
            ),
            Limit(({"budget": 20}, {"budget": 400}), "okl_gd", {"budget": None}),
        ),
    ),
    Row(
        ProjKA,
        paper="Zhang and Liao, 2020",
        memory="budget * (budget + dim), and alignment_events * dim at first",
        cost="budget * dim, budget^2 after a mistake, and alignment_events^2 once",
        tasks=("binary", "multiclass"),
        settings={"budget": 20, "alignment_events": 70},
        learning={"budget": 100, "bandwidth": 4.0, "alignment_events": 300},
        mistakes_max=(0.185, 0.2),
        alternatives={"threshold": (0.99, 1.2), "bandwidth_max": (0.2, 0.25)},
        limits=(
            Limit(
                ({"budget": 60, "bandwidth_min": 1.0, "bandwidth_max": 1.0},),
                "projectron",
                {"budget": 60},
            ),
        ),
    ),
)
