"""What formats of records that go out have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from okl_flow.events import Outgoing

__all__ = ["Writer", "plain"]


class Writer(ABC):
    """The choice of a format of records that go out, where it is more than a word."""

    @abstractmethod
    def encoder(self) -> Callable[[Outgoing], bytes]:
        """What makes bytes of a record, with an error about one that the format cannot hold."""

    @abstractmethod
    def decode(self, value: bytes) -> Outgoing:
        """The record that an encoder has made bytes of; a ValueError about anything else."""


def plain(value: Any) -> Any:
    """A number or an array of numpy as what the encoders know."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a value of the type {type(value).__name__} cannot be written")
