"""Waiting for processes that tests have started."""

import signal
import time

__all__ = ["all_ended", "kill", "until"]


def kill(processes):
    for one in processes:
        if one.poll() is None:
            one.send_signal(signal.SIGKILL)


def all_ended(started, patience, log):
    """Wait for the end; if one of them dies the others go as well. True if all are done."""
    end = time.monotonic() + patience
    while any(one.poll() is None for one in started):
        if any(one.poll() for one in started) or time.monotonic() > end:
            kill(started)
        time.sleep(0.01)
    assert time.monotonic() < end, log()
    return all(one.returncode == 0 for one in started)


def until(reached, process, patience, text):
    """What `reached` returns once it is true; the process must not end before."""
    end = time.monotonic() + patience
    while not (found := reached()):
        assert time.monotonic() < end, text()
        assert process.poll() is None, text()
        time.sleep(0.02)
    return found
