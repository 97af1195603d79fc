"""The settings that the experiments of the paper share."""

from benchmarks.papers.harness import Options, Stream, streams

__all__ = ["LANDMARKS", "RANK_SHARE", "THRESHOLDS", "usps"]

LANDMARKS = 100
RANK_SHARE = 0.8
THRESHOLDS = (0.0, 25.0, 50.0, 100.0, 200.0, 300.0)


def usps(options: Options) -> Stream | None:
    """The digits, training part and test part in one."""
    return next((own for own in streams(options, "multiclass") if own.name == "usps"), None)
