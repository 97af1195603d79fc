"""Points where a process that is to be killed kills itself."""

import os
import signal

__all__ = ["arm", "countdown", "die", "failpoint"]


def failpoint(owner, method, when):
    """A point before or after a method, which has to be there.

    A process that found out only when it is armed would die at its start, and not look otherwise.
    """
    getattr(owner, method)
    return owner, method, when


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def countdown(calls):
    """True at the n-th call."""
    left = [calls]

    def is_due():
        left[0] -= 1
        return left[0] == 0

    return is_due


def arm(point, is_due):
    """Let the process die before or after a call of a method, when the time has come."""
    owner, method, when = point
    real = getattr(owner, method)

    def armed(*args, **kwargs):
        dies = is_due()
        if dies and when == "before":
            die()
        result = real(*args, **kwargs)
        if dies:
            die()
        return result

    setattr(owner, method, armed)
