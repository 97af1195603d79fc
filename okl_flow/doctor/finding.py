"""What the doctor finds: how bad it is, and what to do about it."""

from enum import StrEnum

import msgspec

__all__ = ["Finding", "Level", "fine", "problem", "warning"]


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"  # the job runs, and something may go wrong later
    PROBLEM = "problem"  # the job does not start, or loses or repeats something


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    check: str  # what was looked at, the same name for ever: "topics", "records.key"
    level: Level
    message: str
    remedy: str | None = None


def fine(check: str, message: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Something may go wrong."""
    return Finding(check, Level.WARNING, message, remedy)


def problem(check: str, message: str, remedy: str) -> Finding:
    """Something is wrong."""
    return Finding(check, Level.PROBLEM, message, remedy)
