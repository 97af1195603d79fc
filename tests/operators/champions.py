"""Learners of which one is poor, and streams that show it."""

import numpy as np

from okl_flow import make_learner

POOR = make_learner("bogd", budget=2, bandwidth=0.05)
LEARNERS = {
    "good": make_learner("bpa_s", budget=20),
    "poor": POOR,
    "auto": make_learner("kogd", budget=20, bandwidth="auto", scale="standard"),
}


def signs(seed, count, dim=2):
    """Events whose label is the sign of their first feature."""
    X = np.random.default_rng(seed).normal(size=(count, dim))
    return X, np.where(X[:, 0] > 0.0, 1.0, -1.0).tolist()
