"""Learners that keep curvature."""
