"""Bytewax operators, and what they keep for each key."""
