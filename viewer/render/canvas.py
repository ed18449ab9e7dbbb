"""The canvas in screen pixels: on a high-DPI display, one logical pixel is several of them.

Rows are rasterized in device pixels, so that slices stay sharp at 125 or 200 %. Texts and outlines
are painted in logical pixels, which Qt scales. This module converts between the two: a column is a
device pixel.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Canvas:
    """A size in logical pixels, and the number of device pixels per logical pixel."""

    width: int
    height: int
    ratio: float = 1.0

    @property
    def columns(self) -> int:
        """Its width in device pixels, at least 1."""
        return max(round(self.width * self.ratio), 1)

    @property
    def lines(self) -> int:
        """Its height in device pixels, at least 1."""
        return max(round(self.height * self.ratio), 1)

    def x(self, column: float) -> float:
        """Return where a column starts, in logical pixels from the left."""
        return column / self.ratio

    def column(self, x: float) -> float:
        """Return the fractional column at a logical x."""
        return x * self.ratio

    def device(self, pixels: float) -> int:
        """Return a length in logical pixels as whole device pixels."""
        return round(pixels * self.ratio)
