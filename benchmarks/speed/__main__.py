"""`python -m benchmarks.speed [PART ...]`: measure, and write figures and pages into a folder.

Without a part all are measured, in their order. `--quick` takes few events and rounds: it shows
that everything runs, and its figures are as noisy as that.
"""

import argparse
from pathlib import Path

from benchmarks.report import RESULTS
from benchmarks.speed.parts import add_parts, asked_parts, measure_parts, run_part


def main() -> None:
    """Measure the parts of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    add_parts(parser)
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER")
    options = parser.parse_args()
    asked = asked_parts(parser, options.parts)
    if len(asked) == 1:
        run_part(asked[0], options.out, quick=options.quick)
    else:
        measure_parts(asked, options.out, quick=options.quick)


if __name__ == "__main__":
    main()
