"""`okl-flow init`: a job's file, with a comment for everything that can be set."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from okl_flow.cli.errors import CommandError
from okl_flow.parameters import nearest

if TYPE_CHECKING:
    from okl_flow.job.draft import Draft

__all__ = ["init"]

FLOWS = {
    "classify": "one model for all events, whose labels are classes",
    "regress": "one model for all events, whose labels are numbers",
    "per_user": "a model for every key, whose labels may come later",
    "choose_kernel": "a model for every key that finds the width of its kernel",
    "compare": "a champion and challengers for every key; who is better takes over",
}
"""The flows of `dataflows`, and what they are for."""

_USUAL = "per_user"
_SUFFIX = ".toml"
_KEPT = {"run.recovery_dir": "recovery", "state.dir": "state"}

File = Annotated[Path, typer.Argument(metavar="FILE", help="What to write, which ends with .toml.")]
FlowOption = Annotated[
    str | None,
    typer.Option(metavar="FLOW", help=f"{', '.join(FLOWS)}, or MODULE:FLOW. (per_user)"),
]
Brokers = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Topics in place of files.")]
Events = Annotated[str | None, typer.Option(metavar="NAME", help="File or topic to read.")]
LearnerLine = Annotated[
    str | None, typer.Option("--learner", metavar="LINE", help='Such as "kogd budget=50".')
]
Processes = Annotated[str | None, typer.Option(metavar="N", help="Processes of the run. (1)")]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting; again for more of them."),
]
Keep = Annotated[bool, typer.Option(help="Keep models, and go on after a failure; or not.")]
Yes = Annotated[bool, typer.Option("--yes", help="Ask nothing, as where there is no terminal.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]


def init(
    file: File = Path("job.toml"),
    flow: FlowOption = None,
    brokers: Brokers = None,
    events: Events = None,
    learner: LearnerLine = None,
    processes: Processes = None,
    set_: SetValues = None,
    keep: Keep = True,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Write FILE, a job with comments, by asking or by options.

    okl-flow init job.toml --flow per_user --set learner.budget=50
    """
    from okl_flow.cli.run import given_by
    from okl_flow.job import FlowError
    from okl_flow.job.draft import Draft
    from okl_flow.job.written import written

    if file.suffix != _SUFFIX:
        raise CommandError(f"{file}: expected a name that ends with {_SUFFIX}")
    if file.exists() and not force:
        raise CommandError(f"{file} is there already; --force writes over it")
    asks = not yes and sys.stdin.isatty()
    options = {"brokers": brokers, "events": events, "learner": learner, "processes": processes}
    given = given_by(set_ or (), options)
    try:
        draft = Draft(_flow_named(flow or (_asked_flow() if asks else _USUAL)), given)
    except FlowError as error:
        raise CommandError(f"--flow: {error}") from None
    if asks:
        _ask(draft)
    else:
        _keep(draft, keep)
    if problems := draft.problems():
        raise CommandError("\n".join(map(str, problems)))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(draft.flow, draft.declared, draft.chosen()))
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    typer.echo(f"wrote {file}; next: okl-flow check {file}, and okl-flow run {file}")


def _flow_named(name: str) -> str:
    """A flow, which may go by its word here."""
    return f"dataflows.{name}:flow" if name in FLOWS else name


def _asked_flow() -> str:
    for name, words in FLOWS.items():
        typer.echo(f"  {name:14} {words}")
    while True:
        answer: str = typer.prompt("Flow", default=_USUAL)
        if answer in FLOWS or ":" in answer:
            return answer
        typer.echo(f"expected one of {', '.join(FLOWS)}, or MODULE:FLOW{nearest(answer, FLOWS)}")


def _keep(draft: "Draft", wanted: bool) -> None:
    """Let the job go on after a failure, if nothing is said of where it keeps what it needs."""
    if wanted and not any(draft.has(path) for path in _KEPT):
        for path, folder in _KEPT.items():
            draft.take(path, folder)


def _ask(draft: "Draft") -> None:
    """Ask for what users want to choose, if it was not said already."""
    _question(draft, "source.brokers", "Kafka's host:port, or nothing for files")
    is_topics = draft.has("source.brokers")
    usual = "events" if is_topics else "events.jsonl"
    _question(draft, "source.events", "Topics to read" if is_topics else "Files to read", usual)
    if is_topics:
        _question(draft, "source.format", "Format of a record", "json")
    _question(draft, "source.features", "How many features, or their names, with commas", "2")
    _question(draft, "labels.classes", "Labels with commas, if they are not -1 and 1")
    _question(draft, "labels.wait", "Hours that an event waits for its label", "24")
    _question(draft, "learner", "Learner and its parameters", draft.value("learner"))
    _question(draft, "run.processes", "Processes", "1")
    if not any(draft.has(path) for path in _KEPT):
        question = "Keep models on disk, and go on after a failure?"
        _keep(draft, typer.confirm(question, default=True))
    if is_topics:
        _question(draft, "sinks.delivery", "Delivery of predictions", "at_least_once")
        _question(draft, "source.create_topics", "Partitions of missing topics, to make them")
    _question(draft, "metrics.port", "Port for Prometheus, if there is to be one")


def _question(draft: "Draft", path: str, question: str, usual: str = "") -> None:
    """Ask for a setting until the answer is right; nothing leaves it as it is."""
    while draft.can(path) and not draft.has(path):
        answer = typer.prompt(question, default=usual, show_default=bool(usual)).strip()
        if not answer:
            return
        for problem in draft.take(path, answer):
            typer.echo(problem)
