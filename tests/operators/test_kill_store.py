"""kill -9 at any moment leaves a store that opens, and goes on as if nothing had been."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_store_goes_on(tmp_path, seed):
    command = [sys.executable, "-m", "tests.operators.kill_store", tmp_path, str(seed), "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    # A store killed after its first commit, but before that was noted, says that it begins anew.
    said = [line for line in done.stderr.splitlines() if "begins anew" not in line]
    assert (done.returncode, said) == (0, [])
    told = {name: int(count) for name, count in (one.split("=") for one in done.stdout.split())}
    assert 10 <= told["resumed"] <= 20  # the others were killed while they resumed
    assert told["back"] >= 1
    assert told["epochs"] >= 10
