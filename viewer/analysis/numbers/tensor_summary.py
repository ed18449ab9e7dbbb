"""A tensor in a few numbers, and two of its dimensions as a grid of cells of limited size.

The numbers take two passes over its blocks: the memory does not depend on its size. In the grid,
dimensions of size 1 are left out, and the last two others are shown. A cell has the largest
absolute difference of its values, so that a single outlier stays visible. A value that is NaN or
infinite on one side only counts as infinitely far away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.codecs.tensor_values import BLOCK, StoredTensor
from viewer.dataclasses import dataclass

BINS = 20


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a tensor. min, max, mean, sd: of its finite values, None without any.

    sd: the standard deviation of the values themselves (population). nan, inf, zeros: how many
    values are. histogram: the finite values in `BINS` bins of equal width from min to max; empty
    without any, one bin if all are equal.
    """

    count: int
    min: float | None
    max: float | None
    mean: float | None
    sd: float | None
    nan: int
    inf: int
    zeros: int
    histogram: tuple[int, ...]


def summary_of(tensor: StoredTensor) -> Summary:
    """Return the figures of a tensor."""
    nan = inf = zeros = finite = 0
    low, high, total, share = np.inf, -np.inf, 0.0, 0.0
    for values in tensor.blocks():
        is_finite = np.isfinite(values)
        finite_values = values[is_finite]
        missing = int(np.isnan(values).sum())
        nan, inf = nan + missing, inf + len(values) - len(finite_values) - missing
        zeros += len(finite_values) - int(np.count_nonzero(finite_values))
        finite += len(finite_values)
        if len(finite_values):
            low, high = min(low, float(finite_values.min())), max(high, float(finite_values.max()))
            with np.errstate(over="ignore", invalid="ignore"):
                total += float(finite_values.sum())
            share += float((finite_values / tensor.count).sum())
    if not finite:
        return Summary(tensor.count, None, None, None, None, nan, inf, zeros, ())
    # The sum of large values may exceed the largest float.
    mean = total / finite if np.isfinite(total) else share * (tensor.count / finite)
    mean = min(max(mean, low), high)
    variance, histogram = _spread(tensor, mean, low, high, finite)
    return Summary(
        tensor.count, low, high, mean, _known(np.sqrt(variance)), nan, inf, zeros, histogram
    )


def _spread(
    tensor: StoredTensor, mean: float, low: float, high: float, finite: int
) -> tuple[float, tuple[int, ...]]:
    """The variance and the histogram of the finite values."""
    variance, bins = 0.0, np.zeros(BINS if high > low else 1, np.int64)
    for values in tensor.blocks():
        finite_values = values[np.isfinite(values)]
        with np.errstate(over="ignore"):
            variance += float(np.square(finite_values - mean).sum())
        bins += _in_bins(finite_values, low, high, len(bins))
    return variance / finite, tuple(bins.tolist())


def histogram_of(tensor: StoredTensor, low: float, high: float, bins: int) -> Ints:
    """Return how many finite values are in each of some bins of equal width from low to high."""
    counts = np.zeros(bins, np.int64)
    for values in tensor.blocks():
        inside = values[(values >= low) & (values <= high)]
        counts += _in_bins(inside, low, high, bins)
    return counts


def _in_bins(values: Floats, low: float, high: float, bins: int) -> Ints:
    # Halves: the width of the range may exceed the largest float.
    place = (values / 2 - low / 2) / (high / 2 - low / 2) * bins if high > low else values * 0
    counts: Ints = np.bincount(np.minimum(place.astype(np.int64), bins - 1), minlength=bins)
    return counts


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


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
