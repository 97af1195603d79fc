"""Operations of the processor that the compiler does not find in a plain loop.

Each is the body of a small native function in `okl_flow.native`, which is what to call. A
vector of eight floats is one register of AVX-512, two of AVX, four of SSE: the additions, their
order and so the bits are the same on all of them.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

__all__ = [
    "FLOAT_ALIGNMENT",
    "INDEX",
    "LANES",
    "ZEROS",
    "as_bits",
    "as_float",
    "check_arrays",
    "everywhere",
    "fetch",
    "lane_least",
    "lane_most",
    "lane_sums",
    "lanes_below",
    "line",
    "line_sums",
    "load_vector",
    "operation",
    "put",
    "running_below",
    "vectors_at",
    "word_at",
]

LANES = 8

_Operation = Callable[[Callable[..., Any]], Any]
operation = cast(_Operation, intrinsic)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)
INDEX = ir.IntType(32)
FLOAT_ALIGNMENT = 8
_BYTES = ir.IntType(8).as_pointer()
_TO_BE_READ_SOON = 0, 3, 1  # for reading, into the nearest cache, of data
_FLOAT_BYTES = 8


def _bitcast(source: Any, target: Any) -> Any:
    """An operation that reads the bits of one 64-bit type as another."""

    @operation
    def cast_bits(_context: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return cast_bits


as_float = _bitcast(types.int64, types.float64)
as_bits = _bitcast(types.float64, types.int64)


def check_arrays(ndim: int, **arrays: Any) -> None:
    """Refuse arrays that would be misread: the operations know no strides."""
    for name, kind in arrays.items():
        read = (getattr(kind, "dtype", None), getattr(kind, "ndim", 0), getattr(kind, "layout", ""))
        if read != (types.float64, ndim, "C"):
            raise TypingError(f"{name} must be a contiguous array of floats, not {kind}")


def vectors_at(builder: Any, data: Any, offset: Any) -> Any:
    """The address of an array's numbers from an offset on, eight to a step."""
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


def load_vector(builder: Any, vectors: Any, position: Any) -> Any:
    """Eight numbers."""
    return builder.load(builder.gep(vectors, [position]), align=FLOAT_ALIGNMENT)


@operation
def lane_sums(_context: Any, a: Any, b: Any, _rounds: Any) -> Any:
    """Sum of a[i] * b[i] over whole rounds of eight, lane by lane, the lanes added as a tree.

    As eight scalar sums the loop costs 105 ns at 400 numbers, as one vector 29 ns.
    """
    check_arrays(1, a=a, b=b)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second = (
            vectors_at(builder, context.make_array(kind)(context, builder, value).data, INDEX(0))
            for kind, value in zip(signature.args[:2], arguments[:2], strict=True)
        )
        sums = cgutils.alloca_once_value(builder, ZEROS)
        with cgutils.for_range(builder, arguments[2]) as loop:
            product = builder.fmul(
                load_vector(builder, first, loop.index), load_vector(builder, second, loop.index)
            )
            builder.store(builder.fadd(builder.load(sums), product), sums)
        return _tree(builder, builder.load(sums))

    return types.float64(a, b, types.int64), generate


@operation
def line(_context: Any, matrix: Any, _number: Any) -> Any:
    """A line of a matrix that the caller holds: matrix[number] without a count of references.

    For loops that make arrays, and so count. The number is taken as it is: at least 0, and of a
    line that there is.
    """
    check_arrays(2, matrix=matrix)
    kind = types.Array(types.float64, 1, "C", readonly=not matrix.mutable)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        length = cgutils.unpack_tuple(builder, held.shape)[1]
        size = length.type(_FLOAT_BYTES)
        view = context.make_array(kind)(context, builder)
        populate_array(
            view,
            data=builder.gep(held.data, [builder.mul(arguments[1], length)]),
            shape=[length],
            strides=[size],
            itemsize=size,
            meminfo=None,
        )
        return view._getvalue()

    return kind(matrix, types.int64), generate


