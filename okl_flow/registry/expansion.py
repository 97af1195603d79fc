"""Learners that keep examples."""

from okl_flow.learners.expansion.bogd import BOGD
from okl_flow.learners.expansion.bpa_s import BPAS
from okl_flow.learners.expansion.forgetron import Forgetron
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.learners.expansion.perceptron import Perceptron
from okl_flow.learners.expansion.projectron import Projectron
from okl_flow.learners.expansion.projectron_pp import ProjectronPP
from okl_flow.learners.expansion.rbp import RBP
from okl_flow.registry.row import Limit, Row

__all__ = ["ROWS"]

ROWS = (
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
        exceptions={"limits_meet": "its steps inside the margin depend on the budget, without end"},
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
)
