"""Where an operator keeps the records of its keys, by state partition."""

from okl_flow.operators.contract import Change, Store, StoreError
from okl_flow.operators.memory import MemoryStore
from okl_flow.operators.requests import Request

__all__ = ["Change", "MemoryStore", "Request", "Store", "StoreError"]
