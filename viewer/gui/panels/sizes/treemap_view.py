"""The treemap as a widget: a box is a part of the program, or a group of parts.

A click chooses a box; a double click or Enter zooms into a group; Escape and Backspace go back one
step. Ctrl+wheel zooms toward the mouse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QKeyEvent
from PySide6.QtWidgets import QMenu

from viewer.arrays import Ints
from viewer.gui.panels.base.box_view import PaintedBoxView
from viewer.gui.panels.sizes.answer import Copies, SizesAnswer
from viewer.gui.panels.sizes.texts import tip_lines
from viewer.gui.panels.sizes.tree import SizeTree
from viewer.gui.panels.sizes.treemap_painting import TreemapFrame, TreemapPainter
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH
from viewer.render.boxes.treemap import NONE, Rest
from viewer.render.palette import Palette

ALL = Rest(0, 0)
_WHOLE_STEP = 0.999  # of the wheel: parts of a notch add up
_NO_NODES: Ints = np.empty(0, np.int64)


@has_role(QAccessible.Role.Graphic)
class TreemapView(PaintedBoxView[TreemapFrame]):
    """Shows the tree of one answer; the numbers of boxes are those of tiles in view.

    `picked(box)`: a box was chosen, as node and first member. `range_changed()`: another group
    fills the picture.
    """

    picked = Signal(object)
    _painter: TreemapPainter

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Treemap of sizes")
        self._painter = TreemapPainter(theme)
        self.root = ALL
        self.marked: Ints = _NO_NODES  # the selected nodes
        self.related: Ints = _NO_NODES  # nodes that are used together with others
        self._at = NONE  # the node where arrow keys start
        self._answer: SizesAnswer | None = None
        self._tree: SizeTree | None = None
        self._copies: Copies | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self._by_change = False
        self._turned = 0.0  # part of a notch of the wheel
        self._made: TreemapFrame | None = None
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(theme.px(120), theme.px(72))

    # -- contents --------------------------------------------------------------------------------

    def show_tree(self, answer: SizesAnswer | None, tree: SizeTree | None, colors: Palette) -> None:
        """Show a tree. The group that fills the picture stays if it is the same tree."""
        stays = tree is not None and tree is self._tree
        self._answer, self._tree, self._colors, self._made = answer, tree, colors, None
        if answer is None:
            self._painter.forget()
            self._copies = None
        if not stays:
            self.root, self._at = ALL, NONE
            self.marked = self.related = _NO_NODES
            self._hovered = NONE
            self.tip.show_lines((), QPoint())
        self._changed()

    def show_copies(self, copies: Copies | None) -> None:
        """Mark parts with equal bytes."""
        self._copies, self._made = copies, None
        self.viewport().update()

    @Slot(bool)
    def color_by_change(self, by_change: bool) -> None:
        """Color boxes by their changes, or by their operators."""
        self._by_change, self._made = by_change, None
        self.viewport().update()

    def mark(self, nodes: Iterable[int], related: Iterable[int] = ()) -> None:
        """Highlight nodes, and others that are related to them, and bring the first into view."""
        self.marked = np.array(list(nodes), np.int64)
        self.related = np.array(list(related), np.int64)
        if len(self.marked):
            if self._at not in self.marked:
                self._at = int(self.marked[0])
            self._bring(self._at)
        self.viewport().update()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the facts of the current box."""
        if self._answer is None or self._tree is None or self._at < 0:
            return ""
        return ", ".join(tip_lines(self._answer, self._tree, Rest(self._at, NONE), self._copies))

    @property
    def _frame(self) -> TreemapFrame | None:
        if not self._answer or self._tree is None:
            return None
        if self._made is None or self._made.root != self.root:
            self._made = TreemapFrame(
                self._answer, self._tree, self.root, self._colors, self._copies, self._by_change
            )
        return self._made

    # -- zoom ------------------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return 1

    @property
    def shows_all(self) -> bool:
        """Whether the whole file is shown."""
        return self.root == ALL

    def show_all(self) -> None:
        """Show the whole file again."""
        self.go_to(ALL)

    def go_to(self, root: Rest) -> None:
        """Let a group, or the rest of its members, fill the picture."""
        if root != self.root:
            self.root, self._hovered = root, NONE
            self.tip.show_lines((), QPoint())
            self._changed()

    def go_back(self) -> None:
        """Show the group around the one that fills the picture."""
        if self._tree is None or self.shows_all:
            return
        node, skip = self.root
        self.go_to(Rest(node, 0) if skip > 0 else Rest(int(self._tree.sizes.parent[node]), 0))

    def zoom_to(self, box: int) -> None:
        """Zoom into a group; from a part, into the outermost group around it."""
        frame = self._frame
        if frame is None:
            return
        found = self._painter.box_of(frame, self._canvas, box)
        self._zoom_into(found)

    def _zoom_into(self, box: Rest) -> None:
        assert self._tree is not None
        if box.skip >= 0:
            if box.skip > 0:
                self.go_to(box)
            return
        if not self._tree.sizes.is_leaf(box.node):
            self.go_to(Rest(box.node, 0))
            return
        around = self._tree.sizes.around(box.node)
        inside = around[around.index(self.root.node) + 1 : -1]
        if inside:
            self.go_to(Rest(inside[0], 0))

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom by whole steps: into the group below the mouse, or back."""
        step = ZOOM_PER_NOTCH if x is not None else factor
        self._turned += math.log(factor) / abs(math.log(step)) if step != 1 else 0.0
        if abs(self._turned) < _WHOLE_STEP:
            return
        is_in, self._turned = self._turned > 0, 0.0
        if not is_in:
            self.go_back()
        elif x is not None and self._hovered >= 0:
            self._zoom_toward(self._hovered)
        elif x is None and self._current >= 0:
            self._zoom_toward(self._current)

    def _zoom_toward(self, tile: int) -> None:
        """Zoom into the outermost group around a tile."""
        frame = self._frame
        if frame is None or self._tree is None:
            return
        box = self._painter.box_of(frame, self._canvas, tile)
        around = self._tree.sizes.around(box.node)
        inside = around[around.index(self.root.node) + 1 :]
        groups = [node for node in inside if not self._tree.sizes.is_leaf(node)]
        if groups:
            self.go_to(Rest(groups[0], 0))
        elif box.skip > 0:
            self.go_to(box)

    def _pan(self, pixels: float) -> None:
        """Nothing is beside what is shown."""

    def _bring(self, node: int) -> None:
        """Zoom out until a node is in view."""
        frame = self._frame
        if frame is None or self.shows_all:
            return  # nothing is laid out for a widget that may be hidden
        if self._painter.tile_of(frame, self._canvas, node) == NONE:
            self.show_all()

    # -- mouse -----------------------------------------------------------------------------------

    def box_of_node(self, node: int) -> int:
        """Return the tile that shows a node, -1 if it is out of view."""
        frame = self._frame
        return NONE if frame is None else self._painter.tile_of(frame, self._canvas, node)

    def center_of(self, box: int) -> QPoint:
        """Return a point of a box in px of the canvas: in its title, if it has members inside."""
        frame = self._frame
        if frame is None or box < 0:
            return QPoint()
        rect = self._painter.box(frame, self._canvas, box)
        center = rect.center()
        if self._painter.number_at(frame, self._canvas, center) != box:
            center.setY(rect.top() + self._theme.px(4))
        return center.toPoint()

    def _lines_at(self, at: QPointF, box: int) -> Sequence[str]:
        frame = self._frame
        if box < 0 or frame is None:
            return ()
        found = self._painter.box_of(frame, self._canvas, box)
        return tip_lines(frame.answer, frame.tree, found, self._copies)

    def _mark_chosen(self, box: int) -> None:
        frame = self._frame
        if frame is not None:
            found = self._painter.box_of(frame, self._canvas, box)
            self._at = found.node
            self.picked.emit(found)

    def _add_actions(self, menu: QMenu, box: int) -> None:
        frame = self._frame
        if frame is None:
            return
        found = self._painter.box_of(frame, self._canvas, box)
        if found.skip > 0 or not frame.tree.sizes.is_leaf(found.node):
            menu.addAction("Zoom to this group", lambda: self._zoom_into(found))

    # -- keys ------------------------------------------------------------------------------------

    @property
    def _current(self) -> int:
        return self.box_of_node(self._at) if self._at >= 0 else NONE

    @property
    def _is_filled(self) -> bool:
        return self._tree is not None

    def _escape(self) -> None:
        self.go_back()

    def _is_own(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Backspace:
            return self._is_filled and not self.shows_all
        return super()._is_own(event)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Backspace and self._is_own(event):
            self.go_back()
        else:
            super().keyPressEvent(event)

    def _step(self, key: Qt.Key) -> None:
        """Choose the nearest box in a direction."""
        frame, canvas = self._frame, self._canvas
        if frame is None:
            return
        current = self._current
        found = 0 if current < 0 else self._painter.neighbor(frame, canvas, current, key)
        if found >= 0:
            self._choose(found)

    # -- painting --------------------------------------------------------------------------------

    def _rings(self, frame: TreemapFrame) -> Iterable[tuple[Sequence[int], int]]:
        related, marked = (
            self._painter.tiles_of(frame, self._canvas, nodes.tolist())
            for nodes in (self.related, self.marked)
        )
        hovered = [self._hovered] if self._hovered >= 0 else []
        return (related, 1), (hovered, 1), (marked, 2)
