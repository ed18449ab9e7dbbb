"""Boxes as pixels with the number of a box in each: memory plans, and trees of sizes as treemaps.

One array gives the colors and what is below the mouse. The cost follows the pixels: a box takes one
operation on the lines that it covers, and those of one pixel take one for all of them. Small boxes
are drawn last, so that large ones never hide them.

In a memory plan, time goes across and offsets upward, in a band for each memory. In a squarified
treemap, a group is around its members. Members that would be smaller than a few pixels are one box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass, replace
from viewer.render.palette import Pixels
from viewer.render.time_axis import XMap

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


_GAP_FROM = 4  # pixels; smaller boxes have no gap
# Boxes of a sane plan do not overlap, so together they cover the canvas at most once.
_MOST_COVER = 8


@dataclass(frozen=True, slots=True, eq=False)
class ArenaBoxes:
    """Boxes as parallel int64 arrays. start, end: on the axis. low, high: bytes in their band."""

    start: Ints
    end: Ints
    low: Ints
    high: Ints
    band: Ints

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class ArenaBand:
    """One memory. size: in bytes. top, lines: its pixel lines on the canvas."""

    size: int
    top: int
    lines: int

    def line_of(self, byte: int) -> int:
        """Return the line above which a byte starts, counted from the top of the canvas."""
        share = min(max(byte, 0), self.size) / self.size if self.size else 0.0
        return self.top + self.lines - round(share * self.lines)


def place_bands(
    sizes: Sequence[int], top: int, bottom: int, gap: int, least: int
) -> list[ArenaBand]:
    """Return bands between two lines, from top to bottom, as high as their bytes.

    gap: lines above each. least: the lines that every band has; if they do not fit, bands end below
    the canvas.
    """
    room = max(bottom - top - (gap + least) * len(sizes), 0)
    whole = sum(sizes) or 1
    bands, band_top = [], top
    for size in sizes:
        lines = least + int(room * size / whole)
        bands.append(ArenaBand(size, band_top + gap, lines))
        band_top += gap + lines
    return bands


def place_boxes(boxes: ArenaBoxes, bands: Sequence[ArenaBand], xmap: XMap) -> PlacedBoxes:
    """Return where the boxes in view are: each has a pixel at least, and none has a gap."""
    drawn = np.flatnonzero(
        (boxes.start < xmap.t1) & ((boxes.end > xmap.t0) | (boxes.start >= xmap.t0))
    )
    left = np.minimum(xmap.pixel_of(boxes.start[drawn]), xmap.width - 1)
    right = np.maximum(xmap.pixel_of(boxes.end[drawn]), left + 1)
    band = boxes.band[drawn]
    size = np.array([max(arena_band.size, 1) for arena_band in bands], np.float64)[band]
    foot = np.array([arena_band.top + arena_band.lines for arena_band in bands], np.int64)[band]
    lines = np.array([arena_band.lines for arena_band in bands], np.int64)[band]
    low, high = (
        np.rint(np.clip(edge[drawn] / size, 0.0, 1.0) * lines).astype(np.int64)
        for edge in (boxes.low, boxes.high)
    )
    low = np.minimum(low, lines - 1)
    return PlacedBoxes(drawn, left, right, foot - np.maximum(high, low + 1), foot - low)


def draw_boxes(placed: PlacedBoxes, columns: int, lines: int) -> BoxNumbers:
    """Return the number of the box in each pixel; boxes with room for it leave a gap."""
    right = placed.right - (placed.right - placed.left >= _GAP_FROM)
    top = placed.top + (placed.bottom - placed.top >= _GAP_FROM)
    inner = replace(placed, right=right, top=top)
    return draw_numbers(inner, columns, lines, _MOST_COVER)


_FIRST_GUESS = 32  # members in a row
_MOST_DEPTH = 32  # levels that are placed; more do not fit any screen

Areas = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TreeSizes:
    """A tree as columns; node 0 is the root.

    parent: of each node; `NONE` for the root. size: with everything inside, at least 0. first,
    members: the members of node i are `members[first[i]:first[i + 1]]`, the largest first; a node
    without members is a leaf. place: of each node among the members of its parent.
    """

    parent: Ints
    size: Ints
    first: Ints
    members: Ints
    place: Ints

    @staticmethod
    def of(parent: Ints, own_sizes: Ints) -> TreeSizes:
        """Make a tree whose nodes come after their parents.

        own_sizes: the size of each without what is inside.
        """
        size = own_sizes.copy()
        above, sizes = parent.tolist(), size.tolist()
        for node in range(len(above) - 1, 0, -1):
            sizes[above[node]] += sizes[node]
        size = np.array(sizes, np.int64)
        order = np.lexsort((np.arange(len(parent)), -size, parent))[1:]  # without the root
        first = np.searchsorted(parent[order], np.arange(len(parent) + 1))
        place = np.zeros(len(parent), np.int64)
        place[order] = np.arange(len(order)) - first[parent[order]]
        return TreeSizes(parent, size, first, order, place)

    def __len__(self) -> int:
        return len(self.parent)

    def inside(self, node: int) -> Ints:
        """Return the members of a node, the largest first."""
        return self.members[self.first[node] : self.first[node + 1]]

    def is_leaf(self, node: int) -> bool:
        """Return whether a node has no members."""
        return bool(self.first[node] == self.first[node + 1])

    def around(self, node: int) -> list[int]:
        """Return a node and those around it, from the root to it."""
        nodes = [node]
        while self.parent[nodes[-1]] >= 0:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]


class Rest(NamedTuple):
    """The smallest members of a node as one tile: all from the one with the number `skip` on."""

    node: int
    skip: int


@dataclass(frozen=True, slots=True)
class TileRoom:
    """Lengths in device pixels.

    title: lines above the members of a group. edge: around them. least: sides of a group with a
    title. smallest: the area of a tile of its own.
    """

    title: int
    edge: int
    least: tuple[int, int]
    smallest: int


@dataclass(frozen=True, slots=True, eq=False)
class Tiles(PlacedBoxes):
    """Placed tiles, each after the one around it.

    node: of each; of a tile that is the rest of the members, the node that they are in. skip: -1,
    or the number of the first of the rest. is_group: whether it has its members inside and a title
    above them.
    """

    node: Ints
    skip: Ints
    is_group: NDArray[np.bool_]


_NO: Ints = np.empty(0, np.int64)
NO_TILES = Tiles(_NO, _NO, _NO, _NO, _NO, _NO, _NO, np.empty(0, np.bool_))


def nearest(tiles: Tiles, tile: int, *, is_across: bool, is_back: bool) -> int:
    """Return the nearest tile to the right, or below; `NONE` without one.

    is_back: to the left, or above. Groups are stepped over: their members are next to one another.
    """
    x, y = tiles.left + tiles.right, tiles.top + tiles.bottom  # twice the middles
    dx, dy = x - x[tile], y - y[tile]
    along, aside = (dx, dy) if is_across else (dy, dx)
    if is_back:
        along = -along
    ahead = np.flatnonzero((along > 0) & (along >= abs(aside)) & ~tiles.is_group)
    if not len(ahead):
        ahead = np.flatnonzero((along > 0) & ~tiles.is_group)
    far = along[ahead] + 2 * abs(aside[ahead])
    return int(ahead[np.argmin(far)]) if len(ahead) else NONE


def place_tiles(tree: TreeSizes, root: Rest, columns: int, lines: int, room: TileRoom) -> Tiles:
    """Place the members of a node on a canvas.

    root: the node, and how many of its members to leave out.
    """
    levels: list[tuple[Ints, Ints, NDArray[np.bool_], NDArray[np.int64]]] = []
    # Node, first member, its rectangle, its depth.
    waiting = [(root.node, root.skip, (0, 0, columns, lines), 0)]
    while waiting:
        node, skip, (x, y, width, height), depth = waiting.pop()
        members = tree.inside(node)[skip:]
        if not len(members) and depth == 0:
            members = np.array([node], np.int64)  # a leaf fills the canvas
        if not len(members) or width < 1 or height < 1:
            continue
        sizes = np.maximum(tree.size[members], 0).astype(np.float64)
        whole = float(sizes.sum())
        if whole <= 0:
            continue
        areas = sizes * (width * height / whole)
        count = int(np.searchsorted(-areas, -float(room.smallest), side="right"))
        skips = np.full(count, NONE, np.int64)
        nodes = members[:count]
        rest = float(areas[count:].sum())
        if rest > 0 and count == len(members) - 1:
            nodes, skips = members, np.append(skips, NONE)  # the rest is one member
        elif rest > 0:
            nodes, skips = np.append(nodes, node), np.append(skips, skip + count)
        places = squarified(np.append(areas[:count], rest) if rest > 0 else areas[:count],
                            float(width), float(height))  # fmt: skip
        edges = np.rint(places).astype(np.int64) + np.array([x, y, x, y])
        wide, high = edges[:, 2] - edges[:, 0], edges[:, 3] - edges[:, 1]
        has_members = (tree.first[nodes] < tree.first[nodes + 1]) & (skips < 0)
        is_group = has_members & (wide >= room.least[0]) & (high >= room.least[1])
        if depth >= _MOST_DEPTH:
            is_group[:] = False
        levels.append((nodes, skips, is_group, edges))
        for parent in np.flatnonzero(is_group).tolist():
            left, top, right, bottom = edges[parent].tolist()
            inside = (
                left + room.edge, top + room.title,
                right - left - 2 * room.edge, bottom - top - room.title - room.edge,
            )  # fmt: skip
            waiting.append((int(nodes[parent]), 0, inside, depth + 1))
    if not levels:
        return NO_TILES
    nodes, skips, group, edges = (np.concatenate(column) for column in zip(*levels, strict=True))
    left, top, right, bottom = edges.T
    return Tiles(np.arange(len(nodes)), left, right, top, bottom, nodes, skips, group)


def squarified(areas: Areas, width: float, height: float) -> NDArray[np.float64]:
    """Return rectangles (n, 4: left, top, right, bottom) with these areas, which fill a rectangle.

    areas: descending, except for the last one; together width times height. Rows are along the
    shorter side of what is left, and as long as this makes their rectangles more like squares
    (Bruls, Huizing and van Wijk).
    """
    tiles = np.zeros((len(areas), 4))
    upto = np.concatenate(([0.0], np.cumsum(areas)))
    x, y, start = 0.0, 0.0, 0
    while start < len(areas):
        left, below = max(width - x, 1e-9), max(height - y, 1e-9)
        side = min(left, below)
        count = _row(areas, upto, start, side)
        total = upto[start + count] - upto[start]
        along = (upto[start : start + count + 1] - upto[start]) / total * side if total > 0 else (
            np.linspace(0.0, side, count + 1)
        )  # fmt: skip
        is_last = start + count == len(areas)
        thick = max(left, below) if is_last else min(total / side, max(left, below))
        row = tiles[start : start + count]
        if left <= below:
            row[:, 0], row[:, 2] = x + along[:-1], x + along[1:]
            row[:, 1], row[:, 3] = y, y + thick
            y += thick
        else:
            row[:, 1], row[:, 3] = y + along[:-1], y + along[1:]
            row[:, 0], row[:, 2] = x, x + thick
            x += thick
        start += count
    return tiles


def _row(areas: Areas, upto: Areas, start: int, side: float) -> int:
    """The number of areas in the next row: more would make the worst of them less square."""
    count, rest = _FIRST_GUESS, len(areas) - start
    while True:
        row_areas = areas[start : start + count]
        total = upto[start + 1 : start + 1 + len(row_areas)] - upto[start]
        least = np.maximum(np.minimum.accumulate(row_areas), 1e-9)
        most = np.maximum.accumulate(row_areas)
        squares = np.maximum(total * total, 1e-18)
        worst = np.maximum(side * side * most / squares, squares / (side * side * least))
        worse = np.flatnonzero(worst[1:] > worst[:-1])
        if len(worse):
            return int(worse[0]) + 1
        if len(row_areas) >= rest:
            return rest
        count *= 4


def draw_tiles(tiles: Tiles, columns: int, lines: int, gap: int) -> BoxNumbers:
    """Return the number of the tile in each pixel (lines, columns), `NONE` in gaps.

    gap: pixels between tiles that have space for it; each tile ends so much earlier.
    """
    wide, high = tiles.right - tiles.left, tiles.bottom - tiles.top
    right = tiles.right - np.where(wide > 3 * gap, gap, (wide > 2).astype(np.int64))
    bottom = tiles.bottom - np.where(high > 3 * gap, gap, (high > 2).astype(np.int64))
    return draw_numbers(replace(tiles, right=right, bottom=bottom), columns, lines)
