"""The jars of a Kafka broker, fetched by Maven once and kept in `.kafka/` of the repository."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

POM = Path(__file__).with_name("pom.xml")
KEPT = Path(__file__).parents[2] / ".kafka"
JAVA_NEEDED = 17
FETCH_SECONDS = 600


def java():
    """Where Java is, or an error that says what to do."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        raise RuntimeError(
            f"The tests with Kafka need Java {JAVA_NEEDED} or newer, and there is no `java`. "
            "`make kafka` installs it where apt-get and root allow; or name a running broker: "
            "KAFKA_BOOTSTRAP=host:port"
        )
    return found


def libraries():
    """The folder of the jars; Maven fills it if it has not done so for this pom.xml."""
    folder = KEPT / hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError(
            "The tests with Kafka need Maven to fetch the broker, and there is no `mvn`. "
            "`make kafka` installs it where apt-get and root allow; or name a running broker: "
            "KAFKA_BOOTSTRAP=host:port"
        )
    KEPT.mkdir(exist_ok=True)
    part = KEPT / f"{folder.name}.part{os.getpid()}"
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={part}", "-DincludeScope=runtime"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
    )
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        raise RuntimeError(f"Maven could not fetch the broker:\n{done.stdout}{done.stderr}")
    try:
        part.rename(folder)
    except OSError:  # another process was quicker
        shutil.rmtree(part)
    return folder


if __name__ == "__main__":
    java()
    print(f"the broker's jars are in {libraries()}")
