"""Learners, maps and statistics by name, from names, numbers and words of a file or command."""

from collections.abc import Iterator, Mapping
from dataclasses import Field
from typing import Any, TypeVar

from okl_flow.alignment import KernelAlignment
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.learner import Learner
from okl_flow.parameters import Part, choices_within, family_of, nearest, parameters_of
from okl_flow.registry import MAPS, REGISTRY, STATISTICS
from okl_flow.scaled import Scaled
from okl_flow.tuned import AUTO, TUNABLE, Tuned

__all__ = [
    "make_described",
    "make_learner",
    "make_map",
    "make_statistic",
    "wrapping_parameters",
]

Made = TypeVar("Made", Learner, FeatureMap, KernelAlignment)


def make_learner(learner: str, **settings: Any) -> Learner:
    """A learner by name, from names, numbers and words as a file or command line has them.

    Kernels, losses, tasks and maps are given by name, their parameters beside those of the
    learner. A bandwidth, a learning rate or a forgetting may be "auto", and then
    `first_events`, `trial_events` and `survivors` are those of `Tuned`; `scale` and `missing`
    are those of `Scaled`.

    >>> make_learner("kogd", budget=50, kernel="polynomial", degree=3)
    KOGD(budget=50, kernel=Polynomial(degree=3, offset=1.0), loss=Hinge(), ...)
    >>> make_learner("fogd", bandwidth="auto", scale="standard")
    Scaled(learner=Tuned(learner=FOGD(...), tunes=('bandwidth',), ...), scale='standard', ...)
    >>> make_learner("kogd", bandwith=2.0)
    Traceback (most recent call last):
    ValueError: kogd has no parameter 'bandwith'; did you mean 'bandwidth'?
    """
    if learner not in REGISTRY:
        hint = nearest(learner, REGISTRY)
        raise ValueError(f"there is no learner {learner!r}{hint}; known: {', '.join(REGISTRY)}")
    own = dict(settings)
    tunes = tuple(name for name in TUNABLE if own.get(name) == AUTO)
    for name in tunes:
        del own[name]
    tuning = _taken(Tuned, own) if tunes else {}
    scaling = _taken(Scaled, own)
    made = _configured(REGISTRY[learner].learner, own)
    if tunes:
        made = Tuned(learner=made, tunes=tunes, **tuning)
    if any(value not in ("none", "refuse") for value in scaling.values()):
        made = Scaled(learner=made, **{"scale": "none", **scaling})
    return made


def wrapping_parameters() -> Iterator[tuple[str, str]]:
    """The parameters that any learner takes besides its own, each with the choice it needs."""
    for parameter in parameters_of(Scaled):
        yield parameter.name, ""
    for parameter in parameters_of(Tuned):
        yield parameter.name, " or ".join(f"{name}={AUTO}" for name in TUNABLE)


def _taken(configured: type[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that are parameters of a class; they are no longer among the others."""
    names = [parameter.name for parameter in parameters_of(configured)]
    return {name: settings.pop(name) for name in names if name in settings}


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
    for parameter, choice in (*choices_within(configured), *wrapping_parameters()):
        known.append(parameter)
        if parameter == name and choice:
            return f"parameter {name!r} belongs to {choice}"
    return f"{configured.name} has no parameter {name!r}{nearest(name, known)}"
