"""okl_flow: online kernel learning on streams."""

from okl_flow.factory import make_learner, make_map
from okl_flow.kernels import Gaussian, Laplacian, Linear, Polynomial
from okl_flow.learner import Learner
from okl_flow.losses import EpsilonInsensitive, Hinge, Logistic, Square, SquaredHinge
from okl_flow.tasks import Binary, Multiclass, Regression

__all__ = [
    "Binary",
    "EpsilonInsensitive",
    "Gaussian",
    "Hinge",
    "Laplacian",
    "Learner",
    "Linear",
    "Logistic",
    "Multiclass",
    "Polynomial",
    "Regression",
    "Square",
    "SquaredHinge",
    "make_learner",
    "make_map",
]
