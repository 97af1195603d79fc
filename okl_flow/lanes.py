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

__all__ = [
    "LANES",
    "as_bits",
    "as_float",
    "lane_sums",
    "line_sums",
    "tile_products",
]

LANES = 8

_Operation = Callable[[Callable[..., Any]], Any]
_operation = cast(_Operation, intrinsic)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)
_INDEX = ir.IntType(32)
_FLOAT_ALIGNMENT = 8


def _bitcast(source: Any, target: Any) -> Any:
    """An operation that reads the bits of one 64-bit type as another."""

    @_operation
    def cast_bits(_context: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return cast_bits


as_float = _bitcast(types.int64, types.float64)
as_bits = _bitcast(types.float64, types.int64)


def _check(ndim: int, **arrays: Any) -> None:
    """Refuse arrays that would be misread: the operations know no strides."""
    for name, kind in arrays.items():
        read = (getattr(kind, "dtype", None), getattr(kind, "ndim", 0), getattr(kind, "layout", ""))
        if read != (types.float64, ndim, "C"):
            raise TypingError(f"{name} must be a contiguous array of floats, not {kind}")


def _vectors(builder: Any, data: Any, offset: Any) -> Any:
    """The address of an array's numbers from an offset on, eight to a step."""
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())


def _load(builder: Any, vectors: Any, position: Any) -> Any:
    return builder.load(builder.gep(vectors, [position]), align=_FLOAT_ALIGNMENT)


@_operation
def lane_sums(_context: Any, a: Any, b: Any, _rounds: Any) -> Any:
    """Sum of a[i] * b[i] over whole rounds of eight, lane by lane, the lanes added as a tree.

    As eight scalar sums the loop costs 105 ns at 400 numbers, as one vector 29 ns.
    """
    _check(1, a=a, b=b)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second = (
            _vectors(builder, context.make_array(kind)(context, builder, value).data, _INDEX(0))
            for kind, value in zip(signature.args[:2], arguments[:2], strict=True)
        )
        sums = cgutils.alloca_once_value(builder, _ZEROS)
        with cgutils.for_range(builder, arguments[2]) as loop:
            product = builder.fmul(
                _load(builder, first, loop.index), _load(builder, second, loop.index)
            )
            builder.store(builder.fadd(builder.load(sums), product), sums)
        return _tree(builder, builder.load(sums))

    return types.float64(a, b, types.int64), generate


def _tree(builder: Any, vector: Any) -> Any:
    """The sum of a vector's lanes, neighbours first."""
    lanes = [builder.extract_element(vector, _INDEX(lane)) for lane in range(LANES)]
    while len(lanes) > 1:
        lanes = [builder.fadd(x, y) for x, y in zip(lanes[::2], lanes[1::2], strict=True)]
    return lanes[0]


def _everywhere(builder: Any, number: Any) -> Any:
    """A vector that has a number in every lane."""
    alone = builder.insert_element(_VECTOR(ir.Undefined), number, _INDEX(0))
    first = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
    return builder.shuffle_vector(alone, _VECTOR(ir.Undefined), first)


def _addresses(builder: Any, data: Any, begin: Any, length: Any, count: int) -> list[Any]:
    """The vectors of `count` lines of a length that follow each other."""
    return [
        _vectors(builder, data, builder.add(begin, builder.mul(length, length.type(line))))
        for line in range(count)
    ]


