"""Points in time, the latest all kept and the older ones ever fewer."""

from array import array
from collections.abc import Iterator, Sequence

__all__ = ["Series"]

_SEQUENCE, _PROGRESS = 0, 1  # the first numbers of a row


class Series:
    """Rows of numbers, of which half go whenever they are twice as old.

    The latest `per_level` rows are all there; of those before them every second, of those before
    these every fourth, and so on. A million rows leave 15 times `per_level`.

    The first number of a row is its place among all that ever came, which `add` puts there, and
    the second how far the job was: a job that is resumed repeats some of its progress, and what
    is repeated takes the place of what was there.

    Parameters:
        width: numbers in a row, beside its place.
        per_level: rows of each distance; at least 2.
        epoch: to begin with; one that takes the place of another has a greater one.

    >>> series = Series(width=1, per_level=4)
    >>> for progress in range(100):
    ...     series.add([progress])
    >>> [int(row[1]) for row in series.rows()]
    [15, 31, 47, 55, 63, 71, 75, 79, 83, 87, 89, 91, 93, 95, 96, 97, 98, 99]
    >>> series.add([96])
    >>> [int(row[1]) for row in series.rows()][-3:]
    [93, 95, 96]
    """

    __slots__ = ("_levels", "_per_level", "_row", "_run_at", "begun", "epoch", "last", "runs")

    def __init__(self, width: int, per_level: int = 100, epoch: int = 0) -> None:
        self._row = 1 + width
        self._per_level = per_level
        self._levels = [array("d")]
        self.last = 0  # the place of the latest row
        self.epoch = epoch  # grows when rows are taken back
        self.runs = 0  # times that progress began from the beginning
        self.begun = 0.0  # the progress of the first row of this run
        self._run_at = 0  # and its place

    def add(self, numbers: Sequence[float]) -> None:
        """Put a row at the end."""
        progress = numbers[0]
        if self.runs == 0 or progress <= self.begun:
            self.runs += 1
            self.begun, self._run_at = progress, self.last + 1
        else:
            self._take_back(progress)
        self.last += 1
        self._levels[0].append(self.last)
        self._levels[0].extend(numbers)
        self._thin()

    def rows(self, after: int = 0) -> Iterator[list[float]]:
        """The rows in their order: those after a place."""
        for level in reversed(self._levels):
            for at in range(0, len(level), self._row):
                if level[at] > after:
                    yield level[at : at + self._row].tolist()

    def __len__(self) -> int:
        """How many rows are left."""
        return sum(map(len, self._levels)) // self._row

    def _take_back(self, progress: float) -> None:
        """Rows at the end that are repeated go; those of an earlier run do not."""
        row = self._row
        for level in self._levels:
            before = len(level)
            while (
                level
                and level[-row + _PROGRESS] >= progress
                and level[-row + _SEQUENCE] >= self._run_at
            ):
                del level[-row:]
            if len(level) < before:
                self.epoch += 1
            if level:
                return

    def _thin(self) -> None:
        for number, level in enumerate(self._levels):
            if len(level) <= self._per_level * self._row:
                return
            kept = level[self._row : 2 * self._row]
            del level[: 2 * self._row]
            if number + 1 == len(self._levels):
                self._levels.append(array("d"))
            self._levels[number + 1].extend(kept)
