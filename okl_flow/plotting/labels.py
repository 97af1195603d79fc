"""Names beside points, none over another: each where there is room, with a line if it is far."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from okl_flow.native import Array
from okl_flow.plotting.style import TEXT

__all__ = ["name_points"]

_SIZE = 8.0  # of the letters, in points
_WIDE, _HIGH = 0.6 * _SIZE, 1.3 * _SIZE  # a letter, about
_DOT = 4.0
_DISTANCES = (6.0, 16.0, 28.0, 42.0, 58.0, 76.0)
_FAR = 10.0
_POINTS_PER_INCH = 72.0

Box = tuple[float, float, float, float]  # left, bottom, right, top
Place = tuple[float, float, float, Box]  # distance, offsets of the left middle, and the box


def name_points(axes: Any, places: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write names beside places of the axes, which are otherwise finished."""
    figure = axes.figure
    figure.draw_without_rendering()  # settles where the axes are
    scale = _POINTS_PER_INCH / figure.dpi
    points = scale * axes.transData.transform(np.array(places))
    bounds = scale * np.array(axes.get_window_extent().extents)
    taken: list[Box] = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in points]
    for place, point, name in zip(places, points, names, strict=True):
        distance, dx, dy, box = _nearest(point, name, bounds, taken)
        taken.append(box)
        line = {"arrowstyle": "-", "color": TEXT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        note = axes.annotate(
            name, place, xytext=(dx, dy), textcoords="offset points", fontsize=_SIZE,
            color=TEXT, va="center", arrowprops=line if distance > _FAR else None,
        )  # fmt: skip
        note.set_in_layout(False)


def _nearest(point: Array, name: str, bounds: Array, taken: Sequence[Box]) -> Place:
    """The nearest place with room for a name, or the first of all if there is none."""
    for one in _candidates(point, name):
        box = one[-1]
        if _inside(box, bounds) and not any(_meet(box, other) for other in taken):
            return one
    return next(_candidates(point, name))


def _candidates(point: Array, name: str) -> Iterator[Place]:
    """Places for a name, the nearest first."""
    width = _WIDE * len(name)
    for distance in _DISTANCES:
        slanted = 0.7 * distance
        for x, y in (
            (slanted, slanted), (slanted, -slanted), (distance, 0.0), (-slanted - width, slanted),
            (-slanted - width, -slanted), (-distance - width, 0.0), (-width / 2, distance),
            (-width / 2, -distance),
        ):  # fmt: skip
            left, middle = point[0] + x, point[1] + y
            box = (left, middle - _HIGH / 2, left + width, middle + _HIGH / 2)
            yield distance, x, y, box


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _inside(box: Box, bounds: Array) -> bool:
    left, bottom, right, top = bounds
    return bool(left <= box[0] and bottom <= box[1] and box[2] <= right and box[3] <= top)
