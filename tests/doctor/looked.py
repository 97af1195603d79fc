"""A job looked at, in the process of the test."""

from pathlib import Path

from okl_flow.doctor import Job, Level, examine

FLOW = "dataflows.per_user:flow"


def examined(folder, seconds=5.0, flow=FLOW, processes=1, epoch=1.0, metrics=None, **settings):
    """All findings about a flow of ours with these settings; directories are in `folder`."""
    variables = {f"OKL_{name.upper()}": str(value) for name, value in settings.items()}
    if "state" in settings:
        variables["OKL_STATE"] = str(Path(folder) / settings["state"])
    job = Job(
        flow=flow,
        processes=processes,
        epoch=epoch,
        recovery=Path(folder) / "recovery",
        metrics=metrics,
        variables=variables,
    )
    return list(examine(job, seconds))


def wrong(findings):
    """What is not as it should be."""
    return [one for one in findings if one.level != Level.OK]


def the(findings, check, level, words):
    """The finding of a check at a level with these words; it says what to do."""
    there = [one for one in findings if (one.check, one.level) == (check, level)]
    found = [one for one in there if words in one.message]
    assert found, "\n".join(f"{one.level} {one.check}: {one.message}" for one in findings)
    assert (found[0].remedy is None) == (level == Level.OK)
    return found[0]
