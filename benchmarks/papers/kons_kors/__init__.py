"""Calandriello, Lazaric and Valko, "Second-order kernel online convex optimization", ICML 2017."""
