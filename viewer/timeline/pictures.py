"""What the timeline draws with: per open trace its raster, palette and highlighted subset.

The rasters hold no theme, so light and dark, dimming and hits only choose other colour tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.model.trace import Ints, KeyKind
from viewer.opening import OpenTrace
from viewer.program.labels import key_labels
from viewer.timeline.colouring import (
    FRAME,
    KERNELS,
    PLAIN,
    UNATTRIBUTED,
    Emphasis,
    Palette,
    by_name,
    by_operator,
    cell_colours,
)
from viewer.timeline.raster import RowRaster, Source


@dataclass
class TracePicture:
    """One open trace, ready to be drawn. `palette` has an index per slice under `scheme`."""

    shown: OpenTrace
    scheme: str
    palette: Palette
    raster: RowRaster
    hits: RowRaster | None = None
    found: RowRaster | None = None  # by the search

    def source(self, *, dark: bool, emphasis: Emphasis) -> Source:
        """The trace as a frame needs it; hits stay in full colour.

        Emphasis.HIDDEN leaves what the search finds.
        """
        colours = cell_colours(dark, emphasis)
        if emphasis is Emphasis.HIDDEN:
            full = cell_colours(dark, Emphasis.FULL)
            return Source(self.raster, self.shown.axis, colours, self.found, full)
        return Source(
            self.raster, self.shown.axis, colours, self.hits, cell_colours(dark, Emphasis.FULL)
        )

    def highlight(self, slices: Ints | None) -> None:
        """Draw some slices in full colour above the rest; None highlights nothing."""
        self.hits = (
            None
            if slices is None
            else RowRaster.subset(self.shown.trace.slices, self.palette, slices)
        )


SCHEMES = ("operator", "name")


def prepare(shown: OpenTrace) -> None:
    """Work out palettes and counters of a trace; of 200,000 identities a palette takes 0.2 s."""
    for scheme in SCHEMES:
        palette_of(shown, scheme)
    _ = shown.counters


def palette_of(shown: OpenTrace, scheme: str) -> Palette:
    """The palette index of every slice under a scheme, "operator" or "name"; made once."""
    if scheme not in shown.palettes:
        shown.palettes[scheme] = _palette(shown, scheme)
    return shown.palettes[scheme]


def _palette(shown: OpenTrace, scheme: str) -> Palette:
    trace = shown.trace
    keys = trace.keys
    linkable = shown.table.states > 0
    linked = bool((shown.table.states == 2).any())
    if scheme == "operator" and linked:
        counts = [len(link.operators) for link in shown.table.links]
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        members = [i for link in shown.table.links for i in link.operators]
        per_key = by_operator(keys.kind, ptr, np.array(members, np.int64), linkable)
    else:
        # Without any link a colour by operator would be one grey: names tell more. A call and the
        # kernel in it have one name and one colour.
        per_key = by_name(key_labels(shown.table))
        per_key[keys.kind == KeyKind.FRAMEWORK] = FRAME
        per_key[keys.kind == KeyKind.CONTROL] = PLAIN
        per_key[keys.kind == KeyKind.KERNEL] += KERNELS
        per_key[keys.kind == KeyKind.UNATTRIBUTED] = UNATTRIBUTED
        if (keys.kind == KeyKind.PLAIN).any() or (keys.kind == KeyKind.LOCATION).any():
            # Slices of one identity may have names of their own.
            per_name = by_name(trace.strings)
            named = np.isin(keys.kind, (KeyKind.PLAIN, KeyKind.LOCATION))[trace.slices.key]
            per_slice: Palette = np.where(
                named, per_name[trace.slices.name], per_key[trace.slices.key]
            )
            return per_slice
    return per_key[trace.slices.key]


def picture_of(shown: OpenTrace, scheme: str, before: TracePicture | None = None) -> TracePicture:
    """Prepare a trace for drawing; what has not changed since `before` is kept from it."""
    if before is not None and before.shown is shown and before.scheme == scheme:
        return before
    palette = palette_of(shown, scheme)
    same = before is not None and before.shown.trace is shown.trace
    drawn = before.raster.drawn if same and before is not None else None
    return TracePicture(shown, scheme, palette, RowRaster.of(shown.trace.slices, palette, drawn))
