"""The parts of the benchmark, and how they are run."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.speed.report import Report, write_report

__all__ = ["PARTS", "add_parts", "asked_parts", "measure_parts", "run_part"]

PARTS = ("learners", "systems", "engine", "resume", "peers", "kafka", "page", "profile")
"""Each is a module of this package with a function `measured`."""


def add_parts(parser: argparse.ArgumentParser) -> None:
    """Let a command line name parts, and say how thoroughly they are measured."""
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="few events, few rounds")


def asked_parts(parser: argparse.ArgumentParser, parts: Sequence[str]) -> list[str]:
    """The parts that a command line asks for, in their order; without one all of them."""
    unknown = set(parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {min(unknown)}: there are {', '.join(PARTS)}")
    return [part for part in PARTS if part in parts or not parts]


def measure_parts(parts: Sequence[str], folder: Path, *, quick: bool) -> None:
    """Measure parts, each in a process of its own: alone or with others, it is measured alike.

    One that fails does not keep the others from being measured; it is told of at the end.
    """
    command = [sys.executable, "-m", "benchmarks.speed", "--out", str(folder)]
    command += ["--quick"] if quick else []
    failed = [part for part in parts if subprocess.run([*command, part], check=False).returncode]
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


def run_part(part: str, folder: Path, *, quick: bool) -> None:
    """Measure a part in this process, and write its figures and its page into a folder."""
    load, cores = os.getloadavg()[0], os.cpu_count()
    print(f"{part} ...", flush=True)
    begun = time.monotonic()
    report: Report = import_module(f"benchmarks.speed.{part}").measured(quick=quick)
    remark = f"{cores} cores, load average {load:.1f} when this began"
    if quick:
        remark += "; a quick run, of few events and rounds"
    write_report(report, folder, remark)
    took = time.monotonic() - begun
    print(f"{part}: {took:.0f} s, written to {folder / part}.md and {part}.csv", flush=True)
