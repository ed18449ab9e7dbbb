"""The column left of the canvas: names of processes and tracks, and what each row shows."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QBrush, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QWheelEvent
from PySide6.QtWidgets import QWidget

from viewer.crash_report import guard
from viewer.model.trace import KeyKind, Trace
from viewer.theme import FontRole, Theme
from viewer.timeline.layout import BandKind
from viewer.timeline.painting import paint_process_header
from viewer.timeline.scene import Scene
from viewer.timeline.wheel import turn_of

WIDTH = 196
TITLE_INDENT = 28
_LOOKED_AT = 512  # slices of a row that tell what it holds


class Headers(QWidget):
    """Paints the names beside the rows, at the same scroll; a click folds and opens."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene, self._theme = scene, theme
        self.setFixedWidth(WIDTH)
        self.setAccessibleName("Processes and tracks")
        scene.changed.connect(self.update)
        theme.changed.connect(self.update)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the headers of the visible bands."""
        painter = QPainter(self)
        scene, theme, layout = self._scene, self._theme, self._scene.layout
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(self.width() - 1, 0, self.width() - 1, self.height())
        named: set[tuple[int, int]] = set()
        for band in layout.bands_between(scene.scroll, scene.scroll + self.height()):
            y, height = int(layout.y[band]) - scene.scroll, int(layout.height[band])
            room = QRect(0, y, self.width(), height)
            kind = layout.kind[band]
            if kind == BandKind.PROCESS:
                self._process(painter, int(layout.process[band]), room)
            elif kind == BandKind.GAP:
                painter.fillRect(room, theme.color("canvas"))
            elif kind == BandKind.ROW:
                self._row(painter, band, room, named)
            elif kind == BandKind.COUNTER:
                self._counter(painter, band, room)
            if layout.process[band] >= 0 and scene.has_own_clock(int(layout.process[band])):
                stripes = QBrush(theme.color("warning"), Qt.BrushStyle.BDiagPattern)
                painter.fillRect(QRect(0, y, 4, height), stripes)
        painter.end()

    def _process(self, painter: QPainter, process: int, room: QRect) -> None:
        paint_process_header(painter, self._scene, self._theme, process, room, TITLE_INDENT)
        if process < 0:
            return
        spec = self._scene.processes[process]
        folded = (spec.trace, spec.name) in self._scene.session.state.tracks.collapsed
        x, y = 12.5, room.center().y() + 0.5
        points = [(0, -3), (4, 1), (0, 5)] if folded else [(-2, -1), (2, 3), (6, -1)]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("text2"), 1.5))
        painter.drawPolyline(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in points]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _row(self, painter: QPainter, band: int, room: QRect, named: set[tuple[int, int]]) -> None:
        layout, scene, theme = self._scene.layout, self._scene, self._theme
        part = int(layout.trace[band]), int(layout.track[band])
        room = room.adjusted(TITLE_INDENT, 0, -10, 0)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        first = band == 0 or (int(layout.trace[band - 1]), int(layout.track[band - 1])) != part
        if first and part not in named:
            named.add(part)
            title, hint = scene.track_title(*part)
            painter.setFont(theme.font("ruler"))
            painter.setPen(theme.color("text3"))
            painter.drawText(room, right, hint)
            taken = painter.fontMetrics().horizontalAdvance(hint) + 8 if hint else 0
            painter.setFont(theme.font("process"))
            painter.setPen(theme.color("text1"))
            title = painter.fontMetrics().elidedText(
                title, Qt.TextElideMode.ElideMiddle, room.width() - taken
            )
            painter.drawText(room, left, title)
            return
        painter.setFont(theme.font("ruler"))
        painter.setPen(theme.color("text3"))
        text = row_hint(scene.pictures[part[0]].shown.trace, int(layout.row[band]))
        painter.drawText(room, left, text)

    def _counter(self, painter: QPainter, band: int, room: QRect) -> None:
        room = room.adjusted(TITLE_INDENT, 2, -10, -2)
        name, hint = self._scene.counter_title(band)
        upper, lower = (
            room.adjusted(0, 0, 0, -room.height() // 2),
            room.adjusted(0, room.height() // 2, 0, 0),
        )
        self._text(painter, name, "label", "text1", upper)
        self._text(painter, hint, "ruler", "text3", lower)

    def _text(self, painter: QPainter, text: str, font: FontRole, ink: str, room: QRect) -> None:
        """One line of text, its end left out where it has no room."""
        painter.setFont(self._theme.font(font))
        painter.setPen(self._theme.color(ink))
        text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold or open the process whose header is clicked."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        layout = self._scene.layout
        band = layout.band_at(event.position().toPoint().y() + self._scene.scroll)
        if band >= 0 and layout.kind[band] == BandKind.PROCESS and layout.process[band] >= 0:
            spec = self._scene.processes[int(layout.process[band])]
            self._scene.session.toggle((spec.trace, spec.name))

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the tracks, as over the canvas."""
        self._scene.scroll_by(-turn_of(event).down)


def row_hint(trace: Trace, row: int) -> str:
    """What a row below the first holds: "instruction", "kernel · delegate event", "lane 2"."""
    slices = trace.slices
    if slices.row_lane[row] and not slices.row_depth[row]:
        return f"overlapping, lane {int(slices.row_lane[row]) + 1}"
    begin, end = int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])
    kinds = set(trace.keys.kind[slices.key[begin : min(end, begin + _LOOKED_AT)]].tolist())
    calls = {KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL, KeyKind.CONTROL}
    inner = {KeyKind.KERNEL: "kernel", KeyKind.DELEGATE_EVENT: "delegate event"}
    if kinds & calls:
        return "instruction"
    if trace.identifier_column:
        return ""
    return " · ".join(text for kind, text in inner.items() if kind in kinds)
