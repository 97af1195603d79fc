"""Bytewax operators, and what they keep for each key."""

from okl_flow.operators.prequential import PrequentialOut, prequential

__all__ = ["PrequentialOut", "prequential"]
