"""The formulas once more, plain and slow: what the native loops are checked against.

Nothing here is shared with the package but the configurations. Each learner's test file has a
class `Plain` built from these pieces.
"""

import math

import numpy as np

MASK = (1 << 64) - 1


def kernel_of(kernel):
    """A kernel as a function of two examples."""
    match kernel.name:
        case "gaussian":
            return lambda x, z: math.exp(-np.sum((x - z) ** 2) / (2 * kernel.bandwidth**2))
        case "laplacian":
            return lambda x, z: math.exp(-np.sum(np.abs(x - z)) / kernel.bandwidth)
        case "polynomial":
            return lambda x, z: (x @ z + kernel.offset) ** kernel.degree
        case "linear":
            return lambda x, z: x @ z
    raise AssertionError(f"no plain version of kernel {kernel.name}")


def remembered(kernel):
    """A kernel as a function of two examples that computes nothing twice."""
    similarity, known = kernel_of(kernel), {}

    def look_up(x, z):
        pair = x.tobytes(), z.tobytes()
        if pair not in known:
            known[pair] = similarity(x, z)
        return known[pair]

    return look_up


def value(loss, f, y):
    """What score f costs under label y."""
    match loss.name:
        case "hinge":
            return max(0.0, 1 - y * f)
        case "squared_hinge":
            return max(0.0, 1 - y * f) ** 2
        case "logistic":
            return np.logaddexp(0.0, -y * f)
        case "square":
            return (f - y) ** 2
        case "epsilon_insensitive":
            return max(0.0, abs(f - y) - loss.epsilon)
    raise AssertionError(f"no plain version of loss {loss.name}")


def slope(loss, f, y):
    """Derivative of the loss in f."""
    match loss.name:
        case "hinge":
            return -y if y * f < 1 else 0.0
        case "squared_hinge":
            return -2 * y * (1 - y * f) if y * f < 1 else 0.0
        case "logistic":
            return -y * np.exp(-np.logaddexp(0.0, y * f))
        case "square":
            return 2 * (f - y)
        case "epsilon_insensitive":
            return np.sign(f - y) if abs(f - y) > loss.epsilon else 0.0
    raise AssertionError(f"no plain version of loss {loss.name}")


def targets(task, y):
    """What each score should be under label y."""
    if task.name == "multiclass":
        return np.where(np.arange(task.classes) == y, 1.0, -1.0)
    return np.array([y])


def rate(learner, learned):
    """The step size for labelled event number `learned`."""
    eta = learner.learning_rate
    return {"constant": eta, "inverse_sqrt": eta / math.sqrt(learned), "inverse": eta / learned}[
        learner.schedule
    ]


class Generator:
    """xoshiro256++ on Python integers."""

    def __init__(self, seed):
        self.words = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.words.append(z ^ (z >> 31))

    def bits(self):
        """The next 64 bits."""
        a, b, c, d = self.words
        result = (rotated((a + d) & MASK, 23) + a) & MASK
        t = (b << 17) & MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        self.words = [a, b, c, rotated(d, 45)]
        return result

    def unit(self):
        """A number from [0, 1)."""
        return (self.bits() >> 11) / 2**53

    def below(self, count):
        """A whole number from 0 to count - 1."""
        return math.floor(self.unit() * count)

    def normals(self, count):
        """Independent standard normals, two to a pair of draws."""
        values = []
        while len(values) < count:
            radius = math.sqrt(-2 * math.log(1 - self.unit()))
            angle = 2 * math.pi * self.unit()
            values += [radius * math.cos(angle), radius * math.sin(angle)]
        return np.array(values[:count])


def rotated(word, left):
    """A 64-bit word rotated to the left."""
    return ((word << left) | (word >> (64 - left))) & MASK


class Expansion:
    """A list of stored examples, each with one weight per output, oldest first."""

    def __init__(self, learner):
        self.kernel = kernel_of(learner.kernel)
        self.task = learner.task
        self.examples = []
        self.weights = []

    def similarities(self, x):
        """The kernel of x with every stored example."""
        return np.array([self.kernel(x, z) for z in self.examples])

    def score(self, x):
        """One score per output."""
        if not self.examples:
            return np.zeros(self.task.outputs)
        return np.array(self.weights).T @ self.similarities(x)

    def add(self, x, weight):
        """Store an example."""
        self.examples.append(x.copy())
        self.weights.append(np.array(weight, dtype=float))

    def drop(self, position):
        """Forget an example."""
        del self.examples[position]
        del self.weights[position]


