"""What there is: a row per learner, with its cost and its test settings, maps and statistics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from okl_flow.alignment import KernelAlignment
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.approximation.irs import IRS
from okl_flow.approximation.kors import KORS
from okl_flow.approximation.nystrom import IncrementalNystrom
from okl_flow.approximation.oana import OANA
from okl_flow.approximation.random_features import RandomFourier
from okl_flow.learner import Learner
from okl_flow.learners.expansion.bogd import BOGD
from okl_flow.learners.expansion.bpa_s import BPAS
from okl_flow.learners.expansion.forgetron import Forgetron
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.learners.expansion.perceptron import Perceptron
from okl_flow.learners.expansion.projectron import Projectron
from okl_flow.learners.expansion.projectron_pp import ProjectronPP
from okl_flow.learners.expansion.rbp import RBP
from okl_flow.learners.feature_map.dual_sgd import DualSGD
from okl_flow.learners.feature_map.fogd import FOGD
from okl_flow.learners.feature_map.nogd import NOGD
from okl_flow.learners.feature_map.nolana import NOLANA
from okl_flow.learners.feature_map.ons import ONS
from okl_flow.learners.feature_map.rrf import RRF
from okl_flow.learners.feature_map.skegd import SkeGD
from okl_flow.learners.kernel_choice.okl_gd import OKLGD
from okl_flow.learners.kernel_choice.oks import OKS
from okl_flow.learners.kernel_choice.oks_sil import OKSSIL
from okl_flow.learners.kernel_choice.proj_ka import ProjKA
from okl_flow.learners.linear.arow import AROW
from okl_flow.learners.linear.passive_aggressive import PassiveAggressive
from okl_flow.learners.second_order.kons import KONS
from okl_flow.learners.second_order.krls_ald import KRLSALD
from okl_flow.learners.second_order.pros_n_kons import PROSNKONS
from okl_flow.learners.second_order.sketched_kons import SketchedKONS

__all__ = ["MAPS", "REGISTRY", "STATISTICS", "Limit", "Row"]


@dataclass(frozen=True)
class Limit:
    """A learner that another one becomes, or comes closer to, under ever wider settings."""

    settings: tuple[Mapping[str, Any], ...]  # the last of them is nearest
    equals: str
    with_settings: Mapping[str, Any]
    tolerance: float = 1e-12  # root mean square of the difference of scores


@dataclass(frozen=True)
class Row:
    """A learner as the registry, the conformance suite and the README's table know it."""

    learner: type[Learner]
    paper: str  # authors and year
    memory: str  # growth of one state, in words
    cost: str  # growth of one event's work, in words
    tasks: tuple[str, ...]  # tasks that it does
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters that the tests use
    learning: Mapping[str, Any] = field(default_factory=dict)  # more of them where it must learn
    mistakes_max: tuple[float, float] = (0.5, 0.5)  # share on streams.rings, streams.rotating
    alternatives: Mapping[str, Any] = field(default_factory=dict)  # values that must matter
    limits: tuple[Limit, ...] = ()  # where it meets another learner
    exceptions: Mapping[str, str] = field(default_factory=dict)  # law: why it does not hold


MAPS: dict[str, type[FeatureMap]] = {
    feature_map.name: feature_map
    for feature_map in (IncrementalNystrom, IRS, KORS, OANA, RandomFourier)
}

STATISTICS: dict[str, type[KernelAlignment]] = {KernelAlignment.name: KernelAlignment}

REGISTRY: dict[str, Row] = {
    row.learner.name: row
    for row in (
        Row(
            KOGD,
            paper="Kivinen, Smola and Williamson, 2004",
            memory="budget * dim, unbounded without a budget",
            cost="budget * dim",
            tasks=("binary", "multiclass", "regression"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25, "learning_rate": 0.5},
            mistakes_max=(0.16, 0.16),
            limits=(Limit(({"budget": 60}, {"budget": 400}), "kogd", {}),),
        ),
        Row(
            Perceptron,
            paper="Freund and Schapire, 1999",
            memory="budget * dim, unbounded without a budget",
            cost="budget * dim",
            tasks=("binary", "multiclass"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25},
            mistakes_max=(0.2, 0.2),
            limits=(Limit(({"budget": 20}, {"budget": 400}), "perceptron", {}),),
        ),
        Row(
            RBP,
            paper="Cavallanti, Cesa-Bianchi and Gentile, 2007",
            memory="budget * dim",
            cost="budget * dim",
            tasks=("binary", "multiclass"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25},
            mistakes_max=(0.205, 0.195),
            limits=(Limit(({"budget": 20}, {"budget": 400}), "perceptron", {}),),
        ),
        Row(
            Forgetron,
            paper="Dekel, Shalev-Shwartz and Singer, 2005",
            memory="budget * dim",
            cost="budget * dim",
            tasks=("binary",),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25},
            mistakes_max=(0.205, 0.2),
            limits=(Limit(({"budget": 20}, {"budget": 400}), "perceptron", {}),),
        ),
        Row(
            BOGD,
            paper="Zhao, Wang, Wu, Jin and Hoi, 2012",
            memory="budget * dim",
            cost="budget * dim",
            tasks=("binary", "multiclass", "regression"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25, "learning_rate": 0.5},
            mistakes_max=(0.175, 0.18),
            limits=(Limit(({"budget": 20}, {"budget": 400}), "kogd", {}),),
        ),
        Row(
            Projectron,
            paper="Orabona, Keshet and Caputo, 2008",
            memory="budget * (budget + dim)",
            cost="budget * dim, and budget^2 after a mistake",
            tasks=("binary", "multiclass"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25},
            mistakes_max=(0.165, 0.185),
            limits=(
                Limit(
                    tuple({"budget": 400, "threshold": away} for away in (0.5, 0.2, 0.1)),
                    "perceptron",
                    {},
                ),
                Limit(
                    ({"kernel": "linear", "threshold": 0.0},),
                    "perceptron",
                    {"kernel": "linear"},
                    tolerance=1e-9,
                ),
            ),
        ),
        Row(
            ProjectronPP,
            paper="Orabona, Keshet and Caputo, 2008",
            memory="budget * (budget + dim)",
            cost="budget * dim, and budget^2 after a mistake or inside the margin",
            tasks=("binary", "multiclass"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25},
            mistakes_max=(0.12, 0.16),
            exceptions={
                "limits_meet": "its steps inside the margin depend on the budget, without end"
            },
        ),
        Row(
            BPAS,
            paper="Wang and Vucetic, 2010",
            memory="budget * dim",
            cost="budget * dim",
            tasks=("binary", "multiclass"),
            settings={"budget": 20},
            learning={"budget": 100, "bandwidth": 0.25},
            mistakes_max=(0.125, 0.165),
            limits=(
                Limit(
                    ({"kernel": "linear", "budget": 400, "aggressiveness": 0.3},),
                    "passive_aggressive",
                    {"aggressiveness": 0.3},
                ),
            ),
        ),
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
            cost="landmark_count * (dim + rank), and sketch_size^3 every update_every events",
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
            mistakes_max=(0.105, 0.165),
            alternatives={"dependency": (0.6,)},
            limits=(Limit(({"budget": 20}, {"budget": 300}), "krls_ald", {"budget": 400}),),
        ),
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
}
