"""The learners, grouped by what one stores per key."""
