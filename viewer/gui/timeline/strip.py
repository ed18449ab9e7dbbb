"""The strip of one clock group: overview, ruler, headers, canvas and scroll bar in a grid.

A single strip is the whole timeline; it has a header only to say why its files are on one axis. The
strip of arm B in a comparison is joined to that of arm A: its rows follow directly, with a band of
ribbons between, because both have the overview and the ruler of A.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QScrollBar, QToolTip, QVBoxLayout, QWidget

from viewer.dataclasses import replace
from viewer.gui.qt.canvases import SCROLL_PER_NOTCH
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.session.comparison import select_row
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.gui.timeline.bookmarks_bar import BookmarksBar
from viewer.gui.timeline.derived_band import DerivedBand
from viewer.gui.timeline.overview import FULL_SIZES, Minimap, Overview
from viewer.gui.timeline.painting.pixels import draw_pixels
from viewer.gui.timeline.painting.ribbons import RibbonPainter, RibbonTails
from viewer.gui.timeline.ruler import HEIGHT as RULER_HEIGHT
from viewer.gui.timeline.ruler import Corner, RulerBar, RulerDrag
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.strip_header import BAND_HEIGHT, StripHeader
from viewer.gui.timeline.track_headers import TITLE_INDENT, Headers
from viewer.gui.timeline.view import TimelineView
from viewer.model.times import counted
from viewer.render.layout import Canvas
from viewer.view.state import StripView

HEIGHT = 5  # px


class StripEdge(QWidget):
    """Resizes the rows of a strip; all moves of one drag are one undo step."""

    def __init__(self, scene: Scene, rows: QWidget, tails: RibbonTails, theme: Theme) -> None:
        """rows: the canvas above. tails: of the ribbons on it."""
        super().__init__()
        self._scene, self._rows, self._tails, self._theme = scene, rows, tails, theme
        self._grip: int | None = None  # height of the rows minus y of the mouse on the screen
        self._before = scene.session.state  # when the current drag began
        self._set: StripView | None = None  # as this drag left it
        self.setFixedHeight(HEIGHT)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setToolTip("Drag to resize; double-click to show all rows")
        self._is_joined = False  # with the strip below
        theme.changed.connect(self.update)

    def set_joined(self, joined: bool) -> None:
        """Set whether ribbons cross it on their way to the strip below."""
        if joined != self._is_joined:
            self._is_joined = joined
            for signal in (self._scene.changed, self._scene.moved):
                if joined:
                    signal.connect(self.update)
                else:
                    signal.disconnect(self.update)
            self.update()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, left = QPainter(self), self._theme, self._rows.x()
        painter.fillRect(self.rect(), theme.color("panel"))
        if self._is_joined:
            ratio, wide = self.devicePixelRatioF(), self._rows.width()
            canvas, rows = Canvas(wide, HEIGHT, ratio), Canvas(wide, self._rows.height(), ratio)
            ground = theme.pixel("canvas")
            image = np.full((canvas.lines, canvas.columns), ground, np.uint32)
            self._tails.stamp_below(image, rows)
            painter.translate(left, 0)
            draw_pixels(painter, image, canvas)
        else:
            painter.fillRect(0, HEIGHT - 1, self.width(), 1, theme.color("line"))
        painter.end()

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._grip = self._rows.height() - round(event.globalPosition().y())
            self._set = None
            self._before = self._scene.session.state

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is not None:
            self._choose(self._grip + round(event.globalPosition().y()))

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grip = None

    def cancel_drag(self) -> bool:
        """Take back what the current drag has done; returns whether there was one."""
        going, self._grip = self._grip is not None, None
        if going and self._scene.session.state is not self._before:
            self._scene.session.undo()
        return going

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Let the strip be as tall as its rows again."""
        self._choose(None)

    def _choose(self, height: int | None) -> None:
        session = self._scene.session
        now = session.state.strips
        strips = now.with_height(self._scene.clock, height)
        session.change(replace(session.state, strips=strips), remember=self._set is not now)
        self._set = session.state.strips


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
        over = self.row_at(event.position()) >= 0
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position())
        open_comparison = self._scene.drawings.compared_marks.comparison
        if event.button() == Qt.MouseButton.LeftButton and row >= 0 and open_comparison is not None:
            select_row(self._scene.session, open_comparison, row)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            text = self.tip_of(self.row_at(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), tip(text), self)
            return True
        return bool(super().event(event))


ABOVE = FULL_SIZES.height + RULER_HEIGHT
BELOW_ROWS = 12
_LOWEST_ROWS = 44  # px, for the sentence that is shown without rows


