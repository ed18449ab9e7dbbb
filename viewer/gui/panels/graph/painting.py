"""Painting of the graph: where its rectangles and edges are, and their pixels at every scale.

Only what is in view is painted. Far away, boxes are plain rectangles, edges are thin lines, and
only the groups whose names fit have one; near, everything has its texts. The same code draws on
screen, to an image for the clipboard, and to PNG and SVG files.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
)

from viewer.analysis.comparison.comparison import Verdict
from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.measures import (
    ChangeFill,
    Fill,
    NodeColors,
    backend_color,
    colors_of,
    paint_hatch,
)
from viewer.gui.panels.graph.question import GraphAnswer, NodeLook, value_of
from viewer.gui.qt.clipboard import painted_image, svg_bytes
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.cells import SIDE, paint_mark
from viewer.gui.qt.widgets.labels import elided_text
from viewer.model.text import visible_controls
from viewer.model.times import group_digits
from viewer.render.graph.layout import line_pixels
from viewer.render.graph.model_tree import GroupKind, GroupTree
from viewer.render.palette import mix

_MOST_STORED = 4000  # that are stored


class GraphPicture:
    """The picture of an answer, in px at a scale of 1. Nodes are those of its tree.

    across: whether producers are left of consumers, else they are above them. seeds: the nodes with
    a strong outline. focus: the node to show if not all fit, -1 to show all, however small.
    """

    def __init__(self, answer: GraphAnswer) -> None:
        self.answer = answer
        layout, shown_groups, sizes = answer.layout, answer.layout.shown, answer.question.sizes
        self.tree: GroupTree = shown_groups.tree
        self.rects: Floats = layout.rects
        self.size = QSizeF(layout.width, layout.height)
        self.boxes, self.frames = shown_groups.boxes, shown_groups.frames[int(sizes.is_bare) :]
        self.head, self.across = sizes.head, sizes.across
        self.seeds, self.focus = frozenset(answer.seeds.tolist()), answer.focus
        self.looks = answer.looks
        self._curves: dict[int, QPainterPath] = {}

    # -- edges -----------------------------------------------------------------------------------

    @cached_property
    def edge_boxes(self) -> Floats:
        """The rectangle around every edge (m, 4)."""
        layout = self.answer.layout
        if not len(layout.edges):
            return np.zeros((0, 4))
        first = layout.ptr[:-1]
        low = np.minimum.reduceat(layout.points, first, axis=0)
        return np.hstack([low, np.maximum.reduceat(layout.points, first, axis=0)])

    @cached_property
    def least_ends(self) -> Floats:
        """The lower of the heights of what every edge connects (m)."""
        edges = self.answer.layout.edges
        height = self.rects[:, 3] - self.rects[:, 1]
        return np.asarray(np.minimum(height[edges.source], height[edges.target]))

    @cached_property
    def segments(self) -> tuple[Floats, Floats, Ints]:
        """Start and end of every straight piece of the edges, and the edge of each."""
        layout = self.answer.layout
        edge = np.repeat(np.arange(len(layout.edges)), np.diff(layout.ptr))
        same = edge[1:] == edge[:-1]
        return layout.points[:-1][same], layout.points[1:][same], edge[1:][same]

    def curve(self, edge: int) -> QPainterPath:
        """Return an edge as a smooth curve."""
        path = self._curves.get(edge)
        if path is None:
            if len(self._curves) >= _MOST_STORED:
                self._curves.clear()
            layout = self.answer.layout
            line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]].tolist()
            path = self._curves[edge] = _curve_through(line, across=self.across)
        return path

    @cached_property
    def _carried_ends(self) -> tuple[Ints, Ints]:
        """The boxes of producer and consumer of what every edge carries."""
        model, box_of = self.answer.model, self.answer.layout.shown.box_of
        carried = self.answer.layout.edges.carried
        return box_of[model.producer[carried]], box_of[model.consumer[carried]]

    def edges_of(self, boxes: set[int]) -> Bools:
        """Return per edge whether it carries one from or to some boxes."""
        edges = self.answer.layout.edges
        if not len(edges) or not boxes:
            return np.zeros(len(edges), np.bool_)
        among = np.zeros(len(self.tree) + 1, np.bool_)
        among[list(boxes)] = True
        source, target = self._carried_ends
        carries: Bools = np.logical_or.reduceat(among[source] | among[target], edges.ptr[:-1])
        return carries

    def next_to(self, box: int, *, forward: bool) -> Ints:
        """Return the boxes that take what a box gives (`forward`), or give what it takes."""
        near, far = self._carried_ends if forward else self._carried_ends[::-1]
        return np.unique(far[near == box])

    # -- places ----------------------------------------------------------------------------------

    def rect(self, node: int) -> QRectF:
        """Return the rectangle of a node."""
        left, top, right, bottom = self.rects[node].tolist()
        return QRectF(left, top, right - left, bottom - top)

    def node_at(self, point: QPointF) -> int:
        """Return the box at a point, or the frame whose head is there; -1 for none."""
        x, y = point.x(), point.y()
        for nodes in (self.boxes, self.frames):
            left, top, right, bottom = self.rects[nodes].T
            hits = nodes[(left <= x) & (x < right) & (top <= y) & (y < bottom)]
            if len(hits):  # the last one is innermost
                is_below = nodes is self.frames and y > self.rects[hits[-1], 1] + self.head
                return -1 if is_below else int(hits[-1])
        return -1

    def edge_at(self, point: QPointF, near: float) -> int:
        """Return the edge that passes a point at a distance of at most `near`, -1 for none."""
        x, y = point.x(), point.y()
        place = QRectF(x - near, y - near, 2 * near, 2 * near)
        low, high = self.edge_boxes[:, :2] - near, self.edge_boxes[:, 2:] + near
        is_near = ((low <= [x, y]) & ([x, y] <= high)).all(axis=1)
        for edge in np.flatnonzero(is_near).tolist():
            # An open curve has no interior: close it by its own reverse.
            outline = QPainterPath(self.curve(edge))
            outline.connectPath(self.curve(edge).toReversed())
            if outline.intersects(place):
                return int(edge)
        return -1

    def visible_of(self, node: int) -> int:
        """Return a node if it is visible, else the box that hides it, -1 if it is left out."""
        shown_groups = self.answer.layout.shown
        return node if shown_groups.is_frame[node] else int(shown_groups.box[node])

    @cached_property
    def by_fill(self) -> dict[Fill, list[QRectF]]:
        """The rectangles of all boxes by their fills."""
        rects: dict[Fill, list[QRectF]] = {}
        places = self.rects[self.boxes].tolist()
        for node, (left, top, right, bottom) in zip(self.boxes.tolist(), places, strict=True):
            rect = QRectF(left, top, right - left, bottom - top)
            rects.setdefault(self.looks[node].fill, []).append(rect)
        return rects


def _curve_through(line: list[list[float]], *, across: bool) -> QPainterPath:
    """Return a smooth curve through some points. across: it starts sideways, else downward."""
    path = QPainterPath()
    if not line:
        return path
    path.moveTo(*line[0])
    for (x0, y0), (x1, y1) in pairwise(line):
        if across:
            middle = (x0 + x1) / 2
            path.cubicTo(middle, y0, middle, y1, x1, y1)
        else:
            middle = (y0 + y1) / 2
            path.cubicTo(x0, middle, x1, middle, x1, y1)
    return path


_LEAST_BOX = 6.0  # px; lower boxes are plain rectangles
_LEAST_TEXT = 8  # px of letters; boxes with less room have none
_LEAST_HEAD = 7.5  # px; lower heads have no text: boxes have none either
_NAME, _FIGURE, _TAG = 11.5, 11.0, 10.0  # px of letters at a scale of 1
_TAGS_FROM = 0.6  # the scale from which there is more at the sides of a box
_LEAST_END = 5.0  # px; edges between lower boxes are left out
_LARGE_FRAME = 120.0  # px; higher frames are filled plainly
_PLAIN_FRAME, _LEAST_FRAME = 24.0, 4.0  # px; lower ones have no round corners, or are left out
_CURVES_FROM = 0.35  # the scale from which edges are curves, however many there are
_MOST_CURVES = 400  # at smaller scales; more are painted as straight lines
_LEAST_LABEL = 64, 22  # px of a group that has a name of its own in the far view
BADGE = 14.0  # px: the sign that opens or closes a group
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_MOST_TEXTS = 20_000  # texts
_WIDEST = 4000.0  # px of a text that is not cut
_LIGHTER, _TINT = 0.03, 0.12  # of the ground of a module, and of a delegate call
_RGB = 0xFFFFFF

_IMAGE_MARGIN = 16  # px around the picture in a file
_LARGEST_IMAGE = 8000  # px


class GraphPainter:
    """Paints pictures in a theme, and stores fonts, cut texts and colors between frames."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._fonts: dict[tuple[str, int], tuple[QFont, QFontMetricsF]] = {}
        self._texts: dict[tuple[str, str, int, int, bool], tuple[str, float]] = {}
        self._grounds: tuple[GraphPicture, dict[int, QColor]] | None = None
        self._colors: dict[Fill, NodeColors] = {}

    def forget(self) -> None:
        """Drop the last picture, which has the program that it is of."""
        self._grounds = None

    def paint(
        self,
        painter: QPainter,
        picture: GraphPicture,
        origin: QPointF,
        scale: float,
        room: QRectF,
        marked: Set[int] = frozenset(),
        *,
        current: int = -1,
        exact: bool = False,
    ) -> None:
        """Paint what is inside `room`, in px.

        origin: of the picture, in px. marked: the visible nodes with selected operators. current:
        the node that the keyboard acts on, -1 for none. exact: every edge as a curve, for files.
        """
        frame = _Frame(self, painter, picture, origin, scale, room)
        frame.paint_frames()
        frame.paint_edges(marked, exact=exact)
        frame.paint_boxes()
        frame.paint_labels()
        frame.paint_rings(marked, "accent", 2.5, 3.0)
        frame.paint_rings({current} - {-1}, "text1", 1.5, 5.5)

    def paint_map(
        self, painter: QPainter, picture: GraphPicture, origin: QPointF, scale: float
    ) -> None:
        """Paint the whole picture small: frames and boxes without edges and texts."""
        room = QRectF(origin, picture.size * scale)
        frame = _Frame(self, painter, picture, origin, scale, room)
        frame.paint_frames()
        frame.paint_plain()

    def colors(self, fill: Fill) -> NodeColors:
        if fill not in self._colors:
            self._colors[fill] = colors_of(fill, self.theme)
        return self._colors[fill]

    def grounds(self, picture: GraphPicture) -> dict[int, QColor]:
        """Return the ground of each frame, lighter than that around it; opaque, which is faster."""
        if self._grounds is None or self._grounds[0] is not picture:
            grounds = {-1: self.theme.color("canvas")}
            for node in picture.frames.tolist():
                backend = picture.looks[node].backend
                tint, share = self.theme.color("text1"), _LIGHTER
                if backend >= 0:
                    tint, share = backend_color(backend, self.theme), _TINT
                below = grounds[int(picture.tree.parent[node])]
                grounds[node] = QColor.fromRgb(mix(below.rgb() & _RGB, tint.rgb() & _RGB, share))
            self._grounds = picture, grounds
        return self._grounds[1]

    def font(self, role: FontRole, size: int) -> tuple[QFont, QFontMetricsF]:
        """Return the font of a role with letters of some px, and its metrics."""
        if (role, size) not in self._fonts:
            font = self.theme.font(role)
            font.setPixelSize(size)
            self._fonts[role, size] = font, QFontMetricsF(font)
        return self._fonts[role, size]

    def cut(
        self, text: str, role: FontRole, size: int, room: float, *, left: bool = False
    ) -> tuple[str, float]:
        """Return as much of a text as fits into some px, and its width. left: cut its start."""
        key = text, role, size, int(room), left
        if key not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            side = Qt.TextElideMode.ElideLeft if left else Qt.TextElideMode.ElideRight
            metrics = self.font(role, size)[1]
            elided = elided_text(metrics, text, side, int(room))
            elided = "" if elided == "…" else elided
            self._texts[key] = elided, metrics.horizontalAdvance(elided)
        return self._texts[key]