def line_sums(count: int) -> Any:
    """An operation that multiplies `count` lines with the same numbers, which are read once.

    The operation takes (lines, begin, rounds, x, out, place). The lines follow each other from
    `begin` on, and each is `rounds` times eight numbers long. It writes, for e < count,
    out[place + e] = sum of line e[i] * x[i], added as in `lane_sums`.
    """

    @_operation
    def fill_sums(
        _context: Any, lines: Any, _begin: Any, _rounds: Any, x: Any, out: Any, _place: Any
    ) -> Any:
        _check(1, lines=lines, x=x, out=out)
        whole = types.int64

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            held, read, written = (
                context.make_array(signature.args[k])(context, builder, arguments[k]).data
                for k in (0, 3, 4)
            )
            begin, rounds, place = (arguments[k] for k in (1, 2, 5))
            length = builder.mul(rounds, rounds.type(LANES))
            addresses = _addresses(builder, held, begin, length, count)
            factors = _vectors(builder, read, _INDEX(0))
            sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(count)]
            for total in sums:
                builder.store(_ZEROS, total)
            with cgutils.for_range(builder, rounds) as loop:
                factor = _load(builder, factors, loop.index)
                for address, total in zip(addresses, sums, strict=True):
                    product = builder.fmul(_load(builder, address, loop.index), factor)
                    builder.store(builder.fadd(builder.load(total), product), total)
            for e, total in enumerate(sums):
                to = builder.gep(written, [builder.add(place, place.type(e))])
                builder.store(_tree(builder, builder.load(total)), to)
            return context.get_dummy_value()

        return types.void(lines, whole, whole, x, out, whole), generate

    return fill_sums


def tile_products(line_count: int, vector_count: int) -> Any:
    """An operation that fills a tile of a product of matrices, in registers.

    The tile has `line_count` lines and `vector_count` times eight columns. The operation takes
    (lines, line, matrix, begin, end, column, out) and writes, for e < line_count and columns c
    of the tile, out[line + e, c] = sum of lines[line + e, i] * matrix[i, c] over begin <= i <
    end, in that order. Each number of the matrix is read once for all lines.
    """

    @_operation
    def fill_tile(
        _context: Any,
        lines: Any,
        _line: Any,
        matrix: Any,
        _begin: Any,
        _end: Any,
        _column: Any,
        out: Any,
    ) -> Any:
        _check(2, lines=lines, matrix=matrix, out=out)
        whole = types.int64
        signature = types.void(lines, whole, matrix, whole, whole, whole, out)
        return signature, lambda *call: _generate_tile(line_count, vector_count, *call)

    return fill_tile


def _generate_tile(
    line_count: int, vector_count: int, context: Any, builder: Any, signature: Any, arguments: Any
) -> Any:
    """The code of a tile."""
    line, begin, end, column = (arguments[place] for place in (1, 3, 4, 5))
    whole = line.type

    def unpacked(place: int) -> tuple[Any, Any]:
        array = context.make_array(signature.args[place])(context, builder, arguments[place])
        return array.data, cgutils.unpack_tuple(builder, array.shape)[1]

    def offset(first: Any, length: Any, second: Any) -> Any:
        return builder.add(builder.mul(first, length), second)

    (lines, line_length), (matrix, row_length), (out, out_length) = (
        unpacked(place) for place in (0, 2, 6)
    )
    numbers = [builder.add(line, whole(e)) for e in range(line_count)]
    sums = [
        [cgutils.alloca_once_value(builder, _ZEROS) for _ in range(vector_count)] for _ in numbers
    ]
    with cgutils.for_range_slice(builder, begin, end, whole(1)) as (i, _count):
        row = _vectors(builder, matrix, offset(i, row_length, column))
        vectors = [_load(builder, row, _INDEX(v)) for v in range(vector_count)]
        for number, own in zip(numbers, sums, strict=True):
            factor = builder.load(builder.gep(lines, [offset(number, line_length, i)]))
            factors = _everywhere(builder, factor)
            for vector, total in zip(vectors, own, strict=True):
                product = builder.fmul(vector, factors)
                builder.store(builder.fadd(builder.load(total), product), total)
    for number, own in zip(numbers, sums, strict=True):
        to = _vectors(builder, out, offset(number, out_length, column))
        for v, total in enumerate(own):
            place = builder.gep(to, [_INDEX(v)])
            builder.store(builder.load(total), place, align=_FLOAT_ALIGNMENT)
    return context.get_dummy_value()