class ClockStrip(QWidget):
    """Combines the parts of one strip, which share a scene."""

    resized = Signal()  # it wants another height

    def __init__(self, drawings: Drawings, theme: Theme, clock: str = "") -> None:
        super().__init__()
        self.scene = Scene(drawings, clock)
        self.scene.font_scale = theme.scale
        self.view = TimelineView(self.scene, theme)
        self.header = StripHeader(self.scene, theme, self.view.viewport().width)
        self.ruler = RulerBar(self.scene, theme)
        self.bookmarks_bar = BookmarksBar(self.scene, theme)
        RulerDrag(self.ruler, self.view)
        self.overview = Overview(self.scene, theme)
        self.headers = Headers(self.scene, theme)
        self.derived = DerivedBand(self.scene, theme, self.headers)
        self.corner = Corner(self.scene, self.overview, self.ruler, theme)
        self.edge = StripEdge(self.scene, self.view, self.view.frames.tails, theme)
        self._bar = QScrollBar(Qt.Orientation.Vertical)
        self._bar.setSingleStep(SCROLL_PER_NOTCH)
        self.minimap = Minimap(self.scene, theme)
        self.band = RibbonBand(self.scene, theme)
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.header, 0, 0, 1, 4)
        grid.addWidget(self.band, 0, 1)
        grid.addWidget(self.corner, 1, 0, 2, 1)
        grid.addWidget(self.overview, 1, 1)
        grid.addLayout(_stacked(self.ruler, self.bookmarks_bar), 2, 1)
        grid.addWidget(self.headers, 3, 0)
        grid.addWidget(self.view, 3, 1)
        grid.addWidget(self.minimap, 3, 2)
        grid.addWidget(self._bar, 3, 3)
        grid.addWidget(self.derived, 4, 0, 1, 2)
        grid.addWidget(self.edge, 5, 0, 1, 4)
        grid.setRowStretch(3, 1)
        self.view.setMinimumHeight(1)  # its hint would take the room of the parts above low rows
        grid.setColumnStretch(1, 1)
        self._bar.valueChanged.connect(self.scene.scroll_to)
        self.scene.pointed.connect(self.show_pointed)
        self.scene.arranged.connect(self._fit_bar)
        self.scene.arranged.connect(self._check_height)
        self.scene.arranged.connect(self._fit_minimap)
        self.scene.scrolled.connect(self._fit_bar)
        self.scene.session.bookmarks_changed.connect(self._fit_overview)
        self.scene.session.bookmarks_changed.connect(self._check_height)
        DerivedTracks.of(self.scene.session).changed.connect(self._check_height)
        self.corner.filter.left.connect(self.view.setFocus)
        self.bookmarks_bar.left.connect(self.view.setFocus)
        for part in (self.header, self.ruler, self.overview, self.corner, self.minimap):
            # A click on them makes the clock active, so that keys act on its canvas.
            part.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            part.setFocusProxy(self.view)
        named = (self.view, self.headers, self.overview, self.bookmarks_bar, self.corner.filter)
        self._names = {part: part.accessibleName() for part in named}
        self._told_height = (-1, -1)  # when it last asked for another height
        self.set_header_width(self.headers.width())
        self.fit()

    def discard(self) -> None:
        """Delete the strip with its scene."""
        self.hide()
        self.scene.deleteLater()
        self.deleteLater()

    @property
    def painted_parts(self) -> tuple[QWidget, ...]:
        """The parts that paint their entire area."""
        return (
            self.header,
            self.band,
            self.view.viewport(),
            self.headers,
            self.minimap,
            self.ruler,
            self.bookmarks_bar,
            self.overview,
            self.corner,
            self.derived,
            self.edge,
        )

    @property
    def tab_stops(self) -> tuple[QWidget, ...]:
        """The parts that Tab goes through, in this order."""
        return self.header.fold, self.header.align, self.headers, self.view

    @property
    def has_focus(self) -> bool:
        """Whether a part of the strip has the keyboard focus."""
        focused = self.focusWidget()
        return focused is not None and focused.hasFocus()

    def take_focus(self) -> None:
        """Give the keyboard to the canvas, or to the chevron while the strip is collapsed."""
        (self.header.fold if self.is_collapsed else self.view).setFocus()

    @property
    def is_joined(self) -> bool:
        """Whether it continues the strip above, without an overview and a ruler of its own."""
        return self.band.is_joined

    def join(self, above: ClockStrip | None, below: ClockStrip | None) -> None:
        """Join it to the strip of the other arm, which is above or below; None: to none."""
        self.band.join(None if above is None else above.scene)
        self.header.set_narrow(above is not None)
        self._grid.addWidget(self.header, 0, 0, 1, 4 if above is None else 1)
        self.band.setVisible(above is not None)
        joined = above is not None or below is not None
        self.view.frames.tails.is_b = above is not None if joined else None
        self.view.frames.ruler_scene = self.scene if above is None else above.scene
        self.edge.set_joined(below is not None)

    # -- heights -----------------------------------------------------------------------------

    @property
    def is_alone(self) -> bool:
        """Whether this strip is the whole timeline."""
        return len(self.scene.session.groups) < 2

    @property
    def _is_joined_by_user(self) -> bool:
        """Whether the user put its files on one axis; its header says why."""
        opened = self.scene.session.traces
        return any(opened[number].place.reason for number in self.scene.group.traces)

    @property
    def is_collapsed(self) -> bool:
        """Whether only the header is shown."""
        return not self.is_alone and self.header.is_collapsed

    def fit(self) -> None:
        """Show the parts that the strip has now, in the sizes for the number of strips."""
        self.overview.fit()
        self.corner.fit()
        self.header.setVisible(not self.is_alone or self._is_joined_by_user)
        self.header.fold.setVisible(not self.is_alone)
        self.header.refresh()
        visible = not self.is_collapsed
        if not visible and self.has_focus:
            self.header.fold.setFocus()  # otherwise Qt gives the focus to the next strip
        for part in (self.headers, self.view):
            part.setVisible(visible)
        self._fit_minimap()
        for above in (self.corner, self.overview, self.ruler):
            above.setVisible(visible and not self.is_joined)
        self.bookmarks_bar.follow(is_expanded=visible)
        self.derived.follow(is_expanded=visible)
        for named, name in self._names.items():
            # A screen reader tells the strips apart by their clocks.
            named.setAccessibleName(name if self.is_alone else f"{name}, {self.header.title}")
        self.edge.setVisible(visible and not self.is_alone)
        self._fit_bar()

    def _fit_minimap(self) -> None:
        # Beside others, the columns of all strips line up.
        self.minimap.setVisible(self.is_alone and not self.is_collapsed and self.minimap.has_use)

    @property
    def fixed_height(self) -> int:
        """The height of everything but the rows, in px."""
        above = [self.header, self.overview, self.ruler, self.bookmarks_bar]
        parts = [*above, self.derived, self.edge]
        return sum(part.height() for part in parts if not part.isHidden())

    @property
    def rows_height(self) -> int:
        """The height at which all rows are visible without scrolling, in px; 0 if collapsed."""
        return 0 if self.is_collapsed else _with_room(self.scene.layout.total_height)

    @property
    def full_height(self) -> int:
        """Like `rows_height`, with rows as high as they are if there is room for them."""
        return 0 if self.is_collapsed else _with_room(self.scene.full_height)

    @property
    def scrolls(self) -> bool:
        """Whether some rows are out of view."""
        return not self.is_collapsed and self.scene.scroll_limit > 0

    def _check_height(self) -> None:
        if self.take_height():
            self.resized.emit()

    def take_height(self) -> bool:
        """Remember the height that it wants as known; returns whether it is another one."""
        height = self.fixed_height + self.rows_height, self.full_height
        is_new, self._told_height = height != self._told_height, height
        return is_new

    def keep_room_for_bar(self, is_kept: bool) -> None:
        """Leave the width of a scroll bar free, so that the columns of all strips line up."""
        policy = self._bar.sizePolicy()
        if policy.retainSizeWhenHidden() != is_kept:
            policy.setRetainSizeWhenHidden(is_kept)
            self._bar.setSizePolicy(policy)

    def cancel_drag(self) -> bool:
        """Cancel the current drag on a part of the strip; returns whether there was one."""
        parts = (self.view, self.headers, self.header, self.edge)
        return any(part.cancel_drag() for part in parts)

    def set_header_width(self, width: int) -> None:
        """Set the width of the headers column in px."""
        self.headers.set_width(width)
        self.corner.setFixedWidth(self.headers.width())
        # Titles of processes extend from the headers onto the canvas.
        self.view.frames.title_indent = TITLE_INDENT - self.headers.width()
        self.view.repaint_all()

    @guard(QSize(800, 400))
    def sizeHint(self) -> QSize:
        return QSize(800, self.fixed_height + self.rows_height)

    def _fit_overview(self) -> None:
        """Lower the overview by the bar of bookmarks, so that no row moves."""
        before = self.overview.sizes
        self.overview.fit()
        if self.overview.sizes != before:
            self.corner.fit()

    def show_pointed(self, place: int | None) -> None:
        """Show the values of counters at a place on screen in ns, where the mouse is."""
        self.headers.point(place, self.view.canvas)

    def _fit_bar(self) -> None:
        self._bar.blockSignals(True)
        self._bar.setRange(0, self.scene.scroll_limit)
        self._bar.setPageStep(max(self.scene.viewport_height, 1))
        self._bar.setValue(self.scene.scroll)
        self._bar.blockSignals(False)
        self._bar.setVisible(self.scrolls)


def _with_room(rows: int) -> int:
    """The height of a canvas for rows of a height, in px."""
    return max(rows + BELOW_ROWS, _LOWEST_ROWS)


def _stacked(*widgets: QWidget) -> QVBoxLayout:
    column = QVBoxLayout()
    column.setSpacing(0)
    for widget in widgets:
        column.addWidget(widget)
    return column
