"""Kernel alignment: which bandwidth's kernel is most like the labels.

Papers: Cristianini, Shawe-Taylor, Elisseeff, Kandola, "On kernel-target alignment", NIPS 2001;
Cortes, Mohri, Rostamizadeh, "Algorithms for learning kernels based on centered alignment",
Journal of Machine Learning Research, 2012 (the centred form).

The alignment of a kernel matrix K with labels y is <K, T> / (|K| |T|), with Frobenius products
and the target T = y y'. With several classes T is +1 for two examples of one class and -1 for
others, which for two classes is y y' again. The centred form has K_c = H K H in place of K, with
H = I - 1 1' / n. Cortes et al. centre T in the denominator too; that is the same factor for all
bandwidths, and is left out here, so that labels that are all equal have a centred alignment of 0
and not of 0 / 0. An alignment is 0 as well where K_c or T is 0: all examples or no label differ
from 0.

Alignment favours wide kernels: the bandwidth that makes the fewest mistakes is often a half to
an eighth of the one that it picks.

In the centred form all sums are over 1 - K, which has the same K_c but for its sign. A wide
kernel is all but constant; there nothing would be left of sums over K.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.kernels import Gaussian, Laplacian, NativeKernel, distances
from okl_flow.learner import check_dim, checked_events
from okl_flow.native import Array, add_scaled, dot, exponential, inner, native
from okl_flow.parameters import check, choice, flag, flat, part, real, whole
from okl_flow.state import Axes, State, allocate, is_full, make_room
from okl_flow.tasks import Binary, Multiclass, Task
from okl_flow.widths import bandwidth_grid, check_grid

__all__ = ["CANDIDATES", "KernelAlignment", "KernelAlignmentState", "kernel_alignment"]

CANDIDATES = tuple(2.0 ** (half / 2) for half in range(-10, 15))
"""The papers' bandwidths: from 2^-5 to 2^7 by factors of the root of 2."""

_FAMILIES = {"gaussian": Gaussian, "laplacian": Laplacian}
_FLOAT_BYTES = 8
_EXAMPLES_LEAST = 2


@dataclass(slots=True)
class KernelAlignmentState(State):
    """The latest examples, and for each bandwidth the sums over all pairs of two of them."""

    rows: Annotated[Array, Axes("dim", "size")]  # the examples, one per column
    labels: Annotated[Array, Axes("size")]
    aligned: Annotated[Array, Axes("bandwidths")]  # <V, T> off the diagonal, V = K or 1 - K
    squared: Annotated[Array, Axes("bandwidths")]  # |V|^2 off the diagonal
    row_sums: Annotated[Array, Axes("centered", "size")]  # of V, a line per bandwidth if centred
    size: int  # examples held
    oldest: int  # where the oldest of them is, once the budget is full


def kernel_alignment(
    X: ArrayLike,
    y: ArrayLike,
    bandwidths: Sequence[float] | Array = CANDIDATES,
    centered: bool = True,
    *,
    kernel: str = "gaussian",
    task: Task | None = None,
) -> Array:
    """The alignment of the kernel of each bandwidth with the labels.

    Parameters:
        X: examples, one per row; at least 2 with a label.
        y: their labels, -1 or +1 unless `task` says otherwise; NaN for none.
        bandwidths: those to compare, above 0.
        centered: whether the kernel is centred.
        kernel: gaussian or laplacian.
        task: binary if None; multiclass and regression as well.

    Cost: time O(n^2 (dim + bandwidths)), memory O(n bandwidths).

    >>> kernel_alignment([[0.0], [0.1], [2.0], [2.1]], [1, 1, -1, -1], [0.01, 0.5, 50]).round(2)
    array([0.58, 1.  , 1.  ])
    """
    shape = np.shape(X)
    if len(shape) != 2 or not all(shape):  # noqa: PLR2004
        raise ValueError(f"X must be a table, an example per row; it has shape {shape}")
    if kernel not in _FAMILIES:
        raise ValueError(f"kernel must be one of {', '.join(_FAMILIES)}, not {kernel!r}")
    asked = np.asarray(bandwidths, dtype=np.float64)
    if asked.ndim != 1 or not (np.isfinite(asked).all() and (asked > 0.0).all()):
        raise ValueError(f"bandwidths must be a row of numbers above 0, not {bandwidths!r:.80}")
    task = Binary() if task is None else task
    examples, labels = checked_events(task, State(dim=shape[1], seen=0), X, y)
    known = ~np.isnan(labels)
    labels = labels[known]
    _check_count(labels.shape[0])
    aligned, squared = np.zeros(len(asked)), np.zeros(len(asked))
    row_sums = np.zeros((len(asked) * centered, labels.shape[0]))
    _sum_up(
        np.ascontiguousarray(examples[known].T),
        labels,
        labels.shape[0],
        _natives(kernel, asked),
        _classes(task),
        centered,
        aligned,
        squared,
        row_sums,
    )
    return _alignments(aligned, squared, row_sums, labels, _classes(task), centered)


