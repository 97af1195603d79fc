"""Learners with explicit features."""

from okl_flow.learners.feature_map.dual_sgd import DualSGD
from okl_flow.learners.feature_map.fogd import FOGD
from okl_flow.learners.feature_map.nogd import NOGD
from okl_flow.learners.feature_map.nolana import NOLANA
from okl_flow.learners.feature_map.ons import ONS
from okl_flow.learners.feature_map.rrf import RRF
from okl_flow.learners.feature_map.skegd import SkeGD
from okl_flow.registry.row import Limit, Row

__all__ = ["ROWS"]

ROWS = (
    Row(
        FOGD,
        paper="Lu, Hoi, Wang, Zhao and Liu, 2016",
        memory="feature_count",
        cost="feature_count * dim",
        tasks=("binary", "multiclass", "regression"),
        settings={"feature_count": 8},
        learning={"feature_count": 200, "bandwidth": 0.25, "learning_rate": 0.5},
        mistakes_max=(0.11, 0.175),
        limits=(
            Limit(
                tuple({"feature_count": count} for count in (50, 500, 5000)),
                "kogd",
                {},
                tolerance=0.02,
            ),
        ),
    ),
    Row(
        NOGD,
        paper="Lu, Hoi, Wang, Zhao and Liu, 2016",
        memory="budget * (dim + rank)",
        cost="budget * (dim + rank), and budget^3 once",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20},
        learning={"budget": 100, "bandwidth": 0.25, "learning_rate": 0.5},
        mistakes_max=(0.11, 0.18),
        limits=(Limit(({"budget": 20}, {"budget": 400}), "kogd", {}),),
    ),
    Row(
        NOLANA,
        paper="Si, Kumar and Li, 2018",
        memory="budget * (dim + budget)",
        cost="budget * (dim + rank), and budget^3 to move a landmark",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20, "squared_distance": 0.3},
        learning={
            "budget": 100,
            "bandwidth": 0.25,
            "learning_rate": 0.5,
            "squared_distance": 0.02,
        },
        mistakes_max=(0.11, 0.18),
        limits=(
            Limit(
                tuple(
                    {
                        "budget": 20,
                        "rank": 12,
                        "loss": "logistic",
                        "squared_distance": distance,
                    }
                    for distance in (0.5, 1e6)
                ),
                "nogd",
                {"budget": 20, "rank": 12, "loss": "logistic"},
            ),
            Limit(({"budget": 20}, {"budget": 400}), "kogd", {}),
        ),
    ),
    Row(
        SkeGD,
        paper="Zhang and Liao, 2019",
        memory="stored_rows * dim + sketch_size^2",
        cost="landmark_count * (dim + rank), and sketch_size^3 for an update",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20, "update_every": 7, "stored_rows": 30},
        learning={
            "budget": 100,
            "bandwidth": 0.25,
            "learning_rate": 0.5,
            "stored_rows": 200,
        },
        mistakes_max=(0.1, 0.17),
        alternatives={"sketch_size": [10, 18], "stored_rows": [24, 40]},
        limits=(Limit(({"budget": 20}, {"budget": 400}), "kogd", {}),),
    ),
    Row(
        DualSGD,
        paper="Le, Nguyen, Nguyen and Phung, 2016",
        memory="budget * dim + feature_count",
        cost="(budget + feature_count) * dim",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20, "feature_count": 8},
        learning={"budget": 100, "feature_count": 200, "bandwidth": 0.25},
        mistakes_max=(0.12, 0.18),
        limits=(
            Limit(
                (
                    {"budget": 20, "regularization": 0.01},
                    {"budget": 400, "regularization": 0.01},
                ),
                "kogd",
                {"learning_rate": 99.999999999, "regularization": 0.01, "schedule": "inverse"},
                tolerance=1e-8,
            ),
        ),
    ),
    Row(
        RRF,
        paper="Nguyen, Le, Bui and Phung, 2017",
        memory="feature_count + dim",
        cost="feature_count * dim",
        tasks=("binary", "multiclass", "regression"),
        settings={"feature_count": 8},
        learning={"feature_count": 200, "bandwidth": 0.25, "learning_rate": 0.5},
        mistakes_max=(0.11, 0.175),
        limits=(
            Limit(
                tuple({"scale_rate": rate} for rate in (0.01, 0.001, 0.0)),
                "fogd",
                {"feature_count": 200},
            ),
        ),
    ),
    Row(
        ONS,
        paper="Hazan, Agarwal and Kale, 2007",
        memory="features^2, and what the map keeps",
        cost="features * (features + dim)",
        tasks=("binary", "multiclass", "regression"),
        settings={"budget": 20},
        learning={
            "budget": 100,
            "bandwidth": 0.25,
            "regularization": 0.1,
            "forgetting": 0.99,
        },
        mistakes_max=(0.1, 0.165),
        alternatives={"forgetting": (0.98,)},
        limits=(Limit(({"budget": 20}, {"budget": 400}), "ons", {"budget": 500}),),
    ),
)
