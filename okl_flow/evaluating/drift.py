"""Detectors of drift: they watch the errors of a stream and ring when these have grown.

A detector is a configuration; what it remembers is a row of `size` numbers, zeros at first,
which `watch` changes in place. So a detector fits into the state of a key, goes on to the bit
after a snapshot, and never takes more memory. After an alarm it begins anew.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass

from okl_flow.native import Array, native
from okl_flow.parameters import Part, check, nearest, real, whole

__all__ = ["FINDINGS", "Adwin", "Drift", "NativeDrift", "PageHinkley", "drift_of", "watch"]

NativeDrift = tuple[int, float, float, float]

FINDINGS = ("before", "after", "statistic", "threshold", "errors")
"""What `watch` fills in when it rings: two mean errors, what crossed what, errors watched."""

_NONE, _PAGE_HINKLEY, _ADWIN = range(3)


class Drift(Part):
    """The family of detectors."""

    @property
    @abstractmethod
    def native(self) -> NativeDrift:
        """The detector as a native loop takes it."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers that the detector remembers."""


@dataclass(frozen=True)
class PageHinkley(Drift, name="page_hinkley"):
    """Adds up how far errors are above their mean, and rings when the sum has risen too far.

    The distance of each error from the mean so far, in standard deviations so far and at most
    10, less the tolerance, is added to a sum. The alarm rings when the sum is more than the
    threshold above the lowest value that it has had.

    Paper: Page, "Continuous inspection schemes", Biometrika, 1954. Deviations: errors are
    counted in standard deviations, so that one threshold serves rare mistakes, common ones, and
    errors of any unit; mean and deviation fade.

    Parameters:
        tolerance: growth of the mean error that is let pass, in standard deviations.
        threshold: rise of the sum that rings, in standard deviations.
        warm_up: errors to be seen first.
        memory: errors after which the weight of one in mean and deviation has fallen to 1/e.
    """

    tolerance: float = real(0.1, low=0.0)
    threshold: float = real(60.0, above=0.0)
    warm_up: int = whole(100, low=2)
    memory: int = whole(10_000, low=2)

    def __post_init__(self) -> None:
        check(self)

    @property
    def native(self) -> NativeDrift:
        """The detector as a native loop takes it."""
        # Whole and fraction of one number: the loops' tuple has the same length for all.
        return _PAGE_HINKLEY, self.tolerance, self.threshold, self.warm_up + 0.5 / self.memory

    @property
    def size(self) -> int:
        """Numbers that the detector remembers."""
        return _PAGE_HINKLEY_SIZE


@dataclass(frozen=True)
class Adwin(Drift, name="adwin"):
    """A window that is cut where its older and its newer errors differ too much.

    The window grows with the stream, kept as sums over stretches whose lengths double with
    their age. Every 32 errors each cut between two stretches is tried, and the older part goes
    when the means on the two sides differ by more than chance explains. The alarm rings if the
    newer mean is the higher one: a learner that becomes better gives none.

    Paper: Bifet, Gavaldà, "Learning from time-changing data with adaptive windowing", SIAM
    International Conference on Data Mining, 2007 (ADWIN2, with at most 5 stretches of one
    length). Deviations: errors may have any range, whose largest value so far takes the place
    of 1 in the bound; stretches of 2**15 errors are the longest, and the oldest of them leaves
    when there are too many.

    Parameters:
        chance: of a false alarm, roughly, at one look at a window without drift (delta).
    """

    chance: float = real(0.002, above=0.0, below=1.0)

    def __post_init__(self) -> None:
        check(self)

    @property
    def native(self) -> NativeDrift:
        """The detector as a native loop takes it."""
        return _ADWIN, self.chance, 0.0, 0.0

    @property
    def size(self) -> int:
        """Numbers that the detector remembers."""
        return _HEAD + _LEVELS + 2 * _LEVELS * _PLACES


NO_DRIFT: NativeDrift = (_NONE, 0.0, 0.0, 0.0)


def drift_of(drift: Drift | str | None) -> Drift | None:
    """A detector by its name; detectors and None stay what they are.

    >>> drift_of("adwin")
    Adwin(chance=0.002)
    """
    if drift is None or isinstance(drift, Drift):
        return drift
    if drift not in Drift.members:
        known = ", ".join(Drift.members)
        raise ValueError(
            f"drift must be one of {known}, such a detector or None, "
            f"not {drift!r}{nearest(str(drift), Drift.members)}"
        )
    made: Drift = Drift.members[drift]()
    return made


@native
def watch(drift: NativeDrift, row: Array, error: float, findings: Array) -> bool:
    """Take in one error; True, with the findings filled in, when the alarm rings."""
    code, first, second, third = drift
    if code == _PAGE_HINKLEY:
        rings = _page_hinkley(row, error, first, second, third, findings)
    else:
        rings = _adwin(row, error, first, findings)
    if rings:
        row[:] = 0.0
    return rings


_PAGE_HINKLEY_SIZE = 9
_SEEN, _WEIGHT, _MEAN, _SPREAD, _RISE, _BEFORE, _BEFORE_SUM, _AFTER, _AFTER_SUM = range(9)
_FARTHEST = 10.0


