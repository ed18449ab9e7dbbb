"""Painting of a whole model: frames, edges and boxes, in as much detail as the scale has room for.

Only what is in view is painted. Far away, boxes are plain rectangles, edges are thin lines, and
only the groups that are large enough have names; near, everything has its texts.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen, QPolygonF

from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.fill_colors import backend_color, colors_of, paint_hatch
from viewer.gui.panels.graph.fills import ChangeFill
from viewer.gui.panels.graph.whole.looks import NodeLook, value_of
from viewer.gui.panels.graph.whole.picture import WholePicture
from viewer.gui.qt.image_files import painted_image, svg_bytes
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark
from viewer.model.times import group_digits
from viewer.render.graph.line_raster import line_pixels
from viewer.render.graph.model_tree import GroupKind
from viewer.render.palette import mix

_LEAST_BOX = 6.0  # px; lower boxes are plain rectangles
_LEAST_TEXT = 8  # px of letters; smaller ones are left out
_NAME, _FIGURE = 11.5, 11.0  # px of letters at a scale of 1
_LEAST_END = 5.0  # px; edges between lower boxes are left out
_LARGE_FRAME = 120.0  # px; higher frames are filled plainly
_PLAIN_FRAME = 24.0  # px; lower frames have no round corners
_CURVES_FROM = 0.35  # the scale from which edges are curves, however many there are
_MOST_CURVES = 400  # at smaller scales; more are painted as straight lines
_LEAST_LABEL = 64, 22  # px of a group that has a name of its own in the far view
_HEAD_NAME = 24  # letters of a name that a figure leaves room for
BADGE = 14.0  # px: the sign that opens or closes a group
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)

_MOST_KEPT = 20_000  # texts
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
        self._grounds: tuple[WholePicture, dict[int, QColor]] | None = None

    def grounds(self, picture: WholePicture) -> dict[int, QColor]:
        """Return the ground of every frame, a little lighter than that of the one around it.

        They are opaque: to fill much with a color that is not takes many times as long.
        """
        if self._grounds is None or self._grounds[0] is not picture:
            theme = self._theme
            found = {-1: theme.color("canvas")}
            for node in picture.frames.tolist():
                backend = picture.looks[node].backend
                tint, share = theme.color("text1"), _LIGHTER
                if backend >= 0:
                    tint, share = backend_color(backend, theme), _TINT
                below = found[int(picture.tree.parent[node])]
                found[node] = QColor.fromRgb(mix(below.rgb() & _RGB, tint.rgb() & _RGB, share))
            self._grounds = picture, found
        return self._grounds[1]

    @property
    def theme(self) -> Theme:
        """The theme of all pictures."""
        return self._theme

    def font(self, role: FontRole, size: int) -> tuple[QFont, QFontMetricsF]:
        """Return the font of a role with letters of some px, and its metrics."""
        found = self._fonts.get((role, size))
        if found is None:
            font = self._theme.font(role)
            font.setPixelSize(size)
            found = self._fonts[role, size] = font, QFontMetricsF(font)
        return found

    def fitted(self, text: str, role: FontRole, size: int, room: float, *, left: bool) -> str:
        """Return as much of a text as fits into some px. left: cut its start."""
        key = text, role, size, int(room), left
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            side = Qt.TextElideMode.ElideLeft if left else Qt.TextElideMode.ElideRight
            found = elided_text(self.font(role, size)[1], text, side, int(room))
            found = self._texts[key] = "" if found == "…" else found
        return found


class WholePainter:
    """Paints pictures, and keeps fonts and cut texts between frames."""

    def __init__(self, theme: Theme) -> None:
        self._kept = PaintCache(theme)

    def paint(
        self,
        painter: QPainter,
        picture: WholePicture,
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
        frame = _Frame(self._kept, painter, picture, origin, scale, room)
        frame.has_curves = exact or frame.is_simple
        frame.paint_frames()
        frame.paint_edges(marked)
        frame.paint_boxes()
        frame.paint_labels()
        frame.paint_rings(marked, current)

    def paint_map(
        self, painter: QPainter, picture: WholePicture, origin: QPointF, scale: float
    ) -> None:
        """Paint the whole picture small: frames and boxes without edges and texts."""
        size = picture.answer.layout
        room = QRectF(origin.x(), origin.y(), size.width * scale, size.height * scale)
        frame = _Frame(self._kept, painter, picture, origin, scale, room)
        frame.paint_frames()
        frame.paint_plain()


class _Frame:
    """One frame: a picture at a scale."""

    def __init__(
        self,
        kept: PaintCache,
        painter: QPainter,
        picture: WholePicture,
        origin: QPointF,
        scale: float,
        room: QRectF,
    ) -> None:
        self.has_curves = True
        self._kept, self._theme, self._painter = kept, kept.theme, painter
        self._picture, self._scale, self._origin = picture, scale, origin
        self._rects = picture.rects * scale + [origin.x(), origin.y()] * 2
        self._seen = room.adjusted(-4, -4, 4, 4)
        self._room = np.array([room.left(), room.top(), room.right(), room.bottom()])
        self._letters = round(_NAME * kept.theme.px(100) / 100 * scale)
        head = picture.head * scale
        self._has_heads = head >= _LEAST_TEXT + 2

    def _in_view(self, rects: Floats, margin: float) -> Bools:
        left, top, right, bottom = self._room.tolist()
        found: Bools = (
            (rects[:, 0] < right + margin)
            & (rects[:, 2] > left - margin)
            & (rects[:, 1] < bottom + margin)
            & (rects[:, 3] > top - margin)
        )
        return found

    # -- frames ----------------------------------------------------------------------------------

    def paint_frames(self) -> None:
        painter, theme, picture = self._painter, self._theme, self._picture
        frames = picture.frames
        frames = frames[self._in_view(self._rects[frames], 2.0)]
        high = self._rects[frames, 3] - self._rects[frames, 1]
        frames, high = frames[high >= 4], high[high >= 4]
        grounds, line = self._kept.grounds(picture), QPen(theme.color("line"), 1.0)
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
        size = max(round(_FIGURE * scale), _LEAST_TEXT)
        font, metrics = self._kept.font("caption", size)
        name = self._kept.font("section", max(self._letters, _LEAST_TEXT))[1]
        figure_room = right - left - name.horizontalAdvance(look.name[:_HEAD_NAME]) - 24 * scale
        shown = look.figure
        if metrics.horizontalAdvance(shown) > figure_room:
            shown = value_of(shown)
        width = metrics.horizontalAdvance(shown)
        if shown and width < (right - left) * 0.7:
            painter.setFont(font)
            painter.setPen(theme.color("text1" if look.backend >= 0 else "text2"))
            at = QRectF(right - width - 1, head.top(), width + 1, head.height())
            painter.drawText(at, _RIGHT, shown)
            right -= width + 6 * scale
            if look.backend >= 0:
                side = 9 * scale
                chip = QRectF(right - side, head.center().y() - side / 2, side, side)
                colors = colors_of(look.fill, theme)
                painter.setPen(QPen(colors.outline, 1.0))
                painter.setBrush(colors.fill)
                painter.drawRoundedRect(chip, 2, 2)
                right -= side + 6 * scale
        self._paint_name(QRectF(left, head.top(), right - left, head.height()), look)

    def _paint_name(self, room: QRectF, look: NodeLook) -> None:
        """Paint the name of a group, and what it is if there is room."""
        size = max(self._letters, _LEAST_TEXT)
        name = self._kept.fitted(look.name, "section", size, room.width(), left=False)
        font, metrics = self._kept.font("section", size)
        painter = self._painter
        painter.setFont(font)
        painter.setPen(self._theme.color("text1"))
        painter.drawText(room, _VCENTER, name)
        room = room.adjusted(metrics.horizontalAdvance(name) + 6 * self._scale, 0, 0, 0)
        if look.detail and room.width() > 24:
            small = max(round(_FIGURE * self._scale), _LEAST_TEXT)
            detail = self._kept.fitted(look.detail, "caption", small, room.width(), left=False)
            painter.setFont(self._kept.font("caption", small)[0])
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
        found: Bools = self._picture.least_ends * self._scale >= _LEAST_END
        return found

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
        some = among[of]
        left, top, right, bottom = self._room.tolist()
        shift = [self._origin.x() - left, self._origin.y() - top]
        columns, lines = max(round(right - left), 0), max(round(bottom - top), 0)
        on = line_pixels(
            start[some] * self._scale + shift, end[some] * self._scale + shift, columns, lines
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
            return  # it goes on outside of its group
        before, end = layout.points[layout.ptr[edge + 1] - 2 : layout.ptr[edge + 1]].tolist()
        tip = self._origin + QPointF(*end) * scale
        if scale >= 0.3:
            long, half = max(7.0 * scale, 4.0), max(3.5 * scale, 2.0)
            back = QPointF(0, long if before[1] > end[1] else -long)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            sides = tip + back - QPointF(half, 0), tip + back + QPointF(half, 0)
            painter.drawPolygon(QPolygonF([tip, *sides]))
        if count > 1 and self._letters >= _LEAST_TEXT:
            self._paint_count(tip.x(), tip.y(), count)

    def _paint_count(self, x: float, y: float, count: int) -> None:
        """Paint how many edges are merged, next to the end of an edge."""
        painter, theme = self._painter, self._theme
        font, metrics = self._kept.font("zero_length", max(round(10 * self._scale), _LEAST_TEXT))
        text = group_digits(count)
        width, height = metrics.horizontalAdvance(text), metrics.height()
        painter.setFont(font)
        painter.setPen(theme.color("text2"))
        at = QRectF(x + 5 * self._scale, y - height - 2 * self._scale, width + 2, height)
        painter.drawText(at, _VCENTER, text)

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
        for node in boxes[self._in_view(rects, 6.0)].tolist():
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
            colors = colors_of(fill, self._theme)
            is_blank = not isinstance(fill, int) and not isinstance(fill, ChangeFill)
            painter.setBrush(colors.outline if is_blank else colors.fill)
            painter.drawRects(rects)
        painter.restore()

    def _paint_box(self, node: int) -> None:
        painter, theme, picture, scale = self._painter, self._theme, self._picture, self._scale
        rect, look = self._rect(node), picture.looks[node]
        is_group = bool(picture.tree.is_group[node])
        colors = colors_of(look.fill, theme)
        pen = QPen(colors.outline, 1.0)
        if colors.is_dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        if look.backend >= 0:
            pen = QPen(backend_color(look.backend, theme), 1.6, Qt.PenStyle.DashLine)
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

    def _paint_texts(
        self, node: int, rect: QRectF, look: NodeLook, color: QColor, *, is_group: bool
    ) -> None:
        painter, scale = self._painter, self._scale
        left, right = rect.left() + 8 * scale, rect.right() - 6 * scale
        if is_group:
            self._paint_badge(QPointF(left + BADGE * scale / 2, rect.center().y()), is_open=False)
            left += (BADGE + 6) * scale
        size = max(self._letters, _LEAST_TEXT)
        small = max(round(_FIGURE * scale), _LEAST_TEXT)
        detail = look.detail
        if is_group:
            count = group_digits(int(self._picture.tree.operators[node]))
            detail = look.detail if self._picture.tree.kind[node] != GroupKind.MODULE else (
                f"{look.detail} · {count} ops" if look.detail else f"{count} ops")  # fmt: skip
        second = look.figure or detail
        lines = 2 if rect.height() >= size + small + 4 and second else 1
        height = (rect.height() - 4 * scale) / lines
        top = rect.top() + 2 * scale
        first = QRectF(left, top, right - left, height)
        name = self._kept.fitted(look.name, "section", size, first.width(), left=False)
        font, metrics = self._kept.font("section", size)
        painter.setFont(font)
        painter.setPen(color)
        painter.drawText(first, _VCENTER, name)
        rest = first.adjusted(metrics.horizontalAdvance(name) + 6 * scale, 0, 0, 0)
        if lines == 1:
            return
        painter.setFont(self._kept.font("caption", small)[0])
        if look.figure and detail and rest.width() > 24:
            is_path = not is_group
            shown = self._kept.fitted(detail, "caption", small, rest.width(), left=is_path)
            painter.setOpacity(painter.opacity() * 0.75)
            painter.drawText(rest, _RIGHT, shown)
            painter.setOpacity(painter.opacity() / 0.75)
        below = first.translated(0, height)
        if look.verdict is not None:
            side = SIDE * min(scale, 1.0)
            painter.save()
            painter.translate(below.left() + side / 2, below.center().y())
            painter.scale(min(scale, 1.0), min(scale, 1.0))
            paint_mark(painter, QPointF(0, 0), look.verdict.value, self._theme, color)
            painter.restore()
            below = below.adjusted(side + 4 * scale, 0, 0, 0)
            painter.setFont(self._kept.font("caption", small)[0])
            painter.setPen(color)
        is_path = second is detail and not is_group
        painter.drawText(
            below,
            _VCENTER,
            self._kept.fitted(second, "caption", small, below.width(), left=is_path),
        )

    # -- over all --------------------------------------------------------------------------------

    def paint_labels(self) -> None:
        """Far away: name the innermost groups that are still large enough."""
        if self._has_heads:
            return
        picture, painter, theme = self._picture, self._painter, self._theme
        frames = picture.frames[1:]
        if not len(frames):
            return
        rects = self._rects[frames]
        large = (rects[:, 2] - rects[:, 0] >= _LEAST_LABEL[0]) & (
            rects[:, 3] - rects[:, 1] >= _LEAST_LABEL[1]
        )
        named = np.zeros(len(picture.tree), np.bool_)
        named[frames[large]] = True
        named[picture.tree.parent[frames[large]]] = False
        for node in frames[large][::-1].tolist():  # a group around a named one has no name
            if not named[node]:
                named[picture.tree.parent[node]] = False
        font, metrics = self._kept.font("section", round(_NAME))
        painter.setFont(font)
        inside = frames[named[frames]]
        for node in inside[self._in_view(self._rects[inside], 0.0)].tolist():
            rect = self._rect(node)
            text = self._kept.fitted(
                picture.looks[node].name, "section", round(_NAME), rect.width() - 12, left=False
            )
            if not text:
                continue
            width, height = metrics.horizontalAdvance(text) + 10, metrics.height() + 2
            chip = QRectF(rect.left() + 2, rect.top() + 2, width, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("raised", 0.9))
            painter.drawRoundedRect(chip, 3, 3)
            painter.setPen(theme.color("text1"))
            painter.drawText(chip, _CENTER, text)

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


def picture_image(picture: WholePicture, marked: frozenset[int], theme: Theme) -> QImage:
    """Return the whole picture, with 2 pixels per point unless it is very large."""
    size = _picture_size(picture, theme)
    sharp = min(2.0, _LARGEST_IMAGE / max(size.width(), size.height()))
    return painted_image(
        QSize(max(round(size.width() * sharp), 1), max(round(size.height() * sharp), 1)), 1.0,
        lambda painter: _paint_picture(painter, picture, marked, theme, sharp, exact=False),
    )  # fmt: skip


def picture_svg(
    picture: WholePicture, marked: frozenset[int], theme: Theme, title: str, description: str
) -> bytes:
    """Return the whole picture as the bytes of an SVG file."""
    size = _picture_size(picture, theme)
    return svg_bytes(
        size, title, description,
        lambda painter: _paint_picture(painter, picture, marked, theme, 1.0, exact=True),
    )  # fmt: skip


def _picture_size(picture: WholePicture, theme: Theme) -> QSize:
    layout, margin = picture.answer.layout, 2 * theme.px(_IMAGE_MARGIN)
    return QSize(round(layout.width) + margin, round(layout.height) + margin)


def _paint_picture(
    painter: QPainter,
    picture: WholePicture,
    marked: frozenset[int],
    theme: Theme,
    scale: float,
    *,
    exact: bool,
) -> None:
    size, margin = _picture_size(picture, theme), theme.px(_IMAGE_MARGIN) * scale
    room = QRectF(0, 0, size.width() * scale, size.height() * scale)
    painter.fillRect(room, theme.color("canvas"))
    WholePainter(theme).paint(
        painter, picture, QPointF(margin, margin), scale, room, marked, exact=exact
    )
