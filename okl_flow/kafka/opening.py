"""Something that is opened in a thread of its own, beside others of its kind."""

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

__all__ = ["Opening"]

T = TypeVar("T")


class Opening(Generic[T]):
    """What `make` makes, from now on; `result` waits for it, and raises what it raises.

    >>> Opening(lambda: 6 * 7).result()
    42
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        self._raised: list[BaseException] = []
        self._thread = Thread(target=self._run, name="okl_flow opening", daemon=True)
        self._thread.start()

    def result(self) -> T:
        """What was made."""
        self._thread.join()
        if self._raised:
            raise self._raised[0]
        return self._made[0]

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except BaseException as error:
            self._raised.append(error)
