"""Painting of the graph: frames, edges and boxes, in as much detail as the scale has room for.

Only what is in view is painted. Far away, boxes are plain rectangles, edges are thin lines, and
only the groups whose names fit have one; near, everything has its texts. The same code draws on
screen, to an image for the clipboard, and to PNG and SVG files.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen, QPolygonF

from viewer.analysis.comparison.comparison import Verdict
from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.fill_colors import NodeColors, backend_color, colors_of, paint_hatch
from viewer.gui.panels.graph.fills import ChangeFill, Fill
from viewer.gui.panels.graph.looks import NodeLook, value_of
from viewer.gui.panels.graph.picture import GraphPicture
from viewer.gui.qt.image_files import painted_image, svg_bytes
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark
from viewer.model.text import visible_controls
from viewer.model.times import group_digits
from viewer.render.graph.line_raster import line_pixels
from viewer.render.graph.model_tree import GroupKind
from viewer.render.palette import mix

_LEAST_BOX = 6.0  # px; lower boxes are plain rectangles
_LEAST_TEXT = 8  # px of letters; boxes with less room have none
_LEAST_HEAD = 7.5  # px; lower heads have no text: boxes have none either
_NAME, _FIGURE = 11.5, 11.0  # px of letters at a scale of 1
_LEAST_END = 5.0  # px; edges between lower boxes are left out
_LARGE_FRAME = 120.0  # px; higher frames are filled plainly
_PLAIN_FRAME = 24.0  # px; lower frames have no round corners
_CURVES_FROM = 0.35  # the scale from which edges are curves, however many there are
_MOST_CURVES = 400  # at smaller scales; more are painted as straight lines
_LEAST_LABEL = 64, 22  # px of a group that has a name of its own in the far view
BADGE = 14.0  # px: the sign that opens or closes a group
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)

_MOST_TEXTS = 20_000  # texts
_LIGHTER, _TINT = 0.03, 0.12  # of the ground of a module, and of a delegate call
_RGB = 0xFFFFFF

_IMAGE_MARGIN = 16  # px around the picture in a file
_LARGEST_IMAGE = 8000  # px


class PaintCache:
    """Fonts, texts and grounds in one theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._fonts: dict[tuple[str, int], tuple[QFont, QFontMetricsF]] = {}
        self._texts: dict[tuple[str, str, int, int, bool], str] = {}
        self._grounds: tuple[GraphPicture, dict[int, QColor]] | None = None
        self._colors: dict[Fill, NodeColors] = {}

    def colors(self, fill: Fill) -> NodeColors:
        """Return the colors of a fill."""
        if fill not in self._colors:
            self._colors[fill] = colors_of(fill, self._theme)
        return self._colors[fill]

    def grounds(self, picture: GraphPicture) -> dict[int, QColor]:
        """Return the ground of every frame, a little lighter than that of the one around it.

        They are opaque: to fill much with a color that is not takes many times as long.
        """
        if self._grounds is None or self._grounds[0] is not picture:
            theme = self._theme
            grounds = {-1: theme.color("canvas"), 0: theme.color("canvas")}
            for node in picture.frames.tolist():
                backend = picture.looks[node].backend
                tint, share = theme.color("text1"), _LIGHTER
                if backend >= 0:
                    tint, share = backend_color(backend, theme), _TINT
                below = grounds[int(picture.tree.parent[node])]
                grounds[node] = QColor.fromRgb(mix(below.rgb() & _RGB, tint.rgb() & _RGB, share))
            self._grounds = picture, grounds
        return self._grounds[1]

    @property
    def theme(self) -> Theme:
        """The theme of all pictures."""
        return self._theme

    def font(self, role: FontRole, size: int) -> tuple[QFont, QFontMetricsF]:
        """Return the font of a role with letters of some px, and its metrics."""
        if (role, size) not in self._fonts:
            font = self._theme.font(role)
            font.setPixelSize(size)
            self._fonts[role, size] = font, QFontMetricsF(font)
        return self._fonts[role, size]

    def fitted(
        self, text: str, role: FontRole, size: int, room: float, *, left: bool = False
    ) -> str:
        """Return as much of a text as fits into some px. left: cut its start."""
        key = text, role, size, int(room), left
        if key not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            side = Qt.TextElideMode.ElideLeft if left else Qt.TextElideMode.ElideRight
            elided = elided_text(self.font(role, size)[1], text, side, int(room))
            self._texts[key] = "" if elided == "…" else elided
        return self._texts[key]


