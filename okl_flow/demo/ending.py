"""What is said at the end: what happened, the verdict, and what to do next."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from okl_flow.demo.checker import Verdict
from okl_flow.demo.picture import drawn
from okl_flow.demo.screen import Screen
from okl_flow.demo.script import Demo

__all__ = ["next_commands", "tell"]


def tell(demo: Demo, verdict: Verdict, picture: Path | None, screen: Screen) -> None:
    """The verdict, with what it goes by; the picture; what to do next."""
    kind = "an embedded broker" if demo.play.brokers is None else "Kafka"
    screen.write(f"\nThe verdict, over {kind}:", "bold")
    for is_good, words in verdict.findings():
        mark, style = ("  good", "green") if is_good else ("  BAD ", "bold red")
        screen.write(words, style, mark)
    if verdict.is_good:
        screen.write("The kill has left no trace.", "bold green")
    else:
        screen.write("This must not be: the verdict is bad.", "bold red")
    if picture is None:
        screen.write("\nThe mistakes as a picture: pip install 'okl-flow[plot]', and once more")
    else:
        data = drawn(demo, picture.suffix.lower())
        with demo.interrupts.held():
            picture.write_bytes(data)
        screen.write(f"\nThe mistakes as a picture: {picture}")
    screen.write("\nTo go on:", "bold")
    for command, words in next_commands(demo.play.keep):
        screen.write(f"  {command}")
        screen.write(f"      {words}", "dim")


def next_commands(keep: Path | None) -> Iterator[tuple[str, str]]:
    """Lines for a shell, each with what it is for."""
    if shutil.which("okl-flow") is None:
        yield f". {shlex.quote(str(Path(sys.prefix) / 'bin' / 'activate'))}", "to have okl-flow"
    if keep is not None:
        state = shlex.quote(str(keep / "state"))
        yield f"okl-flow state show {state} user-000000", "what was kept for the busiest user"
    yield "okl-flow make-stream users > events.jsonl", "events like these, in a file"
    yield (
        "okl-flow run dataflows.per_user:flow --recovery-dir recovery --state-dir state",
        "the same flow over the file; what it can be told is in docs/dataflows.md",
    )
    yield "okl-flow state list state --sort events --limit 5", "whose models it has made"