class _Frame:
    """One frame: a picture at a scale."""

    def __init__(
        self,
        cache: GraphPainter,
        painter: QPainter,
        picture: GraphPicture,
        origin: QPointF,
        scale: float,
        room: QRectF,
    ) -> None:
        self._cache, self._theme, self._painter = cache, cache.theme, painter
        self._picture, self._scale, self._origin = picture, scale, origin
        self._rects = picture.rects * scale + [origin.x(), origin.y()] * 2
        self._room = room
        unit = cache.theme.px(100) / 100 * scale
        self._letters, self._small, self._tiny = (
            max(round(size * unit), _LEAST_TEXT) for size in (_NAME, _FIGURE, _TAG)
        )
        self._has_heads = picture.head * scale >= _LEAST_HEAD

    def _in_view(self, rects: Floats, margin: float) -> Bools:
        room = self._room.adjusted(-margin, -margin, margin, margin)
        is_seen: Bools = (
            (rects[:, 0] < room.right())
            & (rects[:, 2] > room.left())
            & (rects[:, 1] < room.bottom())
            & (rects[:, 3] > room.top())
        )
        return is_seen

    def _rect(self, node: int) -> QRectF:
        left, top, right, bottom = self._rects[node].tolist()
        return QRectF(left, top, right - left, bottom - top)

    def _write(
        self,
        room: QRectF,
        text: str,
        role: FontRole,
        size: int,
        color: QColor,
        align: int = _VCENTER,
        *,
        left: bool = False,
    ) -> float:
        """Paint as much of a text as fits, and return its width. left: cut its start."""
        cut_text, width = self._cache.cut(text, role, size, room.width(), left=left)
        self._painter.setFont(self._cache.font(role, size)[0])
        self._painter.setPen(color)
        self._painter.drawText(room, align, cut_text)
        return width

    def _fits(self, text: str, role: FontRole, size: int, room: float) -> bool:
        return bool(text) and self._cache.cut(text, role, size, room)[0] == visible_controls(text)

    def _paint_chip(
        self, left: float, top: float, text: str, font: tuple[FontRole, int], ground: QColor,
        color: QColor,
    ) -> None:  # fmt: skip
        """Paint a text on a ground of its own."""
        height = self._cache.font(*font)[1].height() + 1
        chip = QRectF(left, top, self._cache.cut(text, *font, _WIDEST)[1] + 9, height)
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(ground)
        self._painter.drawRoundedRect(chip, 3, 3)
        self._write(chip, text, *font, color, _CENTER)

    # -- frames ----------------------------------------------------------------------------------

    def paint_frames(self) -> None:
        painter, theme, picture = self._painter, self._theme, self._picture
        frames = picture.frames
        if not len(frames):
            return
        frames = frames[self._in_view(self._rects[frames], 2.0)]
        grounds, line = self._cache.grounds(picture), QPen(theme.color("line"), 1.0)
        seen = self._room.adjusted(-4, -4, 4, 4)
        for node in frames.tolist():
            rect, look = self._rect(node), picture.looks[node]
            if rect.height() < _LEAST_FRAME:
                continue
            is_low = rect.height() < _PLAIN_FRAME
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=not is_low)
            painter.setPen(line)
            if look.backend >= 0:
                painter.setPen(QPen(backend_color(look.backend, theme), 1.2, Qt.PenStyle.DashLine))
            painter.setBrush(grounds[node])
            if is_low:
                painter.drawRect(rect)
                continue
            if rect.height() > _LARGE_FRAME:  # without the slow part of smooth corners
                inner = rect.intersected(seen).adjusted(1, 1, -1, -1)
                painter.fillRect(inner, painter.brush())
                painter.setBrush(Qt.BrushStyle.NoBrush)
            radius = min(7.0, rect.height() / 6)
            painter.drawRoundedRect(rect, radius, radius)
            if self._has_heads:
                self._paint_head(node, rect, look)

    def _paint_head(self, node: int, rect: QRectF, look: NodeLook) -> None:
        """Paint the name, what it is, and the figure of an open group.

        The name comes first: what would cut it is only in the tooltip.
        """
        painter, theme, scale, cache = self._painter, self._theme, self._scale, self._cache
        head = QRectF(rect.left(), rect.top(), rect.width(), self._picture.head * scale)
        head.adjust(7 * scale, 0, -9 * scale, 0)
        if node:
            self._paint_badge(head.left(), head.center().y(), is_open=True)
            head.setLeft(head.left() + (BADGE + 6) * scale)
        is_call = look.backend >= 0
        name = cache.cut(look.name, "section", self._letters, head.width())[1] + 6 * scale
        side = 9 * scale if is_call else 0.0
        room = head.adjusted(name + (side + 6 * scale if is_call else 0), 0, 0, 0)
        for text in (look.figure, value_of(look.figure)):
            if self._fits(text, "caption", self._small, room.width()):
                color = theme.color("text1" if is_call else "text2")
                width = self._write(room, text, "caption", self._small, color, _RIGHT)
                head.setRight(head.right() - width - 6 * scale)
                break
        if is_call and head.width() >= name + side:
            colors = cache.colors(look.fill)
            painter.setPen(QPen(colors.outline, 1.0))
            painter.setBrush(colors.fill)
            chip = QRectF(head.right() - side, head.center().y() - side / 2, side, side)
            painter.drawRoundedRect(chip, 2, 2)
            head.setRight(chip.left() - 6 * scale)
        self._write(head, look.name, "section", self._letters, theme.color("text1"))
        head.setLeft(head.left() + name)
        if self._fits(look.detail, "caption", self._small, head.width()):
            self._write(head, look.detail, "caption", self._small, theme.color("text2"))

    def _paint_badge(self, left: float, y: float, *, is_open: bool) -> None:
        """Paint the sign that closes an open group, or opens a closed one."""
        painter, theme, half = self._painter, self._theme, BADGE * self._scale / 2
        x, arm = left + half, half * 0.5
        painter.setPen(QPen(theme.color("text3"), 1.0))
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(QRectF(left, y - half, 2 * half, 2 * half), 3, 3)
        painter.setPen(QPen(theme.color("text1"), max(1.2, 1.4 * self._scale)))
        painter.drawLine(QPointF(x - arm, y), QPointF(x + arm, y))
        if not is_open:
            painter.drawLine(QPointF(x, y - arm), QPointF(x, y + arm))

    # -- edges -----------------------------------------------------------------------------------

    def paint_edges(self, marked: Set[int], *, exact: bool) -> None:
        """Paint the edges: as curves, or as straight lines if they are many and small.

        That depends on the scale alone, so that a part of a frame is painted as the whole would be.
        """
        picture, theme, scale = self._picture, self._theme, self._scale
        is_large = picture.least_ends * scale >= _LEAST_END
        placed = picture.edge_boxes * scale + [self._origin.x(), self._origin.y()] * 2
        seen = np.flatnonzero(self._in_view(placed, 4.0) & is_large)
        if not len(seen):
            return
        strong = picture.edges_of(set(marked))
        if not exact and scale < _CURVES_FROM and int(is_large.sum()) > _MOST_CURVES:
            self._paint_straight(seen[~strong[seen]])
            seen = seen[strong[seen]][:_MOST_CURVES]
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for is_strong, token in ((False, "text3"), (True, "accent")):
            for edge in seen[strong[seen] == is_strong].tolist():
                self._paint_curve(edge, theme.color(token), is_strong=is_strong)

    def _paint_straight(self, edges: Ints) -> None:
        """Paint many edges as straight pieces of 1 px."""
        start, end, of = self._picture.segments
        among = np.zeros(len(self._picture.answer.layout.edges), np.bool_)
        among[edges] = True
        pieces, corner = among[of], self._room.topLeft()
        shift = [self._origin.x() - corner.x(), self._origin.y() - corner.y()]
        columns, lines = (max(round(size), 0) for size in (self._room.width(), self._room.height()))
        on = line_pixels(
            start[pieces] * self._scale + shift, end[pieces] * self._scale + shift, columns, lines
        )
        pixels = np.multiply(on, np.uint32(self._theme.pixel("line")), dtype=np.uint32)
        image = QImage(
            pixels.data, columns, lines, columns * 4, QImage.Format.Format_ARGB32_Premultiplied
        )
        self._painter.drawImage(corner, image)

    def _paint_curve(self, edge: int, color: QColor, *, is_strong: bool) -> None:
        painter, picture, scale = self._painter, self._picture, self._scale
        layout = picture.answer.layout
        count = int(layout.edges.count[edge])
        width = (2.0 if is_strong else 1.1) + min(np.log2(count), 4.0) * 0.35
        pen = QPen(color, width * min(max(scale, 0.6), 1.5))
        pen.setCosmetic(True)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.save()
        painter.translate(self._origin)
        painter.scale(scale, scale)
        painter.strokePath(picture.curve(edge), pen)
        painter.restore()
        if layout.edges.target[edge] == layout.edges.group[edge]:
            return  # it continues outside of its group
        before, end = layout.points[layout.ptr[edge + 1] - 2 : layout.ptr[edge + 1]].tolist()
        tip = self._origin + QPointF(*end) * scale
        if scale >= 0.3:
            long, half = max(7.0 * scale, 4.0), max(3.5 * scale, 2.0)
            axis = 0 if picture.across else 1
            back = long if before[axis] > end[axis] else -long  # an edge may run backward
            along, aside = QPointF(0, back), QPointF(half, 0)
            if picture.across:
                along, aside = along.transposed(), aside.transposed()
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawPolygon(QPolygonF([tip, tip + along - aside, tip + along + aside]))
        if count > 1 and self._has_heads:  # how many edges are merged
            room = QRectF(tip.x() + 5 * scale, tip.y() - 16 * scale, _WIDEST, 14 * scale)
            text = group_digits(count)
            self._write(room, text, "zero_length", self._tiny, self._theme.color("text2"))

    # -- boxes -----------------------------------------------------------------------------------

    def paint_boxes(self) -> None:
        boxes = self._picture.boxes
        if not len(boxes):
            return
        rects = self._rects[boxes]
        if rects[0, 3] - rects[0, 1] < _LEAST_BOX:
            self.paint_plain()
            return
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        margin = 6.0 if self._picture.answer.around is None else max(24 * self._scale, 6.0)
        for node in boxes[self._in_view(rects, margin)].tolist():
            self._paint_box(node)

    def paint_plain(self) -> None:
        """Paint all boxes as rectangles of their fills."""
        painter = self._painter
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.translate(self._origin)
        painter.scale(self._scale, self._scale)
        painter.setPen(Qt.PenStyle.NoPen)
        for fill, rects in self._picture.by_fill.items():
            colors = self._cache.colors(fill)
            is_blank = not isinstance(fill, int) and not isinstance(fill, ChangeFill)
            painter.setBrush(colors.outline if is_blank else colors.fill)
            painter.drawRects(rects)
        painter.restore()

    def _paint_box(self, node: int) -> None:
        painter, theme, picture, scale = self._painter, self._theme, self._picture, self._scale
        rect, look = self._rect(node), picture.looks[node]
        is_group = bool(picture.tree.is_group[node])
        colors = self._cache.colors(look.fill)
        pen = QPen(colors.outline, 1.0)
        if colors.is_dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        if look.backend >= 0:
            pen = QPen(backend_color(look.backend, theme), 1.6, Qt.PenStyle.DashLine)
        if node in picture.seeds:
            pen = QPen(theme.color("text1"), max(3 * scale, 1.5))
        painter.setBrush(colors.fill)
        if is_group:  # two more sheets below: there is something inside
            painter.setPen(QPen(theme.color("line"), 1.0))
            for step in (4.0, 2.0):
                painter.drawRoundedRect(rect.translated(step * scale, step * scale), 5, 5)
        painter.setPen(pen)
        radius = min(5.0, rect.height() / 4)
        painter.drawRoundedRect(rect, radius, radius)
        if isinstance(look.fill, ChangeFill) and look.fill.only_in:
            paint_hatch(painter, rect, theme)
        if rect.height() >= _LEAST_TEXT + 3:
            self._paint_texts(node, rect, look, colors.text, is_group=is_group)
        if look.tag:
            self._paint_tag(rect, look.tag, colors.text)
        if scale >= _TAGS_FROM and node in picture.answer.hidden:
            self._paint_hidden(rect, picture.answer.hidden[node])

    def _paint_texts(
        self, node: int, rect: QRectF, look: NodeLook, color: QColor, *, is_group: bool
    ) -> None:
        """Paint name, place and figure: in three lines, or the place beside the name."""
        painter, scale = self._painter, self._scale
        line = rect.adjusted((11 if look.tag else 8) * scale, 2 * scale, -6 * scale, -2 * scale)
        if is_group:
            self._paint_badge(line.left(), rect.center().y(), is_open=False)
            line.setLeft(line.left() + (BADGE + 6) * scale)
        size, small, detail = self._letters, self._small, look.detail
        if is_group and self._picture.tree.kind[node] == GroupKind.MODULE:
            count = f"{group_digits(int(self._picture.tree.operators[node]))} ops"
            detail = " · ".join(filter(None, (detail, count)))
        below = [text for text in (detail, look.figure) if text]
        if rect.height() < size + len(below) * small + 10 * scale:
            below = below[-1:] if rect.height() >= size + small + 4 else []
        line.setHeight(line.height() / (1 + len(below)))
        name = self._write(line, look.name, "section", size, color)
        rest = line.adjusted(name + 6 * scale, 0, 0, 0)
        if detail and below == [look.figure] and rest.width() > 24:
            opacity = painter.opacity()
            painter.setOpacity(opacity * 0.75)
            self._write(rest, detail, "caption", small, color, _RIGHT, left=not is_group)
            painter.setOpacity(opacity)
        for text in below:
            line.translate(0, line.height())
            is_path = text is detail and not is_group
            if text is look.figure and look.verdict is not None:
                line.setLeft(line.left() + self._paint_verdict(line, look.verdict, color))
            self._write(line, text, "caption", small, color, left=is_path)
        if look.verdict is not None and look.figure not in below and rest.width() > rect.height():
            end = rect.adjusted(rect.width() - rect.height(), 0, 0, 0)
            self._paint_verdict(end, look.verdict, color)

    def _paint_verdict(self, line: QRectF, verdict: Verdict, color: QColor) -> float:
        """Paint the mark of a verdict at the start of a line, and return the room it takes."""
        painter, part = self._painter, min(self._scale, 1.0)
        painter.save()
        painter.translate(line.left() + SIDE * part / 2, line.center().y())
        painter.scale(part, part)
        paint_mark(painter, QPointF(0, 0), verdict.value, self._theme, color)
        painter.restore()
        return SIDE * part + 4 * self._scale

    def _paint_tag(self, rect: QRectF, tag: str, stripe: QColor) -> None:
        """Paint a double left edge, and the name of the delegate call above the node."""
        scale, theme = self._scale, self._theme
        for x, width in ((1, 2), (5, 1)):
            edge = QRectF(rect.left() + x * scale, rect.top() + 5 * scale,
                          max(width * scale, 1.0), rect.height() - 10 * scale)  # fmt: skip
            self._painter.fillRect(edge, stripe)
        if scale >= _TAGS_FROM:
            font: tuple[FontRole, int] = "zero_length", self._tiny
            # The edges come in the middle.
            text, _ = self._cache.cut(tag, *font, rect.width() / 2 - 20 * scale, left=True)
            top = rect.top() - self._cache.font(*font)[1].height() - 3 * scale
            ground, color = theme.color("frame"), theme.color("frame_label")
            self._paint_chip(rect.left() + 4 * scale, top, text, font, ground, color)

    def _paint_hidden(self, rect: QRectF, counts: tuple[int, int]) -> None:
        """Paint the numbers of hidden neighbors, each on a short dotted line at its side."""
        color, scale = self._theme.color("text2"), self._scale
        width, height = 40 * scale, 13 * scale
        for count, way in zip(counts, (-1, 1), strict=True):
            if not count:
                continue
            if self._picture.across:
                start = QPointF(rect.left() if way < 0 else rect.right(), rect.bottom() - 8 * scale)
                end = start + QPointF(way * 8 * scale, 0)
                room = QRectF(end.x() - (width if way < 0 else 0), end.y() - height / 2,
                              width, height)  # fmt: skip
            else:
                start = QPointF(rect.right() - 14 * scale, rect.top() if way < 0 else rect.bottom())
                end = start + QPointF(0, way * 6 * scale)
                room = QRectF(end.x() - width - 3, start.y() - (height if way < 0 else 0),
                              width, height)  # fmt: skip
            self._painter.setPen(QPen(color, 1.2, Qt.PenStyle.DotLine))
            self._painter.drawLine(start, end)
            align = _VCENTER if self._picture.across and way > 0 else _RIGHT
            self._write(room, f"+{group_digits(count)}", "zero_length", self._tiny, color, align)

    # -- over all --------------------------------------------------------------------------------

    def paint_labels(self) -> None:
        """Far away: name the innermost groups that have room for their whole names."""
        picture, theme = self._picture, self._theme
        frames = picture.frames[1:]
        if self._has_heads or not len(frames):
            return
        font: tuple[FontRole, int] = "section", round(_NAME)
        width, height = (self._rects[frames, 2:] - self._rects[frames, :2]).T
        is_large = (width >= _LEAST_LABEL[0]) & (height >= _LEAST_LABEL[1])
        is_named = np.zeros(len(picture.tree), np.bool_)
        for node in frames[is_large][::-1].tolist():  # a group around a named one has no name
            if not is_named[node + 1 : int(picture.tree.end[node])].any():
                room = self._rects[node, 2] - self._rects[node, 0] - 12
                is_named[node] = self._fits(picture.looks[node].name, *font, room)
        inside = frames[is_named[frames]]
        ground, color = theme.color("raised", 0.9), theme.color("text1")
        for node in inside[self._in_view(self._rects[inside], 0.0)].tolist():
            left, top = self._rects[node, :2].tolist()
            self._paint_chip(left + 2, top + 2, picture.looks[node].name, font, ground, color)

    def paint_rings(self, nodes: Set[int], token: str, width: float, gap: float) -> None:
        painter = self._painter
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self._theme.color(token), width))
        among = np.fromiter(nodes, np.int64, len(nodes))
        grow = gap * min(max(self._scale, 0.4), 1.0)
        for node in among[self._in_view(self._rects[among], 8.0)].tolist():
            rect = self._rect(node).adjusted(-grow, -grow, grow, grow)
            painter.drawRoundedRect(rect, 7, 7)