@final
@dataclass(frozen=True, kw_only=True)
class KernelAlignment:
    """The alignment of a row of bandwidths with the labels of the latest events of a stream.

    After every event it is what `kernel_alignment` gives for the last `budget` labelled ones.

    Parameters:
        budget: labelled examples looked back on. At least 2.
        bandwidth_min: the narrowest bandwidth. Above 0.
        bandwidth_max: the widest bandwidth, if the steps meet it. At least bandwidth_min.
        per_octave: bandwidths from one to its double. At least 1.
        centered: whether the kernel is centred.
        kernel: gaussian or laplacian.
        task: binary, multiclass or regression.

    Cost: time O(budget * (dim + bandwidths)) per event, memory the same per key.

    >>> alignment = KernelAlignment(budget=4, bandwidth_min=0.01, bandwidth_max=10.0)
    >>> state = alignment.init(dim=1)
    >>> alignment.update(state, [[9.0], [0.0], [0.1], [0.5], [0.6]], [1, 1, 1, -1, -1])
    >>> round(alignment.best(state), 2)
    0.23
    """

    name: ClassVar[str] = "kernel_alignment"
    budget: int = whole(500, low=2)
    bandwidth_min: float = real(CANDIDATES[0], above=0.0)
    bandwidth_max: float = real(CANDIDATES[-1], above=0.0)
    per_octave: int = whole(2, low=1)
    centered: bool = flag(True)
    kernel: str = choice(*_FAMILIES)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_grid(self)

    @property
    def bandwidths(self) -> Array:
        """The bandwidths that are compared, the narrowest first."""
        return bandwidth_grid(self)

    def init(self, dim: int, seed: int = 0) -> KernelAlignmentState:
        """A state that has seen nothing; nothing is drawn."""
        check_dim(dim)
        count = len(self.bandwidths)
        return allocate(
            KernelAlignmentState, dim=dim, bandwidths=count, centered=count * self.centered
        )

    def update(self, state: KernelAlignmentState, X: ArrayLike, y: ArrayLike) -> None:
        """Take in the events that have a label, in their order."""
        examples, labels = checked_events(self.task, state, X, y)
        natives = _natives(self.kernel, self.bandwidths)
        t = 0
        while t < labels.shape[0]:
            if state.size < self.budget and is_full(state):
                make_room(state, self.budget)
            t, state.size, state.oldest = _take_in(
                t,
                examples,
                labels,
                state.rows,
                state.labels,
                state.size,
                state.oldest,
                natives,
                _classes(self.task),
                self.centered,
                state.aligned,
                state.squared,
                state.row_sums,
                self.budget,
            )
        state.seen += labels.shape[0]

    def alignments(self, state: KernelAlignmentState) -> Array:
        """The alignment of each of `bandwidths`; at least 2 labelled examples are needed."""
        _check_count(state.size)
        return _alignments(
            state.aligned,
            state.squared,
            state.row_sums[:, : state.size],
            state.labels[: state.size],
            _classes(self.task),
            self.centered,
        )

    def best(self, state: KernelAlignmentState) -> float:
        """The bandwidth of the highest alignment, the narrowest of several."""
        return float(self.bandwidths[np.argmax(self.alignments(state))])

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        count = len(self.bandwidths)
        return (self.budget * (dim + 1 + count * self.centered) + 2 * count) * _FLOAT_BYTES

    def describe(self) -> dict[str, Any]:
        """The configuration as names, numbers and words: what `make_statistic` takes."""
        return {"statistic": self.name, **flat(self)}


def _check_count(count: int) -> None:
    if count < _EXAMPLES_LEAST:
        raise ValueError(f"alignment needs at least 2 labelled examples, not {count}")


def _classes(task: Task) -> bool:
    """Whether labels are names of classes."""
    return isinstance(task, Multiclass)


def _natives(kernel: str, bandwidths: Array) -> tuple[NativeKernel, Array]:
    """A kernel of the family, and the factor of its distances at every bandwidth."""
    natives = [_FAMILIES[kernel](bandwidth=float(width)).native for width in bandwidths]
    return natives[0], np.array([factor for _code, factor, _none in natives])


