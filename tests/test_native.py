"""The native toolbox against the standard library and numpy."""

import math
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numba import jit
from numba.core.errors import TypingError

from okl_flow import native
from okl_flow.lanes import fetch, line, put, word_at


def test_exponentials_are_within_4e_16():
    x = np.concatenate([np.linspace(-708.0, 709.0, 200_001), np.linspace(-1.0, 1.0, 20_001)])
    values, others = x.copy(), np.empty_like(x)
    native.exponentials(1.0, values, x.size)
    native.exponentials_of(1.0, x, x.size, others)
    np.testing.assert_array_equal(values, others)
    exact = np.array([math.exp(v) for v in x])
    normal = exact >= sys.float_info.min
    error = np.abs(values[normal] / exact[normal] - 1.0)
    assert error.max() < 4.5e-16


@pytest.mark.parametrize(
    ("x", "value"),
    [(0.0, 1.0), (-709.0, 0.0), (-1e300, 0.0), (710.0, math.inf), (-math.inf, 0.0)],
)
def test_exponential_at_its_ends(x, value):
    assert native.exponential(x) == value


def test_exponentials_leave_the_rest_alone():
    values = np.array([0.0, 0.0, 5.0])
    native.exponentials(1.0, values, 2)
    assert values.tolist() == [1.0, 1.0, 5.0]


@pytest.mark.parametrize("largest", [1.0, 100.0, 9e5, 1e9])
def test_cosines_and_sines(largest):
    angles = np.concatenate([np.linspace(-largest, largest, 100_001), [0.0, math.pi / 4]])
    cosines, sines = np.empty_like(angles), np.empty_like(angles)
    native.cosines_and_sines(angles, 0.5, cosines, sines)
    np.testing.assert_allclose(cosines, 0.5 * np.cos(angles), atol=2e-16, rtol=0)
    np.testing.assert_allclose(sines, 0.5 * np.sin(angles), atol=2e-16, rtol=0)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 100])
def test_dot_and_add_scaled(size):
    generator = np.random.default_rng(size)
    a, b = generator.standard_normal((2, 120))
    assert native.dot(a, b, size) == pytest.approx(a[:size] @ b[:size], rel=1e-13, abs=1e-15)
    total = b.copy()
    native.add_scaled(2.0, a, total, size)
    np.testing.assert_array_equal(total[:size], b[:size] + 2.0 * a[:size])
    np.testing.assert_array_equal(total[size:], b[size:])


@pytest.mark.parametrize("size", range(0, 40, 3))
def test_dot_adds_in_the_stated_order(size):
    a, b = np.random.default_rng(size).standard_normal((2, 40))
    lanes = [0.0] * 8
    for i in range(size - size % 8):
        lanes[i % 8] += a[i] * b[i]
    while len(lanes) > 1:
        lanes = [lanes[i] + lanes[i + 1] for i in range(0, len(lanes), 2)]
    rest = 0.0
    for i in range(size - size % 8, size):
        rest += a[i] * b[i]
    assert native.dot(a, b, size) == lanes[0] + rest


def test_dot_refuses_what_it_would_misread():
    with pytest.raises(TypingError, match="a must be a contiguous array of floats"):
        native.dot(np.zeros(8)[::2], np.zeros(4), 4)


def test_first_not_finite_reads_in_order():
    values = np.zeros((3, 4))
    assert native.first_not_finite(values) == -1
    values[2, 1] = np.inf
    values[1, 3] = np.nan
    assert native.first_not_finite(values) == 7


def test_products_are_rounded_before_they_are_added():
    """A fused multiply-add would give other bits on the processors that have it."""
    a = np.repeat([1.0, 1.0 + 2.0**-30], 8)
    b = np.repeat([-1.0, 1.0 - 2.0**-30], 8)
    assert native.dot(a, b, 16) == 0.0
    assert native.dot(a[7:], b[7:], 2) == 0.0
    total = np.full(16, -1.0)
    native.add_scaled(1.0 + 2.0**-30, np.full(16, 1.0 - 2.0**-30), total, 16)
    assert total.tolist() == [0.0] * 16


def test_a_changed_helper_makes_its_callers_stale(tmp_path):
    """numba alone would go on with a caller that was compiled against the old helper."""
    package = tmp_path / "stale"
    package.mkdir()
    (package / "caller.py").write_text(
        textwrap.dedent("""
        from helper import constant
        from okl_flow.native import native

        @native
        def call():
            return constant()

        print(call())
        """)
    )
    printed = []
    for value in (1, 22):
        (package / "helper.py").write_text(
            f"from okl_flow.native import native\n\n@native\ndef constant():\n    return {value}\n"
        )
        for _ in range(2):
            run = subprocess.run(
                [sys.executable, "caller.py"],
                cwd=package,
                capture_output=True,
                text=True,
                check=True,
            )
            printed.append(run.stdout.strip())
    assert printed == ["1", "1", "22", "22"]


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 23, 24, 25, 50, 100])
@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize("lower", [True, False])
def test_products_are_sums_in_turn(width, more, lower):
    generator = np.random.default_rng(width)
    size = width + more
    matrix = generator.standard_normal((size, width))
    matrix = np.tril(matrix) if lower else matrix
    fill = native.lower_products if lower else native.matrix_products
    lines = generator.standard_normal((7, size))
    for count in range(8):
        out = np.full((7, width), np.nan)
        fill(lines, count, matrix, out)
        expected = np.zeros((count, width))
        for i in range(size):
            expected += lines[:count, i : i + 1] * matrix[i]
        np.testing.assert_array_equal(out[:count], expected)
        assert np.isnan(out[count:]).all()


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 16, 23, 100])
def test_least_largest_and_the_first_up_to(size):
    generator = np.random.default_rng(size)
    for kind in range(20):
        values = generator.integers(-5, 5, size + 3).astype(float)
        values[1:] = np.where(generator.random(size + 2) < 0.1 * kind, np.nan, values[1:])
        assert native.least(values, size) == np.nanmin(values[:size])
        assert native.largest(values, size) == np.nanmax(values[:size])
        limit = float(np.nanmin(values[:size])) + 1.0
        first = int(np.argmin(values[:size] > limit))
        assert native.first_up_to(values, size, limit) == first
        values[0] = np.nan
        assert math.isnan(native.least(values, size))
        assert math.isnan(native.largest(values, size))
        assert native.first_up_to(values, size, math.nan) == 0


