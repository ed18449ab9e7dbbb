"""Rasters, palette and highlighted subsets of one open trace.

Rasters do not depend on the theme: light and dark, dimming and hits only change the color table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.reading import Cancelled
from viewer.formats.column_cache import CACHE
from viewer.render.color_schemes import DEFAULT, Classes, LengthRange
from viewer.render.frames.frame import RasterSource
from viewer.render.kept_raster import KeptRaster
from viewer.render.lod import DrawnSlices
from viewer.render.palette import Emphasis, Palette, cell_colors
from viewer.render.raster import RowRaster
from viewer.view.color_turns import SAMPLED_TICKS, sampled_ticks
from viewer.view.open_trace import OpenTrace
from viewer.view.slice_colors import color_classes, palette_of, scheme_key

KEPT_RASTER = "raster"
# Title and palette index of a class.
ClassName = tuple[str, int]


@dataclass
class TraceRasters:
    """One open trace, ready to be drawn.

    Attributes:
        scheme: the requested scheme, or names if the trace does not support it; for durations, with
            the range of its ramp.
        palette: a palette index per slice under `scheme`.
        hits: the slices of the highlighted operators.
        lit: the highlighted class, None if all are drawn in full color.
        lit_numbers: the numbers of that class in this trace.
        lit_slices: its slices, None if this trace does not have that class.
        search_hits: the search hits.
    """

    open_trace: OpenTrace
    scheme: str
    classes: Classes
    palette: Palette
    raster: RowRaster
    hits: RowRaster | None = None
    lit: ClassName | None = None
    lit_numbers: Ints | None = None
    lit_slices: RowRaster | None = None
    search_hits: RowRaster | None = None  # search hits

    def source(
        self,
        *,
        dark: bool,
        emphasis: Emphasis,
        above: RowRaster | None = None,
        marks: tuple[RowRaster, ...] = (),
    ) -> RasterSource:
        """What a frame needs of the trace; highlighted slices, if any, stay in full color.

        above: other slices that do, instead of those of the operators or the class, or of the
        search hits with Emphasis.UNMATCHED and HIDDEN.
        """
        colors = cell_colors(dark, emphasis)
        if above is None and emphasis in (Emphasis.HIDDEN, Emphasis.UNMATCHED):
            above = self.search_hits
        elif above is None:
            above = self.hits if self.hits is not None else self.lit_slices
        full = cell_colors(dark, Emphasis.FULL)
        return RasterSource(self.raster, self.open_trace.axis, colors, above, full, marks)

    def are_lit(self, which: Ints) -> Bools:
        """Whether each of the given slices belongs to the highlighted class."""
        if self.lit_numbers is None or self.lit_slices is None:
            return np.zeros(len(which), np.bool_)
        return np.isin(self.classes.of(self.open_trace.trace, which), self.lit_numbers)


def rasters_again(open_trace: OpenTrace, before: TraceRasters | None) -> TraceRasters:
    """A trace as it can be drawn immediately.

    Reuses `before` if only the clock rate or offset changed; otherwise uses the default scheme, for
    which the trace was prepared.
    """
    if before is not None and before.open_trace.palettes is open_trace.palettes:
        return replace(before, open_trace=open_trace)
    return rasters_of(open_trace, DEFAULT, before)


def prepare(open_trace: OpenTrace) -> None:
    """Precompute what is needed first; for 200,000 identities, a palette takes 0.2 s."""
    _ = open_trace.barred, open_trace.lengths, open_trace.counters, open_trace.tracks
    # This includes the mipmaps, which take 1 s for 10 million slices.
    raster_of(open_trace, palette_of(open_trace, DEFAULT))


def raster_of(
    open_trace: OpenTrace, palette: Palette, drawn: DrawnSlices | None = None
) -> RowRaster:
    """The raster of a trace in the colors of a palette; the last one is cached.

    `drawn` has the rows of the same slices, if known from before they were linked again.
    """
    cached = open_trace.drawing
    if cached is None or cached[0] is not palette:
        slices = open_trace.trace.slices
        rows = drawn if cached is None else cached[1].drawn
        columns = CACHE.extra(slices, KEPT_RASTER, KeptRaster) if rows is None else None
        raster = None if columns is None else columns.raster(slices, palette)
        cached = palette, raster or RowRaster.of(slices, palette, rows)
        open_trace.drawing = cached
    return cached[1]


def keep_columns(open_trace: OpenTrace, cancelled: Cancelled) -> None:
    """Write the columns of a trace that took long to read, and its raster, for the next time."""
    slices = open_trace.trace.slices

    def extras() -> dict[str, object]:
        columns: dict[str, object] = {SAMPLED_TICKS: sampled_ticks(slices)}
        if open_trace.drawing is not None:
            palette, raster = open_trace.drawing
            columns[KEPT_RASTER] = KeptRaster.of(raster, palette)
        return columns

    CACHE.keep(slices, extras, cancelled)


def rasters_of(
    open_trace: OpenTrace,
    scheme: str,
    before: TraceRasters | None = None,
    *,
    lengths: LengthRange | None = None,
    lit: ClassName | None = None,
) -> TraceRasters:
    """Prepare a trace for drawing; reuses what has not changed since `before`."""
    key = scheme_key(open_trace, scheme, lengths)
    same = before is not None and before.open_trace is open_trace and before.scheme == key
    if before is not None and same and before.lit == lit:
        return before
    classes = color_classes(open_trace, scheme, lengths)
    palette = palette_of(open_trace, scheme, lengths)
    of_trace = before is not None and before.open_trace.trace is open_trace.trace
    drawn = before.raster.drawn if of_trace and before is not None else None
    raster = raster_of(open_trace, palette, drawn)
    numbers = None if lit is None else classes.numbers(lit)
    lit_slices = None
    if numbers is not None and len(numbers):
        of_class = np.flatnonzero(np.isin(classes.of(open_trace.trace), numbers))
        lit_slices = RowRaster.subset(open_trace.trace.slices, palette, of_class)
    return TraceRasters(open_trace, key, classes, palette, raster, None, lit, numbers, lit_slices)
