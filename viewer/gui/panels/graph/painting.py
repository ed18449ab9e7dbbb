"""Painting of a graph: boxes, texts that are large enough to read, and curves with arrowheads.

The same code draws on screen, to an image for the clipboard, and to PNG and SVG files.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen, QPolygonF

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.facts import NodeFacts
from viewer.gui.panels.graph.fill_colors import colors_of, paint_hatch
from viewer.gui.panels.graph.fills import ChangeFill
from viewer.gui.panels.graph.picture import MARGIN, NODE_HEIGHT, NODE_WIDTH, GraphPicture
from viewer.gui.qt.image_files import painted_image, svg_bytes
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark

_READABLE = 0.62  # the scale from which all text is drawn; 12 px text is 7.4 px there
_NAMES = 0.42  # the scale from which names are drawn
_MARK_ROOM = SIDE + 5  # px from the mark of a verdict to its text
_LARGE = 8000  # px; larger pictures are copied at 1 pixel per point


def node_size(theme: Theme) -> tuple[float, float]:
    """Return width and height of a node, in px at a scale of 1."""
    return float(theme.px(NODE_WIDTH)), float(theme.px(NODE_HEIGHT))


class GraphPainter:
    """Paints pictures at a scale, with their upper left corner at `origin`, in px."""

    def __init__(self, theme: Theme, origin: QPointF, scale: float) -> None:
        self._theme = theme
        self._origin = origin
        self._scale = scale

    def paint(
        self, painter: QPainter, picture: GraphPicture, room: QRectF, marked: frozenset[int]
    ) -> None:
        """Paint the part of a picture that is inside `room`. marked: the selected operators."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self._origin)
        painter.scale(self._scale, self._scale)
        seen = QRectF((room.topLeft() - self._origin) / self._scale, room.size() / self._scale)
        positions = {picture.around.position.get(o, -1) for o in marked}
        self._paint_edges(painter, picture, seen, positions)
        for position in range(len(picture.nodes)):
            self._paint_node(painter, picture, position, seen, position in positions)
        painter.restore()

    def _paint_edges(
        self, painter: QPainter, picture: GraphPicture, seen: QRectF, marked: set[int]
    ) -> None:
        theme = self._theme
        thin, thick = max(1.2, 0.8 / self._scale), max(2.2, 1.6 / self._scale)
        around = picture.around
        ends = zip(around.producer.tolist(), around.consumer.tolist(), strict=True)
        strong = [a in marked or b in marked for a, b in ends]
        for highlighted, token, width in ((False, "text3", thin), (True, "accent", thick)):
            pen = QPen(theme.color(token), width)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            for number, path in enumerate(picture.paths):
                if strong[number] is not highlighted or path.isEmpty():
                    continue
                if path.controlPointRect().adjusted(-8, -8, 8, 8).intersects(seen):
                    painter.strokePath(path, pen)
                    self._paint_head(painter, picture, number, theme.color(token))

    def _paint_head(
        self, painter: QPainter, picture: GraphPicture, edge: int, color: QColor
    ) -> None:
        line = picture.layout.points[picture.layout.ptr[edge] : picture.layout.ptr[edge + 1]]
        (x, y), before = line[-1], line[-2]
        long, half = max(8.0, 5.0 / self._scale), max(4.0, 2.5 / self._scale)
        if picture.across:
            direction = -1.0 if before[0] > x else 1.0  # an edge that closes a cycle runs backward
            corners = [(x, y), (x - direction * long, y - half), (x - direction * long, y + half)]
        else:
            direction = -1.0 if before[1] > y else 1.0
            corners = [(x, y), (x - half, y - direction * long), (x + half, y - direction * long)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))

    def _paint_node(
        self, painter: QPainter, picture: GraphPicture, position: int, seen: QRectF, marked: bool
    ) -> None:
        theme, node = self._theme, picture.nodes[position]
        width, height = node_size(theme)
        x, y = float(picture.layout.x[position]), float(picture.layout.y[position])
        rect = QRectF(x - width / 2, y - height / 2, width, height)
        if not rect.adjusted(-40, -24, 40, 24).intersects(seen):
            return
        colors = colors_of(node.fill, theme)
        pen = QPen(colors.outline, 1.0)
        if colors.is_dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        if position in picture.seeds:
            pen = QPen(theme.color("text1"), 3.0)
        painter.setPen(pen)
        painter.setBrush(colors.fill)
        painter.drawRoundedRect(rect, 5, 5)
        if isinstance(node.fill, ChangeFill) and node.fill.only_in:
            paint_hatch(painter, rect, theme)
        if marked:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("accent"), max(2.5, 2.0 / self._scale)))
            painter.drawRoundedRect(rect.adjusted(-4, -4, 4, 4), 7, 7)
        if node.tag:
            self._paint_tag(painter, rect, node.tag, colors.text)
        if self._scale >= _NAMES:
            self._paint_texts(painter, rect, node, colors.text)
        if node.verdict is not None:
            self._paint_verdict(painter, rect, node.verdict, colors.text)
        if self._scale >= _READABLE:
            self._paint_hidden(painter, rect, node, picture.across)

    def _paint_texts(self, painter: QPainter, rect: QRectF, node: NodeFacts, color: QColor) -> None:
        theme = self._theme
        painter.setPen(color)
        inset, lines = theme.px(9), rect.adjusted(0, theme.px(3), 0, -theme.px(3))
        rows = [(node.name, "section"), (node.place, "caption"), (node.cost, "caption")]
        rows = [row for row in rows if row[0]]
        if self._scale < _READABLE:
            rows = rows[:1]
        step = lines.height() / max(len(rows), 1)
        for number, (text, role) in enumerate(rows):
            painter.setFont(theme.font(role))  # type: ignore[arg-type]
            metrics = QFontMetricsF(painter.font())
            # The end of a module path is more telling than its start.
            side = Qt.TextElideMode.ElideLeft if text is node.place else Qt.TextElideMode.ElideRight
            mark = theme.px(_MARK_ROOM) if text is node.cost and node.verdict is not None else 0
            width = rect.width() - 2 * inset - mark
            shown = elided_text(metrics, text, side, width)
            at = QRectF(rect.left() + inset + mark, lines.top() + number * step, width, step)
            painter.drawText(at, int(Qt.AlignmentFlag.AlignVCenter), shown)

    def _paint_verdict(
        self, painter: QPainter, rect: QRectF, verdict: Verdict, color: QColor
    ) -> None:
        """Paint the mark before the figure; in small pictures, larger at the end of the node."""
        theme = self._theme
        painter.save()
        if self._scale >= _READABLE:
            step = (rect.height() - 2 * theme.px(3)) / 3
            x, y = rect.left() + theme.px(9 + SIDE / 2), rect.bottom() - theme.px(3) - step / 2
            painter.translate(x, y)
        else:
            large = min(1 / self._scale, rect.height() / theme.px(SIDE) - 1)
            painter.translate(rect.right() - theme.px(SIDE) * large, rect.center().y())
            painter.scale(large, large)
        paint_mark(painter, QPointF(0, 0), verdict.value, theme, color)
        painter.restore()

    def _paint_tag(self, painter: QPainter, rect: QRectF, tag: str, stripe: QColor) -> None:
        """Paint a double left edge, and the delegate call's name above the node."""
        theme = self._theme
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(stripe)
        painter.drawRect(QRectF(rect.left() + 1, rect.top() + 5, 2, rect.height() - 10))
        painter.drawRect(QRectF(rect.left() + 5, rect.top() + 5, 1, rect.height() - 10))
        if self._scale < _READABLE:
            return
        painter.setFont(theme.font("zero_length"))
        metrics = QFontMetricsF(painter.font())
        shown = elided_text(metrics, tag, Qt.TextElideMode.ElideRight, rect.width() * 0.7)
        height = metrics.height()
        at = QRectF(
            rect.left() + 8, rect.top() - height, metrics.horizontalAdvance(shown) + 10, height
        )
        painter.setBrush(theme.color("frame"))
        painter.drawRoundedRect(at, 3, 3)
        painter.setPen(theme.color("frame_label"))
        painter.drawText(at, int(Qt.AlignmentFlag.AlignCenter), shown)

    def _paint_hidden(self, painter: QPainter, rect: QRectF, node: NodeFacts, across: bool) -> None:
        """Paint the numbers of hidden neighbors, each on a short dotted line at its side."""
        theme = self._theme
        painter.setFont(theme.font("zero_length"))
        metrics = QFontMetricsF(painter.font())
        pen = QPen(theme.color("text2"), 1.2)
        for count, direction in zip(node.hidden, (-1, 1), strict=True):
            if not count:
                continue
            text, height = f"+{count}", metrics.height()
            width = metrics.horizontalAdvance(text) + 4
            pen.setStyle(Qt.PenStyle.DotLine)
            painter.setPen(pen)
            if across:
                x, y = rect.left() if direction < 0 else rect.right(), rect.bottom() - 8
                painter.drawLine(QPointF(x, y), QPointF(x + direction * 8, y))
                at = QRectF(
                    x + 9 if direction > 0 else x - 9 - width, y - height / 2, width, height
                )
            else:
                x, y = rect.right() - 14, rect.top() if direction < 0 else rect.bottom()
                painter.drawLine(QPointF(x, y), QPointF(x, y + direction * 6))
                at = QRectF(x - width - 2, y if direction > 0 else y - height, width, height)
            painter.setPen(theme.color("text2"))
            painter.drawText(at, int(Qt.AlignmentFlag.AlignCenter), text)


