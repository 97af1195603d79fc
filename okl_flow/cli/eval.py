"""`okl-flow eval`: learners measured on a file, each event scored first and learned after."""

from pathlib import Path
from typing import Annotated

import typer

from okl_flow.cli.errors import CommandError

__all__ = ["evaluate"]

_READING = "Reading the data"
_RUNNING = "Running"
_SHOWING = "Showing the results"

Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A file, gzipped or not; - is standard input."),
]
Learners = Annotated[
    list[str],
    typer.Option("--learner", help="Learner to run; repeatable. See okl-flow learners."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Parameter of every learner that has it, or of one: kogd.budget=50. Repeatable.",
    ),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        metavar="KEY=V1,V2,...",
        help="Values to try. Of all combinations the best of each learner is shown. A bandwidth "
        "may be median or median*0.5, of the distance between two events. The choice is made on "
        "the runs that are reported: the papers' usual practice, and optimistic. Repeatable.",
    ),
]
Permutations = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Load the data and go through N seeded permutations of them, for means and standard "
        "deviations. 0 goes through the file once, in its order, and loads nothing.",
        rich_help_panel=_RUNNING,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        help="Starts the permutations, the states and the sample for the median; a learner's own "
        "seed is set by --set seed=1.",
        rich_help_panel=_RUNNING,
    ),
]
Batch = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Events handed over at once; no result depends on it.",
        rich_help_panel=_RUNNING,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="binary, multiclass or regression. By default 2 labels are binary, more of them, up "
        "to 50 whole numbers or words, multiclass, and everything else is regression.",
        rich_help_panel=_READING,
    ),
]
Rescale = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Rescale the features by the whole file: minmax, to -1 .. 1, or standard, to mean 0 "
        "and deviation 1.",
        rich_help_panel=_READING,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="What to do about an empty cell, nan or null where a feature should be: refuse it, "
        "or let the learners put the mean of the feature so far in its place.",
        rich_help_panel=_READING,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="libsvm, csv or jsonl. By default what the suffix says: .libsvm, .svm, .txt or none; "
        ".csv; .jsonl or .ndjson; each with or without .gz.",
        rich_help_panel=_READING,
    ),
]
Label = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Column or field of the label, in CSV and JSON lines.",
        rich_help_panel=_READING,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="All classes that may come. Needed for standard input, if they are not -1 and 1, "
        "0 and 1, or true and false.",
        rich_help_panel=_READING,
    ),
]
Dim = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="D",
        help="Number of features. Needed for LIBSVM text on standard input.",
        rich_help_panel=_READING,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="One JSON object per learner.", rich_help_panel=_SHOWING),
]
Markdown = Annotated[
    bool,
    typer.Option("--markdown", help="The table as Markdown.", rich_help_panel=_SHOWING),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.png",
        help="Draw the error against the events, over all so far and over a sliding window.",
        rich_help_panel=_SHOWING,
    ),
]
WindowLength = Annotated[
    int | None,
    typer.Option(
        "--window",
        min=1,
        metavar="W",
        help="Events in the sliding window of --plot; by default 1000, or a tenth of all if that "
        "is less.",
        rich_help_panel=_SHOWING,
    ),
]


def evaluate(
    data: Data,
    learner: Learners,
    assign: Set = None,
    grid: Grid = None,
    permutations: Permutations = 0,
    seed: Seed = 0,
    batch: Batch = 1000,
    task: Task = None,
    rescale: Rescale = "none",
    missing: Missing = "refuse",
    format_name: Format = None,
    label: Label = "label",
    labels: Labels = None,
    dim: Dim = None,
    json: Json = False,
    markdown: Markdown = False,
    plot: Plot = None,
    window: WindowLength = None,
) -> None:
    """Run learners over a file: score each event, then learn from it, and measure the scores.

    Formats: LIBSVM text, CSV with a header, JSON lines.
    """
    if json and markdown:
        raise CommandError("--json and --markdown exclude each other")
    if window is not None and plot is None:
        raise CommandError("--window is the window of --plot, which is not given")
    # What computes is imported here, so that --help does without it.
    from okl_flow.cli import render
    from okl_flow.cli.data import DataRequest
    from okl_flow.cli.plan import Request, carry_out
    from okl_flow.cli.plot import check_plot, draw
    from okl_flow.cli.settings import parse_choices, parse_missing

    if plot is not None:
        check_plot(plot)
    wanted = DataRequest(
        path=data,
        task=task,
        labels=labels,
        label=label,
        dim=dim,
        format=format_name,
        rescale=rescale,
        may_miss=parse_missing(missing),
        batch=batch,
        load=permutations > 0,
    )
    filling = ["missing=mean"] if wanted.may_miss else []
    report = carry_out(
        Request(
            data=wanted,
            learners=tuple(learner),
            choices=parse_choices([*filling, *(assign or ())], grid or (), learner),
            permutations=permutations,
            seed=seed,
            curve=plot is not None,
            window=window,
        )
    )
    if json:
        render.as_json(report)
    else:
        render.as_table(report, markdown=markdown)
    if plot is not None:
        draw(report, plot)
