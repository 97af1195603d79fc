"""Recovery and state directories: whether they are whole, belong together, and have room."""

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from okl_flow.doctor.finding import Finding, fine, problem, warning
from okl_flow.doctor.job import Job, Plan
from okl_flow.doctor.words import counted, size, span
from okl_flow.operators.contract import StoreError
from okl_flow.operators.inspection import versions
from okl_flow.operators.keyed import Kept
from okl_flow.operators.recovered import Recovered, recovered, version_in
from okl_flow.placing import partition_name

__all__ = ["disks", "is_running", "recovery", "state"]

_LOCK = "lock"
_PARTS = "part-*.sqlite3"
_ANEW = "put all of it back from a copy of one moment, or begin anew with an empty directory"
_BOTH = (
    "put both directories back from copies of one moment, or begin anew with both empty, without "
    "what was learned"
)
_BYTES_LEAST, _BYTES_FEW = 100 << 20, 1 << 30
_SHARE_FEW = 0.05
_FILES_LEAST = 1000
_SYNC_SLOW = 0.1  # seconds
_PASSING = ("tmpfs", "ramfs")
_SHARED = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs")


def is_running(job: Job) -> bool:
    """Whether a job of this machine holds the recovery directory."""
    path = None if job.recovery is None else job.recovery / _LOCK
    if path is None or not path.exists():
        return False
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def recovery(job: Job, plan: Plan | None, running: bool) -> tuple[list[Finding], Recovered | None]:
    """Whether the engine can go on from its directory; and what it would go on from."""
    if job.recovery is None:
        remedy = "give one: recovery_dir in the job's file, or --recovery-dir"
        words = "the job has no recovery directory: after a failure it begins anew"
        return [warning("recovery", words, remedy)], None
    if not any(job.recovery.glob(_PARTS)):
        return [fine("recovery", f"{job.recovery} is new")], None
    steps = set()
    if plan is not None:
        steps |= {one.step_id for one in plan.inputs}
        steps |= {f"{one.step_id}.learn" for one in plan.kept}
    try:
        found = recovered(job.recovery, steps)
    except (ValueError, OSError) as error:
        return [problem("recovery", f"a part cannot be read: {error}", _ANEW)], None
    return list(_whole(job.recovery, found, running)), found


def _whole(directory: Path, found: Recovered, running: bool) -> Iterator[Finding]:
    total = max(found.counts)
    if len(found.counts) > 1 or sorted(found.numbers) != list(range(total)):
        yield problem(
            "recovery",
            f"{directory} has the parts {sorted(found.numbers)} of "
            f"{' or '.join(map(str, sorted(found.counts)))}",
            _ANEW,
        )
        return
    closed, epoch = found.closed.values(), found.epoch
    # While a job runs its parts are never seen at one moment, and it has found them whole itself.
    apart = closed and (max(closed) - min(closed) > 1 or (epoch is None or max(closed) > epoch))
    if apart and not running:
        yield problem(
            "recovery",
            f"the parts of {directory} are not of one moment: they closed the epochs "
            f"{sorted(set(closed))}, and the engine goes on with epoch {epoch}",
            _ANEW,
        )
        return
    holder = "a job holds it" if running else "no job holds it"
    words = "nothing has run with it" if epoch is None else f"epoch {epoch} comes next"
    if found.unclosed and not running:
        count = counted(found.unclosed, "snapshot")
        words += f", and {count} of it that never counted will be discarded"
    yield fine("recovery", f"{directory} is whole: {total} parts, {words}; {holder}")


def state(
    kept: Kept, found: Recovered | None, has_recovery: bool, running: bool
) -> Iterator[Finding]:
    """Whether a state directory is this flow's, and the one that the engine goes on with."""
    pointers = {
        one: version_in(held)
        for one, held in (found.of_step(f"{kept.step_id}.learn") if found else {}).items()
    }
    if kept.path is None:
        if any(pointers.values()):
            yield problem(
                "state",
                f"{kept.step_id} was begun with a state directory, and now has none",
                "give it: [settings] state, or --state-dir",
            )
        return
    if not (kept.path / "state.json").exists():
        if any(pointers.values()):
            yield problem(
                "state", f"{kept.path} is gone, and the engine goes on from what was in it", _BOTH
            )
        else:
            yield fine("state", f"{kept.path} is new")
        return
    try:
        directory = kept.open()
        held = dict(versions(directory))
    except (StoreError, OSError) as error:
        yield problem("state", str(error), "give the directory of this job, or another name")
        return
    if running:
        yield fine("state", f"{kept.path}: {counted(len(held), 'partition')} of the running job")
    else:
        yield from _astray(kept.path, directory.about["id"], held, pointers, has_recovery)


