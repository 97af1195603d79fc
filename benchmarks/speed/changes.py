"""`python -m benchmarks.speed.changes [PART ...]`: measure again, and tell what has changed.

The figures are set beside those of a commit. A change is beyond the noise where all rounds of one
run lie above all rounds of the other: were there no difference, that would happen by chance in 2
of C(n + m, n) cases, with n and m rounds. A figure of one round cannot be judged, and a counted
one needs no judgement. What all times of a part have in common may be the machine, on another
day: a time that has changed beyond the noise, but only as much as they all have, is told apart.
"""

import argparse
import math
import statistics
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.report import RESULTS, markdown
from benchmarks.speed.figures import Figure, Figures, parsed, results, shown
from benchmarks.speed.parts import add_parts, asked_parts, measure_parts

__all__ = ["Change", "changes", "report_on"]

BEYOND, WITHIN, UNKNOWN, SAME = "beyond the noise", "within the noise", "not judged", "the same"
SHARED = "as all times"
JUDGED_FROM = 2  # rounds, of both runs
COMMON_FROM = 5  # times, of which something can be said to be common
TIMES = ("µs", "ms", "s", "ns")
LESS_IS_BETTER = (*TIMES, "bytes", "MB", "%")
MORE_IS_BETTER = ("events/s",)


@dataclass(frozen=True)
class Change:
    """A figure before and after."""

    before: Figure
    after: Figure
    common: float = 1.0  # how many times as long everything took

    @property
    def judgement(self) -> str:
        """Whether the noise of the rounds explains it."""
        if self.before.rounds == 0 and self.after.rounds == 0:
            return SAME if self.before.value == self.after.value else BEYOND
        if min(self.before.rounds, self.after.rounds) < JUDGED_FROM:
            return UNKNOWN
        if not self._apart(1.0):
            return WITHIN
        unit = self.before.unit
        power = 1 if unit in TIMES else -1 if unit in MORE_IS_BETTER else 0
        return BEYOND if self._apart(self.common**power) else SHARED

    def _apart(self, common: float) -> bool:
        """Whether the rounds lie apart, once all were as many times as long."""
        low, high = self.before.low * common, self.before.high * common
        return self.after.low > high or self.after.high < low

    @property
    def chance(self) -> float:
        """How often all rounds of one run lie on one side of the other's without a difference."""
        if self.before.rounds == 0:
            return 0.0
        return 2.0 / math.comb(self.before.rounds + self.after.rounds, self.before.rounds)

    @property
    def ratio(self) -> float | None:
        """After to before, where both are above 0."""
        if min(self.before.value, self.after.value) <= 0.0:
            return None
        return self.after.value / self.before.value

    @property
    def size(self) -> float:
        """How far it is from no change, up or down."""
        return abs(math.log(self.ratio)) if self.ratio else abs(self.after.value)

    @property
    def words(self) -> str:
        """The change in per cent, and whether it is for the better where that can be said."""
        if self.ratio is None:
            return f"{self.after.value - self.before.value:+.3g}"
        percent, grown = 100.0 * (self.ratio - 1.0), self.ratio > 1.0
        word = ""
        if self.before.unit in LESS_IS_BETTER + MORE_IS_BETTER:
            word = " better" if grown == (self.before.unit in MORE_IS_BETTER) else " worse"
        return f"{percent:+.1f} %{word}"


def changes(before: Figures, after: Iterable[Figure]) -> list[Change]:
    """The figures that both have, and what all their times have in common."""
    pairs = [(before.get(one.case, one.measure), one) for one in after]
    found = [Change(old, new) for old, new in pairs if old is not None]
    ratios = [one.ratio for one in found if one.before.unit in TIMES and one.ratio is not None]
    common = statistics.median(ratios) if len(ratios) >= COMMON_FROM else 1.0
    return [replace(one, common=common) for one in found]


def report_on(before: Figures, after: Figures, *, everything: bool = False) -> str:
    """What there is to say of a part, as Markdown: the changes beyond the noise, or all of them."""
    found = changes(before, after)
    if not found:
        return f"## {after.part}\n\nThere is nothing to compare with."
    counts = {word: 0 for word in (BEYOND, SHARED, WITHIN, UNKNOWN, SAME)}
    for one in found:
        counts[one.judgement] += 1
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    judged = [one for one in found if one.judgement in (BEYOND, SHARED, WITHIN)]
    chance = (
        f"Without any difference {sum(one.chance for one in judged):.1f} of the {len(judged)} "
        f"judged ones would be {BEYOND} by chance."
    )
    common = f"All times have changed by {100.0 * (found[0].common - 1.0):+.1f} % in the median."
    lines = [f"## {after.part}", f"{len(found)} figures: {said}. {chance} {common}"]
    told = [one for one in found if everything or one.judgement == BEYOND]
    told.sort(key=lambda one: one.size, reverse=True)
    if told:
        header = ["case", "measure", "before", "from and to", "after", "from and to", "change",
                  "chance, %", ""]  # fmt: skip
        lines.append(markdown(header, [_line(one) for one in told], left=2))
    missing = [one for one in before if after.get(one.case, one.measure) is None]
    if missing:
        lines.append(f"{len(missing)} figures are not there any more, such as {missing[0].case}.")
    return "\n\n".join(lines)


def _line(one: Change) -> list[str]:
    before, after = one.before, one.after
    unit = f", {before.unit}" if before.unit else ""
    return [
        before.case,
        before.measure + unit,
        shown(before.value),
        f"{shown(before.low)} to {shown(before.high)}",
        shown(after.value),
        f"{shown(after.low)} to {shown(after.high)}",
        one.words,
        "-" if one.judgement == UNKNOWN else f"{100 * one.chance:.2g}",
        one.judgement,
    ]


def committed(part: str, revision: str) -> Figures:
    """The figures of a part in a commit; none if it has none."""
    path = f"{revision}:benchmarks/results/{part}.csv"
    done = subprocess.run(
        ["git", "show", path], cwd=RESULTS.parent, capture_output=True, text=True, check=False
    )
    return parsed(part, done.stdout) if done.returncode == 0 else Figures(part)


def main() -> None:
    """Compare the parts of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.changes", description=__doc__)
    add_parts(parser)
    parser.add_argument("--fresh", type=Path, metavar="FOLDER", help="of figures, already measured")
    parser.add_argument("--against", default="HEAD", metavar="COMMIT", help="default: HEAD")
    parser.add_argument("--all", action="store_true", help="show what is within the noise, too")
    options = parser.parse_args()
    asked = asked_parts(parser, options.parts)
    with tempfile.TemporaryDirectory(prefix="okl-flow-bench-") as folder:
        fresh = options.fresh or Path(folder)
        if options.fresh is None:
            measure_parts(asked, fresh, quick=options.quick)
        for part in asked:
            said = report_on(
                committed(part, options.against), results(part, fresh), everything=options.all
            )
            print(f"\n{said}")


if __name__ == "__main__":
    main()
