"""The timeline widget: overview, ruler, headers, canvas, legend and scroll bar in a grid."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QScrollBar, QVBoxLayout, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import SCROLL_PER_NOTCH
from viewer.gui.session.session import Session
from viewer.gui.timeline.bookmarks_bar import BookmarksBar
from viewer.gui.timeline.corner import Corner
from viewer.gui.timeline.headers.headers import TITLE_INDENT, Headers
from viewer.gui.timeline.legend import Legend
from viewer.gui.timeline.legend_buttons import HEIGHT as LEGEND_HEIGHT
from viewer.gui.timeline.overview import BAND_HEIGHT, LANES_HEIGHT, Overview
from viewer.gui.timeline.ruler import HEIGHT as RULER_HEIGHT
from viewer.gui.timeline.ruler import RulerBar
from viewer.gui.timeline.ruler_drag import RulerDrag
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.view import TimelineView

ABOVE = BAND_HEIGHT + LANES_HEIGHT + RULER_HEIGHT
BELOW_ROWS = 12
_OTHER_PIXELS = {QEvent.Type.Show, QEvent.Type.DevicePixelRatioChange}


class Timeline(QWidget):
    """Combines all parts of the timeline, which share one scene."""

    header_width_changed = Signal(int)  # px, when changed by the user

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = Scene(session)
        self.scene.font_scale = theme.scale
        self.view = TimelineView(self.scene, theme)
        self.ruler = RulerBar(self.scene, theme)
        self.marks = BookmarksBar(self.scene, theme)
        RulerDrag(self.ruler, self.view)
        self.overview = Overview(self.scene, theme)
        self.headers = Headers(self.scene, theme)
        self.legend = Legend(self.scene, theme)
        self.corner = Corner(self.scene, self.ruler, theme)
        self._bar = QScrollBar(Qt.Orientation.Vertical)
        self._bar.setSingleStep(SCROLL_PER_NOTCH)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.corner, 0, 0, 2, 1)
        grid.addWidget(self.overview, 0, 1)
        grid.addLayout(_stacked(self.ruler, self.marks), 1, 1)
        grid.addWidget(self.headers, 2, 0)
        grid.addWidget(self.view, 2, 1)
        grid.addWidget(self._bar, 2, 2)
        grid.addWidget(self.legend, 3, 0, 1, 3)
        grid.setRowStretch(2, 1)
        grid.setColumnStretch(1, 1)
        self._bar.valueChanged.connect(self.scene.scroll_to)
        self.scene.arranged.connect(self._fit_bar)
        self.scene.scrolled.connect(self._fit_bar)
        self.corner.filter.left.connect(self.view.setFocus)
        self.marks.left.connect(self.view.setFocus)
        self.headers.width_changed.connect(self.set_header_width)
        self.headers.width_changed.connect(self.header_width_changed)
        self.set_header_width(self.headers.width())
        self.setMinimumHeight(ABOVE + 60 + LEGEND_HEIGHT)
        self._cover()

    def set_header_width(self, width: int) -> None:
        """Set the width of the headers column in px."""
        self.headers.set_width(width)
        self.corner.setFixedWidth(self.headers.width())
        self.legend.set_indent(self.headers.width())
        # Titles of processes extend from the headers onto the canvas.
        self.view.frames.title_indent = TITLE_INDENT - self.headers.width()
        self.view.viewport().update()

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Update the paint attributes, as the window may have moved to another screen."""
        if event.type() in _OTHER_PIXELS:
            self._cover()
        return bool(super().event(event))

    def _cover(self) -> None:
        """Tell Qt that the parts paint their entire area.

        Otherwise Qt first paints everything behind them, which takes half of the time of a frame.
        Not possible if a layout pixel is not a whole number of device pixels, because the
        background then shows at the edges.
        """
        whole = self.devicePixelRatioF().is_integer()
        parts = (
            self.view.viewport(),
            self.headers,
            self.ruler,
            self.marks,
            self.overview,
            self.corner,
            self.legend,
        )
        for part in parts:
            part.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, whole)

    @property
    def content_height(self) -> int:
        """The height at which all rows are visible without scrolling, in px."""
        legend = 0 if self.legend.isHidden() else self.legend.height()
        return ABOVE + self.scene.layout.total_height + BELOW_ROWS + legend

    @guard(QSize(800, 400))
    def sizeHint(self) -> QSize:
        """As tall as the content."""
        return QSize(800, self.content_height)

    def _fit_bar(self) -> None:
        self._bar.blockSignals(True)
        self._bar.setRange(0, self.scene.scroll_limit)
        self._bar.setPageStep(max(self.scene.viewport_height, 1))
        self._bar.setValue(self.scene.scroll)
        self._bar.blockSignals(False)
        self._bar.setVisible(self.scene.scroll_limit > 0)


def _stacked(*widgets: QWidget) -> QVBoxLayout:
    """Stack widgets vertically without gaps."""
    column = QVBoxLayout()
    column.setSpacing(0)
    for widget in widgets:
        column.addWidget(widget)
    return column
