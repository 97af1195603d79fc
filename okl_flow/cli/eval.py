"""`okl-flow eval`: learners measured on a file, each event scored first and learned after."""

from pathlib import Path
from typing import Annotated

import typer

from okl_flow.cli.errors import CommandError, explained

__all__ = ["evaluate"]

Data = Annotated[
    str, typer.Argument(metavar="DATA", hidden=True)  # the first line of the help says it
]
Learners = Annotated[
    list[str],
    typer.Option("--learner", metavar="NAME", help="To run; again for more of them."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Parameter; of one learner: kogd.budget=50."),
]
Grid = Annotated[
    list[str] | None,
    typer.Option("--grid", metavar="KEY=V1,V2,...", help="Values to try; median*0.5 is one."),
]
Permutations = Annotated[int, typer.Option(min=0, metavar="N", help="Orders of all events.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Of permutations and states.")]
Batch = Annotated[
    int, typer.Option(min=1, hidden=True)
]  # events handed over at once: no result depends on it
Task = Annotated[
    str | None,
    typer.Option(metavar="TASK", help="binary, multiclass or regression; else guessed."),
]
Rescale = Annotated[str, typer.Option(metavar="HOW", help="By the whole file: minmax, standard.")]
Missing = Annotated[str, typer.Option(metavar="HOW", help="Features: refuse or mean.")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="libsvm, csv, jsonl; else by the suffix."),
]
Label = Annotated[str, typer.Option(metavar="NAME", help="Column of the label.")]
Labels = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="All classes that may come, for a pipe.")
]
Dim = Annotated[
    int | None, typer.Option(min=1, metavar="D", help="Features, of LIBSVM text in a pipe.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per learner.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="The table as Markdown.")]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the error: a .png or a .svg."),
]
WindowLength = Annotated[
    int | None, typer.Option("--window", min=1, metavar="W", help="Of --plot, in events.")
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
    """Run learners over DATA, a file or -: score each event, then learn from it.

    okl-flow eval clicks.csv --learner bpa_s --learner nogd --set budget=50
    """
    if json and markdown:
        raise CommandError("--json and --markdown exclude each other")
    if window is not None and plot is None:
        raise CommandError("--window is the window of --plot, which is not given")
    # What computes is imported here, so that --help does without it.
    from okl_flow.cli import render
    from okl_flow.cli.data import DataRequest
    from okl_flow.cli.eval_picture import draw
    from okl_flow.cli.plan import Request, carry_out
    from okl_flow.cli.settings import parse_choices, parse_missing
    from okl_flow.plotting.style import check_picture

    if plot is not None:
        with explained(ValueError):
            check_picture("--plot", plot)
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
        with explained(ValueError):
            draw(report, plot)