def _alignments(
    aligned: Array,
    squared: Array,
    row_sums: Array,
    labels: Array,
    classes: bool,
    centered: bool,
) -> Array:
    """The alignments that the sums over all pairs come to."""
    n = labels.shape[0]
    if classes:
        _, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
        target_sums, target_norm = 2.0 * counts[which] - n, float(n)
    else:
        target_sums, target_norm = labels * labels.sum(), float(labels @ labels)
    if centered:
        totals = row_sums.sum(axis=1) / n
        products = row_sums @ target_sums * (2.0 / n) - aligned - totals * target_sums.sum() / n
        norms = squared - (row_sums * row_sums).sum(axis=1) * (2.0 / n) + totals * totals
    else:
        products, norms = aligned + target_norm, squared + n
    norms = np.sqrt(np.maximum(norms, 0.0)) * target_norm
    found: Array = np.zeros_like(norms)
    np.divide(products, norms, out=found, where=norms > 0.0)
    return found


@native
def _take_in(
    t: int,
    X: Array,
    y: Array,
    rows: Array,
    labels: Array,
    size: int,
    oldest: int,
    natives: tuple[NativeKernel, Array],
    classes: bool,
    centered: bool,
    aligned: Array,
    squared: Array,
    row_sums: Array,
    budget: int,
) -> tuple[int, int, int]:
    """Go through the events from t on; stop early where the arrays need more room."""
    work = np.empty((4, rows.shape[1]))
    x = np.empty(rows.shape[0])
    while t < X.shape[0]:
        if not math.isnan(y[t]):
            if size == rows.shape[1] and size != budget:
                break
            place = size if size < budget else oldest
            if size == budget:
                _column(rows, place, x)
                _account(
                    -1.0, x, labels[place], place, rows, labels, size, natives, classes, centered,
                    aligned, squared, row_sums, work,
                )  # fmt: skip
                oldest = (oldest + 1) % budget
            for j in range(rows.shape[0]):
                rows[j, place] = X[t, j]
            labels[place] = y[t]
            _account(
                1.0, X[t], y[t], place, rows, labels, size, natives, classes, centered,
                aligned, squared, row_sums, work,
            )  # fmt: skip
            if size < budget:
                size += 1
            elif oldest == 0:
                # What is added and taken away again leaves round-off behind, of its own size.
                _sum_up(rows, labels, size, natives, classes, centered, aligned, squared, row_sums)
        t += 1
    return t, size, oldest


@native
def _sum_up(
    rows: Array,
    labels: Array,
    size: int,
    natives: tuple[NativeKernel, Array],
    classes: bool,
    centered: bool,
    aligned: Array,
    squared: Array,
    row_sums: Array,
) -> None:
    """The sums over all pairs of stored examples, anew."""
    work = np.empty((4, rows.shape[1]))
    x = np.empty(rows.shape[0])
    aligned[:] = 0.0
    squared[:] = 0.0
    row_sums[:] = 0.0
    for i in range(size):
        _column(rows, i, x)
        _account(
            1.0, x, labels[i], i, rows, labels, i, natives, classes, centered,
            aligned, squared, row_sums, work,
        )  # fmt: skip


@inner
def _column(rows: Array, place: int, x: Array) -> None:
    """Copy a stored example out."""
    for j in range(rows.shape[0]):
        x[j] = rows[j, place]


@inner
def _account(
    sign: float,
    x: Array,
    y: float,
    place: int,
    rows: Array,
    labels: Array,
    size: int,
    natives: tuple[NativeKernel, Array],
    classes: bool,
    centered: bool,
    aligned: Array,
    squared: Array,
    row_sums: Array,
    work: Array,
) -> None:
    """Add the pairs of the example at a place with all stored ones to the sums, or take them out.

    Each pair counts twice, as K[i, j] and as K[j, i].
    """
    kernel, factors = natives
    away, targets, values, ones = work[0], work[1], work[2], work[3]
    distances(kernel, rows, size, x, away)
    for i in range(size):
        targets[i] = (1.0 if labels[i] == y else -1.0) if classes else labels[i] * y
        ones[i] = 1.0
    for b in range(factors.shape[0]):
        for i in range(size):
            similar = exponential(factors[b] * away[i])
            values[i] = 1.0 - similar if centered else similar
        if place < size:
            values[place] = 0.0  # the diagonal is added in the end
        aligned[b] += sign * 2.0 * dot(values, targets, size)
        squared[b] += sign * 2.0 * dot(values, values, size)
        if centered:
            add_scaled(sign, values, row_sums[b], size)
            row_sums[b, place] = dot(values, ones, size)
