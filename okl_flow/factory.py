"""Learners, maps and statistics by name, from names, numbers and words of a file or command."""

from collections.abc import Iterator, Mapping
from dataclasses import Field
from typing import Any, TypeVar

from okl_flow.alignment import KernelAlignment
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.learner import Learner
from okl_flow.parameters import Part, family_of, nearest, parameters_of
from okl_flow.registry import MAPS, REGISTRY, STATISTICS

__all__ = ["make_described", "make_learner", "make_map", "make_statistic"]

Made = TypeVar("Made", Learner, FeatureMap, KernelAlignment)


def make_learner(learner: str, **settings: Any) -> Learner:
    """A learner by name, from names, numbers and words as a file or command line has them.

    Kernels, losses and tasks are given by name, their parameters beside those of the learner.

    >>> make_learner("kogd", budget=50, kernel="polynomial", degree=3)
    KOGD(budget=50, kernel=Polynomial(degree=3, offset=1.0), loss=Hinge(), ...)
    >>> make_learner("kogd", bandwith=2.0)
    Traceback (most recent call last):
    ValueError: kogd has no parameter 'bandwith'; did you mean 'bandwidth'?
    """
    if learner not in REGISTRY:
        hint = nearest(learner, REGISTRY)
        raise ValueError(f"there is no learner {learner!r}{hint}; known: {', '.join(REGISTRY)}")
    return _configured(REGISTRY[learner].learner, settings)


def make_map(map: str, **settings: Any) -> FeatureMap:
    """A feature map by name, from names, numbers and words."""
    if map not in MAPS:
        raise ValueError(f"there is no map {map!r}{nearest(map, MAPS)}; known: {', '.join(MAPS)}")
    return _configured(MAPS[map], settings)


def make_statistic(statistic: str, **settings: Any) -> KernelAlignment:
    """A statistic of a stream by name, from names, numbers and words."""
    if statistic not in STATISTICS:
        hint = nearest(statistic, STATISTICS)
        known = ", ".join(STATISTICS)
        raise ValueError(f"there is no statistic {statistic!r}{hint}; known: {known}")
    return _configured(STATISTICS[statistic], settings)


def make_described(description: Mapping[str, Any]) -> Learner | FeatureMap | KernelAlignment:
    """The learner, map or statistic whose `describe` gave this description."""
    if "learner" in description:
        return make_learner(**description)
    if "map" in description:
        return make_map(**description)
    return make_statistic(**description)


def _configured(configured: type[Made], settings: dict[str, Any]) -> Made:
    """A configuration of this class, its parts made from their names."""
    unused = dict(settings)
    made: Made = _taking(configured, unused)
    if unused:
        raise ValueError(_unknown_parameter(configured, next(iter(unused))))
    return made


def _taking(configured: type[Any], unused: dict[str, Any]) -> Any:
    """A configuration of this class; the settings that it takes are no longer unused."""
    chosen: dict[str, Any] = {}
    for parameter in parameters_of(configured):
        family = family_of(parameter)
        if family is not None:
            value = _part_from(family, parameter, unused)
            if value is not None:
                chosen[parameter.name] = value
        elif parameter.name in unused:
            chosen[parameter.name] = unused.pop(parameter.name)
    return configured(**chosen)


def _part_from(family: type[Part], parameter: "Field[Any]", unused: dict[str, Any]) -> Part | None:
    """The part that the settings name and describe; what it takes is no longer unused."""
    given: str | Part | None = unused.pop(parameter.name, parameter.default)
    if isinstance(given, str):
        if given not in family.members:
            hint = nearest(given, family.members)
            known = ", ".join(family.members)
            raise ValueError(f"there is no {parameter.name} {given!r}{hint}; known: {known}")
        member: type[Any] = family.members[given]
    elif given is parameter.default and given is not None:
        member = type(given)
    else:
        return given
    described: Part = _taking(member, unused)
    return described


def _unknown_parameter(configured: Any, name: str) -> str:
    """Why a learner does not take a parameter, and what it may have been meant to be."""
    known = []
    for parameter, owner, choice in _all_parameters(configured):
        known.append(parameter)
        if parameter == name and owner:
            return f"parameter {name!r} belongs to {choice}={owner}"
    return f"{configured.name} has no parameter {name!r}{nearest(name, known)}"


def _all_parameters(owner: Any, name: str = "", choice: str = "") -> Iterator[tuple[str, str, str]]:
    """The parameters of a class and of its parts, each with the part and what it is a choice of."""
    for parameter in parameters_of(owner):
        yield parameter.name, name, choice
        family = family_of(parameter)
        for member in family.members.values() if family else ():
            yield from _all_parameters(member, member.name, parameter.name)
