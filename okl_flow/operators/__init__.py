"""Bytewax operators, and what they keep for each key."""

from okl_flow.operators.compare import CompareOut, compare
from okl_flow.operators.decode import DecodeOut, decode
from okl_flow.operators.encode import encode
from okl_flow.operators.evaluate import EvaluateOut, evaluate
from okl_flow.operators.files import lines, write_lines
from okl_flow.operators.prequential import PrequentialOut, prequential

__all__ = [
    "CompareOut",
    "DecodeOut",
    "EvaluateOut",
    "PrequentialOut",
    "compare",
    "decode",
    "encode",
    "evaluate",
    "lines",
    "prequential",
    "write_lines",
]
