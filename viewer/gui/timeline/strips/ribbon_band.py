"""The band between the strips of two compared arms: ribbons from what changed in A to that in B.

A click on a label selects the pair. The tables have the same rows for the keyboard.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.session.comparison import select_row
from viewer.gui.timeline.painting.ribbons import RibbonPainter
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.strips.header import BAND_HEIGHT
from viewer.model.times import counted
from viewer.render.canvas import Canvas


class RibbonBand(QWidget):
    """Paints the ribbons between the canvas of one strip and that of the next."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        """scene: of the lower strip, which is arm B."""
        super().__init__()
        self._scene, self._theme = scene, theme
        self._above: Scene | None = None
        self.ribbons: RibbonPainter | None = None
        self.setFixedHeight(BAND_HEIGHT)
        self.setMouseTracking(True)
        self.setAccessibleName("Changed pairs")
        self.hide()
        scene.changed.connect(self.update)
        scene.moved.connect(self.update)
        scene.drawings.compared_marks.changed.connect(self._describe)
        theme.changed.connect(self.update)

    @property
    def is_joined(self) -> bool:
        """Whether it connects its strip with the one above."""
        return self._above is not None

    def join(self, above: Scene | None) -> None:
        """Connect the strip with that of another scene, which is arm A; None: with none."""
        if above is self._above:
            return
        if self._above is not None:
            self._above.changed.disconnect(self.update)
            self._above.moved.disconnect(self.update)
        self._above = above
        self.ribbons = None
        if above is not None:
            above.changed.connect(self.update)
            above.moved.connect(self.update)
            self.ribbons = RibbonPainter(above, self._scene, self._theme)
        self._describe()

    def _describe(self) -> None:
        pairs = self._scene.drawings.compared_marks.answer.pairs
        text = counted(0 if pairs is None else len(pairs), "changed pair")
        self.setAccessibleDescription(f"{text}; the rows of Operators select them")
        self.update()

    def row_at(self, position: QPointF) -> int:
        """The row of the comparison whose label is at a point, -1 without one."""
        return -1 if self.ribbons is None else self.ribbons.row_at(position)

    def tip_of(self, row: int) -> str:
        """The tooltip of a row of the comparison: its name, change and verdict."""
        from viewer.reports.compare_text import change_text, difference_text, verdict_text

        open_comparison = self._scene.drawings.compared_marks.comparison
        if open_comparison is None or row < 0:
            return ""
        of, compared = open_comparison.rows[row]
        change = f"{difference_text(compared.change_ns)} ({change_text(compared)})"
        return f"{of.label}: {change}. {verdict_text(compared)}"

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ribbons and their labels."""
        painter, theme = QPainter(self), self._theme
        if self.ribbons is not None:
            canvas = Canvas(self.width(), self.height(), self.devicePixelRatioF())
            self.ribbons.paint_band(painter, canvas)
        painter.setPen(QPen(theme.color("hairline"), 1))
        for y in (0, self.height() - 1):
            painter.drawLine(0, y, self.width(), y)
        painter.end()

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand over labels."""
        over = self.row_at(event.position()) >= 0
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the pair whose label is clicked."""
        row, open_comparison = (
            self.row_at(event.position()),
            self._scene.drawings.compared_marks.comparison,
        )
        if event.button() == Qt.MouseButton.LeftButton and row >= 0 and open_comparison is not None:
            select_row(self._scene.session, open_comparison, row)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Show the name and the verdict of a label in a tooltip."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            text = self.tip_of(self.row_at(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), tip(text), self)
            return True
        return bool(super().event(event))
