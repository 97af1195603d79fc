"""Two random sketches of a kernel matrix, kept up to date by changes of rank one.

K is the kernel matrix of the stored rows. S_p is a sparse Johnson-Lindenstrauss transform: its
columns are cut into blocks, and each row has one entry of +-1/sqrt(blocks) in each of them.
Phi_pp = S_p' K S_p; Phi_pm = S_p' K S_m is the sketch of the kernel with the landmarks, which
are the first of the rows. The entries of a row are kept as the columns that they are in,
counted from 1 and with their signs.
"""

import math

import numpy as np
from numpy.typing import NDArray

from okl_flow.kernels import NativeKernel, kernel_row
from okl_flow.native import Array, inner, native
from okl_flow.rng import Words, draw_below

__all__ = [
    "Integers",
    "change_sketches",
    "draw_entries",
    "drawn_first",
    "sketch_rows",
    "update_sketches",
]

Integers = NDArray[np.int32]

# Each update leaves round-off in the sketches. After so many they are made anew from the rows,
# which costs less than one of the updates in a hundred.
_UPDATES_BETWEEN_FRESH = 1000

# A row that brought so many times more than is left without it leaves its round-off behind, some
# 1e-16 of itself: 1e-12 of what is left is still let pass.
_LOSS_LARGEST = 1e4


@native
def drawn_first(words: Words, size: int, count: int) -> NDArray[np.int64]:
    """The numbers below `size`: `count` drawn ones in their order, then the others in theirs."""
    drawn = np.arange(size)
    for i in range(count):
        j = i + draw_below(words, size - i)
        drawn[i], drawn[j] = drawn[j], drawn[i]
    drawn[:count].sort()
    drawn[count:].sort()
    return drawn


@inner
def draw_entries(words: Words, length: int, entries: Integers, begin: int, end: int) -> None:
    """Draw the columns of S_p and their signs, one per block of `length`, for some rows."""
    for i in range(begin, end):
        for block in range(entries.shape[1]):
            drawn = draw_below(words, 2 * length)
            column = block * length + drawn // 2 + 1
            entries[i, block] = column if drawn % 2 == 0 else -column


@native
def sketch_rows(
    kernel: NativeKernel, rows: Array, entries: Integers, size: int, phi_pp: Array, phi_pm: Array
) -> None:
    """Make both sketches from the rows, each given those before it."""
    row = np.empty(rows.shape[1])
    sketched = np.empty(phi_pp.shape[0])
    phi_pp[:] = 0.0
    phi_pm[:] = 0.0
    for place in range(size):
        change_sketches(kernel, rows, entries, place + 1, place, 1.0, phi_pp, phi_pm, row, sketched)


@native
def change_sketches(
    kernel: NativeKernel,
    rows: Array,
    entries: Integers,
    size: int,
    place: int,
    sign: float,
    phi_pp: Array,
    phi_pm: Array,
    row: Array,
    sketched: Array,
) -> float:
    """Add (or take away, under a sign of -1) what the row at a place brings to the sketches.

    That is s psi'S_p + (.)' + K(x, x) s s' and s (psi at the landmarks)', given the other rows
    below `size`. Returns the sum of |S_p' psi|.
    """
    blocks = entries.shape[1]
    landmarks = phi_pm.shape[1]
    kernel_row(kernel, rows, max(size, landmarks), rows[:, place].copy(), row)
    for block in range(blocks):
        entry = entries[place, block]
        factor = sign / math.sqrt(blocks) * (1.0 if entry > 0 else -1.0)
        for i in range(landmarks):
            phi_pm[abs(entry) - 1, i] += factor * row[i]
    row[place] *= 0.5  # its share is added from both sides
    for c in range(sketched.shape[0]):
        sketched[c] = 0.0
    for i in range(size):
        for block in range(blocks):
            entry = entries[i, block]
            sketched[abs(entry) - 1] += row[i] if entry > 0 else -row[i]
    for block in range(blocks):
        entry = entries[place, block]
        factor = sign / blocks * (1.0 if entry > 0 else -1.0)
        for c in range(sketched.shape[0]):
            phi_pp[abs(entry) - 1, c] += factor * sketched[c]
        for c in range(sketched.shape[0]):
            phi_pp[c, abs(entry) - 1] += factor * sketched[c]
    brought = 0.0
    for c in range(sketched.shape[0]):
        brought += abs(sketched[c])
    return brought


@native
def update_sketches(
    t: int,
    X: Array,
    kernel: NativeKernel,
    rows: Array,
    entries: Integers,
    phi_pp: Array,
    phi_pm: Array,
    words: Words,
    size: int,
    oldest: int,
    updates: int,
    stored_rows: int,
) -> tuple[int, int, int, int]:
    """Take the rows of X from t on into the sketches, as far as there is room."""
    row = np.empty(rows.shape[1])
    sketched = np.empty(phi_pp.shape[0])
    length = phi_pp.shape[0] // entries.shape[1]
    while t < X.shape[0]:
        gone = 0.0
        place = size
        if size == stored_rows:
            place = oldest
            gone = change_sketches(
                kernel, rows, entries, size, place, -1.0, phi_pp, phi_pm, row, sketched
            )
            oldest = place + 1 if place + 1 < size else phi_pm.shape[1]
        elif size == rows.shape[1]:
            break
        else:
            size += 1
        for j in range(rows.shape[0]):
            rows[j, place] = X[t, j]
        draw_entries(words, length, entries, place, place + 1)
        left = 0.0
        for c in range(phi_pp.shape[0]):
            left += abs(phi_pp[c, c])
        change_sketches(kernel, rows, entries, size, place, 1.0, phi_pp, phi_pm, row, sketched)
        updates += 1
        if updates == _UPDATES_BETWEEN_FRESH or not gone <= _LOSS_LARGEST * left:
            sketch_rows(kernel, rows, entries, size, phi_pp, phi_pm)
            updates = 0
        t += 1
    return t, size, oldest, updates
