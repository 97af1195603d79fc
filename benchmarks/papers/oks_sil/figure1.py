"""Figure 1: what budget, sample size and dependency threshold do, on spambase."""

from collections.abc import Iterator

from benchmarks.papers.harness import (
    Job,
    Options,
    Section,
    rate_columns,
    rescaled,
    results_of,
    show,
    streams,
)
from benchmarks.papers.oks_sil.common import SETTINGS, STEPS, averaged

FILE = "spambase"
BUDGET = 150
PARAMETERS = {
    "budget": (50, 100, 200, 300, 400),
    "sample_size": (1, 2, 3, 4, 5, 6),
    "dependency": (0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
}
LETTERS = {"budget": "B", "sample_size": "s", "dependency": "nu"}
SCALES = {"as in the paper": ("none", "paper"), "z-scores, relative": ("standard", "relative")}
RATES = (0.01, 0.1, 1.0)


def sections(options: Options) -> Iterator[Section]:
    """One table with all three; the paper shows curves without figures."""
    stream = next((own for own in streams(options, "binary") if own.name == FILE), None)
    if stream is None:
        return
    runs = min(5, options.permutations)
    jobs: dict[tuple[str, str, float], Job] = {}
    for scale, (kind, step) in SCALES.items():
        scaled = rescaled(stream, kind)
        for parameter, values in PARAMETERS.items():
            for value in values:
                settings = {**SETTINGS, "budget": BUDGET, **STEPS[step], parameter: value}
                jobs[scale, parameter, value] = (
                    averaged, "oks_sil", scaled, settings, runs, RATES
                )  # fmt: skip
    rows = [
        [scale, LETTERS[parameter], f"{value:g}", *rate_columns(result)]
        for (scale, parameter, value), result in results_of(jobs, options).items()
    ]
    yield Section(
        f"OKS-SIL, Figure 1: budget, sample size, dependency, on {FILE}",
        f"One of B = {BUDGET}, s = 3, nu = 0.9 varied at a time; {runs} permutations with each of "
        f"the seven first widths, the best of the steps {', '.join(f'{r:g}' for r in RATES)}. "
        f"The constant answer makes {stream.majority:.1f} %. The paper finds B above 50, s and nu "
        "large to be better, and shows curves without figures.",
        ["features and step", "parameter", "value", "mistakes, %", "papers' rule", "µs"],
        rows,
        left=3,
    )


if __name__ == "__main__":
    show(sections)
