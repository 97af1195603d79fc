"""`okl-flow demo`: a flow over Kafka, killed before one's eyes, and a checker's verdict."""

from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from okl_flow.cli.errors import CommandError, explained

if TYPE_CHECKING:
    from okl_flow.demo.interrupts import Interrupts
    from okl_flow.demo.script import Play

__all__ = ["demo"]

_BAD = 1
_SIGNALLED = 128  # and the number of the signal
_PICTURE = "okl-flow-demo.png"

Brokers = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Of Kafka, in place of a mock within.")
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="librdkafka's settings, a line name=value for each."),
]
Keep = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A new folder, to keep all files in.")
]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help=f"The picture, if not {_PICTURE}.")]
Events = Annotated[int, typer.Option(min=100, max=200_000, metavar="N", help="Events to send.")]
Keys = Annotated[int, typer.Option(min=1, metavar="K", help="Users they are of.")]
Rate = Annotated[float, typer.Option(min=1.0, metavar="R", help="Records a second, at most.")]
Processes = Annotated[int, typer.Option(min=1, max=16, metavar="N", help="Of the flow.")]
Seed = Annotated[int, typer.Option(min=0, metavar="S", help="Decides the events.")]


def demo(
    brokers: Brokers = None,
    config: Config = None,
    events: Events = 20_000,
    keys: Keys = 100,
    rate: Rate = 2000.0,
    processes: Processes = 2,
    seed: Seed = 0,
    keep: Keep = None,
    plot: Plot = None,
) -> None:
    """Show a flow over topics: a model per user, killed on the way, and nothing lost.

    A checker compares it with a run that nobody disturbs. The exit code is 0 if all is well, and 1
    if not. Nothing of it stays but the picture, and with --keep files and topics.

    okl-flow demo --brokers localhost:9092
    """
    from okl_flow.demo.interrupts import Interrupts
    from okl_flow.demo.script import Play

    picture = _picture(plot, keep)
    play = Play(
        brokers=brokers,
        config=_settings(config, brokers),
        config_file=config,
        keep=_empty(keep),
        events=events,
        keys=keys,
        rate=rate,
        processes=processes,
        seed=seed,
    )
    with Interrupts() as interrupts:
        code = _performed(play, picture, interrupts)
    raise typer.Exit(code)


def _performed(play: "Play", picture: Path | None, interrupts: "Interrupts") -> int:
    """Show it, and clear away what it began; the exit code."""
    from rich.console import Console

    from okl_flow.demo.ending import tell
    from okl_flow.demo.outputs import TornError
    from okl_flow.demo.screen import Screen
    from okl_flow.demo.script import Demo, DemoError
    from okl_flow.kafka import BrokerError
    from okl_flow.kafka.producing import ProducingError

    screen = Screen(Console(highlight=False))
    try:
        with ExitStack() as stack, interrupts.heeded():
            shown = Demo(play, screen, interrupts, stack)
            verdict = shown.show()
            tell(shown, verdict, picture, screen)
    except KeyboardInterrupt:
        screen.write(f"stopped: nothing of it runs any more{_left(play)}")
        assert interrupts.number is not None
        return _SIGNALLED + interrupts.number
    except (BrokerError, DemoError, ProducingError, TornError) as error:
        typer.echo(f"okl-flow: {error}", err=True)
        return _BAD
    except BrokenPipeError:  # nobody reads any more
        raise
    except (ConnectionError, ValueError) as error:
        raise CommandError(str(error)) from None
    return 0 if verdict.is_good else _BAD


def _left(play: "Play") -> str:
    return ", and its files are deleted" if play.keep is None else f"; its files are in {play.keep}"


def _settings(path: Path | None, brokers: str | None) -> dict[str, str]:
    from okl_flow.kafka.properties import read_properties

    if path is not None and brokers is None:
        raise CommandError("--config is of no use without --brokers; give both, or neither")
    try:
        return {} if path is None else read_properties(path)
    except ValueError as error:
        raise CommandError(f"--config: {error}") from None


def _empty(folder: Path | None) -> Path | None:
    """A folder to keep files in, which must hold none yet."""
    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(f"--keep {folder}: it is there, and not empty; name a new folder")
    return folder


def _picture(path: Path | None, keep: Path | None) -> Path | None:
    """Where the picture goes; None without matplotlib."""
    from okl_flow.plotting.style import check_picture

    if path is not None:
        with explained(ValueError):
            check_picture("--plot", path)
        return path
    return (keep or Path()) / _PICTURE if find_spec("matplotlib") is not None else None