@operation
def fetch(_context: Any, ints: Any, _at: Any) -> Any:
    """Have the memory around ints[at] brought near, and do not wait for it.

    It changes nothing and cannot fail, wherever that lies.
    """
    if (getattr(ints, "dtype", None), getattr(ints, "layout", "")) != (types.int64, "C"):
        raise TypingError(f"ints must be a contiguous array of whole numbers, not {ints}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(held.data, [arguments[1]]), _BYTES)
        flags = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, flags, flags, flags])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(call, [address, *map(flags, _TO_BE_READ_SOON)])
        return context.get_dummy_value()

    return types.void(ints, types.int64), generate


def _place_in(context: Any, builder: Any, held: tuple[Any, Any], place: Any, kind: Any) -> Any:
    """The address of a number of some kind that begins at any byte of an array of bytes."""
    data = context.make_array(held[0])(context, builder, held[1]).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _check_bytes(held: Any) -> None:
    """Refuse what is no array of bytes side by side."""
    if (getattr(held, "dtype", None), getattr(held, "layout", "")) != (types.uint8, "C"):
        raise TypingError(f"it must be a contiguous array of bytes, not {held}")


@operation
def word_at(_context: Any, held: Any, _place: Any) -> Any:
    """The eight bytes from a place on, as the processor reads a whole number."""
    _check_bytes(held)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair = signature.args[0], arguments[0]
        address = _place_in(context, builder, pair, arguments[1], ir.IntType(64))
        return builder.load(address, align=1)

    return types.uint64(held, types.int64), generate


@operation
def put(_context: Any, out: Any, _place: Any, number: Any) -> Any:
    """Write the bytes of a number from a place on, as the processor has them."""
    _check_bytes(out)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair = signature.args[0], arguments[0]
        address = _place_in(context, builder, pair, arguments[1], arguments[2].type)
        builder.store(arguments[2], address, align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, number), generate


def _tree(builder: Any, vector: Any) -> Any:
    """The sum of a vector's lanes, neighbours first."""
    return _folded(builder, vector, builder.fadd)


def _folded(builder: Any, vector: Any, pair: Callable[[Any, Any], Any]) -> Any:
    """One number of a vector's lanes, neighbours first."""
    lanes = [builder.extract_element(vector, INDEX(lane)) for lane in range(LANES)]
    while len(lanes) > 1:
        lanes = [pair(x, y) for x, y in zip(lanes[::2], lanes[1::2], strict=True)]
    return lanes[0]


def _lane_extreme(order: str) -> Any:
    """An operation that looks for the number that comes first in an order.

    It takes (values, rounds) and looks at eight times `rounds` values, at least one round. The
    result is that of a loop which begins with the first value and takes another if it comes
    before: a NaN counts for nothing, unless it is the first.
    """

    @operation
    def find_extreme(_context: Any, values: Any, _rounds: Any) -> Any:
        check_arrays(1, values=values)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            vectors = vectors_at(builder, array.data, INDEX(0))
            first = everywhere(builder, builder.load(array.data))
            best = cgutils.alloca_once_value(builder, first)

            def better(held: Any, other: Any) -> Any:
                return builder.select(builder.fcmp_ordered(order, other, held), other, held)

            with cgutils.for_range(builder, arguments[1]) as loop:
                vector = load_vector(builder, vectors, loop.index)
                builder.store(better(builder.load(best), vector), best)
            return _folded(builder, builder.load(best), better)

        return types.float64(values, types.int64), generate

    return find_extreme


lane_least = _lane_extreme("<")
lane_most = _lane_extreme(">")


