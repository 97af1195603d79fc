"""The configurations and streams that the laws are run over."""

import importlib

import numpy as np

from okl_flow import make_learner, streams
from okl_flow.parameters import family_of, options_of, parameters_of, parts_within
from okl_flow.registry import REGISTRY


def variants(name):
    """Settings of a learner that differ from its test settings in one choice each.

    Every task, and every kernel, loss and word that the learner takes; under regression
    every loss once more.
    """
    row = REGISTRY[name]
    found = []
    for task in row.tasks:
        base = {**row.settings, "task": task}
        found.append(base)
        for parameter in choices_of(make_learner(name, **base)):
            family = family_of(parameter)
            choices = options_of(parameter) if family is None else family.members
            for choice in choices:
                changed = {**base, parameter.name: choice}
                if accepted(name, changed) is None:
                    changed = without_parts(row.learner, changed)
                found.append(changed)
    taken = {}
    for settings in found:
        learner = accepted(name, settings)
        if learner is not None:
            taken.setdefault(learner, settings)
    return list(taken.values())


def choices_of(learner):
    """The parameters of a learner and of its parts that are words, the task apart."""
    for owner in (learner, *parts_within(learner)):
        for parameter in parameters_of(owner):
            if parameter.name != "task" and (family_of(parameter) or options_of(parameter)):
                yield parameter


def without_parts(learner, settings):
    """The settings without those of parts, which another part in their place may not take."""
    own = {parameter.name for parameter in parameters_of(learner)}
    return {parameter: value for parameter, value in settings.items() if parameter in own}


def accepted(name, settings):
    """The learner under these settings, or None if it refuses them."""
    try:
        return make_learner(name, **settings)
    except ValueError:
        return None


def plain_of(name):
    """The class `Plain` in the test file of a learner."""
    module = REGISTRY[name].learner.__module__.replace("okl_flow.", "tests.", 1)
    package, _, file = module.rpartition(".")
    return importlib.import_module(f"{package}.test_{file}").Plain


def events_for(task, count, *, dim=5, seed=3):
    """A stream for a task, some of it without labels, some of its events seen before."""
    if task == "regression":
        X, y = streams.waves(count, dim=dim, seed=seed)
    else:
        X, y = streams.rotating(count, dim=dim, seed=seed)
    if task == "multiclass":
        y = (y > 0) + (X[:, 2] > 0.3)
    y = y.astype(float)
    X[count // 2 : count // 2 + count // 10] = X[: count // 10]
    y[7::13] = np.nan
    return X, y


def learner_of(name, **settings):
    """The learner under its test settings, some of them changed."""
    return make_learner(name, **{**REGISTRY[name].settings, **settings})


def alternatives(name):
    """For each parameter of a learner, settings in which it alone has other values."""
    row = REGISTRY[name]
    learner = learner_of(name)
    found = {}
    for owner in (learner, *parts_within(learner)):
        for parameter in parameters_of(owner):
            value = getattr(owner, parameter.name)
            others = row.alternatives.get(parameter.name, other_values(parameter, value))
            settings = [{parameter.name: other} for other in others]
            settings = [
                setting
                for setting in settings
                if accepted(name, {**row.settings, **setting}) not in (None, learner)
            ]
            if settings:
                found[parameter.name] = settings
            else:  # a learner may take one kernel, loss or task only
                assert family_of(parameter), f"{name}: no other {parameter.name} is accepted"
    return found


def other_values(parameter, value):
    """Values near the one that a parameter has, or the other words that it can be."""
    if family_of(parameter) is not None:
        return [word for word in family_of(parameter).members if word != value.name]
    if options_of(parameter):
        return [word for word in options_of(parameter) if word != value]
    if isinstance(value, float):
        return [value * 2.5 + 0.1, value * 0.4]
    return [(value or 0) + 3, (value or 0) + 1, 2 * (value or 0) + 1]
