"""Learners that choose their kernel."""
