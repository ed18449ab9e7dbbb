"""The header of a strip: name, files and ticks of its clock, how it is aligned, and its range.

A press makes the clock active; the chevron or a double click collapses the strip. A drag up or down
moves the strip, and a drag sideways shifts its times against those of the other clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolButton, QToolTip, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import SegmentBar
from viewer.gui.qt.widgets.labels import elided_text, explain, tip
from viewer.gui.session.choices import toggle_strip
from viewer.gui.session.clocks import align_obstacle, alignment_text, shift_by_hand
from viewer.gui.session.comparison import ComparisonFeed, joined_clocks, letter_of, stretch
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.texts import process_note, process_title
from viewer.model.times import format_span, format_time
from viewer.view.clock_groups import group_caption, group_title
from viewer.view.visible_ranges import run_span_ns

HEIGHT = 26
BAND_HEIGHT = 36  # of the header next to a band of ribbons
_INDENT = 28  # px, of the title, as of the headers below
_AIR = 12
_NARROW_AIR = 4
_ACTIVE = 3  # px, width of the bar of the active clock
_DRAG_THRESHOLD = 5
_RANGE_WIDTH = 190
_RANGE_MS = 40  # from one text of a moving range to the next
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class _Drag(Enum):
    """What the current drag of a header does."""

    NONE = "nothing yet"
    MOVE = "moves the strip"
    SHIFT = "shifts its times"


class Together(Enum):
    """What begins at the same place in the joined strips of two arms."""

    INFERENCES = "Aligned at start"
    CALLS = "Stretched by pair"


_TOGETHER_TIPS = {
    Together.INFERENCES: "Both inferences begin at the same place",
    Together.CALLS: "Paired calls begin at the same place: gaps make up for the time between them",
}


class StripHeader(QWidget):
    """Shows which clock a strip is of, and arranges the strip."""

    menu_requested = Signal(QPoint)  # screen position, for the menu of the clock
    dragged = Signal(int)  # y of the mouse on the screen, while the strip is dragged
    dropped = Signal()  # the drag is over

    def __init__(self, scene: Scene, theme: Theme, canvas_width: Callable[[], int]) -> None:
        """canvas_width: the width of the strip's canvas in px."""
        super().__init__()
        self._scene, self._theme = scene, theme
        self.canvas_width = canvas_width
        self._press: QPoint | None = None
        self._drag = _Drag.NONE
        self._before = scene.session.state  # when the current drag began
        self._shifted: float | None = None  # px, by the current drag once it shifted anything
        self._is_narrow = False
        self.setFixedHeight(HEIGHT)
        self.fold = self._button()
        self.fold.clicked.connect(self.toggle)
        self.align = self._button()
        self.align.setText("Align")
        self.align.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.align.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the chevron follows
        self.align.setToolTip("Align this clock with others, or lock their zooms")
        self.align.clicked.connect(self._open_menu)
        self.together = SegmentBar("What begins together", _TOGETHER_TIPS)
        self.together.setParent(self)
        self.together.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.together.picked.connect(self._stretch)
        scene.changed.connect(self.update)
        # A text that changes in every frame cannot be read, and painting it is 2 % of a frame.
        self._range_told = QTimer(self, interval=_RANGE_MS, singleShot=True)
        self._range_told.timeout.connect(self._show_range)
        scene.moved.connect(self._follow_range)
        scene.session.clock_activated.connect(self.update)
        scene.session.strips_changed.connect(self.refresh)
        scene.session.compared.connect(self.refresh)
        theme.changed.connect(self.refresh)

    def _button(self) -> QToolButton:
        button = QToolButton(self)
        button.setAutoRaise(True)
        button.setProperty("low", True)
        button.setIconSize(QSize(12, 12))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    @property
    def title(self) -> str:
        """What the clock is called."""
        session, group = self._scene.session, self._scene.group
        arm = letter_of(session, group)
        title = group_title(group, session.traces)
        return f"{arm} · {title}" if arm else title

    @property
    def caption(self) -> str:
        """The files of the clock and its ticks; of a compared arm first the inference in view."""
        scene = self._scene
        caption = group_caption(scene.group, scene.session.traces)
        record = process_title(scene, 0)[1] if scene.is_titled else ""
        return " · ".join(filter(None, (self._typical, caption, record)))

    @property
    def _typical(self) -> str:
        """How long the inference that stands for a compared arm took, next to the median.

        Where single calls run long, its parts are typical and it is shorter than the median.
        """
        session = self._scene.session
        letter, open_comparison = letter_of(session, self._scene.group), None
        if letter and joined_clocks(session) is not None:
            open_comparison = ComparisonFeed.of(session).answer
        if open_comparison is None or open_comparison.problem:
            return ""
        typical = open_comparison.typical("AB".index(letter))
        figures = open_comparison.calls.inference
        median = figures.a_ns if letter == "A" else figures.b_ns
        members = [session.traces[number] for number in self._scene.group.traces]
        profile = next((t for t in members if typical and t.file.path == typical[0]), None)
        if typical is None or profile is None or median is None:
            return ""
        first, last = run_span_ns(profile, typical[1])
        return f"{format_time(last - first)} in view, median {format_time(median)}"

    @property
    def note(self) -> str:
        """The note on the only process of the clock, which has no header of its own."""
        return process_note(self._scene, 0) if self._scene.is_titled else ""

    @property
    def alignment(self) -> str:
        """How the clock is aligned with others, or that their zooms are tied; "" if it is free."""
        return alignment_text(self._scene.session, self._scene.group.key)

    @property
    def range_text(self) -> str:
        """The visible range."""
        return format_span(*self._scene.gaps.times(*self._scene.visible))

    @property
    def is_active(self) -> bool:
        """Whether keys act on this clock."""
        return self._scene.session.state.clock == self._scene.group.key

    @property
    def is_collapsed(self) -> bool:
        """Whether only the header of the strip is shown."""
        return self._scene.group.key in self._scene.session.state.strips.collapsed

    def set_narrow(self, narrow: bool) -> None:
        """Set whether there is only the column of the names, next to a band of ribbons."""
        self._is_narrow = narrow
        self.setFixedHeight(BAND_HEIGHT if narrow else HEIGHT)
        self.align.setVisible(not narrow)

    @property
    def has_switch(self) -> bool:
        """Whether the strip is the upper one of two compared arms that are one picture."""
        joined = joined_clocks(self._scene.session)
        return joined is not None and joined[0] == self._scene.group.key

    def _stretch(self, chosen: Together) -> None:
        session = self._scene.session
        if (open_comparison := ComparisonFeed.of(session).answer) is not None:
            stretch(session, open_comparison, is_on=chosen is Together.CALLS)
        self.refresh()

    def refresh(self) -> None:
        """Follow the arrangement of the strips, and the theme."""
        self.together.setVisible(self.has_switch and not self._is_narrow)
        if self.has_switch:
            is_stretched = bool(self._scene.session.state.gaps)
            self.together.press(Together.CALLS if is_stretched else Together.INFERENCES)
        folded = self.is_collapsed
        self.fold.setIcon(self._theme.icon("chevron-right" if folded else "chevron-down"))
        act = "Expand" if folded else "Collapse"
        self.fold.setToolTip(act)
        self.fold.setAccessibleName(f"{act} {self.title}")
        self.align.setIcon(self._theme.icon("chevron-down"))
        self.align.setFont(self._theme.font("caption"))
        self.align.setAccessibleName(f"Align {self.title}")
        parts = (self.title, self.caption, self.alignment)
        text = ", ".join(part for part in parts if part)
        self.setAccessibleName(text)
        explain(self, text)  # a narrow window cuts it
        self._place()
        self.update()

    def toggle(self) -> None:
        """Collapse or expand the strip."""
        toggle_strip(self._scene.session, self._scene.group.key)

    def _open_menu(self) -> None:
        self._scene.activate()
        self.menu_requested.emit(self.align.mapToGlobal(self.align.rect().bottomLeft()))

    def _place(self) -> None:
        wide, switch = self.align.sizeHint().width(), self.together.sizeHint()
        self.together.resize(switch)
        right = self.width() - 2 * _AIR - wide
        self.together.move(right - switch.width(), (HEIGHT - switch.height()) // 2)
        places = (self.fold, 4, _INDENT - 8), (self.align, self.width() - _AIR - wide, wide)
        for button, x, width in places:
            button.resize(width, HEIGHT - 8)  # taller where a large font needs it
            button.move(x, (HEIGHT - button.height()) // 2)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.fillRect(event.rect(), theme.color("chrome"))
        if self.is_active:
            painter.fillRect(0, 0, _ACTIVE, self.height(), theme.color("accent"))
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, 0, self.width(), 0)
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
        if self._is_narrow:
            self._paint_narrow(painter)
            painter.end()
            return
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        room = self._range_room()
        painter.drawText(room, _RIGHT, self.range_text)
        if room.contains(event.rect()):
            painter.end()
            return
        right = room.left() - 2 * _AIR
        if self.alignment and not self.has_switch:
            wide = min(painter.fontMetrics().horizontalAdvance(self.alignment) + 2, right // 2)
            painter.setPen(theme.color("accent"))
            self._text(painter, QRect(right - wide, 0, wide, HEIGHT), self.alignment)
            right -= wide + 2 * _AIR
        note = self.note
        wide = painter.fontMetrics().horizontalAdvance(note) + 2
        if note and wide < right - 2 * _AIR - self._texts_end():
            painter.setPen(theme.color("text3"))
            self._text(painter, QRect(right - wide, 0, wide, HEIGHT), note)
            right -= wide + 2 * _AIR
        painter.setFont(theme.font("process"))
        painter.setPen(theme.color("text1" if self.is_active else "text2"))
        wide = min(painter.fontMetrics().horizontalAdvance(self.title) + 2, right - _INDENT)
        self._text(painter, QRect(_INDENT, 0, wide, HEIGHT), self.title)
        left = _INDENT + wide + _AIR
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        self._text(painter, QRect(left, 0, right - left, HEIGHT), self.caption)
        painter.end()

    def _paint_narrow(self, painter: QPainter) -> None:
        """Paint the title above the caption, in the column of the names."""
        theme, wide, half = self._theme, self.width() - _INDENT - _NARROW_AIR, self.height() // 2
        painter.drawLine(self.width() - 1, 0, self.width() - 1, self.height())
        painter.setFont(theme.font("process"))
        painter.setPen(theme.color("text1" if self.is_active else "text2"))
        self._text(painter, QRect(_INDENT, 2, wide, half - 2), self.title)
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        caption = self._typical or self.caption
        self._text(painter, QRect(_INDENT, half, wide, half - 2), caption)

    def _texts_end(self) -> int:
        """Where the title and the caption end, if nothing cuts them. The note yields to them."""
        title = QFontMetrics(self._theme.font("process")).horizontalAdvance(self.title)
        caption = QFontMetrics(self._theme.font("caption")).horizontalAdvance(self.caption)
        return _INDENT + title + 2 + _AIR + caption + 2

    def _range_room(self) -> QRect:
        """The place of the visible range, which is as wide as the longest one needs."""
        wide = self._theme.px(_RANGE_WIDTH)
        right = self.together.x() if self.together.isVisible() else self.align.x()
        return QRect(right - _AIR - wide, 1, wide, HEIGHT - 2)

    def _follow_range(self) -> None:
        if not self._range_told.isActive():
            self._range_told.start()

    def _show_range(self) -> None:
        # The other texts stay while the view moves.
        if not self._is_narrow:
            self.update(self._range_room())

    @staticmethod
    def _text(painter: QPainter, room: QRect, text: str) -> None:
        if room.width() > 0:
            middle = Qt.TextElideMode.ElideMiddle
            painter.drawText(
                room, _LEFT, elided_text(painter.fontMetrics(), text, middle, room.width())
            )

    # -- mouse -------------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Make the clock active, and maybe start a drag."""
        self._scene.activate()
        if event.button() == Qt.MouseButton.LeftButton:
            self._press, self._drag = event.position().toPoint(), _Drag.NONE

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the strip with the mouse, or shift its times."""
        if self._press is None:
            return
        moved = event.position() - QPointF(self._press)
        if self._drag is _Drag.NONE and moved.manhattanLength() >= _DRAG_THRESHOLD:
            sideways = abs(moved.x()) > abs(moved.y())
            self._drag, self._shifted = (_Drag.SHIFT if sideways else _Drag.MOVE), None
            self._before = self._scene.session.state
        if self._drag is _Drag.MOVE:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.dragged.emit(round(event.globalPosition().y()))
        elif self._drag is _Drag.SHIFT:
            obstacle = align_obstacle(self._scene.session)
            shape = Qt.CursorShape.ForbiddenCursor if obstacle else Qt.CursorShape.SizeHorCursor
            self.setCursor(shape)
            if obstacle:
                QToolTip.showText(event.globalPosition().toPoint(), tip(obstacle), self)
            else:
                self._shift_to(moved.x())

    def _shift_to(self, x: float) -> None:
        """Shift the times so that what was `x` px further left when the drag began is here."""
        scene, session = self._scene, self._scene.session
        by = round(((self._shifted or 0.0) - x) * scene.ns_per_pixel(max(self.canvas_width(), 1)))
        if by == 0:
            return
        shift_by_hand(session, scene.group.key, by, joins=self._shifted is not None)
        self._shifted = x

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._let_go()

    def _let_go(self) -> None:
        if self._drag is _Drag.MOVE:
            self.dropped.emit()
        self._press, self._drag = None, _Drag.NONE
        self.unsetCursor()

    def cancel_drag(self) -> bool:
        """Take back what the current drag has done; returns whether there was one."""
        going = self._drag is not _Drag.NONE
        self._let_go()
        if going and self._scene.session.state is not self._before:
            self._scene.session.undo()
        return going

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.toggle()

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._scene.activate()
        self.menu_requested.emit(event.globalPos())
