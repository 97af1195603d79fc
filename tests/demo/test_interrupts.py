"""Signals come where they may, once."""

import os
import signal
from contextlib import suppress

import pytest

from okl_flow.demo.interrupts import Interrupts

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers():
    """Those of pytest, back at the end of a test."""
    before = [signal.getsignal(one) for one in NUMBERS]
    yield
    for one, handler in zip(NUMBERS, before, strict=True):
        signal.signal(one, handler)


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", NUMBERS)
def test_where_it_is_heeded_it_comes_at_once(number):
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.heeded():
            send(number)
            raise AssertionError
        assert interrupts.number == number


def test_where_it_is_held_it_waits():
    done = []
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.heeded():
            with interrupts.held():
                send(signal.SIGINT)
                done.append("set up")
            done.append("too much")
    assert done == ["set up"]


def test_before_anything_is_heeded_it_waits_for_that():
    with Interrupts() as interrupts:
        send(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), interrupts.heeded():
            raise AssertionError


@pytest.mark.parametrize("checks", [False, True])
def test_one_that_was_swallowed_comes_again(checks):
    done = []
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.heeded():
            with suppress(KeyboardInterrupt):
                send(signal.SIGINT)
            done.append("on")
            if checks:
                interrupts.check()
                done.append("too much")
    assert done == ["on"]


def test_after_the_first_all_are_ignored():
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.heeded():
            try:
                send(signal.SIGINT)
            finally:
                send(signal.SIGINT)
                send(signal.SIGTERM)
        send(signal.SIGINT)
        interrupts.check()
        assert interrupts.number == signal.SIGINT
    assert {signal.getsignal(one) for one in NUMBERS} == {signal.SIG_IGN}
    send(signal.SIGINT)


def test_at_the_end_they_do_what_they_did_before():
    before = [signal.getsignal(one) for one in NUMBERS]
    with Interrupts():
        assert [signal.getsignal(one) for one in NUMBERS] != before
    assert [signal.getsignal(one) for one in NUMBERS] == before
