"""A state directory, and stores of it that are closed in the end."""

import pytest

from okl_flow import make_learner
from okl_flow.operators.store import StateDirectory


class Folder:
    """A state directory whose stores are opened one after another."""

    def __init__(self, path, **settings):
        self.path = path
        self.settings = {
            "step": "flow.learn",
            "partitions": 4,
            "learners": [make_learner("kogd", budget=4)],
            "versions_kept": 3,
            **settings,
        }
        self.opened = []

    def directory(self, **settings):
        return StateDirectory.open(self.path, **{**self.settings, **settings})

    def store(self, pointer=None, partition=0, **settings):
        """The store, after whoever had it has crashed."""
        self.close()
        self.opened.append(self.directory(**settings).store(partition, pointer))
        return self.opened[-1]

    def close(self):
        while self.opened:
            self.opened.pop().close()


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "state")
    yield made
    made.close()
