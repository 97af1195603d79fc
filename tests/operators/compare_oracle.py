"""What `compare` is to do, once more: the plain loop of `prequential`, with bets of its own."""

import math

from tests.operators.oracle import Oracle


class Panel:
    """Several learners that look like one, whose score is that of each by its name."""

    def __init__(self, learners):
        self.learners = learners
        self.task = next(iter(learners.values())).task

    def init(self, dim, seed):
        return States(dim, {name: one.init(dim, seed=seed) for name, one in self.learners.items()})

    def step(self, states, X, y):
        return States.scores({n: self.one(n, states.held[n], X, y) for n in self.learners})

    def one(self, name, state, X, y):
        """The score of one learner; one that raises has none."""
        try:
            return self.learners[name].step(state, X, y).tolist()[0]
        except RuntimeError:
            return math.nan


class States:
    def __init__(self, dim, held):
        self.dim, self.held = dim, held

    @staticmethod
    def scores(scores):
        return Scores(scores)


class Scores(dict):
    def tolist(self):
        return [self]


class Bets:
    """The champion of a key, and what the others have won."""

    def __init__(self, names, champion):
        self.names, self.champion = names, champion
        self.told = set()
        self.reported = {}  # the champion of each event, by the events before it
        self.begin()

    def begin(self):
        self.wealth = dict.fromkeys(self.names, 1.0)
        self.wins = dict.fromkeys(self.names, 0)
        self.losses = dict.fromkeys(self.names, 0)
        self.labels = 0


class CompareOracle(Oracle):
    """`alarms` grows by (key, kind, challenger, wealth, labels, difference, offset, ordinal)."""

    def __init__(self, learners, champion, *, promotes, confidence, **limits):
        super().__init__(Panel(learners), **limits)
        self.names, self.first = sorted(learners), champion
        self.promotes = promotes
        self.threshold = (len(learners) - 1) / (1.0 - confidence)
        self.bets = {}
        self.alarms = []
        self.mistakes = dict.fromkeys(self.names, 0)
        self.squares = dict.fromkeys(self.names, 0.0)
        self.labelled = 0

    def forget(self, item, key):
        self.bets.pop(item.key, None)
        return super().forget(item, key)

    def predict(self, cause, score, label, seen, event):
        key, offset = event.key, cause.cause.offset
        bets = self.bets.setdefault(key, Bets(self.names, self.first))
        name = bets.reported.setdefault(seen, bets.champion)
        if math.isfinite(score[name]):
            self.predictions.append((key, name, score[name], label, seen, offset, event.time))
        else:
            self.rejects.append((key, "failed", seen, offset))
        if label is not None:
            self.bet(key, bets, {n: self.error(score[n], label) for n in self.names}, offset)

    def error(self, score, label):
        if self.learner.task.name == "regression":
            return abs(score - label) if math.isfinite(score) else math.inf
        return float(not math.isfinite(score) or (1.0 if score > 0.0 else -1.0) != label)

    def bet(self, key, bets, errors, offset):
        bets.labels += 1
        self.labelled += 1
        for name, error in errors.items():
            self.mistakes[name] += error == 1.0
            self.squares[name] += error * error if math.isfinite(error) else 0.0
        ahead = []
        for name in self.names:
            if name == bets.champion:
                continue
            wins, losses = bets.wins[name], bets.losses[name]
            stake = min(max(0.0, (wins - losses) / (wins + losses + 1)), 0.5)
            if errors[name] < errors[bets.champion]:
                bets.wins[name] += 1
                bets.wealth[name] *= 1.0 + stake
            elif errors[name] > errors[bets.champion]:
                bets.losses[name] += 1
                bets.wealth[name] *= 1.0 - stake
            if bets.wealth[name] >= self.threshold and name not in bets.told:
                ahead.append(name)
        if ahead and self.promotes:
            ahead = [max(ahead, key=bets.wealth.get)]
        for ordinal, name in enumerate(ahead):
            difference = (bets.wins[name] - bets.losses[name]) / bets.labels
            kind = "promotion" if self.promotes else "challenger_ahead"
            figures = (bets.wealth[name], bets.labels, difference)
            self.alarms.append((key, kind, name, *figures, offset, ordinal))
            if self.promotes:
                bets.champion = name
                bets.begin()
            else:
                bets.told.add(name)


def as_compare_oracle_says(predictions):
    return [
        (one.key, one.learner, one.score, one.label, one.seen, one.cause.offset, one.time)
        for one in predictions
    ]


def alarms_as_oracle_says(alarms):
    return [
        (one.name, one.kind, one.learner, *one.values.values(), one.cause.offset, one.ordinal)
        for one in alarms
    ]
