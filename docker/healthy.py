"""Whether all processes of the run are up, by its metrics; the exit code is 0 or 1."""

import os
import sys
import urllib.request

SECONDS = 3.0


def trouble(port: str) -> str | None:
    """What is wrong, if something is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SECONDS) as answer:
            lines = answer.read().decode().splitlines()
    except OSError as error:
        return f"no metrics at port {port}: {error}"
    if "okl_flow_up 1.0" not in lines:
        return "not all processes run; the log says why"
    return None


if __name__ == "__main__":
    sys.exit(trouble(os.environ.get("ENTRYPOINT_METRICS_PORT", "9100")))
