"""A source code view with a gutter: line numbers, self time with a bar, and shared lines.

Every line has the same height, so the gutter computes positions arithmetically and paints only the
visible lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlockFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QTextEdit, QWidget

from viewer.gui.panels.base.swatches import paint_bar
from viewer.gui.panels.source.syntax import Highlighter, Language
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.time_cells import paint_time, unit_slot
from viewer.model.times import split_time

LINE = 19
# Coloring 3000 lines takes about 70 ms; of a longer file only this many lines are shown.
MOST_LINES = 3000
_BRACKET_STEP = 11
_MOST_BRACKETS = 6
_MARGIN = 4


@dataclass(frozen=True, slots=True)
class LineNote:
    """The gutter texts of a line.

    text: its self time. of_all: its share of all time. share: its self time relative to the most
    expensive line, 0 to 1, the length of its bar.
    """

    text: str
    share: float
    of_all: str = ""


@dataclass(frozen=True, slots=True)
class Bracket:
    """Lines that share time. here: whether the selected operator is among those that share it."""

    lines: tuple[int, ...]
    here: bool


@dataclass(frozen=True, slots=True)
class Gutter:
    """The contents of the gutter: notes by line number, and brackets."""

    notes: Mapping[int, LineNote]
    brackets: Sequence[Bracket] = ()


class CodeView(QTextEdit):
    """Read-only code.

    `line_clicked(line)`: a line or its gutter was clicked, not dragged. `menu_offered(QMenu)`: the
    context menu is about to open, after `line_pointed(line)` if the mouse opens it.
    """

    line_clicked = Signal(int)
    line_pointed = Signal(int)
    menu_offered = Signal(QMenu)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._gutter = Gutter({})
        self._first = 1
        self._shown: tuple[str, ...] = ()
        self._marked: tuple[int, ...] = ()
        self._pressed = QPoint()
        self._centered = 0, 0  # the line that `reveal` centered, and the scroll position then
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        self.setUndoRedoEnabled(False)
        self.setCursorWidth(0)
        self.setAccessibleName("Source code")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self._highlighter = Highlighter(self.document(), theme)
        self._side = _Side(self, theme)
        self.verticalScrollBar().valueChanged.connect(self._side.update)
        self.restyle()

    def restyle(self) -> None:
        """Apply the theme's fonts and colors again."""
        font = self._theme.font("code")
        self.setFont(font)
        self.document().setDefaultFont(font)
        self.document().setDocumentMargin(_MARGIN)
        self.setTabStopDistance(4 * QFontMetrics(font).horizontalAdvance(" "))
        self._highlighter.rehighlight()
        self.mark(self._marked)
        self._place()

    def show_lines(self, lines: tuple[str, ...], language: Language, around: int) -> None:
        """Show a file, or `MOST_LINES` lines of a longer one around a line."""
        first = 1
        if len(lines) > MOST_LINES:
            first = min(max(around - MOST_LINES // 2, 1), len(lines) - MOST_LINES + 1)
            lines = lines[first - 1 : first - 1 + MOST_LINES]
        if lines is self._shown or (lines == self._shown and first == self._first):
            return
        self._first, self._shown = first, lines
        self._marked, self._centered = (), (0, 0)
        self._highlighter.language = language
        self.setPlainText("\n".join(lines))
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        block_format = QTextBlockFormat()
        fixed = QTextBlockFormat.LineHeightTypes.FixedHeight
        block_format.setLineHeight(self.line_height, fixed.value)
        cursor.mergeBlockFormat(block_format)
        self._place()

    @property
    def shown_range(self) -> tuple[int, int]:
        """The first and last line shown."""
        return self._first, self._first + max(len(self._shown), 1) - 1

    @property
    def line_height(self) -> int:
        """The height of a line in px."""
        return self._theme.px(LINE)

    def set_gutter(self, gutter: Gutter) -> None:
        """Replace the notes and brackets of the gutter."""
        self._gutter = gutter
        self._place()
        self._side.update()

    def mark(self, lines: Sequence[int]) -> None:
        """Highlight lines across the full width."""
        self._marked = tuple(lines)
        self.viewport().update()
        self._side.update()

    def reveal(self, line: int) -> None:
        """Scroll to a line, unless it is well in view."""
        top = (line - self._first) * self.line_height + _MARGIN
        bar, room = self.verticalScrollBar(), self.viewport().height()
        if not bar.value() + self.line_height <= top <= bar.value() + room - 2 * self.line_height:
            # Qt lays out the document up to the cursor; without this the scroll range is too short.
            block = self.document().findBlockByNumber(line - self._first)
            if block.isValid():
                self.setTextCursor(QTextCursor(block))
            bar.setValue(top - room // 2)
            self._centered = line, bar.value()
        self.horizontalScrollBar().setValue(0)

    def line_at(self, y: int) -> int:
        """Return the line at a y coordinate of the viewport; it may be past the last line."""
        offset = y + self.verticalScrollBar().value() - self._offset
        return offset // self.line_height + self._first

    def top_of(self, line: int) -> int:
        """Return the y coordinate of a line's top in the viewport."""
        offset = (line - self._first) * self.line_height + self._offset
        return offset - self.verticalScrollBar().value()

    @property
    def _offset(self) -> int:
        # Qt puts text at the bottom of a line of fixed height; this centers the backgrounds on it.
        metrics = QFontMetrics(self.document().defaultFont())
        return _MARGIN + (self.line_height - metrics.ascent() - metrics.descent()) // 2

    @property
    def gutter(self) -> Gutter:
        """The contents of the gutter."""
        return self._gutter

    @property
    def gutter_width(self) -> int:
        """The width of the gutter, in px."""
        return self._side.sizeHint().width()

    def marked_rects(self) -> list[QRect]:
        """Return the visible parts of the highlighted lines, in viewport coordinates."""
        room = self.viewport().rect()
        lines = (QRect(0, self.top_of(n), room.width(), self.line_height) for n in self._marked)
        return [line.intersected(room) for line in lines if line.intersects(room)]

    @property
    def marked(self) -> tuple[int, ...]:
        """The highlighted lines."""
        return self._marked

    def _place(self) -> None:
        width = self._side.sizeHint().width()
        self.setViewportMargins(width, 0, 0, 0)
        room = self.contentsRect()
        self._side.setGeometry(room.left(), room.top(), width, self.viewport().height())

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        for line in self._marked:
            band = QRect(0, self.top_of(line), self.viewport().width(), self.line_height)
            painter.fillRect(band, self._theme.color("selection"))
        painter.end()
        super().paintEvent(event)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()
        line, value = self._centered
        if line and self.verticalScrollBar().value() == value:
            # The user has not scrolled: the line was centered before the panel had its size.
            top = (line - self._first) * self.line_height + _MARGIN
            self.verticalScrollBar().setValue(top - self.viewport().height() // 2)
            self._centered = line, self.verticalScrollBar().value()

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._pressed = event.position().toPoint()

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        moved = (event.position().toPoint() - self._pressed).manhattanLength()
        dragged = moved > 4 or self.textCursor().hasSelection()
        if event.button() == Qt.MouseButton.LeftButton and not dragged:
            self.line_clicked.emit(self.line_at(int(event.position().y())))

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the text, with what the window adds to it."""
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            y = self.viewport().mapFromGlobal(event.globalPos()).y()
            self.line_pointed.emit(self.line_at(y))
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.menu_offered.emit(menu)
        menu.popup(event.globalPos())


class _Side(QWidget):
    """The gutter, painted over the left margin of the view."""

    def __init__(self, view: CodeView, theme: Theme) -> None:
        super().__init__(view)
        self._view = view
        self._theme = theme
        self.setMouseTracking(True)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        theme = self._theme
        shared = min(len(self._view.gutter.brackets), _MOST_BRACKETS)
        return QSize(sum(self._columns()) + theme.px(12) + shared * theme.px(_BRACKET_STEP), 0)

    def _columns(self) -> tuple[int, int, int, int]:
        """Return the widths of line numbers, self times, shares and bars, in px."""
        theme, gutter = self._theme, self._view.gutter
        last = self._view.shown_range[1]
        digits = QFontMetrics(theme.font("code")).horizontalAdvance(str(max(last, 1000)))
        numbers = digits + theme.px(14)
        if not gutter.notes and not gutter.brackets:
            return numbers, 0, 0, 0
        font = theme.font("cell")
        metrics = QFontMetricsF(font)
        notes = gutter.notes.values()
        digits_of = (split_time(n.text)[0] for n in notes)
        width = ceil(max(map(metrics.horizontalAdvance, digits_of), default=0) + unit_slot(font))
        of_all = ceil(max((metrics.horizontalAdvance(n.of_all) for n in notes), default=0))
        share = of_all + theme.px(10) if of_all else 0
        return numbers, max(width, theme.px(60)) + theme.px(12), share, theme.px(56)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, view = self._theme, self._view
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("panel"))
        first, last = view.shown_range
        height = view.line_height
        numbers, self_time, share, bar = self._columns()
        for line in range(max(view.line_at(0), first), min(view.line_at(self.height()), last) + 1):
            y = view.top_of(line)
            marked = line in view.marked
            if marked:
                painter.fillRect(QRectF(0, y, self.width(), height), theme.color("selection"))
            self._text(painter, numbers, y, str(line), "code", "text2" if marked else "text3")
            note = view.gutter.notes.get(line)
            if note is not None:
                painter.setFont(theme.font("cell"))
                painter.setPen(theme.color("text1"))
                paint_time(painter, QRect(0, y, numbers + self_time, height), note.text)
                self._text(painter, numbers + self_time + share, y, note.of_all, "cell", "text2")
                room = bar - theme.px(12)
                rect = QRectF(
                    numbers + self_time + share + theme.px(8),
                    y + (height - theme.px(8)) / 2,
                    room * note.share,
                    theme.px(8),
                )
                paint_bar(painter, rect, theme.color("accent"), theme)
        self._brackets(painter, numbers + self_time + share + bar)
        painter.end()

    def _text(
        self, painter: QPainter, right: int, y: int, text: str, role: str, token: str
    ) -> None:
        painter.setFont(self._theme.font("code" if role == "code" else "cell"))
        painter.setPen(self._theme.color(token))
        align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, y, right, self._view.line_height), int(align), text)

    def _brackets(self, painter: QPainter, left: int) -> None:
        theme, view = self._theme, self._view
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for i, bracket in enumerate(view.gutter.brackets[:_MOST_BRACKETS]):
            color = QColor(theme.color("accent" if bracket.here else "text3"))
            x = left + theme.px(6) + i * theme.px(_BRACKET_STEP) + 0.5
            middles = [view.top_of(line) + view.line_height / 2 for line in bracket.lines]
            painter.setPen(QPen(color, 1))
            painter.drawLine(int(x), int(min(middles)), int(x), int(max(middles)))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            for middle in middles:
                painter.drawEllipse(QRectF(x - 2, middle - 2, 5, 5))

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._view.line_clicked.emit(self._view.line_at(int(event.position().y())))

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        self._view.wheelEvent(event)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            line = self._view.line_at(int(event.pos().y()))  # type: ignore[attr-defined]
            others = [b.lines for b in self._view.gutter.brackets if line in b.lines]
            both = sorted({n for lines in others for n in lines})
            self.setToolTip(f"Shares time with lines {', '.join(map(str, both))}" if both else "")
        return super().event(event)
