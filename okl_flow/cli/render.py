"""Results on standard output: tables for people, Markdown for documents, JSON for programs."""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from okl_flow.cli.plan import Outcome, Report
from okl_flow.evaluation import Measured

__all__ = ["as_json", "as_table", "print_json", "print_markdown", "print_table"]

_MEASURES = {
    "mistake_rate": "mistakes, %",
    "mistake_rate_papers": "papers' rule, %",
    "majority_rate": "majority, %",
    "rmse": "RMSE",
    "mae": "MAE",
    "rmse_of_running_mean": "RMSE of running mean",
    "loss": "loss",
    "events_per_second": "events/s",
    "rows": "rows",
    "state_bytes": "bytes",
}
_WIDE = 1000


def print_json(values: dict[str, Any]) -> None:
    """One object on one line; what is not a finite number is null."""
    typer.echo(msgspec.json.encode(values).decode())


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> None:
    """A table, as wide as it needs; `numbers` columns after the first are set to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for at, name in enumerate(header):
        justify: Any = "right" if at in range(1, 1 + numbers) else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    _print(table)


def print_markdown(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> None:
    """The same table in the Markdown of GitHub."""
    rule = [" ---: " if at in range(1, 1 + numbers) else " --- " for at in range(len(header))]
    typer.echo("| " + " | ".join(header) + " |")
    typer.echo("|" + "|".join(rule) + "|")
    for row in rows:
        typer.echo("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")


def as_json(report: Report) -> None:
    """An object per learner, every measured value with its mean and standard deviation."""
    asked = report.request
    for outcome in report.outcomes:
        result = outcome.result
        measures = {
            name: {"mean": measured.mean, "std": measured.std}
            for name, measured in result.measures.items()
        }
        print_json(
            {
                "learner": result.learner.name,
                "data": asked.data.path,
                "n": result.events,
                "labelled": result.labelled,
                "dim": report.dim,
                "task": report.task,
                "rescale": asked.data.rescale,
                "permutations": asked.permutations,
                "seed": asked.seed,
                "rows": None,
                **measures,
                "config": result.learner.describe(),
                "chosen": {key: value for key, (value, _) in outcome.candidate.chosen.items()},
                "tried": outcome.tried,
            }
        )


def as_table(report: Report, *, markdown: bool) -> None:
    """A line per learner, under two lines that say what was run."""
    names = [
        name for name in _MEASURES if name == "rows" or name in report.outcomes[0].result.measures
    ]
    chosen = any(outcome.candidate.chosen for outcome in report.outcomes)
    header = ["learner", *(_MEASURES[name] for name in names), *(["chosen"] if chosen else [])]
    rows = []
    for outcome in report.outcomes:
        measures = outcome.result.measures
        cells = [_cell(name, measures.get(name)) for name in names]
        rows.append([outcome.result.learner.name, *cells, *([_chosen(outcome)] if chosen else [])])
    for line in _headlines(report):
        typer.echo(line)
    if markdown:
        typer.echo()
        print_markdown(header, rows, numbers=len(names))
    else:
        print_table(header, rows, numbers=len(names))


def _headlines(report: Report) -> list[str]:
    asked = report.request
    result = report.outcomes[0].result
    unlabelled = result.events - result.labelled
    size = f"{result.events:,} events, {report.dim:,} features"
    if unlabelled:
        size += f", {unlabelled:,} of the events without a label"
    runs = f"{asked.permutations} permutations" if asked.permutations else "in order, one pass"
    if asked.permutations == 1:
        runs = "1 permutation"
    parts = [
        f"task {report.task} ({report.reason})",
        f"rescaling {asked.data.rescale}",
        f"{runs}, seed {asked.seed}",
        f"budget {_budgets(report)}",
    ]
    lines = [f"{asked.data.path}: {size}", "; ".join(parts)]
    tried = max(outcome.tried for outcome in report.outcomes)
    if tried > 1:
        lines.append(f"best of up to {tried} settings, chosen on these very runs")
    return lines


def _budgets(report: Report) -> str:
    """The budgets of the learners: one word if they are the same."""
    budgets = {}
    for outcome in report.outcomes:
        config = outcome.result.learner.describe()
        if "budget" in config:
            budget = config["budget"]
            budgets[config["learner"]] = "unbounded" if budget is None else str(budget)
    if len(set(budgets.values())) <= 1:
        return next(iter(budgets.values()), "-")
    return ", ".join(f"{name} {budget}" for name, budget in budgets.items())


def _chosen(outcome: Outcome) -> str:
    words = []
    for key, (value, text) in outcome.candidate.chosen.items():
        words.append(f"{key}={value:.4g} ({text})" if "median" in text else f"{key}={text}")
    return ", ".join(words) or "-"


def _cell(name: str, measured: Measured | None) -> str:
    if measured is None:
        return "-"
    mean = _number(name, measured.mean)
    return mean if measured.std == 0.0 else f"{mean} ± {_number(name, measured.std, digits=2)}"


def _number(name: str, value: float, *, digits: int = 4) -> str:
    """A value in the unit of its column, to so many digits where there is no natural number."""
    if name in ("mistake_rate", "mistake_rate_papers", "majority_rate"):
        return f"{100.0 * value:.2f}"
    if name in ("rows", "state_bytes"):
        return f"{value:,.0f}"
    if name == "events_per_second":
        return f"{float(f'{value:.3g}'):,.0f}"  # a clock does not tell more
    return f"{value:.{digits}g}"


def _print(table: Table) -> None:
    """Print through the one way out, which knows what to do when nobody reads any more."""
    width = None if sys.stdout.isatty() else _WIDE
    console = Console(file=sys.stdout, width=width, highlight=False)
    with console.capture() as captured:
        console.print(table)
    lines = (line.rstrip() for line in captured.get().splitlines())
    typer.echo("\n".join(line for line in lines if line))
