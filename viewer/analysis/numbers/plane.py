"""Two dimensions of a tensor as a grid of cells, of limited size: the picture of a difference.

Dimensions of size 1 are left out, and the last two others are shown. A cell has the largest
absolute difference of its values, so that a single outlier stays visible however many values a cell
has. A value that is NaN or infinite on one side only counts as infinitely far away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.codecs.tensor_values import BLOCK, StoredTensor

MOST_CELLS = 512  # in each direction


class Shown(Enum):
    """What a picture has; its value is the title of its button."""

    DIFFERENCE = "Difference"
    A = "A"
    B = "B"


@dataclass(frozen=True, slots=True)
class PlaneShape:
    """How a tensor is cut into planes. outer: the sizes of the other dimensions, without 1."""

    sizes: tuple[int, ...]

    @property
    def _long(self) -> tuple[int, ...]:
        return tuple(size for size in self.sizes if size != 1)

    @property
    def height(self) -> int:
        """The values of a column, 1 for a vector."""
        return self._long[-2] if len(self._long) > 1 else 1

    @property
    def width(self) -> int:
        """The values of a row."""
        return self._long[-1] if self._long else 1

    @property
    def outer(self) -> tuple[int, ...]:
        """The sizes of the dimensions that the planes are numbered by."""
        return self._long[:-2]

    @property
    def count(self) -> int:
        """The number of planes."""
        return math.prod(self.outer)

    def plane_of(self, index: tuple[int, ...]) -> int:
        """Return the number of the plane with a value, by its index in the whole tensor."""
        number = 0
        for size, i in zip(self.sizes, index, strict=True):
            number = number * size + i
        return number // max(self.height * self.width, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """One plane as a grid. size: the largest of each cell (rows, columns), inf for a value that is
    NaN or infinite; of a difference, only if the other side differs.

    number: of the value with this size, in the tensor. a, b: that value on both sides; b is empty
    without a reference.
    """

    shape: PlaneShape
    plane: int
    shown: Shown
    size: Floats
    number: Ints
    a: Floats
    b: Floats

    @property
    def values(self) -> Floats:
        """What the cells show: differences without a sign, or the values with one."""
        if self.shown is Shown.DIFFERENCE:
            return self.size
        return self.b if self.shown is Shown.B else self.a

    def rows_of(self, row: int) -> tuple[int, int]:
        """Return the first row of the tensor in a row of cells, and the end."""
        return _span(row, self.shape.height, len(self.size))

    def columns_of(self, column: int) -> tuple[int, int]:
        """Return the first column of the tensor in a column of cells, and the end."""
        return _span(column, self.shape.width, self.size.shape[1])

    def cell_of(self, number: int) -> tuple[int, int] | None:
        """Return the row and column of the cell with a value; None if it is in another plane."""
        plane, inside = divmod(number, self.shape.height * self.shape.width)
        if plane != self.plane:
            return None
        row, column = divmod(inside, self.shape.width)
        rows, columns = self.size.shape
        return row * rows // self.shape.height, column * columns // self.shape.width


def plane_of(
    tensor: StoredTensor,
    reference: StoredTensor | None,
    plane: int,
    quantity: Shown,
    most: int = MOST_CELLS,
) -> Plane:
    """Return a plane of a tensor with values.

    reference: with as many values in the same order. It must be there for `DIFFERENCE` and `B`.
    most: cells in each direction.
    """
    shape = PlaneShape(tensor.layout.sizes)
    rows, columns = min(shape.height, most), min(shape.width, most)
    cells = rows * columns
    size, number = np.full(cells, -1.0), np.zeros(cells, np.int64)
    a, b = np.zeros(cells), np.zeros(cells if reference is not None else 0)
    start = plane * shape.height * shape.width
    done = start
    for x, y in _blocks(tensor, reference, start, start + shape.height * shape.width):
        place = np.arange(done - start, done - start + len(x))
        row, column = np.divmod(place, shape.width)
        cell = row * rows // shape.height * columns + column * columns // shape.width
        large = _sizes(x, y, quantity)
        before = size.copy()
        np.maximum.at(size, cell, large)
        best = np.flatnonzero((large == size[cell]) & (large > before[cell]))[::-1]
        number[cell[best]] = done + best  # the first of equal ones
        a[cell[best]] = x[best]
        if y is not None:
            b[cell[best]] = y[best]
        done += len(x)
    grid = rows, columns
    return Plane(
        shape,
        plane,
        quantity,
        size.reshape(grid),
        number.reshape(grid),
        a.reshape(grid),
        b.reshape(grid if reference is not None else (0, 0)),
    )


def _blocks(
    tensor: StoredTensor, reference: StoredTensor | None, start: int, stop: int
) -> Iterator[tuple[Floats, Floats | None]]:
    blocks = tensor.blocks(BLOCK, start=start, stop=stop)
    if reference is None:
        for values in blocks:
            yield values, None
        return
    yield from zip(blocks, reference.blocks(BLOCK, start=start, stop=stop), strict=True)


def _sizes(x: Floats, y: Floats | None, quantity: Shown) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        if quantity is Shown.DIFFERENCE and y is not None:
            sizes = np.abs(x - y)
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            sizes[same] = 0.0
        else:
            sizes = np.abs(y if quantity is Shown.B and y is not None else x)
    sizes[np.isnan(sizes)] = np.inf
    return sizes


def _span(cell: int, values: int, cells: int) -> tuple[int, int]:
    """The values of a cell along one direction: value i is in cell i * cells // values."""
    return -(-cell * values // cells), -(-(cell + 1) * values // cells)
