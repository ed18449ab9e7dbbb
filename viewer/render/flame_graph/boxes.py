"""Places the nodes of a call tree as boxes of a flame graph, the root on top.

The width of a box is its time: the total of a path, bottom-up its self time, which are the figures
that add up. Boxes that are too narrow to be seen are left out and counted, so a graph is bounded
whatever the size of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.paths import FRAMES
from viewer.arrays import Bools, Ints
from viewer.model.times import ticks_to_ns
from viewer.render.flame_graph.layout import FlameLayout
from viewer.render.palette import FRAME, Palette, by_name

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

    bottom_up: whether the table is one of `viewer.analysis.calls.bottom_up`. whole: the ticks of
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
    shown = table.kept(drawn)
    drawn_ticks = shown.self_ticks if bottom_up else shown.total
    layout, scale = FlameLayout.of(shown.parent, shown.depth, drawn_ticks), WIDTH / max(whole, 1)
    pixels: Pixels = drawn_ticks.astype(np.float64) * scale
    distinct, number = np.unique(shown.name, return_inverse=True)
    texts = [shown.labels[label] for label in distinct.tolist()]
    color = by_name(texts)[number] if colors is None else colors[drawn]
    if colors is None and not bottom_up:
        color[shown.depth < first_frame] = FRAME
    total, own, whole_ns = (
        ticks_to_ns(one, ns_per_tick)
        for one in (shown.total, shown.self_ticks, np.array([whole], np.int64))
    )
    return FlameGraph(
        title,
        scope,
        tuple(notes),
        bottom_up,
        int(whole_ns[0]),
        tuple(texts[i] for i in number.tolist()),
        shown.depth,
        layout.start.astype(np.float64) * scale,
        pixels,
        total,
        own,
        shown.count,
        color,
        int(narrow.sum()),
        beyond,
        is_cut,
        first_frame,
        np.flatnonzero(drawn),
    )


def _limit(drawn: Bools, ticks: Ints) -> int:
    """Clear all but the widest boxes in `drawn`; returns how many are cleared."""
    at = np.flatnonzero(drawn)
    if len(at) <= MOST_BOXES:
        return 0
    # A box is never wider than the one above it, which comes first.
    drawn[at[np.argsort(-ticks[at], kind="stable")[MOST_BOXES:]]] = False
    return len(at) - MOST_BOXES
