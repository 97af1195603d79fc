"""Fixtures of the tests of what is on the wire."""

from tests.wire.registry import registry

__all__ = ["registry"]
