"""What the command line asks of a job's state while the job holds it: to forget, to import."""

from dataclasses import dataclass

__all__ = ["FORGET", "IMPORT", "Request"]

FORGET, IMPORT = "forget", "import"


@dataclass(frozen=True, slots=True)
class Request:
    """The wish that the record of a key be deleted, or one state in it be replaced."""

    id: str
    kind: str  # FORGET or IMPORT
    key: str
    learner: int = 0  # whose state is imported, by its number among those of the operator
    snapshot: bytes = b""  # of that learner and its state
