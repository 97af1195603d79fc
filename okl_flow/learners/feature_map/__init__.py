"""Learners that keep weights of explicit features."""
