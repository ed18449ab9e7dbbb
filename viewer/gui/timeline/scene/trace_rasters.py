"""What the timeline draws with: per open trace its raster, palette and highlighted subset.

The rasters hold no theme, so light and dark, dimming and hits only choose other color tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.render.color_schemes import (
    DEFAULT,
    NAMES,
    Classes,
    LengthRange,
    classes_of,
    lengths_together,
)
from viewer.render.lod import DrawnSlices
from viewer.render.palette import Emphasis, Palette, cell_colors
from viewer.render.raster import RasterSource, RowRaster
from viewer.view.open_trace import OpenTrace

# The title and the palette index of a class.
ClassName = tuple[str, int]


@dataclass
class TraceRasters:
    """One open trace, ready to be drawn. `palette` has an index per slice under `scheme`.

    scheme: the asked one, or the names that a trace falls back to, with the lengths that its ramp
    runs over. lit: the class that alone is drawn in full color, None for all; `lit_numbers` is
    it here, and `lit_slices` are its slices, None where this trace has no such class.
    """

    shown: OpenTrace
    scheme: str
    classes: Classes
    palette: Palette
    raster: RowRaster
    hits: RowRaster | None = None
    lit: ClassName | None = None
    lit_numbers: Ints | None = None
    lit_slices: RowRaster | None = None
    found: RowRaster | None = None  # by the search

    def source(self, *, dark: bool, emphasis: Emphasis) -> RasterSource:
        """The trace as a frame needs it; hits, else the slices of the lit class, stay in full.

        Emphasis.HIDDEN leaves what the search finds.
        """
        colors = cell_colors(dark, emphasis)
        above = self.hits if self.hits is not None else self.lit_slices
        if emphasis is Emphasis.HIDDEN:
            above = self.found
        return RasterSource(
            self.raster, self.shown.axis, colors, above, cell_colors(dark, Emphasis.FULL)
        )

    def are_lit(self, which: Ints) -> Bools:
        """Whether each of some slices is of the class that is drawn in full color."""
        if self.lit_numbers is None or self.lit_slices is None:
            return np.zeros(len(which), np.bool_)
        return np.isin(self.classes.of(self.shown.trace, which), self.lit_numbers)


def rasters_again(shown: OpenTrace, before: TraceRasters | None) -> TraceRasters:
    """A trace as it can be drawn at once: as before where only its rate or place has changed, else
    in the first scheme, for which it was prepared."""
    if before is not None and before.shown.palettes is shown.palettes:
        return replace(before, shown=shown)
    return rasters_of(shown, DEFAULT, before)


def prepare(shown: OpenTrace) -> None:
    """Work out what is asked first of a trace; of 200,000 identities a palette takes 0.2 s."""
    _ = shown.barred, shown.lengths, shown.counters, shown.tracks
    # The mipmaps too: 1 s for 10 million slices.
    raster_of(shown, palette_of(shown, DEFAULT))


def raster_of(shown: OpenTrace, palette: Palette, drawn: DrawnSlices | None = None) -> RowRaster:
    """The raster of a trace in the colors of a palette; the last one is kept.

    drawn: the rows of the same slices, where they are known from other links.
    """
    kept = shown.drawing
    if kept is None or kept[0] is not palette:
        known = drawn if kept is None else kept[1].drawn
        kept = palette, RowRaster.of(shown.trace.slices, palette, known)
        shown.drawing = kept
    return kept[1]


def scheme_key(shown: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> str:
    """What a trace is really colored by: the scheme, else names; of durations with their ramp."""
    real = NAMES if scheme in shown.barred else scheme
    if real != "duration":
        return real
    over = lengths or ramp_of([shown])
    return f"{real} {over.least} {over.most} {shown.axis.ns_per_tick}"


def ramp_of(traces: Sequence[OpenTrace]) -> LengthRange:
    """The lengths in ns that the ramp of durations runs over."""
    return lengths_together(
        None if shown.lengths is None else shown.lengths.times(shown.axis.ns_per_tick)
        for shown in traces
    )


def palette_of(shown: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> Palette:
    """The palette index of every slice under a scheme; made once.

    lengths: of all that is open, for the ramp of durations; by default of this trace alone.
    """
    key = scheme_key(shown, scheme, lengths)
    if key not in shown.palettes:
        shown.palettes[key] = color_classes(shown, scheme, lengths).palette(shown.trace)
        _forget_other_ramps(shown, key)
    return shown.palettes[key]


def color_classes(shown: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> Classes:
    """What the colors of a trace mean under a scheme; made once."""
    key = scheme_key(shown, scheme, lengths)
    if key not in shown.classes:
        shown.classes[key] = classes_of(
            key.partition(" ")[0], shown.table, lengths or ramp_of([shown]), shown.axis.ns_per_tick
        )
    return shown.classes[key]


def _forget_other_ramps(shown: OpenTrace, key: str) -> None:
    """A ramp runs over what is open now: those of other files or rates are never asked again."""
    if key.startswith("duration"):
        for kept in (shown.palettes, shown.classes):
            for other in [k for k in kept if k.startswith("duration") and k != key]:
                del kept[other]


def rasters_of(
    shown: OpenTrace,
    scheme: str,
    before: TraceRasters | None = None,
    *,
    lengths: LengthRange | None = None,
    lit: ClassName | None = None,
) -> TraceRasters:
    """Prepare a trace for drawing; what has not changed since `before` is kept from it."""
    key = scheme_key(shown, scheme, lengths)
    same = before is not None and before.shown is shown and before.scheme == key
    if before is not None and same and before.lit == lit:
        return before
    classes = color_classes(shown, scheme, lengths)
    palette = palette_of(shown, scheme, lengths)
    of_trace = before is not None and before.shown.trace is shown.trace
    drawn = before.raster.drawn if of_trace and before is not None else None
    raster = raster_of(shown, palette, drawn)
    numbers = None if lit is None else classes.numbers(lit)
    lit_slices = None
    if numbers is not None and len(numbers):
        of_class = np.flatnonzero(np.isin(classes.of(shown.trace), numbers))
        lit_slices = RowRaster.subset(shown.trace.slices, palette, of_class)
    return TraceRasters(shown, key, classes, palette, raster, None, lit, numbers, lit_slices)
