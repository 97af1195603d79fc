"""Incremental stand-ins for the kernel matrix, usable without a learner."""