class Fourier:
    """Random Fourier features, drawn one direction after the other."""

    def __init__(self, kernel, count, dim, seed):
        generator = Generator(seed)
        if kernel.name == "gaussian":
            drawn = generator.normals(count * dim)
        else:
            units = [generator.unit() for _ in range(count * dim)]
            drawn = np.array([math.tan(math.pi * (unit - 0.5)) for unit in units])
        self.directions = drawn.reshape(count, dim) / kernel.bandwidth

    def features(self, x):
        """The cosines, then the sines."""
        angles = self.directions @ x
        return np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(len(angles))


class Sketched:
    """The map of incremental sketching, everything made anew whenever it is asked for.

    `owner` is a map or a learner: whoever has the sizes. The landmarks are the first rows.
    """

    def __init__(self, owner, seed):
        budget = owner.budget
        self.generator = Generator(seed)
        self.kernel = kernel_of(owner.kernel)
        self.blocks = owner.block_count
        self.sketch = owner.sketch_size or max(self.blocks, budget * 3 // 4)
        self.landmarks = owner.landmark_count or math.ceil(budget / 2)
        self.rank = owner.rank or max(1, min(self.sketch, self.landmarks, int(0.4 * budget)))
        self.most = owner.stored_rows or 2 * budget
        self.rows = []
        self.S = []

    def begin(self, examples):
        """Draw landmarks and sketches for a full buffer. Returns the new order of the rows."""
        drawn = list(range(len(examples)))
        for i in range(self.landmarks):
            j = i + self.generator.below(len(drawn) - i)
            drawn[i], drawn[j] = drawn[j], drawn[i]
        order = sorted(drawn[: self.landmarks]) + sorted(drawn[self.landmarks :])
        self.rows = [examples[i].copy() for i in order]
        self.S = [self.entries() for _ in order]
        return order

    def entries(self):
        """A row of S_p."""
        row = np.zeros(self.sketch)
        length = self.sketch // self.blocks
        for block in range(self.blocks):
            column, negative = divmod(self.generator.below(2 * length), 2)
            row[block * length + column] = (-1) ** negative / math.sqrt(self.blocks)
        return row

    def take(self, x):
        """An update round: the oldest row that is no landmark goes when there is no room."""
        if len(self.rows) == self.most:
            del self.rows[self.landmarks], self.S[self.landmarks]
        self.rows.append(x.copy())
        self.S.append(self.entries())

    def gram(self, examples):
        """The kernel of some examples with the landmarks, a line for each."""
        return np.array(
            [[self.kernel(x, z) for z in self.rows[: self.landmarks]] for x in examples]
        )

    def sketches(self):
        """Phi_pp and Phi_pm."""
        K = np.array([[self.kernel(x, z) for z in self.rows] for x in self.rows])
        S = np.array(self.S)
        return S.T @ K @ S, S.T @ K[:, : self.landmarks]

    def projection(self):
        """Q of the map."""
        phi_pp, phi_pm = self.sketches()
        values, vectors = np.linalg.eigh((phi_pp + phi_pp.T) / 2)
        kept = [i for i in np.argsort(-values)[: self.rank] if values[i] > 1e-7 * values[-1] > 0]
        U, s, V = np.linalg.svd(phi_pm)
        rank = min(self.rank, np.sum(s > 1e-7 * s[0]))
        if not kept or not rank:
            return np.zeros((self.landmarks, 1))
        truncated = U[:, :rank] @ np.diag(s[:rank]) @ V[:rank]
        return (
            np.linalg.pinv(truncated, rcond=1e-8) @ vectors[:, kept] @ np.diag(values[kept] ** 0.5)
        )


class Followers:
    """Landmarks as the centres of online k-means: which of them moves, and to where."""

    def __init__(self, owner, landmarks, number):
        self.owner = owner
        self.landmarks = landmarks
        self.counts = [1] * len(landmarks)
        self.nearest_at = [number] * len(landmarks)

    def move_of(self, x, number):
        """The landmark that example `number` moves, and its new place; None for none."""
        memory = self.owner.landmark_memory or math.inf
        distances = [np.sum((x - u) ** 2) for u in self.landmarks]
        q = int(np.argmin(distances))
        self.nearest_at[q] = number
        stalest = int(np.argmin(self.nearest_at))
        age = number - self.nearest_at[stalest]
        moves = distances[q] >= self.owner.squared_distance
        if moves and self.owner.landmark_ttl and age > self.owner.landmark_ttl:
            self.nearest_at[stalest] = number
            self.counts[stalest] = 1
            return stalest, x.copy()
        n = self.counts[q]
        if moves or self.owner.counting == "examples":
            self.counts[q] = min(n + 1, memory)
        return (q, (n * self.landmarks[q] + x) / (n + 1)) if moves else (None, None)


def given_back(number, size, forgetting):
    """The features that get their prior back at event `number`, each after 1 / (1 - forgetting)."""
    share = size * (1.0 - forgetting)
    turns = range(int((number - 1) * share) + 1, int(number * share) + 1)
    return [turn % size for turn in turns]
