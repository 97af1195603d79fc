"""Learners that keep curvature."""

from okl_flow.learners.second_order.kons import KONS
from okl_flow.learners.second_order.krls_ald import KRLSALD
from okl_flow.learners.second_order.pros_n_kons import PROSNKONS
from okl_flow.learners.second_order.sketched_kons import SketchedKONS
from okl_flow.registry.row import Limit, Row

__all__ = ["ROWS"]

ROWS = (
    Row(
        KONS,
        paper="Calandriello, Lazaric and Valko, 2017",
        memory="budget * (budget + dim), unbounded without a budget",
        cost="budget * (budget + dim)",
        tasks=("binary", "regression"),
        settings={"budget": 20, "loss": "square"},  # a loss that either task may have
        learning={"budget": 100, "bandwidth": 0.25, "loss": "logistic"},
        mistakes_max=(0.165, 0.16),
        limits=(Limit(({"budget": 60}, {"budget": 400}), "kons", {}),),
    ),
    Row(
        SketchedKONS,
        paper="Calandriello, Lazaric and Valko, 2017",
        memory="budget * dim + dictionary_size * (dictionary_size + dim), unbounded without",
        cost="budget * dim + dictionary_size * (dictionary_size + dim)",
        tasks=("binary", "regression"),
        settings={"budget": 20, "dictionary_size": 10, "loss": "square"},  # as of kons
        learning={
            "budget": 100,
            "dictionary_size": 100,
            "bandwidth": 0.25,
            "loss": "logistic",
        },
        mistakes_max=(0.1, 0.155),
        limits=(Limit(({"probability_min": 0.3}, {"probability_min": 1.0}), "kons", {}),),
    ),
    Row(
        KRLSALD,
        paper="Engel, Mannor and Meir, 2004",
        memory="budget * (budget + dim)",
        cost="budget * (budget + dim)",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20},
        learning={"budget": 100, "bandwidth": 0.25, "forgetting": 0.99},
        mistakes_max=(0.1, 0.175),
        alternatives={"dependency": (0.6,)},
        limits=(Limit(({"budget": 20}, {"budget": 300}), "krls_ald", {"budget": 400}),),
    ),
    Row(
        PROSNKONS,
        paper="Calandriello, Lazaric and Valko, 2017",
        memory="budget * (budget + dim), unbounded without a budget",
        cost="budget * (budget + dim)",
        tasks=("binary", "regression"),
        settings={"budget": 20, "loss": "square"},  # as of kons
        learning={"budget": 100, "bandwidth": 0.25, "loss": "logistic"},
        mistakes_max=(0.08, 0.31),
        alternatives={"reset": (True,)},
        limits=(Limit(tuple({"oversampling": most} for most in (0.1, 1.0, 1e12)), "kons", {}),),
    ),
)
