"""The covariance of a linear function's weights, which shrinks with every event that is learned.

The covariance is S = U D U', with D diagonal and positive and U upper triangular with ones on
its diagonal. `variances` are D, and `lines` the columns of U: lines[j, i] = U_ij, with zeros
behind the diagonal. An event takes away a matrix of rank one (Bierman, "Measurement updating
using the U-D factorization", Automatica, 1976): every number of D is multiplied by a quotient of
two positive ones and nothing is subtracted from it, so that S stays symmetric and positive,
however many events come and whatever they are.

S^-1 is I at first, and an event adds x x' / noise to it. Where old events fade, the I is to stay:
S^-1 <- keep S^-1 + (1 - keep) I. The first part divides D. The second is put back weight by
weight, in turn, as if events had shown that weight to be 0 (Gay, "Dynamically regularized fast
RLS with application to echo cancellation", ICASSP, 1996): S stays bounded, also where no event
ever comes.
"""

import math

from okl_flow.lanes import LANES, lane_sums
from okl_flow.native import Array, add_scaled, dot, native

__all__ = ["add_weight", "condition", "drop_weight", "fade", "rotate_weights"]

# What a variance could only have underflown to is taken for this, so that it can divide.
_VARIANCE_SMALLEST = 1e-300


@native
def add_weight(lines: Array, variances: Array, size: int) -> None:
    """Give S one more weight, at place `size`, independent of the others and of variance 1."""
    for i in range(size):
        lines[size, i] = 0.0
    lines[size, size] = 1.0
    variances[size] = 1.0


@native
def condition(
    lines: Array, variances: Array, size: int, x: Array, noise: float, spare: Array, gain: Array
) -> float:
    """S <- S - S x x'S / (noise + x'S x), with S x in `gain`. Returns noise + x'S x.

    Does nothing, and returns infinity, if x is too long for its square.
    """
    whole = size // LANES
    for j in range(size):
        line = lines[j]
        total = 0.0
        for i in range(LANES * whole, j + 1):
            total += line[i] * x[i]
        spare[j] = total + lane_sums(line, x, min(j // LANES + 1, whole))
    if not math.isfinite(dot(spare, spare, size)):
        return math.inf
    return _condition_from(lines, variances, 0, size, spare, noise, gain)


@native
def fade(
    lines: Array,
    variances: Array,
    weights: Array,
    size: int,
    keep: float,
    turn: int,
    spare: Array,
    gain: Array,
) -> int:
    """S^-1 <- keep S^-1 + (1 - keep) I, with the weights of every output; the I in turns.

    `turn` is the weight whose turn it is. Returns the one whose turn is next.
    """
    for j in range(size):
        variances[j] /= keep
    owed = size * (1.0 - keep)
    count = math.ceil(owed)
    length = math.sqrt(owed / max(1, count))
    for _ in range(count):
        turn = turn if turn < size else 0
        for i in range(turn):
            gain[i] = 0.0
        for j in range(turn, size):
            spare[j] = length * lines[j, turn]
        total = _condition_from(lines, variances, turn, size, spare, 1.0, gain)
        for c in range(weights.shape[0]):
            add_scaled(-length * weights[c, turn] / total, gain, weights[c], size)
        turn += 1
    return turn


@native
def _condition_from(
    lines: Array, variances: Array, begin: int, size: int, own: Array, noise: float, gain: Array
) -> float:
    """Condition S on an x of which own = U'x is known, and is 0 before `begin`.

    Line after line: `total` is noise + x'S x, and `gain` S x, as far as the lines go.
    """
    total = noise
    for j in range(begin, size):
        line = lines[j]
        share = variances[j] * own[j]
        rest = -own[j] / total
        for i in range(j):
            before = line[i]
            line[i] = before + rest * gain[i]
            gain[i] += share * before
        gain[j] = share
        after = total + own[j] * share
        variances[j] *= total / after
        total = after
    return total


@native
def rotate_weights(
    lines: Array, variances: Array, size: int, k: int, cosine: float, sine: float
) -> None:
    """S of the weights once k and k + 1 are turned into each other.

    Weight k becomes cosine * k + sine * (k + 1), and k + 1 cosine * (k + 1) - sine * k.
    """
    for j in range(k + 1, size):
        before, after = lines[j, k], lines[j, k + 1]
        lines[j, k] = cosine * before + sine * after
        lines[j, k + 1] = cosine * after - sine * before
    # Column k of U now reaches down to line k + 1, by -sine. The two columns are mixed so that
    # it does not, and the sum of D u u' over them stays.
    end = lines[k + 1, k + 1]
    first, second = variances[k], variances[k + 1]
    total = max(sine * sine * first + end * end * second, _VARIANCE_SMALLEST)
    variances[k], variances[k + 1] = first * (second / total), total
    of_first, of_second = -sine * first / total, end * second / total
    for i in range(k):
        before, after = lines[k, i], lines[k + 1, i]
        lines[k, i] = end * before + sine * after
        lines[k + 1, i] = of_first * before + of_second * after
    lines[k + 1, k] = of_first * cosine + of_second * lines[k + 1, k]
    lines[k + 1, k + 1] = 1.0


@native
def drop_weight(lines: Array, variances: Array, size: int, spare: Array) -> None:
    """S without its last weight, at place size - 1: what its column says of the others stays.

    That column is put into those before it, the last of them first: Bierman's way with the signs
    turned round, in which D only grows.
    """
    last = size - 1
    weight = variances[last]
    for i in range(last):
        spare[i] = lines[last, i]
    for j in range(last - 1, -1, -1):
        entry, before = spare[j], variances[j]
        after = max(before + weight * entry * entry, _VARIANCE_SMALLEST)
        share = weight * entry / after
        variances[j] = after
        weight *= before / after
        for i in range(j):
            spare[i] -= entry * lines[j, i]
            lines[j, i] += share * spare[i]