@native
def _page_hinkley(
    row: Array,
    error: float,
    tolerance: float,
    threshold: float,
    third: float,
    findings: Array,
) -> bool:
    warm_up = math.floor(third)
    keep = 1.0 - 2.0 * (third - warm_up)
    if row[_SEEN] >= warm_up and row[_SPREAD] > 0.0:
        deviation = math.sqrt(row[_SPREAD] / row[_WEIGHT])
        distance = min((error - row[_MEAN]) / deviation, _FARTHEST)
        row[_RISE] += distance - tolerance
    row[_SEEN] += 1.0
    row[_WEIGHT] = keep * row[_WEIGHT] + 1.0
    gap = error - row[_MEAN]
    row[_MEAN] += gap / row[_WEIGHT]
    row[_SPREAD] = keep * row[_SPREAD] + gap * (error - row[_MEAN])
    row[_AFTER] += 1.0
    row[_AFTER_SUM] += error
    if row[_RISE] <= 0.0:
        row[_RISE] = 0.0
        row[_BEFORE] += row[_AFTER]
        row[_BEFORE_SUM] += row[_AFTER_SUM]
        row[_AFTER] = 0.0
        row[_AFTER_SUM] = 0.0
    if not row[_RISE] > threshold:
        return False
    findings[0] = row[_BEFORE_SUM] / row[_BEFORE]
    findings[1] = row[_AFTER_SUM] / row[_AFTER]
    findings[2] = row[_RISE]
    findings[3] = threshold
    findings[4] = row[_SEEN]
    return True


_HEAD = 4
_COUNT, _SUM, _SQUARES, _LARGEST = range(_HEAD)
_LEVELS = 16
_MOST = 5  # stretches of one length
_PLACES = _MOST + 1
_LOOK_EVERY = 32
_SMALLEST = 5.0  # errors on either side of a cut


@native
def _adwin(row: Array, error: float, chance: float, findings: Array) -> bool:
    """Stretches of 2**level errors lie level by level, the oldest first."""
    counts = row[_HEAD : _HEAD + _LEVELS]
    sums = row[_HEAD + _LEVELS : _HEAD + _LEVELS + _LEVELS * _PLACES]
    squares = row[_HEAD + _LEVELS + _LEVELS * _PLACES :]
    row[_LARGEST] = max(row[_LARGEST], abs(error))
    row[_COUNT] += 1.0
    row[_SUM] += error
    row[_SQUARES] += error * error
    sums[int(counts[0])] = error
    squares[int(counts[0])] = error * error
    counts[0] += 1.0
    level = 0
    while counts[level] > _MOST:
        if level == _LEVELS - 1:
            _forget_oldest(row, counts, sums, squares)
            break
        begin = level * _PLACES
        above = begin + _PLACES + int(counts[level + 1])
        sums[above] = sums[begin] + sums[begin + 1]
        squares[above] = squares[begin] + squares[begin + 1]
        counts[level + 1] += 1.0
        _shift(counts, sums, squares, level, 2)
        level += 1
    if row[_COUNT] % _LOOK_EVERY != 0.0:
        return False
    return _cut(row, counts, sums, squares, chance, findings)


@native
def _shift(counts: Array, sums: Array, squares: Array, level: int, by: int) -> None:
    """Take away the oldest stretches of a level."""
    begin = level * _PLACES
    counts[level] -= by
    for i in range(begin, begin + int(counts[level])):
        sums[i] = sums[i + by]
        squares[i] = squares[i + by]


@native
def _forget_oldest(row: Array, counts: Array, sums: Array, squares: Array) -> None:
    level = _LEVELS - 1
    while counts[level] == 0.0:
        level -= 1
    row[_COUNT] -= 2.0**level
    row[_SUM] -= sums[level * _PLACES]
    row[_SQUARES] -= squares[level * _PLACES]
    _shift(counts, sums, squares, level, 1)


@native
def _cut(
    row: Array, counts: Array, sums: Array, squares: Array, chance: float, findings: Array
) -> bool:
    """Drop the oldest stretch as long as some cut shows a difference; True if errors grew."""
    rings = False
    cutting = True
    while cutting:
        cutting = False
        total, whole = row[_SUM], row[_COUNT]
        if whole < 2.0 * _SMALLEST:
            break
        spread = max(0.0, row[_SQUARES] / whole - (total / whole) * (total / whole))
        odds = math.log(2.0 * math.log(whole) / chance)
        older, older_sum = 0.0, 0.0
        for level in range(_LEVELS - 1, -1, -1):
            for i in range(int(counts[level])):
                older += 2.0**level
                older_sum += sums[level * _PLACES + i]
                newer = whole - older
                if cutting or older < _SMALLEST or newer < _SMALLEST:
                    continue
                before, after = older_sum / older, (total - older_sum) / newer
                inverse = 1.0 / (older - _SMALLEST + 1.0) + 1.0 / (newer - _SMALLEST + 1.0)
                bound = math.sqrt(2.0 * inverse * spread * odds)
                bound += 2.0 / 3.0 * inverse * odds * row[_LARGEST]
                if abs(before - after) > bound:
                    cutting = True
                    if after > before and not rings:
                        rings = True
                        findings[0], findings[1] = before, after
                        findings[2], findings[3] = after - before, bound
                        findings[4] = whole
        if cutting:
            _forget_oldest(row, counts, sums, squares)
    return rings