@jit(nopython=True, _nrt=False)
def recursive_sum(numbers, size):
    """What calls itself is called, and not copied to where it is."""
    return 0.0 if size == 0 else numbers[size - 1] + recursive_sum(numbers, size - 1)


def line_sum(lines: native.Array) -> float:
    """What a learner's loop is made of: lines of a matrix, given to another function."""
    total = 0.0
    for i in range(lines.shape[0]):
        total += recursive_sum(lines[i], lines.shape[1])
    return total


@pytest.mark.parametrize(("compiled", "counts"), [(native.inner, False), (native.native, True)])
def test_an_inner_function_counts_no_references(compiled, counts):
    """The option is not one of numba's public ones, and might go."""
    again = jit(**compiled(line_sum).targetoptions)(line_sum)
    assert again(np.ones((2, 3))) == 6.0
    (code,) = again.inspect_llvm().values()
    assert ("call void @NRT_incref" in code) == counts


@pytest.mark.parametrize(("copied", "calls"), [(True, 0), (False, 2)])
def test_an_inner_function_is_copied_to_where_it_is_called(copied, calls):
    options = {**native.cosines_and_sines.targetoptions, "forceinline": copied}
    helper = jit(**options)(native.cosines_and_sines.py_func)
    assert native.cosines_and_sines.targetoptions["forceinline"]

    def twice(angles, out):
        helper(angles, 1.0, out, out)
        helper(out, 1.0, angles, angles)

    caller = jit(nopython=True)(twice)
    caller(np.ones(3), np.ones(3))
    (code,) = caller.inspect_llvm().values()
    assert len(re.findall(r"call i32 @\S*cosines_and_sines", code)) == calls


def named_line_sum(lines: native.Array) -> float:
    """`line_sum` with lines that are not counted."""
    total = 0.0
    for i in range(lines.shape[0]):
        total += recursive_sum(line(lines, i), lines.shape[1])
    return total


def test_a_line_is_that_of_the_matrix_and_is_not_counted():
    lines = np.arange(6.0).reshape(2, 3)
    again = jit(**native.native(named_line_sum).targetoptions)(named_line_sum)
    assert again(lines) == line_sum(lines) == 3.0 + 12.0
    (code,) = again.inspect_llvm().values()
    assert code.count("call void @NRT_incref(") == 1  # of the matrix, before the loop
    with pytest.raises(TypingError, match="matrix must be a contiguous array"):
        again(lines[:, ::2])


def test_an_inner_function_may_not_make_an_array():
    def made(size: int) -> int:
        return np.empty(size).shape[0]

    with pytest.raises(TypingError, match="empty"):
        native.inner(made)(3)


def test_an_inner_function_may_not_return_an_array():
    def same(values: native.Array) -> tuple[int, native.Array]:
        return 1, values

    with pytest.raises(TypeError, match="same returns"):
        native.inner(same)


def test_fetch_changes_nothing_wherever_it_looks():
    @jit(nopython=True)
    def fetch_at(ints, at):
        fetch(ints, at)

    ints = np.arange(4)
    for at in (0, 3, 4, -1, 10**12, -(10**12)):
        fetch_at(ints, at)
    assert ints.tolist() == [0, 1, 2, 3]
    with pytest.raises(TypingError, match="ints must be a contiguous array of whole numbers"):
        fetch_at(np.zeros(4), 0)


def test_numbers_are_put_and_read_at_any_byte():
    @jit(nopython=True)
    def put_at(out, place, number):
        put(out, place, number)

    @jit(nopython=True)
    def read_at(held, place):
        return word_at(held, place)

    for number in (np.int64(-5), np.uint32(2**32 - 7), np.int32(-3), np.float64(0.1), np.uint8(9)):
        for place in range(9):
            out, expected = np.full(17, 0xAB, np.uint8), np.full(17, 0xAB, np.uint8)
            expected[place : place + number.nbytes] = np.frombuffer(number.tobytes(), np.uint8)
            put_at(out, place, number)
            assert out.tolist() == expected.tolist()
            assert read_at(out, place) == int.from_bytes(out[place : place + 8], sys.byteorder)
    for wrong in (np.zeros(4), np.zeros(16, np.uint8)[::2]):
        with pytest.raises(TypingError, match="must be a contiguous array of bytes"):
            put_at(wrong, 0, np.int64(1))
        with pytest.raises(TypingError, match="must be a contiguous array of bytes"):
            read_at(wrong, 0)
