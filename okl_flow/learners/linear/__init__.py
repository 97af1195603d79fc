"""Learners that keep one weight per feature."""
