"""`okl-flow plot`: pictures of what a job has reported, or of what `okl-flow eval` has measured."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from okl_flow.cli.errors import CommandError, explained

if TYPE_CHECKING:
    from okl_flow.events import Report
    from okl_flow.plotting.curves import Curve
    from okl_flow.plotting.results import Point

__all__ = ["plot"]

_ERROR, _LEARNERS, _COST = "error", "learners", "cost"
_PANELS_MAX = 12

Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Reports of a job, as in out/reports.jsonl, or what okl-flow eval --json prints.",
    ),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The picture: a .png or a .svg.")
]
Brokers = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="A broker, or several with commas between them."),
]
Topic = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A topic of reports, read to its end. Repeatable."),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="librdkafka's settings, a line name=value for each."),
]
Key = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY", help="A panel for this key; repeatable. Else the whole stream."),
]
What = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="error: curves of reports, or the errors of results; learners: the curves of the "
        "learners of a compare; cost: the errors of results against their time.",
    ),
]


def plot(
    out: Out,
    files: Sources = None,
    brokers: Brokers = None,
    topic: Topic = None,
    config: Config = None,
    key: Key = None,
    what: What = _ERROR,
) -> None:
    """Draw error curves with interval and baseline, learners side by side, or error and cost.

    okl-flow plot --brokers localhost:9092 --topic events.reports --out errors.png
    """
    from okl_flow.plotting.style import check_picture, save

    if bool(files) == bool(topic):
        raise CommandError("expected files or --topic, either of them")
    if topic and brokers is None:
        raise CommandError("--topic needs --brokers")
    if not topic and (brokers or config):
        raise CommandError("--brokers and --config are for --topic, which is not given")
    if what not in (_ERROR, _LEARNERS, _COST):
        raise CommandError(f"--what: expected error, learners or cost, found {what!r}")
    if key and what != _ERROR:
        raise CommandError("--key is for --what error")
    with explained(ValueError, ConnectionError):
        check_picture("--out", out)
        if topic:
            assert brokers is not None
            sources = {one: _of_topic(brokers, one, config) for one in topic}
        else:
            sources = {_name_of(one, files or []): _of_file(one) for one in files or []}
        save(_picture(sources, key or [], what), "--out", out)


def _picture(sources: "dict[str, list[Any]]", keys: list[str], what: str) -> Any:
    """The picture of all that was read."""
    from okl_flow.events import Report
    from okl_flow.plotting import pictures

    title = ", ".join(sources)
    reports = {name: [one for one in found if isinstance(one, Report)]
               for name, found in sources.items()}  # fmt: skip
    points = [one for found in sources.values() for one in found if not isinstance(one, Report)]
    if points and any(reports.values()):
        raise CommandError("reports and results do not go into one picture")
    if points:
        if keys or what == _LEARNERS:
            raise CommandError(f"{title}: these are results, which have no keys and no curves")
        _check_together([one.is_rate for one in points], [one.data for one in points])
        draw = pictures.draw_cost if what == _COST else pictures.draw_errors
        return draw(points, points[0].data)
    if what == _COST:
        raise CommandError(f"{title}: reports say nothing of cost; give what okl-flow eval prints")
    curves = _curves(reports, keys, what)
    _check_together([one.is_rate for one in curves], [])
    if keys:
        return pictures.draw_keys(curves, title)
    return pictures.draw_curves(curves, title)


def _curves(reports: "dict[str, list[Report]]", keys: list[str], what: str) -> "list[Curve]":
    """The curves that are asked for; those of several sources have their names."""
    from okl_flow.plotting.curves import curves_of_keys, curves_of_learners, curves_of_stream

    found = []
    for name, run in reports.items():
        if keys:
            curves = curves_of_keys(run, keys)
        elif what == _LEARNERS:
            curves = curves_of_learners(run)
        else:
            curves = curves_of_stream(run)
        for one in curves:
            if len(reports) > 1:
                one.name = f"{name} {one.name}"
        found += curves
    if keys and not found:
        raise CommandError(f"none of the {sum(map(len, reports.values())):,} reports is of these "
                           "keys; a flow reports the worst and the busiest, or all that it is "
                           "asked for")  # fmt: skip
    if not found:
        kind = "of the learners of a compare" if what == _LEARNERS else "of the whole stream"
        raise CommandError(
            f"{', '.join(reports)}: no report {kind} with a label; wait for more labels"
        )
    if keys and len(found) > _PANELS_MAX:
        raise CommandError(f"at most {_PANELS_MAX} keys go into one picture")
    return found


def _check_together(rates: list[bool], data: list[str]) -> None:
    if len(set(rates)) > 1:
        raise CommandError("mistakes and root mean squared errors do not go into one picture")
    if len(set(data)) > 1:
        raise CommandError(f"results on {' and '.join(sorted(set(data)))} do not go into one")


def _name_of(path: Path, all_of_them: list[Path]) -> str:
    """The name of a file, with its folders if several are called the same."""
    alike = sum(one.name == path.name for one in all_of_them)
    return path.name if alike == 1 else str(path)


def _of_file(path: Path) -> "list[Report | Point]":
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    found = list(_understood(enumerate(lines, 1), f"{path}, line"))
    if not found:
        raise CommandError(f"{path}: there are no reports and no results in it")
    return found


def _of_topic(brokers: str, topic: str, config: Path | None) -> "list[Report | Point]":
    from okl_flow.kafka import BrokerError
    from okl_flow.kafka.onlooker import Onlooker
    from okl_flow.kafka.properties import read_properties

    logging.getLogger("okl_flow.kafka").addHandler(logging.NullHandler())  # the error says it
    settings = {} if config is None else read_properties(config)
    with explained(BrokerError):
        with closing(Onlooker(brokers, [topic], settings)) as onlooker:
            raws = sorted(onlooker.rest(), key=lambda raw: raw.time or 0)
    values = enumerate((raw.value for raw in raws if raw.value is not None), 1)
    found = list(_understood(values, f"{topic}, record"))
    if not found:
        raise CommandError(f"the topic {topic} has no reports yet")
    return found


def _understood(records: Iterable[tuple[int, bytes]], where: str) -> "Iterator[Report | Point]":
    """Reports and results; other records of jobs are passed over."""
    import msgspec

    from okl_flow.events import Report
    from okl_flow.plotting.results import point_of
    from okl_flow.wire.outgoing import decode_outgoing, seems_json

    for number, value in records:
        try:
            is_json = seems_json(value)
            if is_json and "type" not in (found := msgspec.json.decode(value)):
                yield point_of(found)
            elif isinstance(
                one := decode_outgoing(value, "json" if is_json else "msgpack"), Report
            ):
                yield one
        except (ValueError, TypeError) as error:
            raise CommandError(
                f"{where} {number}: expected a report, in JSON or MessagePack, or a result of "
                f"okl-flow eval --json: {error}"
            ) from None