def _astray(
    path: Path,
    store: str,
    held: dict[int, tuple[int, int]],
    pointers: dict[str, tuple[str, int, int] | None],
    has_recovery: bool,
) -> Iterator[Finding]:
    """Whether versions and pointers fit."""
    wanted = {one[1]: one for one in pointers.values() if one is not None}
    begun = {number for number, (_floor, committed) in held.items() if committed > 1}
    foreign = [one for one in wanted.values() if one[0] != store]
    astray = [
        number
        for number, (_store, _number, version) in wanted.items()
        if not held.get(number, (0, 0))[0] <= version <= held.get(number, (0, 0))[1]
    ]
    if foreign:
        yield problem(
            "state", f"{path} is not the one that the recovery directory goes on with", _BOTH
        )
    elif astray:
        yield problem(
            "state",
            f"{path} and the recovery directory are not of one moment: in "
            f"{counted(len(astray), 'partition')} the version to go on with is not there, such as "
            + partition_name(astray[0]),
            _BOTH,
        )
    elif begun and not wanted:
        yield warning(
            "state",
            f"{path} holds models, and the recovery directory knows of none: at the start they "
            "are undone",
            _BOTH if has_recovery else "give the recovery directory that belongs to it",
        )
    else:
        yield fine(
            "state", f"{path} fits the recovery directory: {counted(len(held), 'partition')}"
        )


def disks(job: Job, plan: Plan | None) -> Iterator[Finding]:
    """Room, and how fast and safely is written."""
    kept = [one.path for one in plan.kept if one.path is not None] if plan else []
    for directory in dict.fromkeys([*([job.recovery] if job.recovery else []), *kept]):
        there = directory.absolute()
        while not there.exists():
            there = there.parent
        yield _room(directory, there)
        yield _written(directory, there)


def _room(directory: Path, there: Path) -> Finding:
    usage, files = shutil.disk_usage(there), os.statvfs(there)
    words = f"{directory}: {size(usage.free)} of {size(usage.total)} are free"
    remedy = "make room: a full disk ends the job, which goes on when there is room again"
    if usage.free < _BYTES_LEAST or 0 < files.f_files and files.f_favail < _FILES_LEAST:
        return problem("disk.room", f"{words}, and {files.f_favail:,} files", remedy)
    if usage.free < _BYTES_FEW or usage.free < _SHARE_FEW * usage.total:
        return warning("disk.room", words, remedy)
    return fine("disk.room", words)


def _written(directory: Path, there: Path) -> Finding:
    """Write and sync a small file, and take it away."""
    path = there / f".okl-flow-doctor-{uuid.uuid4().hex}"
    begun = time.perf_counter()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, bytes(4096))
            os.fsync(file)
        finally:
            os.close(file)
            path.unlink()
    except OSError as error:
        return problem(
            "disk.write",
            f"{directory} cannot be written: {error.strerror}",
            "let the job's user write there, or give another place",
        )
    lasted, kind = time.perf_counter() - begun, _file_system(there)
    if kind in _PASSING:
        return warning(
            "disk.write",
            f"{directory} is in memory ({kind}): it is gone when the machine is",
            "give a place on a disk",
        )
    if kind in _SHARED:
        return warning(
            "disk.write",
            f"{directory} is on a network ({kind}): locks and syncs may not be what they say",
            "give a place on a disk of this machine, or a block device",
        )
    if lasted > _SYNC_SLOW:
        return warning(
            "disk.write",
            f"{directory}: a small synced write takes {span(lasted)}; each epoch makes many",
            "give a faster disk, or longer epochs",
        )
    return fine("disk.write", f"{directory}: a synced write takes {span(lasted)} ({kind})")


def _file_system(there: Path) -> str:
    """The kind of file system that a directory is on."""
    best, kind, where = "", "unknown", str(there.resolve())
    for line in Path("/proc/mounts").read_text().splitlines():
        _device, mount, found, *_ = line.split()
        inside = where == mount or where.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, found
    return kind
