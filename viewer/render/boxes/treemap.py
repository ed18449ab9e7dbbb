"""Boxes of a tree as a squarified treemap: areas are sizes, and a group is around its members.

Cost follows the pixels: members that would be smaller than a few pixels are one box, and nothing
inside a small group is placed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.render.boxes.raster import NONE, BoxNumbers, PlacedBoxes, draw_numbers

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
