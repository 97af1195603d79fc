"""What there is: a row per learner, with its cost and its test settings, maps and statistics."""

from okl_flow.alignment import KernelAlignment
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.approximation.irs import IRS
from okl_flow.approximation.kors import KORS
from okl_flow.approximation.nystrom import IncrementalNystrom
from okl_flow.approximation.oana import OANA
from okl_flow.approximation.random_features import RandomFourier
from okl_flow.registry import expansion, feature_map, kernel_choice, linear, second_order
from okl_flow.registry.row import Limit, Row

__all__ = ["MAPS", "REGISTRY", "STATISTICS", "Limit", "Row"]

MAPS: dict[str, type[FeatureMap]] = {
    one.name: one for one in (IncrementalNystrom, IRS, KORS, OANA, RandomFourier)
}

STATISTICS: dict[str, type[KernelAlignment]] = {KernelAlignment.name: KernelAlignment}

REGISTRY: dict[str, Row] = {
    row.learner.name: row
    for group in (expansion, feature_map, kernel_choice, second_order, linear)
    for row in group.ROWS
}
