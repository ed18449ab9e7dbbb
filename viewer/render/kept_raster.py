"""The raster of a trace as a file of columns keeps it, with the palette that it was made for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.model.trace import Slices
from viewer.render.lod import SUMMED, Cells, DrawnSlices, RowMip
from viewer.render.palette import Palette
from viewer.render.raster import RowRaster

_SAME = -1  # slices of a level that are those of the finer one


@dataclass(frozen=True, slots=True)
class KeptRaster:
    """What `RowRaster` takes long to compute, in few columns.

    palette: the digest of the color of each slice. row, origin, shift, levels: of each mipmap.
    cell_count, wide_count: of each level of all mipmaps, whose cells and wide slices are in `cells`
    and `wide`, one after another; `_SAME` for the same wide slices as before.
    """

    palette: str
    drawn: DrawnSlices
    row: Ints
    origin: Ints
    shift: Ints
    levels: Ints
    cell_count: Ints
    wide_count: Ints
    cells: Cells
    wide: Codes

    @staticmethod
    def of(raster: RowRaster, palette: Palette) -> KeptRaster:
        """Return what is kept of the raster of a trace in the colors of a palette."""
        mips = raster.mips.values()
        cells = [level for mip in mips for level in mip.levels]
        wide: list[Codes] = []
        wide_count: list[int] = []
        for mip in mips:
            before = None
            for level in mip.wide:
                wide_count.append(_SAME if level is before else len(level))
                wide += [] if level is before else [level]
                before = level
        return KeptRaster(
            palette=_digest(palette),
            drawn=raster.drawn,
            row=np.array(list(raster.mips), np.int64),
            origin=np.array([mip.origin for mip in mips], np.int64),
            shift=np.array([mip.shift for mip in mips], np.int64),
            levels=np.array([len(mip.levels) for mip in mips], np.int64),
            cell_count=np.array([len(level) for level in cells], np.int64),
            wide_count=np.array(wide_count, np.int64),
            cells=np.concatenate([np.empty(0, np.uint16), *cells]),
            wide=np.concatenate([np.empty(0, np.uint32), *wide]),
        )

    def raster(self, slices: Slices, palette: Palette) -> RowRaster | None:
        """Return the raster of the same trace; None if it was made for other colors or slices."""
        if self.palette != _digest(palette) or not self._fits(slices):
            return None
        return RowRaster(self.drawn, self.drawn.values(palette), self._mips())

    def _mips(self) -> dict[int, RowMip]:
        cell_end = np.cumsum(self.cell_count).tolist()
        wide_size = np.maximum(self.wide_count, 0)
        wide_end, wide_size = np.cumsum(wide_size).tolist(), wide_size.tolist()
        cells: list[Cells] = []
        wide: list[Codes] = []
        begin = 0
        for number, end in enumerate(cell_end):
            cells.append(self.cells[begin:end])
            begin = end
            is_same = self.wide_count[number] == _SAME
            first = wide_end[number] - wide_size[number]
            wide.append(wide[-1] if is_same else self.wide[first : wide_end[number]])
        mips, begin = {}, 0
        of_mips = (self.row, self.origin, self.shift, self.levels)
        for row, origin, shift, levels in zip(*(of.tolist() for of in of_mips), strict=True):
            here = slice(begin, begin + levels)
            mips[row] = RowMip(origin, shift, tuple(cells[here]), tuple(wide[here]))
            begin += levels
        return mips

    def _fits(self, slices: Slices) -> bool:
        """Whether it is of slices like these, and no index leads out of its column."""
        drawn, rows = self.drawn, len(slices.rows_drawn.row_ptr) - 1
        count, zero_count = len(drawn.start), len(drawn.zero_time)
        indexes = (drawn.index, drawn.zero_index, drawn.order)
        number_of_levels = len(self.cell_count)
        first = np.cumsum(self.levels) - self.levels
        return bool(
            _are_rows(drawn.row_ptr, rows, count)
            and _are_rows(drawn.zero_ptr, rows, zero_count)
            and len(drawn.end) == count
            and len(drawn.busy) == count // SUMMED + 1
            and len(drawn.zero_index) == zero_count
            and count + zero_count == len(slices)
            and (count == len(slices) if drawn.index is None else len(drawn.index) == count)
            and all(
                index is None or not len(index) or index.max() < len(slices) for index in indexes
            )
            and len(self.row) == len(self.origin) == len(self.shift) == len(self.levels)
            and len(self.wide_count) == number_of_levels == self.levels.sum()
            and (self.levels > 0).all()
            and ((self.row >= 0) & (self.row < rows)).all()
            and ((self.shift >= 0) & (self.shift < 64)).all()
            and (self.cell_count >= 0).all()
            and self.cell_count.sum() == len(self.cells)
            and (self.wide_count >= _SAME).all()
            and (self.wide_count[first] >= 0).all()
            and np.maximum(self.wide_count, 0).sum() == len(self.wide)
        )


def _are_rows(row_ptr: Ints, rows: int, count: int) -> bool:
    is_long = len(row_ptr) == rows + 1 and row_ptr[0] == 0 and row_ptr[-1] == count
    return is_long and not (np.diff(row_ptr) < 0).any()


def _digest(palette: Palette) -> str:
    return hashlib.blake2b(np.ascontiguousarray(palette).data, digest_size=16).hexdigest()