def picture_image(picture: GraphPicture, marked: frozenset[int], theme: Theme) -> QImage:
    """Return the whole picture, with 2 pixels per point unless it is very large."""
    size = _picture_size(picture, theme)
    sharp = min(2.0, _LARGEST_IMAGE / max(size.width(), size.height()))
    pixels = QSize(max(round(size.width() * sharp), 1), max(round(size.height() * sharp), 1))
    return painted_image(
        pixels, 1.0, lambda painter: _paint_all(painter, picture, marked, theme, sharp)
    )


def picture_svg(
    picture: GraphPicture, marked: frozenset[int], theme: Theme, title: str, description: str
) -> bytes:
    """Return the whole picture as the bytes of an SVG file."""
    return svg_bytes(
        _picture_size(picture, theme), title, description,
        lambda painter: _paint_all(painter, picture, marked, theme, 1.0, exact=True),
    )  # fmt: skip


def _picture_size(picture: GraphPicture, theme: Theme) -> QSize:
    margin = 2 * theme.px(_IMAGE_MARGIN)
    return picture.size.toSize() + QSize(margin, margin)


def _paint_all(
    painter: QPainter,
    picture: GraphPicture,
    marked: frozenset[int],
    theme: Theme,
    scale: float,
    *,
    exact: bool = False,
) -> None:
    origin = QPointF(1, 1) * theme.px(_IMAGE_MARGIN) * scale
    room = QRectF(QPointF(0, 0), _picture_size(picture, theme).toSizeF() * scale)
    painter.fillRect(room, theme.color("canvas"))
    GraphPainter(theme).paint(painter, picture, origin, scale, room, marked, exact=exact)