def whole_image(picture: GraphPicture, marked: frozenset[int], theme: Theme) -> QImage:
    """Paint a whole picture at a scale of 1, usually with 2 pixels per point."""
    size = _whole_size(picture, theme)
    sharp = 2.0 if max(size.width(), size.height()) < _LARGE else 1.0
    return painted_image(size, sharp, lambda to: _paint_whole(to, picture, marked, theme, size))


def whole_svg(
    picture: GraphPicture, marked: frozenset[int], theme: Theme, title: str, description: str
) -> bytes:
    """Return a whole picture as the bytes of an SVG file."""
    size = _whole_size(picture, theme)
    return svg_bytes(
        size, title, description, lambda to: _paint_whole(to, picture, marked, theme, size)
    )


def _whole_size(picture: GraphPicture, theme: Theme) -> QSize:
    margin = 2 * theme.px(MARGIN)
    layout = picture.layout
    return QSize(round(layout.width) + margin, round(layout.height) + margin)


def _paint_whole(
    painter: QPainter, picture: GraphPicture, marked: frozenset[int], theme: Theme, size: QSize
) -> None:
    margin = theme.px(MARGIN)
    painter.fillRect(QRect(QPoint(0, 0), size), theme.color("canvas"))
    graph = GraphPainter(theme, QPointF(margin, margin), 1.0)
    graph.paint(painter, picture, QRectF(0, 0, size.width(), size.height()), marked)
