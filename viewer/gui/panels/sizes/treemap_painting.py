"""Paints a treemap: groups with a title, parts with name, size and share, marks of copies.

The picture with its labels is kept while the mouse moves; only the rings are painted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QPolygonF

from viewer.arrays import Ints
from viewer.gui.panels.base.box_view import BoxPainter, image_of
from viewer.gui.panels.sizes.answer import Copies, SizesAnswer
from viewer.gui.panels.sizes.texts import box_name, box_share_text, box_size_text
from viewer.gui.panels.sizes.tree import SizeTree
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.boxes.treemap import (
    NONE,
    Rest,
    TileRoom,
    Tiles,
    draw_tiles,
    place_tiles,
)
from viewer.render.canvas import Canvas
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


@dataclass(frozen=True, eq=False)
class TreemapFrame:
    """What a frame shows. root: the node that fills the canvas. colors: palette index per row.

    by_change: whether colors are changes of size instead.
    """

    answer: SizesAnswer
    tree: SizeTree
    root: Rest
    colors: Palette
    copies: Copies | None
    by_change: bool

    @cached_property
    def node_colors(self) -> Palette:
        """The palette index of every node."""
        return self.tree.colors(self.colors)

    def fills(self, nodes: Ints, dark: bool, canvas: int) -> NDArray[np.uint32]:
        """Return the fill of some nodes as 0xRRGGBB. canvas: the color behind."""
        table = np.array(fills(dark), np.uint32)
        if not self.by_change:
            found: NDArray[np.uint32] = table[self.node_colors[nodes]]
            return found
        a, b = self.tree.bytes_a[nodes].tolist(), self.tree.bytes_b[nodes].tolist()
        plain = mix(int(table[PLAIN]), canvas, _UNCHANGED)
        more, less = int(table[SLOWER]), int(table[FASTER])
        made = [
            plain if x == y else mix(canvas, more if y > x else less, _strength(x, y))
            for x, y in zip(a, b, strict=True)
        ]
        return np.array(made, np.uint32)


def _strength(a: int, b: int) -> float:
    """How much of the color of a change is shown, 0 to 1: all of it from a factor of two on."""
    share = min(2 * abs(b - a) / max(a, b), 1.0)
    return _LEAST_CHANGE + (1 - _LEAST_CHANGE) * share


class TreemapPainter(BoxPainter[TreemapFrame]):
    """Paints tiles with titles and labels."""

    def retheme(self) -> None:
        super().retheme()
        self._titles = LabelCache(self._theme.font("caption"))

    def forget(self) -> None:
        super().forget()
        self._tiles: Tiles | None = None
        self._places: dict[int, int] = {}

    # -- places ----------------------------------------------------------------------------------

    def box_of(self, frame: TreemapFrame, canvas: Canvas, tile: int) -> Rest:
        """Return what a tile shows: a node, or the rest of its members."""
        self.prepare(frame, canvas)
        assert self._tiles is not None
        return Rest(int(self._tiles.node[tile]), int(self._tiles.skip[tile]))

    def tile_of(self, frame: TreemapFrame, canvas: Canvas, node: int) -> int:
        """Return the tile of a node, or the smallest one around it; -1 if it is out of view."""
        self.prepare(frame, canvas)
        assert self._tiles is not None
        sizes, rests = frame.tree.sizes, self._rests
        while node >= 0:
            if node in self._places:
                return self._places[node]
            around = int(sizes.parent[node])
            if around in rests:
                skip, tile = rests[around]
                if sizes.place[node] >= skip:
                    return tile
            node = around
        return NONE

    def tiles_of(self, frame: TreemapFrame, canvas: Canvas, nodes: Iterable[int]) -> list[int]:
        """Return the tiles of some nodes in view, each once."""
        found = dict.fromkeys(self.tile_of(frame, canvas, node) for node in nodes)
        return [tile for tile in found if tile != NONE]

    def box(self, frame: TreemapFrame, canvas: Canvas, box: int) -> QRectF:
        self.prepare(frame, canvas)
        assert self._tiles is not None
        tiles, ratio = self._tiles, canvas.ratio
        left, right, top, bottom = (
            int(edge[box]) / ratio for edge in (tiles.left, tiles.right, tiles.top, tiles.bottom)
        )
        gap = min(_GAP, max((right - left) / 3, 0), max((bottom - top) / 3, 0))
        return QRectF(left, top, right - left - gap, bottom - top - gap)

    def neighbor(self, frame: TreemapFrame, canvas: Canvas, tile: int, key: Qt.Key) -> int:
        """Return the nearest tile in the direction of an arrow key, -1 for none.

        Groups are stepped over: their members are next to one another.
        """
        self.prepare(frame, canvas)
        assert self._tiles is not None
        tiles = self._tiles
        x, y = tiles.left + tiles.right, tiles.top + tiles.bottom  # twice the middles
        dx, dy = x - x[tile], y - y[tile]
        is_across = key in (Qt.Key.Key_Left, Qt.Key.Key_Right)
        along, aside = (dx, dy) if is_across else (dy, dx)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Up):
            along = -along
        ahead = np.flatnonzero((along > 0) & (along >= abs(aside)) & ~tiles.is_group)
        if not len(ahead):
            ahead = np.flatnonzero((along > 0) & ~tiles.is_group)
        far = along[ahead] + 2 * abs(aside[ahead])
        return int(ahead[np.argmin(far)]) if len(ahead) else NONE

    # -- painting --------------------------------------------------------------------------------

    def _paint_over(self, painter: QPainter, frame: TreemapFrame, canvas: Canvas) -> None:
        self._paint_titles(painter, frame, canvas)
        self._paint_labels(painter, frame, canvas)
        self._paint_copies(painter, frame, canvas)

    def _place(self, frame: TreemapFrame, canvas: Canvas) -> None:
        px = self._theme.px
        room = TileRoom(
            canvas.device(px(_TITLE)),
            canvas.device(px(_EDGE)),
            (canvas.device(px(_LEAST_GROUP[0])), canvas.device(px(_LEAST_GROUP[1]))),
            _SMALLEST,
        )
        tiles = place_tiles(frame.tree.sizes, frame.root, canvas.columns, canvas.lines, room)
        self._tiles = tiles
        self._numbers = draw_tiles(tiles, canvas.columns, canvas.lines, canvas.device(_GAP))
        nodes, skips = tiles.node.tolist(), tiles.skip.tolist()
        self._places = {node: i for i, node in enumerate(nodes) if skips[i] < 0}
        self._rests = {node: (skips[i], i) for i, node in enumerate(nodes) if skips[i] >= 0}

    def _fills(self, frame: TreemapFrame) -> Pixels:
        """The fill of every tile as 0xRRGGBB."""
        assert self._tiles is not None
        theme = self._theme
        canvas = theme.color("canvas").rgb() & 0xFFFFFF
        found = frame.fills(self._tiles.node, theme.dark, canvas)
        slab = np.uint32(fills(theme.dark)[SLAB])
        found = np.where(self._tiles.skip >= 0, slab, found)
        frame_color = np.uint32(theme.color("frame").rgb() & 0xFFFFFF)
        return np.where(self._tiles.is_group, frame_color, found).astype(np.uint32)

    def _image(self, frame: TreemapFrame, canvas: Canvas) -> QImage:
        ground = np.uint32(self._theme.color("canvas").rgb() & 0xFFFFFF)
        self._fill = self._fills(frame)
        # The last one is that of pixels without a tile, whose number is -1.
        pixels = (np.append(self._fill, ground) | np.uint32(0xFF000000))[self._numbers]
        return image_of(pixels, canvas)

    def _paint_titles(self, painter: QPainter, frame: TreemapFrame, canvas: Canvas) -> None:
        assert self._tiles is not None
        theme, titles = self._theme, self._titles
        painter.setFont(titles.font)
        for tile in np.flatnonzero(self._tiles.is_group)[:_MOST_LABELS].tolist():
            box = self.box_of(frame, canvas, tile)
            rect, inset = self.box(frame, canvas, tile), theme.px(_INSET)
            room = rect.width() - 2 * inset
            text = titles.fit(box_name(frame.answer, frame.tree, box), room)
            if text is None:
                continue
            y = rect.top() + (theme.px(_TITLE) - titles.line_height) / 2
            painter.setPen(theme.color("frame_label"))
            painter.drawStaticText(QPointF(rect.left() + inset, y), text)
            used = titles.width(text.text()) + 3 * inset
            size = box_size_text(frame.answer, frame.tree, box)
            if titles.width(size) <= room - used and (whole := titles.fit(size, room)):
                painter.setPen(theme.color("text2"))
                painter.drawStaticText(QPointF(rect.left() + used, y), whole)

    def _paint_labels(self, painter: QPainter, frame: TreemapFrame, canvas: Canvas) -> None:
        assert self._tiles is not None
        tiles, labels, theme = self._tiles, self._labels, self._theme
        wide, high = tiles.right - tiles.left, tiles.bottom - tiles.top
        least_width, least_height = (canvas.device(theme.px(part)) for part in _LEAST_LABEL)
        roomy = np.flatnonzero((wide >= least_width) & (high >= least_height) & ~tiles.is_group)
        roomy = roomy[np.argsort(-(wide * high)[roomy], kind="stable")][:_MOST_LABELS]
        painter.setFont(labels.font)
        inset = theme.px(_INSET)
        inks: dict[int, QColor] = {}
        for tile in roomy.tolist():
            rect, box = self.box(frame, canvas, tile), self.box_of(frame, canvas, tile)
            fill = int(self._fill[tile])
            if fill not in inks:
                inks[fill] = QColor.fromRgb(label_rgb(fill))
            painter.setPen(inks[fill])
            room = rect.width() - 2 * inset
            texts = [box_name(frame.answer, frame.tree, box)]
            if rect.height() >= theme.px(_SIZE_FROM):
                texts.append(box_size_text(frame.answer, frame.tree, box))
            if rect.height() >= theme.px(_SHARE_FROM):
                texts.append(box_share_text(frame.answer, frame.tree, box))
            y = rect.top() + min((rect.height() - labels.line_height) / 2, inset)
            for number, text in enumerate(texts):
                shown = labels.fit(text, room) if text else None
                if number and (shown is None or shown.text() != text):
                    break  # a number is whole or absent
                if shown is not None:
                    painter.drawStaticText(QPointF(rect.left() + inset, y), shown)
                y += labels.line_height

    def _paint_copies(self, painter: QPainter, frame: TreemapFrame, canvas: Canvas) -> None:
        """Paint a triangle in the corner of each part with copies."""
        assert self._tiles is not None
        if frame.copies is None or not frame.copies.groups:
            return
        tiles, theme = self._tiles, self._theme
        rows = frame.tree.row[tiles.node]
        has = (rows != NONE) & (tiles.skip < 0) & (frame.copies.count[rows] > 0)
        least = canvas.device(theme.px(_LEAST_CORNER))
        has &= (tiles.right - tiles.left >= least) & (tiles.bottom - tiles.top >= least)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("canvas"), 1))
        painter.setBrush(theme.color("warning"))
        side = theme.px(_CORNER) + 1
        for tile in np.flatnonzero(has)[:_MOST_MARKS].tolist():
            rect = self.box(frame, canvas, tile)
            corner = rect.topRight()
            painter.drawPolygon(
                QPolygonF([corner, corner - QPointF(side, 0), corner + QPointF(0, side)])
            )
