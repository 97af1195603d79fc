"""A champion among learners, and a test of its challengers that may be looked at all the time.

Each challenger bets against "it is not better than the champion", at fair odds: at every label it
stakes part of its wealth, wins where the champion alone was wrong (in regression: was further off)
and loses where it alone was. If the challenger is not better, its wealth is expected never to grow,
whatever the stream and however its events depend on each other; so the chance that it *ever*
reaches c / alpha is at most alpha / c (Ville's inequality), and with c challengers that one of
them does at most alpha. Nobody has to fix beforehand when to look.

The stake is (wins - losses) / (wins + losses + 1), which is known before the label is: that of
Krichevsky and Trofimov, within a constant as good as the best fixed stake would have been. It is
never below 0, as then a challenger that is behind loses no wealth and comes up soon when things
change, and never above 1/2. For the same reason wins and losses are halved when there are many.

Papers: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", Journal
of the Royal Statistical Society B, 2024; Orabona, Pál, "Coin betting and parameter-free online
learning", NeurIPS 2016.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import Array, native

__all__ = ["Contest", "Lead", "Terms"]

STAKE_MAX = 0.5
REMEMBERED_MAX = 8192
"""Wins and losses that a stake is made of are halved when there are so many."""

_FIELDS = 5
_WEALTH, _WINS, _LOSSES, _NET, _TOLD = range(_FIELDS)


@dataclass(frozen=True, slots=True)
class Terms:
    """What contests are about, the same for all keys."""

    learners: int
    champion: int  # that a contest begins with
    promotes: bool  # whether a challenger that is ahead becomes the champion
    confidence: float = 0.95

    @property
    def threshold(self) -> float:
        """The wealth at which a challenger is ahead."""
        return (self.learners - 1) / (1.0 - self.confidence)


class Lead(NamedTuple):
    """The moment when a challenger is found to be better."""

    place: int  # of the label among those at hand
    champion: int
    challenger: int
    wealth: float
    labels: int  # since the contest began
    difference: float  # mean of +1 where the challenger was better, -1 where the champion was


@dataclass(slots=True)
class Contest:
    """The learners of one key against each other.

    >>> contest = Contest.of(Terms(learners=2, champion=0, promotes=True, confidence=0.9))
    >>> champions, leads = contest.run(np.array([[1.0, 0.0]] * 9))
    >>> champions.tolist(), contest.champion
    ([0, 0, 0, 0, 0, 0, 0, 1, 1], 1)
    >>> leads[0].wealth, leads[0].labels, leads[0].difference
    (11.390625, 7, 1.0)
    """

    terms: Terms
    champion: int
    labels: int  # since it began
    held: Array  # of each learner: wealth, wins, losses, wins less losses of all labels, told

    @classmethod
    def of(cls, terms: Terms) -> "Contest":
        """A contest that begins."""
        return cls(terms, terms.champion, 0, _nothing_won(terms.learners))

    def run(self, errors: Array) -> tuple[NDArray[np.int64], list[Lead]]:
        """Go through errors, a line of them per event and one of each learner in it.

        An error is a number from 0 on, infinite where the learner failed; NaN in a whole line
        where there is no label. Returns the champion at each event, and who came to be ahead.
        """
        champions = np.full(errors.shape[0], self.champion, dtype=np.int64)
        leads: list[Lead] = []
        begin = 0
        while begin < errors.shape[0]:
            begin, self.labels = _run_until_ahead(
                errors, begin, self.champion, self.labels, self.terms.threshold, self.held
            )
            if begin < 0:
                break
            leads += self._decide(begin)
            begin += 1
            champions[begin:] = self.champion
        return champions, leads

    def pack(self) -> list[Any]:
        """The contest as plain values."""
        held = [[wealth, *map(int, counts)] for wealth, *counts in self.held.tolist()]
        return [self.terms.champion, self.champion, self.labels, held]

    @classmethod
    def unpack(cls, terms: Terms, packed: list[Any]) -> "Contest":
        """The contest that was packed; a new one if it began with another champion."""
        began_with, champion, labels, held = packed
        if began_with != terms.champion:
            return cls.of(terms)
        contest = cls(terms, champion, labels, np.array(held, dtype=np.float64))
        if terms.promotes:
            contest.held[:, _TOLD] = 0.0  # of one that only told, and is to act from now on
        return contest

    def _decide(self, place: int) -> list[Lead]:
        """What becomes of the challengers that are ahead; there is one at least."""
        ahead = np.flatnonzero(_is_ahead(self.held, self.champion, self.terms.threshold)).tolist()
        if self.terms.promotes:
            ahead = [max(ahead, key=lambda one: float(self.held[one, _WEALTH]))]
        leads = [
            Lead(
                place,
                self.champion,
                one,
                float(self.held[one, _WEALTH]),
                self.labels,
                float(self.held[one, _NET]) / self.labels,
            )
            for one in ahead
        ]
        self.held[ahead, _TOLD] = 1.0
        if self.terms.promotes:
            self.champion, self.labels = ahead[0], 0
            self.held = _nothing_won(self.terms.learners)
        return leads


def _nothing_won(learners: int) -> Array:
    held = np.zeros((learners, _FIELDS))
    held[:, _WEALTH] = 1.0
    return held


@native
def _is_ahead(held: Array, champion: int, threshold: float) -> NDArray[np.bool_]:
    """Which challengers have the wealth, and have not been told of."""
    found = np.zeros(held.shape[0], np.bool_)
    for c in range(held.shape[0]):
        found[c] = c != champion and held[c, _TOLD] == 0.0 and held[c, _WEALTH] >= threshold
    return found


@native
def _run_until_ahead(
    errors: Array, begin: int, champion: int, labels: int, threshold: float, held: Array
) -> tuple[int, int]:
    """Let all bet from `begin` on, until one is ahead: where, or -1; and labels so far."""
    for t in range(begin, errors.shape[0]):
        own = errors[t, champion]
        if math.isnan(own):
            continue
        labels += 1
        is_ahead = False
        for c in range(errors.shape[1]):
            if c != champion and errors[t, c] != own:
                _bet(held[c], errors[t, c] < own)
            told = held[c, _TOLD] != 0.0
            is_ahead |= c != champion and not told and held[c, _WEALTH] >= threshold
        if is_ahead:
            return t, labels
    return -1, labels


@native
def _bet(held: Array, won: bool) -> None:
    """One challenger's bet on an event where one of the two was better."""
    wins, losses = held[_WINS], held[_LOSSES]
    stake = min(max((wins - losses) / (wins + losses + 1.0), 0.0), STAKE_MAX)
    gain = 1.0 if won else -1.0
    if held[_TOLD] == 0.0:
        held[_WEALTH] *= 1.0 + stake * gain
    held[_WINS if won else _LOSSES] += 1.0
    held[_NET] += gain
    if held[_WINS] + held[_LOSSES] >= REMEMBERED_MAX:
        held[_WINS] = math.floor(held[_WINS] / 2.0)
        held[_LOSSES] = math.floor(held[_LOSSES] / 2.0)
