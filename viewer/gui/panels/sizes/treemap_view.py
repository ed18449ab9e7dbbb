"""The treemap as a widget: a box is a part of the program, or a group of parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QColor, QKeyEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QMenu

from viewer.arrays import Ints
from viewer.gui.panels.base.range_view import BoxView, paint_label
from viewer.gui.panels.sizes.answer import Copies, SizesAnswer, SizeTree
from viewer.gui.panels.sizes.table import box_name, box_share_text, box_size_text, tip_lines
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.canvases import ZOOM_PER_NOTCH
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.box_pictures import (
    NO_TILES,
    NONE,
    Rest,
    TileRoom,
    Tiles,
    colored,
    draw_tiles,
    nearest,
    place_tiles,
)
from viewer.render.layout import Canvas
from viewer.render.palette import (
    FASTER,
    PLAIN,
    SLAB,
    SLOWER,
    Palette,
    Pixels,
    fills,
    label_rgb,
    mix,
)

ALL = Rest(0, 0)
_TITLE, _EDGE, _GAP = 18, 2, 2  # px
_LEAST_GROUP = 56, 42  # px
_SMALLEST = 16  # px²; smaller members are one tile
_LEAST_LABEL = 44, 14  # px
_SIZE_FROM, _SHARE_FROM = 40, 56  # px of height
_INSET = 4  # px
_CORNER = 7  # px, the mark of copies
_LEAST_CORNER = 14  # px
_MOST_LABELS, _MOST_MARKS = 400, 1000
_UNCHANGED = 0.45  # mixed to the canvas
_LEAST_CHANGE = 0.35  # of the color of a change, for the smallest
_OPAQUE = np.uint32(0xFF000000)
_WHOLE_STEP = 0.999  # of the wheel: parts of a notch add up
_NO_NODES: Ints = np.empty(0, np.int64)


@has_role(QAccessible.Role.Graphic)
class TreemapView(BoxView):
    """Shows the tree of one answer; the numbers of boxes are those of tiles in view.

    `picked(box)`: a box was chosen, as node and first member. `range_changed()`: another group
    fills the picture.
    """

    picked = Signal(object)
    _boxes: Tiles

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Treemap of sizes")
        self._boxes = NO_TILES
        self.root = ALL
        self.marked: Ints = _NO_NODES  # the selected nodes
        self.related: Ints = _NO_NODES  # nodes that are used together with others
        self._titles = LabelCache(theme.font("caption"))
        self._at = NONE  # the node where arrow keys start
        self._answer: SizesAnswer | None = None
        self._tree: SizeTree | None = None
        self._copies: Copies | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self._by_change = False
        self._turned = 0.0  # part of a notch of the wheel
        self.setMinimumSize(theme.px(120), theme.px(72))

    # -- contents --------------------------------------------------------------------------------

    def show_tree(self, answer: SizesAnswer | None, tree: SizeTree | None, colors: Palette) -> None:
        """Show a tree. The group that fills the picture stays if it is the same tree."""
        stays = tree is not None and tree is self._tree
        self._answer, self._tree, self._colors = answer, tree, colors
        if tree is None:
            self._copies, self._boxes = None, NO_TILES
        if not stays:
            self.root, self._at = ALL, NONE
            self.marked = self.related = _NO_NODES
        self._show_anew(stays=stays)

    def show_copies(self, copies: Copies | None) -> None:
        self._copies = copies
        self.redraw()

    @Slot(bool)
    def color_by_change(self, by_change: bool) -> None:
        """Color boxes by their changes, or by their operators."""
        self._by_change = by_change
        self.redraw()

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
        is_any = self._is_filled and self._at >= 0
        return ", ".join(self._lines_of(Rest(self._at, NONE))) if is_any else ""

    # -- zoom ------------------------------------------------------------------------------------

    @property
    def shows_all(self) -> bool:
        return self.root == ALL

    def show_all(self) -> None:
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
        self._zoom_into(self.rest_of(box))

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
        if inside := around[around.index(self.root.node) + 1 : -1]:
            self.go_to(Rest(inside[0], 0))

    def zoom(self, factor: float, x: float | None = None, y: float | None = None) -> None:
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
        assert self._tree is not None
        box = self.rest_of(tile)
        around = self._tree.sizes.around(box.node)
        inside = around[around.index(self.root.node) + 1 :]
        groups = [node for node in inside if not self._tree.sizes.is_leaf(node)]
        if groups:
            self.go_to(Rest(groups[0], 0))
        elif box.skip > 0:
            self.go_to(box)

    def _pan(self, pixels: float, down: float = 0.0) -> None:
        """Nothing is beside what is shown."""

    def _bring(self, node: int) -> None:
        """Zoom out until a node is in view."""
        if self._is_filled and not self.shows_all and self.box_of_node(node) == NONE:
            self.show_all()

    # -- mouse -----------------------------------------------------------------------------------

    def rest_of(self, tile: int) -> Rest:
        """Return what a tile shows: a node, or the rest of its members."""
        self._prepared()
        return Rest(int(self._boxes.node[tile]), int(self._boxes.skip[tile]))

    def box_of_node(self, node: int) -> int:
        """Return the tile of a node, or the smallest one around it; -1 if it is out of view."""
        if self._tree is None:
            return NONE
        self._prepared()
        sizes = self._tree.sizes
        while node >= 0:
            if node in self._places:
                return self._places[node]
            around = int(sizes.parent[node])
            if around in self._rests:
                skip, tile = self._rests[around]
                if sizes.place[node] >= skip:
                    return tile
            node = around
        return NONE

    def room(self, box: int) -> QRectF | None:
        room = super().room(box)
        if room is not None:
            gap = min(_GAP, max(room.width() / 3, 0), max(room.height() / 3, 0))
            room.adjust(0, 0, -gap, -gap)
        return room

    def center_of(self, box: int) -> QPoint:
        """Return a point of a box in px of the canvas: in its title, if it has members inside."""
        center, room = super().center_of(box), self.room(box)
        if room is not None and self.box_at(QPointF(center)) != box:
            center.setY(round(room.top()) + self._theme.px(4))
        return center

    def lines(self, box: int) -> Sequence[str]:
        return self._lines_of(self.rest_of(box))

    def _lines_of(self, box: Rest) -> Sequence[str]:
        assert self._answer is not None
        assert self._tree is not None
        return tip_lines(self._answer, self._tree, box, self._copies)

    def _mark_chosen(self, box: int) -> None:
        rest = self.rest_of(box)
        self._at = rest.node
        self.picked.emit(rest)

    def _add_actions(self, menu: QMenu, box: int) -> None:
        rest = self.rest_of(box)
        if rest.skip > 0 or (self._tree and not self._tree.sizes.is_leaf(rest.node)):
            menu.addAction("Zoom to this group", lambda: self._zoom_into(rest))

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

    def _next(self, key: Qt.Key) -> int:
        """Return the nearest box in a direction, the first one without a current box."""
        self._prepared()
        is_across = key in (Qt.Key.Key_Left, Qt.Key.Key_Right)
        is_back = key in (Qt.Key.Key_Left, Qt.Key.Key_Up)
        current = self._current
        if current < 0:
            return 0 if len(self._boxes) else NONE
        return nearest(self._boxes, current, is_across=is_across, is_back=is_back)

    # -- painting --------------------------------------------------------------------------------

    def retheme(self) -> None:
        self._titles = LabelCache(self._theme.font("caption"))
        super().retheme()

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        related, marked = (
            dict.fromkeys(self.box_of_node(node) for node in nodes.tolist())
            for nodes in (self.related, self.marked)
        )
        return (list(related), 1), ([self._hovered], 1), (list(marked), 2)

    def _draw(self, canvas: Canvas) -> Pixels:
        assert self._tree is not None
        px, theme = self._theme.px, self._theme
        room = TileRoom(
            canvas.device(px(_TITLE)),
            canvas.device(px(_EDGE)),
            (canvas.device(px(_LEAST_GROUP[0])), canvas.device(px(_LEAST_GROUP[1]))),
            _SMALLEST,
        )
        tiles = place_tiles(self._tree.sizes, self.root, canvas.columns, canvas.lines, room)
        self._boxes = tiles
        self._numbers = draw_tiles(tiles, canvas.columns, canvas.lines, canvas.device(_GAP))
        nodes, skips = tiles.node.tolist(), tiles.skip.tolist()
        self._places = {node: i for i, node in enumerate(nodes) if skips[i] < 0}
        self._rests = {node: (skips[i], i) for i, node in enumerate(nodes) if skips[i] >= 0}
        fill = _changes_fill if self._by_change else _colors_fill
        self._fill = fill(tiles, self._tree, self._colors, theme)
        return colored(self._numbers, self._fill, theme.pixel("canvas"))

    def _paint_over(self, painter: QPainter, canvas: Canvas) -> None:
        self._paint_titles(painter)
        self._paint_labels(painter, canvas)
        self._paint_copies(painter, canvas)

    def _paint_titles(self, painter: QPainter) -> None:
        theme, titles, inset = self._theme, self._titles, self._theme.px(_INSET)
        painter.setFont(titles.font)
        for tile in np.flatnonzero(self._boxes.is_group)[:_MOST_LABELS].tolist():
            rect, (name, size, _) = self.room(tile), self._texts(tile)
            assert rect is not None
            y = rect.top() + (theme.px(_TITLE) - titles.line_height) / 2
            painter.setPen(theme.color("frame_label"))
            paint_label(
                painter, titles, QPointF(rect.left() + inset, y), rect.width() - 2 * inset,
                name, size, theme.color("text2"),
            )  # fmt: skip

    def _texts(self, tile: int) -> tuple[str, str, str]:
        assert self._answer is not None
        assert self._tree is not None
        of = self._answer, self._tree, self.rest_of(tile)
        return box_name(*of), box_size_text(*of), box_share_text(*of)

    def _paint_labels(self, painter: QPainter, canvas: Canvas) -> None:
        labels, theme, inset = self.labels, self._theme, self._theme.px(_INSET)
        wide, high = (canvas.device(theme.px(side)) for side in _LEAST_LABEL)
        roomy = self._boxes.largest(wide, high, ~self._boxes.is_group)[:_MOST_LABELS]
        painter.setFont(labels.font)
        for tile in roomy.tolist():
            rect, texts = self.room(tile), self._texts(tile)
            assert rect is not None
            painter.setPen(QColor.fromRgb(label_rgb(int(self._fill[tile]))))
            lines = 1 + sum(rect.height() >= theme.px(least) for least in (_SIZE_FROM, _SHARE_FROM))
            y = rect.top() + min((rect.height() - labels.line_height) / 2, inset)
            for number, text in enumerate(texts[:lines]):
                fitted = labels.fit(text, rect.width() - 2 * inset) if text else None
                if number and (fitted is None or fitted.text() != text):
                    break  # a number is whole or absent
                if fitted is not None:
                    painter.drawStaticText(QPointF(rect.left() + inset, y), fitted)
                y += labels.line_height

    def _paint_copies(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint a triangle in the corner of each part with copies."""
        if self._copies is None or not self._copies.groups or self._tree is None:
            return
        tiles, theme = self._boxes, self._theme
        rows = self._tree.row[tiles.node]
        has_copies = (rows != NONE) & (tiles.skip < 0) & (self._copies.count[rows] > 0)
        least = canvas.device(theme.px(_LEAST_CORNER))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("canvas"), 1))
        painter.setBrush(theme.color("warning"))
        side = theme.px(_CORNER) + 1
        for tile in tiles.largest(least, least, among=has_copies)[:_MOST_MARKS].tolist():
            rect = self.room(tile)
            assert rect is not None
            corner = rect.topRight()
            painter.drawPolygon(
                QPolygonF([corner, corner - QPointF(side, 0), corner + QPointF(0, side)])
            )


