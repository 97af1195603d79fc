"""A job's settings: declared by dataclasses, said by file, environment or command line, checked."""

from okl_flow.job.checking import FlowError
from okl_flow.job.kinds import Addresses, Features, Flag, Kind, OneOf, Real, Text, Whole, Words
from okl_flow.job.lines import (
    Drifts,
    Learner,
    Learners,
    Line,
    Named,
    faults_of,
    line_of,
    parsed,
    parted,
    unknown_of,
)
from okl_flow.job.plan import SUFFIX, Given, Plan, plan_of
from okl_flow.job.reading import Effective, Problem, Read, read, refusal
from okl_flow.job.running import RunSettings
from okl_flow.job.settings import Fault, Setting, declared, setting
from okl_flow.job.text import TextError

__all__ = [
    "SUFFIX",
    "Addresses",
    "Drifts",
    "Effective",
    "Fault",
    "Features",
    "Flag",
    "FlowError",
    "Given",
    "Kind",
    "Learner",
    "Learners",
    "Line",
    "Named",
    "OneOf",
    "Plan",
    "Problem",
    "Read",
    "Real",
    "RunSettings",
    "Setting",
    "Text",
    "TextError",
    "Whole",
    "Words",
    "declared",
    "faults_of",
    "line_of",
    "parsed",
    "parted",
    "plan_of",
    "read",
    "refusal",
    "setting",
    "unknown_of",
]