class GraphPainter:
    """Paints pictures, and keeps fonts and cut texts between frames."""

    def __init__(self, theme: Theme) -> None:
        self._cache = PaintCache(theme)

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
        frame = _Frame(self._cache, painter, picture, origin, scale, room)
        frame.has_curves = exact or frame.is_simple
        frame.paint_frames()
        frame.paint_edges(marked)
        frame.paint_boxes()
        frame.paint_labels()
        frame.paint_rings(marked, current)

    def paint_map(
        self, painter: QPainter, picture: GraphPicture, origin: QPointF, scale: float
    ) -> None:
        """Paint the whole picture small: frames and boxes without edges and texts."""
        room = QRectF(origin, picture.size * scale)
        frame = _Frame(self._cache, painter, picture, origin, scale, room)
        frame.paint_frames()
        frame.paint_plain()


class _Frame:
    """One frame: a picture at a scale."""

    def __init__(
        self,
        cache: PaintCache,
        painter: QPainter,
        picture: GraphPicture,
        origin: QPointF,
        scale: float,
        room: QRectF,
    ) -> None:
        self.has_curves = True
        self._cache, self._theme, self._painter = cache, cache.theme, painter
        self._picture, self._scale, self._origin = picture, scale, origin
        self._rects = picture.rects * scale + [origin.x(), origin.y()] * 2
        self._seen = room.adjusted(-4, -4, 4, 4)
        self._room = np.array([room.left(), room.top(), room.right(), room.bottom()])
        unit = cache.theme.px(100) / 100 * scale
        self._letters = max(round(_NAME * unit), _LEAST_TEXT)
        self._small = max(round(_FIGURE * unit), _LEAST_TEXT)
        self._has_heads = picture.head * scale >= _LEAST_HEAD

    def _in_view(self, rects: Floats, margin: float) -> Bools:
        left, top, right, bottom = self._room.tolist()
        is_seen: Bools = (
            (rects[:, 0] < right + margin)
            & (rects[:, 2] > left - margin)
            & (rects[:, 1] < bottom + margin)
            & (rects[:, 3] > top - margin)
        )
        return is_seen

    # -- frames ----------------------------------------------------------------------------------

    def paint_frames(self) -> None:
        painter, theme, picture = self._painter, self._theme, self._picture
        frames = picture.frames
        if not len(frames):
            return
        frames = frames[self._in_view(self._rects[frames], 2.0)]
        high = self._rects[frames, 3] - self._rects[frames, 1]
        frames, high = frames[high >= 4], high[high >= 4]
        grounds, line = self._cache.grounds(picture), QPen(theme.color("line"), 1.0)
        for node, is_low in zip(frames.tolist(), (high < _PLAIN_FRAME).tolist(), strict=True):
            rect, look = self._rect(node), picture.looks[node]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=not is_low)
            painter.setPen(line)
            if look.backend >= 0:
                painter.setPen(QPen(backend_color(look.backend, theme), 1.2, Qt.PenStyle.DashLine))
            painter.setBrush(grounds[node])
            if is_low:
                painter.drawRect(rect)
                continue
            if rect.height() > _LARGE_FRAME:  # without the slow part of smooth corners
                inner = rect.intersected(self._seen).adjusted(1, 1, -1, -1)
                painter.fillRect(inner, painter.brush())
                painter.setBrush(Qt.BrushStyle.NoBrush)
            radius = min(7.0, rect.height() / 6)
            painter.drawRoundedRect(rect, radius, radius)
            if self._has_heads:
                self._paint_head(node, rect, look)

    def _paint_head(self, node: int, rect: QRectF, look: NodeLook) -> None:
        painter, theme, scale = self._painter, self._theme, self._scale
        head = QRectF(rect.left(), rect.top(), rect.width(), self._picture.head * scale)
        left = rect.left() + 7 * scale
        if node:
            self._paint_badge(QPointF(left + BADGE * scale / 2, head.center().y()), is_open=True)
            left += (BADGE + 6) * scale
        right = rect.right() - 9 * scale
        font, metrics = self._cache.font("caption", self._small)
        name = self._cache.font("section", self._letters)[1].horizontalAdvance(look.name)
        side = 9 * scale if look.backend >= 0 else 0.0
        # The name comes first: a figure that would cut it is only in the tooltip.
        space = right - left - name - 2 * side - 12 * scale
        widths = {text: metrics.horizontalAdvance(text) for text in
                  (look.figure, value_of(look.figure)) if text}  # fmt: skip
        figure = next((text for text, width in widths.items() if width <= space), "")
        if figure:
            painter.setFont(font)
            painter.setPen(theme.color("text1" if look.backend >= 0 else "text2"))
            right -= widths[figure]
            painter.drawText(QRectF(right - 1, head.top(), widths[figure] + 1, head.height()),
                             _RIGHT, figure)  # fmt: skip
            right -= 6 * scale
        if look.backend >= 0 and right - side - left >= name:
            colors = self._cache.colors(look.fill)
            painter.setPen(QPen(colors.outline, 1.0))
            painter.setBrush(colors.fill)
            painter.drawRoundedRect(
                QRectF(right - side, head.center().y() - side / 2, side, side), 2, 2
            )
            right -= side + 6 * scale
        self._paint_name(QRectF(left, head.top(), right - left, head.height()), look)

    def _paint_name(self, room: QRectF, look: NodeLook) -> None:
        """Paint the name of a group, and what it is if there is room."""
        painter, cache = self._painter, self._cache
        font, metrics = cache.font("section", self._letters)
        name = cache.fitted(look.name, "section", self._letters, room.width())
        painter.setFont(font)
        painter.setPen(self._theme.color("text1"))
        painter.drawText(room, _VCENTER, name)
        room = room.adjusted(metrics.horizontalAdvance(name) + 6 * self._scale, 0, 0, 0)
        detail = cache.fitted(look.detail, "caption", self._small, room.width())
        if detail == visible_controls(look.detail):
            painter.setFont(cache.font("caption", self._small)[0])
            painter.setPen(self._theme.color("text2"))
            painter.drawText(room, _VCENTER, detail)

    def _paint_badge(self, middle: QPointF, *, is_open: bool) -> None:
        """Paint the sign that closes an open group, or opens a closed one."""
        painter, theme = self._painter, self._theme
        half = BADGE * self._scale / 2
        painter.setPen(QPen(theme.color("text3"), 1.0))
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(QRectF(middle.x() - half, middle.y() - half, 2 * half, 2 * half),
                                3, 3)  # fmt: skip
        painter.setPen(QPen(theme.color("text1"), max(1.2, 1.4 * self._scale)))
        arm = half * 0.5
        painter.drawLine(
            QPointF(middle.x() - arm, middle.y()), QPointF(middle.x() + arm, middle.y())
        )
        if not is_open:
            painter.drawLine(
                QPointF(middle.x(), middle.y() - arm), QPointF(middle.x(), middle.y() + arm)
            )

    # -- edges -----------------------------------------------------------------------------------

    @property
    def _are_large(self) -> Bools:
        """Per edge, whether both boxes are large enough to show it."""
        return np.asarray(self._picture.least_ends * self._scale >= _LEAST_END)

    @property
    def is_simple(self) -> bool:
        """Whether edges are painted as curves.

        It depends on the scale alone, so that a part of a frame is painted as the whole would be.
        """
        return self._scale >= _CURVES_FROM or int(self._are_large.sum()) <= _MOST_CURVES

    def paint_edges(self, marked: Set[int]) -> None:
        painter, picture, theme = self._painter, self._picture, self._theme
        placed = picture.edge_boxes * self._scale + [self._origin.x(), self._origin.y()] * 2
        seen = np.flatnonzero(self._in_view(placed, 4.0) & self._are_large)
        if not len(seen):
            return
        strong = picture.edges_of(set(marked))
        if not self.has_curves:
            weak = seen[~strong[seen]]
            self._paint_straight(weak)
            seen = seen[strong[seen]][:_MOST_CURVES]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for is_strong, token in ((False, "text3"), (True, "accent")):
            for edge in seen[strong[seen] == is_strong].tolist():
                self._paint_curve(edge, theme.color(token), is_strong=is_strong)

    def _paint_straight(self, edges: Ints) -> None:
        """Paint many edges as straight pieces of 1 px."""
        start, end, of = self._picture.segments
        among = np.zeros(len(self._picture.answer.layout.edges), np.bool_)
        among[edges] = True
        pieces = among[of]
        left, top, right, bottom = self._room.tolist()
        shift = [self._origin.x() - left, self._origin.y() - top]
        columns, lines = max(round(right - left), 0), max(round(bottom - top), 0)
        on = line_pixels(
            start[pieces] * self._scale + shift, end[pieces] * self._scale + shift, columns, lines
        )
        color = np.uint32(self._theme.pixel("line"))
        pixels = np.multiply(on, color, dtype=np.uint32)
        image = QImage(
            pixels.data, columns, lines, columns * 4, QImage.Format.Format_ARGB32_Premultiplied
        )
        self._painter.drawImage(QPointF(left, top), image)

    def _paint_curve(self, edge: int, color: QColor, *, is_strong: bool) -> None:
        painter, picture, scale = self._painter, self._picture, self._scale
        count = int(picture.answer.layout.edges.count[edge])
        width = (2.0 if is_strong else 1.1) + min(np.log2(count), 4.0) * 0.35
        pen = QPen(color, width * min(max(scale, 0.6), 1.5))
        pen.setCosmetic(True)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.save()
        painter.translate(self._origin)
        painter.scale(scale, scale)
        painter.strokePath(picture.curve(edge), pen)
        painter.restore()
        layout = picture.answer.layout
        if layout.edges.target[edge] == layout.edges.group[edge]:
            return  # it continues outside of its group
        before, end = layout.points[layout.ptr[edge + 1] - 2 : layout.ptr[edge + 1]].tolist()
        tip = self._origin + QPointF(*end) * scale
        if scale >= 0.3:
            long, half = max(7.0 * scale, 4.0), max(3.5 * scale, 2.0)
            axis = 0 if picture.across else 1
            back = long if before[axis] > end[axis] else -long  # an edge may run backward
            along, aside = (QPointF(back, 0), QPointF(0, half)) if picture.across else (
                QPointF(0, back), QPointF(half, 0))  # fmt: skip
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawPolygon(QPolygonF([tip, tip + along - aside, tip + along + aside]))
        if count > 1 and self._has_heads:
            self._paint_count(tip.x(), tip.y(), count)

    def _paint_count(self, x: float, y: float, count: int) -> None:
        """Paint how many edges are merged, next to the end of an edge."""
        painter, theme = self._painter, self._theme
        font, metrics = self._cache.font("zero_length", max(round(10 * self._scale), _LEAST_TEXT))
        text = group_digits(count)
        width, height = metrics.horizontalAdvance(text), metrics.height()
        painter.setFont(font)
        painter.setPen(theme.color("text2"))
        room = QRectF(x + 5 * self._scale, y - height - 2 * self._scale, width + 2, height)
        painter.drawText(room, _VCENTER, text)

    # -- boxes -----------------------------------------------------------------------------------

    def paint_boxes(self) -> None:
        painter, picture = self._painter, self._picture
        boxes = picture.boxes
        if not len(boxes):
            return
        rects = self._rects[boxes]
        if rects[0, 3] - rects[0, 1] < _LEAST_BOX:
            self.paint_plain()
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
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
        if self._letters > _LEAST_TEXT and node in picture.answer.hidden:
            self._paint_hidden(rect, picture.answer.hidden[node])

    def _paint_texts(
        self, node: int, rect: QRectF, look: NodeLook, color: QColor, *, is_group: bool
    ) -> None:
        """Paint name, place and figure: in three lines, or the place beside the name."""
        painter, scale, cache = self._painter, self._scale, self._cache
        left, right = rect.left() + (11 if look.tag else 8) * scale, rect.right() - 6 * scale
        if is_group:
            self._paint_badge(QPointF(left + BADGE * scale / 2, rect.center().y()), is_open=False)
            left += (BADGE + 6) * scale
        size, small, detail = self._letters, self._small, look.detail
        if is_group and self._picture.tree.kind[node] == GroupKind.MODULE:
            count = f"{group_digits(int(self._picture.tree.operators[node]))} ops"
            detail = " · ".join(filter(None, (detail, count)))
        below = [text for text in (detail, look.figure) if text]
        if rect.height() < size + len(below) * small + 10 * scale:
            below = below[-1:] if rect.height() >= size + small + 4 else []
        height = (rect.height() - 4 * scale) / (1 + len(below))
        line = QRectF(left, rect.top() + 2 * scale, right - left, height)
        font, metrics = cache.font("section", size)
        name = cache.fitted(look.name, "section", size, line.width())
        painter.setFont(font)
        painter.setPen(color)
        painter.drawText(line, _VCENTER, name)
        painter.setFont(cache.font("caption", small)[0])
        rest = line.adjusted(metrics.horizontalAdvance(name) + 6 * scale, 0, 0, 0)
        if detail and below == [look.figure] and rest.width() > 24:
            opacity = painter.opacity()
            painter.setOpacity(opacity * 0.75)
            text = cache.fitted(detail, "caption", small, rest.width(), left=not is_group)
            painter.drawText(rest, _RIGHT, text)
            painter.setOpacity(opacity)
        for text in below:
            line.translate(0, height)
            room = line
            if text is look.figure and look.verdict is not None:
                room = line.adjusted(self._paint_verdict(line, look.verdict, color), 0, 0, 0)
            is_path = text is detail and not is_group
            painter.drawText(
                room, _VCENTER, cache.fitted(text, "caption", small, room.width(), left=is_path)
            )
        if look.verdict is not None and look.figure not in below:
            self._paint_verdict(rect.adjusted(rect.width() - rect.height(), 0, 0, 0),
                                look.verdict, color)  # fmt: skip

    def _paint_verdict(self, line: QRectF, verdict: Verdict, color: QColor) -> float:
        """Paint the mark of a verdict at the start of a line, and return the room it takes."""
        painter, part = self._painter, min(self._scale, 1.0)
        side = SIDE * part
        painter.save()
        painter.translate(line.left() + side / 2, line.center().y())
        painter.scale(part, part)
        paint_mark(painter, QPointF(0, 0), verdict.value, self._theme, color)
        painter.restore()
        return side + 4 * self._scale

    def _paint_tag(self, rect: QRectF, tag: str, stripe: QColor) -> None:
        """Paint a double left edge, and the name of the delegate call above the node."""
        painter, theme, scale = self._painter, self._theme, self._scale
        for x, width in ((1, 2), (5, 1)):
            painter.fillRect(
                QRectF(rect.left() + x * scale, rect.top() + 5 * scale,
                       max(width * scale, 1.0), rect.height() - 10 * scale), stripe)  # fmt: skip
        if self._letters <= _LEAST_TEXT:
            return
        size = max(round(10 * scale), _LEAST_TEXT)
        font, metrics = self._cache.font("zero_length", size)
        # The edges come in the middle.
        text = self._cache.fitted(tag, "zero_length", size, rect.width() / 2 - 20 * scale)
        height = metrics.height()
        chip = QRectF(
            rect.left() + 4 * scale, rect.top() - height - 3 * scale,
            metrics.horizontalAdvance(text) + 10 * scale, height,
        )  # fmt: skip
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("frame"))
        painter.drawRoundedRect(chip, 3, 3)
        painter.setFont(font)
        painter.setPen(theme.color("frame_label"))
        painter.drawText(chip, _CENTER, text)

    def _paint_hidden(self, rect: QRectF, counts: tuple[int, int]) -> None:
        """Paint the numbers of hidden neighbors, each on a short dotted line at its side."""
        painter, theme, scale = self._painter, self._theme, self._scale
        font, metrics = self._cache.font("zero_length", max(round(10 * scale), _LEAST_TEXT))
        painter.setFont(font)
        height = metrics.height()
        for count, direction in zip(counts, (-1, 1), strict=True):
            if not count:
                continue
            text = f"+{group_digits(count)}"
            width = metrics.horizontalAdvance(text) + 4
            if self._picture.across:
                start = QPointF(rect.left() if direction < 0 else rect.right(), rect.bottom() - 8)
                end = start + QPointF(direction * 8 * scale, 0)
                x, y = end.x() - (width if direction < 0 else 0), end.y() - height / 2
            else:
                start = QPointF(rect.right() - 14 * scale,
                                rect.top() if direction < 0 else rect.bottom())  # fmt: skip
                end = start + QPointF(0, direction * 6 * scale)
                x, y = end.x() - width - 2, start.y() - (height if direction < 0 else 0)
            painter.setPen(QPen(theme.color("text2"), 1.2, Qt.PenStyle.DotLine))
            painter.drawLine(start, end)
            painter.setPen(theme.color("text2"))
            painter.drawText(QRectF(x, y, width, height), _CENTER, text)

    # -- over all --------------------------------------------------------------------------------

    def paint_labels(self) -> None:
        """Far away: name the innermost groups that have room for their whole names."""
        picture, painter, theme = self._picture, self._painter, self._theme
        frames = picture.frames[1:]
        if self._has_heads or not len(frames):
            return
        font, metrics = self._cache.font("section", round(_NAME))
        painter.setFont(font)
        size = self._rects[frames, 2:] - self._rects[frames, :2]
        is_large = (size[:, 0] >= _LEAST_LABEL[0]) & (size[:, 1] >= _LEAST_LABEL[1])
        is_named = np.zeros(len(picture.tree), np.bool_)
        for node in frames[is_large][::-1].tolist():  # a group around a named one has no name
            room = self._rects[node, 2] - self._rects[node, 0] - 12
            name = picture.looks[node].name
            is_around = is_named[node + 1 : int(picture.tree.end[node])].any()
            is_named[node] = not is_around and bool(name) and (
                self._cache.fitted(name, "section", round(_NAME), room) == visible_controls(name)
            )  # fmt: skip
        inside = frames[is_named[frames]]
        for node in inside[self._in_view(self._rects[inside], 0.0)].tolist():
            rect, name = self._rect(node), visible_controls(picture.looks[node].name)
            width, height = metrics.horizontalAdvance(name) + 10, metrics.height() + 2
            chip = QRectF(rect.left() + 2, rect.top() + 2, width, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("raised", 0.9))
            painter.drawRoundedRect(chip, 3, 3)
            painter.setPen(theme.color("text1"))
            painter.drawText(chip, _CENTER, name)

    def paint_rings(self, marked: Set[int], current: int) -> None:
        painter, theme = self._painter, self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for nodes, token, width, gap in (
            (marked, "accent", 2.5, 3.0),
            ({current} - {-1}, "text1", 1.5, 5.5),
        ):
            painter.setPen(QPen(theme.color(token), width))
            among = np.fromiter(nodes, np.int64, len(nodes))
            for node in among[self._in_view(self._rects[among], 8.0)].tolist():
                grow = gap * min(max(self._scale, 0.4), 1.0)
                rect = self._rect(node).adjusted(-grow, -grow, grow, grow)
                painter.drawRoundedRect(rect, 7, 7)

    def _rect(self, node: int) -> QRectF:
        left, top, right, bottom = self._rects[node].tolist()
        return QRectF(left, top, right - left, bottom - top)