# -- colors --------------------------------------------------------------------------------------


def _colors_fill(tiles: Tiles, tree: SizeTree, colors: Palette, theme: Theme) -> Pixels:
    """Return the fill of every tile by its operators. colors: palette index per row."""
    table = np.array(fills(theme.dark), np.uint32)
    return _framed(tiles, table[tree.colors(colors)[tiles.node]], theme)


def _changes_fill(tiles: Tiles, tree: SizeTree, colors: Palette, theme: Theme) -> Pixels:
    """Return the fill of every tile by the change of its size."""
    table, canvas = fills(theme.dark), theme.pixel("canvas") & 0xFFFFFF
    plain = mix(table[PLAIN], canvas, _UNCHANGED)
    a, b = tree.bytes_a[tiles.node].tolist(), tree.bytes_b[tiles.node].tolist()
    changed = [
        plain if x == y else mix(canvas, table[SLOWER if y > x else FASTER], _strength(x, y))
        for x, y in zip(a, b, strict=True)
    ]
    return _framed(tiles, np.array(changed, np.uint32), theme)


def _framed(tiles: Tiles, fill: Pixels, theme: Theme) -> Pixels:
    """Return opaque fills: those of groups are a frame, and the rest of members is gray."""
    fill = np.where(tiles.skip >= 0, np.uint32(fills(theme.dark)[SLAB]), fill)
    frame = np.uint32(theme.pixel("frame"))
    return np.where(tiles.is_group, frame, fill | _OPAQUE).astype(np.uint32)


def _strength(a: int, b: int) -> float:
    """How much of the color of a change is used, 0 to 1: all of it from a factor of two on."""
    share = min(2 * abs(b - a) / max(a, b), 1.0)
    return _LEAST_CHANGE + (1 - _LEAST_CHANGE) * share
