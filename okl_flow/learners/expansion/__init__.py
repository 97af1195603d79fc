"""Learners that keep examples."""