@operation
def lanes_below(_context: Any, values: Any, _rounds: Any, _goal: Any, _slack: Any) -> Any:
    """How many of eight times `rounds` values are below a goal by more than `slack`."""
    check_arrays(1, values=values)
    signature = types.int64(values, types.int64, types.float64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vectors = vectors_at(builder, array.data, INDEX(0))
        _values, rounds, goal, slack = arguments
        count = cgutils.alloca_once_value(builder, rounds.type(0))
        with cgutils.for_range(builder, rounds) as loop:
            own = _count_below(builder, load_vector(builder, vectors, loop.index), goal, slack)
            builder.store(builder.add(builder.load(count), own), count)
        return builder.load(count)

    return signature, generate


@operation
def running_below(_context: Any, values: Any, _begin: Any, _goal: Any, _slack: Any) -> Any:
    """How many of the running sums of eight values, from `begin` on, are below a goal so.

    A running sum is added in three rounds, of neighbours, pairs and fours: no chain waits for it.
    """
    check_arrays(1, values=values)
    signature = types.int64(values, types.int64, types.float64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        _values, begin, goal, slack = arguments
        sums = load_vector(builder, vectors_at(builder, array.data, begin), INDEX(0))
        for step in (1, 2, 4):
            places = [LANES - step + lane for lane in range(LANES)]  # zeros, then the first lanes
            mask = ir.Constant(ir.VectorType(INDEX, LANES), places)
            sums = builder.fadd(sums, builder.shuffle_vector(ZEROS, sums, mask))
        return _count_below(builder, sums, goal, slack)

    return signature, generate


def _count_below(builder: Any, vector: Any, goal: Any, slack: Any) -> Any:
    """How many lanes are below a goal by more than `slack`."""
    away = builder.fsub(everywhere(builder, goal), vector)
    bits = builder.fcmp_ordered(">", away, everywhere(builder, slack))
    byte = builder.bitcast(bits, ir.IntType(LANES))
    return builder.zext(builder.ctpop(byte), ir.IntType(64))


def everywhere(builder: Any, number: Any) -> Any:
    """A vector that has a number in every lane."""
    alone = builder.insert_element(_VECTOR(ir.Undefined), number, INDEX(0))
    first = ir.Constant(ir.VectorType(INDEX, LANES), [0] * LANES)
    return builder.shuffle_vector(alone, _VECTOR(ir.Undefined), first)


def _addresses(builder: Any, data: Any, begin: Any, length: Any, count: int) -> list[Any]:
    """The vectors of `count` lines of a length that follow each other."""
    return [
        vectors_at(builder, data, builder.add(begin, builder.mul(length, length.type(line))))
        for line in range(count)
    ]


def line_sums(count: int) -> Any:
    """An operation that multiplies `count` lines with the same numbers, which are read once.

    The operation takes (lines, begin, rounds, x, out, place). The lines follow each other from
    `begin` on, and each is `rounds` times eight numbers long. It writes, for e < count,
    out[place + e] = sum of line e[i] * x[i], added as in `lane_sums`.
    """

    @operation
    def fill_sums(
        _context: Any, lines: Any, _begin: Any, _rounds: Any, x: Any, out: Any, _place: Any
    ) -> Any:
        check_arrays(1, lines=lines, x=x, out=out)
        whole = types.int64

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            held, read, written = (
                context.make_array(signature.args[k])(context, builder, arguments[k]).data
                for k in (0, 3, 4)
            )
            begin, rounds, place = (arguments[k] for k in (1, 2, 5))
            length = builder.mul(rounds, rounds.type(LANES))
            addresses = _addresses(builder, held, begin, length, count)
            factors = vectors_at(builder, read, INDEX(0))
            sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(count)]
            for total in sums:
                builder.store(ZEROS, total)
            with cgutils.for_range(builder, rounds) as loop:
                factor = load_vector(builder, factors, loop.index)
                for address, total in zip(addresses, sums, strict=True):
                    product = builder.fmul(load_vector(builder, address, loop.index), factor)
                    builder.store(builder.fadd(builder.load(total), product), total)
            for e, total in enumerate(sums):
                to = builder.gep(written, [builder.add(place, place.type(e))])
                builder.store(_tree(builder, builder.load(total)), to)
            return context.get_dummy_value()

        return types.void(lines, whole, whole, x, out, whole), generate

    return fill_sums
