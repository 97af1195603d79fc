"""Operations that fill a tile of a matrix with sums, held in registers until they are done.

Like those of `okl_flow.lanes` they are the body of functions in `okl_flow.native` and
`okl_flow.kernels`, which are what to call: each sum is added in its own stated order, whatever
the shape of the tile.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils

from okl_flow.lanes import (
    FLOAT_ALIGNMENT,
    INDEX,
    LANES,
    ZEROS,
    check_arrays,
    everywhere,
    load_vector,
    operation,
    vectors_at,
)

__all__ = ["tile_distances", "tile_dots", "tile_products"]


def tile_products(line_count: int, vector_count: int, *, lower: bool = False) -> Any:
    """An operation that fills a tile of a product of matrices, in registers.

    The tile has `line_count` lines and `vector_count` times eight columns. The operation takes
    (lines, line, matrix, begin, end, column, out) and writes, for e < line_count and columns c
    of the tile, out[line + e, c] = sum of lines[line + e, i] * matrix[i, c] over begin <= i <
    end, in that order. Each number of the matrix is read once for all lines.

    With `lower` the matrix has zeros above its diagonal, and begin is column: what is zero in
    whole vectors is not read.
    """

    @operation
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
        check_arrays(2, lines=lines, matrix=matrix, out=out)
        whole = types.int64
        signature = types.void(lines, whole, matrix, whole, whole, whole, out)
        return signature, lambda *call: _generate_tile(line_count, vector_count, lower, *call)

    return fill_tile


def _unpacked(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, Any]:
    """The data and the lengths of an array."""
    array = context.make_array(kind)(context, builder, value)
    return array.data, cgutils.unpack_tuple(builder, array.shape)


def _offset(builder: Any, first: Any, length: Any, second: Any) -> Any:
    return builder.add(builder.mul(first, length), second)


def _generate_tile(
    line_count: int,
    vector_count: int,
    lower: bool,
    context: Any,
    builder: Any,
    signature: Any,
    arguments: Any,
) -> Any:
    """The code of a tile."""
    line, begin, end, column = (arguments[place] for place in (1, 3, 4, 5))
    whole = line.type

    (lines, (_, line_length)), (matrix, (_, row_length)), (out, (_, out_length)) = (
        _unpacked(context, builder, signature.args[place], arguments[place]) for place in (0, 2, 6)
    )
    numbers = [builder.add(line, whole(e)) for e in range(line_count)]
    sums = _zeros(builder, line_count, vector_count)

    def add_rows(first: Any, last: Any, vectors_held: int) -> None:
        with cgutils.for_range_slice(builder, first, last, whole(1)) as (i, _count):
            row = vectors_at(builder, matrix, _offset(builder, i, row_length, column))
            vectors = [load_vector(builder, row, INDEX(v)) for v in range(vectors_held)]
            for number, own in zip(numbers, sums, strict=True):
                place = _offset(builder, number, line_length, i)
                factors = everywhere(builder, builder.load(builder.gep(lines, [place])))
                for vector, total in zip(vectors, own[:vectors_held], strict=True):
                    product = builder.fmul(vector, factors)
                    builder.store(builder.fadd(builder.load(total), product), total)

    for vectors_held in range(1, vector_count if lower else 1):
        middle = builder.add(begin, whole(LANES))
        add_rows(begin, middle, vectors_held)
        begin = middle
    add_rows(begin, end, vector_count)
    for number, own in zip(numbers, sums, strict=True):
        _write_sums(builder, own, out, _offset(builder, number, out_length, column))
    return context.get_dummy_value()


def _zeros(builder: Any, line_count: int, vector_count: int) -> list[list[Any]]:
    """Of each line a sum for each vector, to be held in registers."""
    return [
        [cgutils.alloca_once_value(builder, ZEROS) for _ in range(vector_count)]
        for _ in range(line_count)
    ]


def _write_sums(builder: Any, sums: list[Any], out: Any, offset: Any) -> None:
    """Write the sums of a line, one vector after the other."""
    to = vectors_at(builder, out, offset)
    for v, total in enumerate(sums):
        place = builder.gep(to, [INDEX(v)])
        builder.store(builder.load(total), place, align=FLOAT_ALIGNMENT)


_Term = Callable[[Any, Any, Any], Any]
_TERMS = 4


def _tile_of_columns(line_count: int, vector_count: int, term: _Term) -> Any:
    """An operation that adds up, in registers, a term of each line with each column of a matrix.

    It takes (lines, matrix, column, out), with `line_count` lines and `vector_count` times eight
    columns, and writes out[e, c] = sum over i of the term of lines[e, i] and matrix[i, c]. Four
    terms are added as (0 + 1) + (2 + 3), then to the sum; the rest in turn. One line is a vector,
    and so is then `out`.
    """

    @operation
    def fill_tile(_context: Any, lines: Any, matrix: Any, _column: Any, out: Any) -> Any:
        check_arrays(1 if line_count == 1 else 2, lines=lines, out=out)
        check_arrays(2, matrix=matrix)
        signature = types.void(lines, matrix, types.int64, out)
        return signature, lambda *call: _generate_columns(line_count, vector_count, term, *call)

    return fill_tile


def _generate_columns(
    line_count: int,
    vector_count: int,
    term: _Term,
    context: Any,
    builder: Any,
    signature: Any,
    arguments: Any,
) -> Any:
    """The code of such a tile."""
    (lines, (*_, end)), (matrix, (*_, row_length)), (out, (*_, out_length)) = (
        _unpacked(context, builder, signature.args[place], arguments[place]) for place in (0, 1, 3)
    )
    column, whole = arguments[2], arguments[2].type
    numbers = [whole(e) for e in range(line_count)]
    sums = _zeros(builder, line_count, vector_count)

    def add_terms(i: Any, count: int) -> None:
        places = [builder.add(i, whole(k)) for k in range(count)]
        rows = [
            vectors_at(builder, matrix, _offset(builder, place, row_length, column))
            for place in places
        ]
        vectors = [
            [load_vector(builder, row, INDEX(v)) for row in rows] for v in range(vector_count)
        ]
        for number, own in zip(numbers, sums, strict=True):
            factors = [
                everywhere(
                    builder,
                    builder.load(builder.gep(lines, [_offset(builder, number, end, place)])),
                )
                for place in places
            ]
            for vector, total in zip(vectors, own, strict=True):
                terms = [
                    term(builder, one, factor) for one, factor in zip(vector, factors, strict=True)
                ]
                builder.store(builder.fadd(builder.load(total), _paired(builder, terms)), total)

    fours = builder.and_(end, whole(-_TERMS))
    with cgutils.for_range_slice(builder, whole(0), fours, whole(_TERMS)) as (i, _count):
        add_terms(i, _TERMS)
    with cgutils.for_range_slice(builder, fours, end, whole(1)) as (i, _count):
        add_terms(i, 1)
    for number, own in zip(numbers, sums, strict=True):
        _write_sums(builder, own, out, _offset(builder, number, out_length, column))
    return context.get_dummy_value()


def _paired(builder: Any, terms: list[Any]) -> Any:
    """The sum of one term, or of two or four, neighbours first."""
    while len(terms) > 1:
        terms = [builder.fadd(x, y) for x, y in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


def _square_of_difference(builder: Any, vector: Any, factor: Any) -> Any:
    away = builder.fsub(vector, factor)
    return builder.fmul(away, away)


def _product(builder: Any, vector: Any, factor: Any) -> Any:
    return builder.fmul(vector, factor)


def tile_distances(line_count: int, vector_count: int) -> Any:
    """A tile of squared distances of lines from the columns of a matrix."""
    return _tile_of_columns(line_count, vector_count, _square_of_difference)


def tile_dots(line_count: int, vector_count: int) -> Any:
    """A tile of products of lines with the columns of a matrix."""
    return _tile_of_columns(line_count, vector_count, _product)
