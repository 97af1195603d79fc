"""Fixtures of the examples in the documents."""

from tests.wire.registry import registry

__all__ = ["registry"]
