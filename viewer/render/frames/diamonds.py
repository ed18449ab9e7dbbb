"""Stamps diamonds, the shape of zero-length slices, into a frame of device pixels."""

from __future__ import annotations

from viewer.arrays import Ints
from viewer.render.palette import Pixels


def stamp_diamonds(image: Pixels, x: Ints, middle: int, reach: int, color: int) -> None:
    """Draw a diamond around every column x of line `middle`, clipped to the image.

    reach: half its height, in device pixels. color: 0xAARRGGBB.
    """
    height, width = image.shape
    for dy in range(-reach, reach + 1):
        y = middle + dy
        if 0 <= y < height:
            for dx in range(abs(dy) - reach, reach - abs(dy) + 1):
                columns = x + dx
                image[y, columns[(columns >= 0) & (columns < width)]] = color