def picture_image(picture: GraphPicture, marked: frozenset[int], theme: Theme) -> QImage:
    """Return the whole picture, with 2 pixels per point unless it is very large."""
    size = _picture_size(picture, theme)
    sharp = min(2.0, _LARGEST_IMAGE / max(size.width(), size.height()))
    return painted_image(
        QSize(max(round(size.width() * sharp), 1), max(round(size.height() * sharp), 1)), 1.0,
        lambda painter: _paint_picture(painter, picture, marked, theme, sharp, exact=False),
    )  # fmt: skip


def picture_svg(
    picture: GraphPicture, marked: frozenset[int], theme: Theme, title: str, description: str
) -> bytes:
    """Return the whole picture as the bytes of an SVG file."""
    return svg_bytes(
        _picture_size(picture, theme), title, description,
        lambda painter: _paint_picture(painter, picture, marked, theme, 1.0, exact=True),
    )  # fmt: skip


def _picture_size(picture: GraphPicture, theme: Theme) -> QSize:
    margin = 2 * theme.px(_IMAGE_MARGIN)
    return picture.size.toSize() + QSize(margin, margin)


def _paint_picture(
    painter: QPainter,
    picture: GraphPicture,
    marked: frozenset[int],
    theme: Theme,
    scale: float,
    *,
    exact: bool,
) -> None:
    size, margin = _picture_size(picture, theme), theme.px(_IMAGE_MARGIN) * scale
    room = QRectF(0, 0, size.width() * scale, size.height() * scale)
    painter.fillRect(room, theme.color("canvas"))
    GraphPainter(theme).paint(
        painter, picture, QPointF(margin, margin), scale, room, marked, exact=exact
    )
