"""The timeline as one widget: overview, ruler, headers, canvas and scroll bar in a grid."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QScrollBar, QVBoxLayout, QWidget

from viewer.crash_report import guard
from viewer.opening import Inferences
from viewer.session import Session
from viewer.theme import Theme
from viewer.timeline.headers import TITLE_INDENT, WIDTH, Headers
from viewer.timeline.marks_bar import MarksBar
from viewer.timeline.overview import BAND_HEIGHT, LANES_HEIGHT, Overview
from viewer.timeline.ruler import HEIGHT as RULER_HEIGHT
from viewer.timeline.ruler import RulerBar
from viewer.timeline.ruler_drag import RulerDrag
from viewer.timeline.scene import Scene
from viewer.timeline.view import SCROLL_PER_NOTCH, TimelineView

ABOVE = BAND_HEIGHT + LANES_HEIGHT + RULER_HEIGHT
BELOW_ROWS = 20


class Timeline(QWidget):
    """All parts of the timeline over one scene."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = Scene(session)
        self.view = TimelineView(self.scene, theme)
        self.view.frames.title_indent = TITLE_INDENT - WIDTH
        self.ruler = RulerBar(self.scene, theme)
        self.marks = MarksBar(self.scene, theme)
        RulerDrag(self.ruler, self.view)
        self.overview = Overview(self.scene, theme)
        self.headers = Headers(self.scene, theme)
        self._corner = _Corner(self.scene, self.ruler, theme)
        self._bar = QScrollBar(Qt.Orientation.Vertical)
        self._bar.setSingleStep(SCROLL_PER_NOTCH)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self._corner, 0, 0, 2, 1)
        grid.addWidget(self.overview, 0, 1)
        grid.addLayout(_stacked(self.ruler, self.marks), 1, 1)
        grid.addWidget(self.headers, 2, 0)
        grid.addWidget(self.view, 2, 1)
        grid.addWidget(self._bar, 2, 2)
        grid.setRowStretch(2, 1)
        grid.setColumnStretch(1, 1)
        self._bar.valueChanged.connect(self.scene.scroll_to)
        self.scene.arranged.connect(self._fit_bar)
        self.scene.scrolled.connect(self._fit_bar)
        self.setMinimumHeight(ABOVE + 60)

    @property
    def content_height(self) -> int:
        """The height at which all rows are seen without scrolling."""
        return ABOVE + self.scene.layout.total_height + BELOW_ROWS

    @guard(QSize(800, 400))
    def sizeHint(self) -> QSize:
        """As tall as the rows."""
        return QSize(800, self.content_height)

    def _fit_bar(self) -> None:
        self._bar.blockSignals(True)
        self._bar.setRange(0, self.scene.scroll_limit)
        self._bar.setPageStep(max(self.scene.viewport_height, 1))
        self._bar.setValue(self.scene.scroll)
        self._bar.blockSignals(False)
        self._bar.setVisible(self.scene.scroll_limit > 0)


def _stacked(*widgets: QWidget) -> QVBoxLayout:
    """Widgets below one another, without gaps."""
    column = QVBoxLayout()
    column.setSpacing(0)
    for widget in widgets:
        column.addWidget(widget)
    return column


class _Corner(QWidget):
    """Says what the band, the overview and the ruler beside it show."""

    def __init__(self, scene: Scene, ruler: RulerBar, theme: Theme) -> None:
        super().__init__()
        self._scene, self._ruler, self._theme = scene, ruler, theme
        self.setFixedWidth(WIDTH)
        scene.changed.connect(self.update)
        theme.changed.connect(self.update)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint three captions."""
        painter = QPainter(self)
        theme, width = self._theme, self.width()
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setFont(theme.font("ruler"))
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        captions = (
            ("Inferences" if self._has_runs() else "", 0, BAND_HEIGHT),
            ("Overview", BAND_HEIGHT, LANES_HEIGHT),
            (self._ruler.caption, BAND_HEIGHT + LANES_HEIGHT, RULER_HEIGHT),
        )
        painter.setPen(theme.color("text2"))
        for text, top, height in captions:
            painter.drawText(TITLE_INDENT, top, width - TITLE_INDENT, height, left, text)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(width - 1, 0, width - 1, self.height())
        painter.drawLine(0, self.height() - 1, width, self.height() - 1)
        painter.end()

    def _has_runs(self) -> bool:
        # Aligned runs lie over one another, and their mean is none of them.
        session = self._scene.session
        as_run = session.state.inferences is Inferences.AS_RUN
        return as_run and any(shown.trace.runs for shown in session.traces)
