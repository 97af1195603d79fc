"""A job looked at from outside, before its start or while it runs: what is wrong, what to do."""

from okl_flow.doctor.examination import examine
from okl_flow.doctor.finding import Finding, Level
from okl_flow.doctor.job import Job

__all__ = ["Finding", "Job", "Level", "examine"]
