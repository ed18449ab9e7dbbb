"""Boxes as pixels: a picture with the number of a box in every pixel.

One array gives the colors and what is below the mouse. The cost follows the pixels: a box takes one
operation on the lines that it covers, and those of one pixel take one for all of them. Small boxes
are drawn last, so that large ones never hide them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.render.palette import Pixels

NONE = -1  # the number of pixels without a box
MOST_BOXES = 50_000

BoxNumbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedBoxes:
    """Boxes as pixels of a canvas.

    number: of each, ascending. left, right, top, bottom: its columns and lines, right and bottom
    excluded.
    """

    number: Ints
    left: Ints
    right: Ints
    top: Ints
    bottom: Ints

    def __len__(self) -> int:
        return len(self.number)

    def place_of(self, number: int) -> int:
        """Return the position of a box in these arrays, -1 if it is out of view."""
        place = int(np.searchsorted(self.number, number))
        return place if place < len(self) and self.number[place] == number else NONE

    def largest(self, width: int, height: int, among: Bools | bool = True) -> Ints:
        """Return the positions of boxes of at least a size, the largest first."""
        wide, high = self.right - self.left, self.bottom - self.top
        roomy = np.flatnonzero((wide >= width) & (high >= height) & among)
        return roomy[np.argsort(-(wide * high)[roomy], kind="stable")]


def colored(numbers: BoxNumbers, fill: Pixels, ground: int) -> Pixels:
    """Return the pixels of a picture. fill: per number of a box. ground: where there is none."""
    # The last color is that of NONE.
    return np.append(fill, np.uint32(ground))[numbers]


def draw_numbers(
    boxes: PlacedBoxes, columns: int, lines: int, most_cover: int | None = None
) -> BoxNumbers:
    """Return the number of the box in each pixel, `NONE` without one (lines, columns).

    most_cover: how often boxes may cover the canvas together; of more, or of more than
    `MOST_BOXES`, the smallest are left out.
    """
    picture = np.full((lines, columns), NONE, np.int32)
    area = (boxes.right - boxes.left) * (boxes.bottom - boxes.top)
    order = np.argsort(-area, kind="stable")
    if most_cover is not None:
        order = order[:MOST_BOXES]
        order = order[np.cumsum(area[order]) <= most_cover * columns * lines]
    large = order[area[order] > 1]
    for number, x0, x1, y0, y1 in zip(
        boxes.number[large].tolist(), boxes.left[large].tolist(), boxes.right[large].tolist(),
        np.maximum(boxes.top[large], 0).tolist(), np.maximum(boxes.bottom[large], 0).tolist(),
        strict=True,
    ):  # fmt: skip
        picture[y0:y1, x0:x1] = number
    small = order[area[order] == 1]
    small = small[(boxes.top[small] >= 0) & (boxes.top[small] < lines)]
    picture[boxes.top[small], boxes.left[small]] = boxes.number[small]
    return picture
