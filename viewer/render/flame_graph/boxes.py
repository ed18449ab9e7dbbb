"""Places the nodes of a call tree as boxes of a flame graph, the root on top.

The width of a box is the total of a path, bottom-up its self time, which are the figures that add
up. Boxes that are too narrow to be seen are left out and counted, so a graph is bounded whatever
the size of the tree. A box starts where its parent starts, or where the sibling before it ends. So
a row is a row of slices along an axis of added up time, and `RowRaster` draws, labels and finds
boxes at a cost per pixel. Zooming to a node is a narrower range of this axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import CallTable, Levels
from viewer.analysis.calls.paths import FRAMES
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass, field
from viewer.model.times import ticks_to_ns
from viewer.render.layout import SLICE_TOP, BandKind, TimelineLayout
from viewer.render.lod import DrawnSlices, build_mips
from viewer.render.palette import FRAME, RAMP, RAMP_STEPS, SLAB, Palette, by_name
from viewer.render.raster import RowRaster

# The sources of a frame: the rows around the node that is zoomed to, and all others.
AROUND, INSIDE = 0, 1
_COLOR = np.uint32(0xFF)


@dataclass(frozen=True, eq=False)
class FlameLayout:
    """The boxes of all nodes, in ticks from the left edge of the graph.

    levels: the nodes by row, which is a depth, and from left to right. left, right: the edges of
    each box, in this order. whole: the width of all roots together. is_exact: whether each box is
    as wide as its value, so that these need not be kept.
    """

    levels: Levels
    left: Ints
    right: Ints
    whole: int
    is_exact: bool

    @staticmethod
    def of(depth: Ints, value: Ints) -> FlameLayout:
        """Lay out nodes in preorder, siblings from left to right.

        depth: 0 for a root. value: the width of each, at least that of its children together; where
        it is not, boxes end at their parent's.
        """
        levels, count, is_exact = Levels.of(depth), len(depth), True
        left, right = np.empty(count, np.int64), np.empty(count, np.int64)
        for number in range(len(levels)):
            here = levels.span(number)
            values = value[levels.order[here]]
            width = np.maximum(values, 0)
            starts = np.cumsum(width)
            starts -= width
            if number:
                above = levels.span(number - 1)
                parent = levels.above(number)
                is_first = np.append(True, parent[1:] != parent[:-1])
                lift = left[above][parent[is_first]] - starts[is_first]
                starts += lift[np.cumsum(is_first) - 1]
                limit = right[above][parent]
                np.minimum(starts, limit, out=left[here])
                np.minimum(starts + width, limit, out=right[here])
            else:
                left[here], right[here] = starts, starts + width
            is_exact = is_exact and np.array_equal(right[here] - left[here], values)
        return FlameLayout(levels, left, right, int(right.max(initial=0)), is_exact)

    @property
    def order(self) -> Ints:
        """The nodes by row and from left to right."""
        return self.levels.order

    @property
    def start(self) -> Ints:
        """The left edge of each node."""
        return self.levels.per_node(self.left)

    @property
    def end(self) -> Ints:
        """The right edge of each node."""
        return self.levels.per_node(self.right)

    def edges(self, node: int) -> tuple[int, int]:
        """Return the left and the right edge of a node."""
        place = self.levels.place(node)
        return int(self.left[place]), int(self.right[place])

    def widths(self, nodes: Ints) -> Ints:
        """Return the widths of some nodes."""
        places = self.levels.places(nodes)
        return self.right[places] - self.left[places]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.levels)

    def raster(self, color: Palette) -> RowRaster:
        """Return the raster of all boxes; color: the palette index of every node."""
        drawn = DrawnSlices.of_rows(self.left, self.right, self.levels.row_ptr)
        return _raster(drawn, color[self.order])

    def raster_of(self, mask: Bools, color: Palette) -> RowRaster:
        """Return the raster of the boxes of some nodes; its numbers are places, like of `raster`.

        some, color: per node.
        """
        places = np.flatnonzero(mask[self.order])
        row_ptr = np.searchsorted(places, self.levels.row_ptr).astype(np.int64)
        drawn = DrawnSlices.of_rows(self.left[places], self.right[places], row_ptr, places)
        return _raster(drawn, color[self.order])

    def around(self, node: int, least: int = 1) -> tuple[int, int]:
        """Return the range of the axis that a node fills, at least so many ticks long."""
        start, end = self.edges(node)
        return start, max(end, start + least)


def _raster(drawn: DrawnSlices, color: Palette) -> RowRaster:
    colors = drawn.values(color)
    return RowRaster(drawn, colors, build_mips(drawn, colors))


def flame_bands(rows: int, row_height: int, inside_from: int = 0) -> TimelineLayout:
    """Return the rows as bands for `draw_frame`, from top to bottom; heights in px.

    inside_from: the rows above it are of the source `AROUND`, the others of `INSIDE`.
    """
    number = np.arange(rows, dtype=np.int64)
    none = np.full(rows, -1, np.int64)
    return TimelineLayout(
        kind=np.full(rows, BandKind.ROW, np.uint8),
        y=number * row_height,
        height=np.full(rows, row_height, np.int64),
        slice_height=np.full(rows, row_height - SLICE_TOP, np.int64),
        process=none,
        trace=np.where(number < inside_from, AROUND, INSIDE),
        track=none,
        row=number,
        counter=none,
    )


def group_weights(
    group: NDArray[np.signedinteger[Any]], weight: NDArray[np.uint32], groups: int
) -> NDArray[np.uint32]:
    """Return a number per group that ends in its color, and grows with its longest member.

    group: per member its group, or `groups` for none. weight: the same number of each member, as
    `weights_of` returns it for slices, so that groups can be grouped again. A group has the color
    of its members, or that of what several operators share if theirs differ; of colors of
    durations, that of its longest member. Without members it has the color of a scope.
    """
    weights = np.full(groups + 1, FRAME, np.uint32)
    np.maximum.at(weights, group, weight)
    color = weights & _COLOR
    mixed = np.zeros(groups + 1, np.bool_)
    mixed[group[(weight & _COLOR) != color[group]]] = True
    mixed &= (color < RAMP) | (color >= RAMP + RAMP_STEPS)
    weights[mixed] = weights[mixed] - color[mixed] + np.uint32(SLAB)
    return weights[:-1]


def colors_of_weights(weight: NDArray[np.uint32]) -> Palette:
    """Return the palette indices that weights end in."""
    palette: Palette = (weight & _COLOR).astype(np.uint8)
    return palette


WIDTH = 1200  # of the whole, in px
BOXES_PER_PX = 10  # a box is at least 0.1 px wide
MOST_BOXES = 20_000
MOST_LEVELS = 256

Pixels = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FlameGraph:
    """A flame graph: its texts, and parallel arrays with one value per box, in preorder.

    title: such as the name of the file. scope: what the figures cover. notes: lines of text.
    whole_ns: the time that `WIDTH` is. start, width: in px from the left edge. color: index in the
    palette. narrow: how many boxes are left out as too narrow, each with all below it; beyond: as
    too many; is_cut: whether boxes are left out because they are too deep. first_frame: the depth
    of the outermost calls. nodes: of the table, per box. details: per box the lines of its tooltip,
    and behind: the text behind its name; () for those of its figures. hatched: whether boxes of the
    color `UNLINKED` are hatched. width_of: what the width of a box is.
    """

    title: str
    scope: str
    notes: tuple[str, ...]
    bottom_up: bool
    whole_ns: int
    names: tuple[str, ...]
    depth: Ints
    start: Pixels
    width: Pixels
    total_ns: Ints
    self_ns: Ints
    count: Ints
    color: Palette
    narrow: int
    beyond: int
    is_cut: bool
    first_frame: int = FRAMES
    nodes: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    details: tuple[tuple[str, ...], ...] = ()
    behind: tuple[str, ...] = ()
    hatched: bool = False
    width_of: str = "its time"

    @property
    def level_count(self) -> int:
        """How many levels of boxes there are."""
        return int(self.depth.max(initial=-1)) + 1


def least_ticks(whole: int) -> int:
    """Return the ticks of the narrowest box that is drawn; whole: the ticks of `WIDTH`."""
    return max(-(-whole // (WIDTH * BOXES_PER_PX)), 1)


def flame_graph(
    table: CallTable,
    title: str,
    scope: str,
    notes: Sequence[str] = (),
    *,
    ns_per_tick: Fraction = Fraction(1),
    bottom_up: bool = False,
    whole: int | None = None,
    first_frame: int = FRAMES,
    colors: Palette | None = None,
) -> FlameGraph:
    """Return the flame graph of a table, whose siblings are drawn in their order.

    bottom_up: whether the table is one of `viewer.analysis.calls.call_tree`. whole: the ticks of
    the full width, by default those of all roots; more if the table leaves out some of the tree.
    first_frame: the depth of the outermost calls; above are processes and threads. colors: the
    palette index of every node, by default those of the names.
    """
    ticks = table.self_ticks if bottom_up else table.total
    if whole is None:
        whole = int(ticks[table.depth == 0].sum())
    wide = ticks >= least_ticks(whole)
    drawn = wide & (table.depth < MOST_LEVELS)
    is_cut = bool((wide & ~drawn).any())
    beyond = _limit(drawn, ticks)
    narrow = ~wide & (table.depth < MOST_LEVELS)
    narrow &= np.append(drawn, True)[table.parent]
    call_table = table.kept(drawn)
    drawn_ticks = call_table.self_ticks if bottom_up else call_table.total
    layout, scale = (
        FlameLayout.of(call_table.depth, drawn_ticks),
        WIDTH / max(whole, 1),
    )
    pixels: Pixels = drawn_ticks.astype(np.float64) * scale
    distinct, number = np.unique(call_table.name, return_inverse=True)
    texts = [call_table.labels[label] for label in distinct.tolist()]
    color = by_name(texts)[number] if colors is None else colors[drawn]
    if colors is None and not bottom_up:
        color[call_table.depth < first_frame] = FRAME
    total, self_ns, whole_ns = (
        ticks_to_ns(ticks, ns_per_tick)
        for ticks in (call_table.total, call_table.self_ticks, np.array([whole], np.int64))
    )
    return FlameGraph(
        title,
        scope,
        tuple(notes),
        bottom_up,
        int(whole_ns[0]),
        tuple(texts[i] for i in number.tolist()),
        call_table.depth,
        layout.start.astype(np.float64) * scale,
        pixels,
        total,
        self_ns,
        call_table.count,
        color,
        int(narrow.sum()),
        beyond,
        is_cut,
        first_frame,
        np.flatnonzero(drawn),
    )


def _limit(drawn: Bools, ticks: Ints) -> int:
    """Clear all but the widest boxes in `drawn`; returns how many are cleared."""
    indexes = np.flatnonzero(drawn)
    if len(indexes) <= MOST_BOXES:
        return 0
    # A box is never wider than the one above it, which comes first.
    drawn[indexes[np.argsort(-ticks[indexes], kind="stable")[MOST_BOXES:]]] = False
    return len(indexes) - MOST_BOXES
