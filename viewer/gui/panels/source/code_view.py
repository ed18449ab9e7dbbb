"""A source code view with a gutter: line numbers, self time with a bar, and shared lines.

Each line is one row. Every row has the same height, so the gutter computes positions arithmetically
and paints only the visible rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
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
from viewer.gui.panels.source.compared_lines import LineChange
from viewer.gui.panels.source.syntax import Highlighter, Language
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.time_cells import paint_time, unit_slot
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER, paint_mark
from viewer.model.times import split_time
from viewer.program.sources.quoted_lines import GAP

LINE = 19
# Coloring 3000 lines takes about 70 ms; of a longer file only this many lines are shown.
MOST_LINES = 3000
_BRACKET_STEP = 11
_MOST_BRACKETS = 6
_MARGIN = 4
_TIME, CHANGE_WIDTH, _RATIO, _MARK = 74, 86, 62, 28  # px; the columns of changes


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
    """The contents of the gutter: notes by line number, and brackets.

    changes: by line number, shown instead of notes while two arms are compared.
    """

    notes: Mapping[int, LineNote]
    brackets: Sequence[Bracket] = ()
    changes: Mapping[int, LineChange] | None = None


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
        self._shown: tuple[str, ...] = ()
        self._numbers: Sequence[int] = range(1, 1)  # the line of each row, `GAP` for none
        self._rows: dict[int, int] = {}  # line -> row, ascending
        self._marked: tuple[int, ...] = ()
        self._pressed = QPoint()
        # The line to reveal, and the scroll positions before and after.
        self._revealed = 0, 0, 0
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
        font = theme.font("code")
        self.setFont(font)
        self.document().setDefaultFont(font)
        self.document().setDocumentMargin(_MARGIN)
        self.setTabStopDistance(4 * QFontMetrics(font).horizontalAdvance(" "))
        self._place()

    def restyle(self) -> None:
        """Apply the theme's colors again: at once to the lines in view, then to the others."""
        first, last = self.row_at(0), self.row_at(self.viewport().height())
        self._highlighter.restyle(max(first, 0), last + 1)

    def show_lines(
        self,
        lines: tuple[str, ...],
        language: Language,
        around: int,
        numbers: Sequence[int] | None = None,
    ) -> None:
        """Show lines, or `MOST_LINES` of more around a line.

        numbers: the line of each row, ascending, `GAP` for a row between lines that are not
        adjacent. Without it, the lines are those of a whole file.
        """
        numbers = range(1, len(lines) + 1) if numbers is None else numbers
        if len(lines) > MOST_LINES:
            later = (row for row, number in enumerate(numbers) if number >= around)
            middle = numbers.index(around) if around in numbers else next(later, len(lines))
            start = min(max(middle - MOST_LINES // 2, 0), len(lines) - MOST_LINES)
            window = slice(start, start + MOST_LINES)
            lines, numbers = lines[window], numbers[window]
        if (lines, numbers) == (self._shown, self._numbers):
            return
        self._shown, self._numbers = lines, numbers
        self._rows = {number: row for row, number in enumerate(numbers) if number != GAP}
        self._marked, self._revealed = (), (0, 0, 0)
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
        """The first and last line shown; 1 and 1 without any."""
        return min(self._rows, default=1), max(self._rows, default=1)

    @property
    def numbers(self) -> Sequence[int]:
        """The line of each row, `GAP` for a row between lines that are not adjacent."""
        return self._numbers

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

    def forget(self) -> None:
        """Start the next text from its top, also if it is the same."""
        self._numbers, self._revealed = [], (0, 0, 0)
        self.verticalScrollBar().setValue(0)

    def reveal(self, line: int) -> None:
        """Scroll to a line, unless it is well in view."""
        top = self._row(line) * self.line_height + _MARGIN
        bar, room = self.verticalScrollBar(), self.viewport().height()
        revealed, before, after = self._revealed
        if line != revealed or bar.value() != after:
            before = bar.value()
        bar.setValue(before)
        if not bar.value() + self.line_height <= top <= bar.value() + room - 2 * self.line_height:
            # Qt lays out the document up to the cursor; without this the scroll range is too short.
            block = self.document().findBlockByNumber(self._row(line))
            if block.isValid():
                self.setTextCursor(QTextCursor(block))
            bar.setValue(top - room // 2)
        self._revealed = line, before, bar.value()
        self.horizontalScrollBar().setValue(0)

    def row_at(self, y: int) -> int:
        """Return the row at a y coordinate of the viewport; there may be none with that number."""
        return (y + self.verticalScrollBar().value() - self._offset) // self.line_height

    def line_at(self, y: int) -> int:
        """Return the line at a y coordinate of the viewport; 0 if no line is there."""
        row = self.row_at(y)
        return self._numbers[row] if 0 <= row < len(self._numbers) else 0

    def top_of(self, line: int) -> int:
        """Return the y coordinate of a line's top in the viewport."""
        return self.top_of_row(self._row(line))

    def top_of_row(self, row: int) -> int:
        """Return the y coordinate of a row's top in the viewport."""
        return row * self.line_height + self._offset - self.verticalScrollBar().value()

    def shows(self, line: int) -> bool:
        """Whether a line is among those shown."""
        return line in self._rows

    def _row(self, line: int) -> int:
        """Return the row of a line; of a line that is not shown, that of the next line."""
        if line in self._rows:
            return self._rows[line]
        lines = list(self._rows)
        index = bisect_left(lines, line)
        return self._rows[lines[index]] if index < len(lines) else len(self._numbers)

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
        height, marked = self.line_height, filter(self.shows, self._marked)
        lines = (QRect(0, self.top_of(n), room.width(), height) for n in marked)
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
        for line, change in (self._gutter.changes or {}).items():
            if change.verdict in (SLOWER, FASTER) and self.shows(line):
                band = QRect(0, self.top_of(line), self.viewport().width(), self.line_height)
                painter.fillRect(band, self._theme.color(f"{change.verdict}_row"))
        for band in self.marked_rects():
            painter.fillRect(band, self._theme.color("selection"))
        painter.end()
        super().paintEvent(event)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        line, before, after = self._revealed
        bar = self.verticalScrollBar()
        is_where_it_was = bar.value() == min(after, bar.maximum())
        super().resizeEvent(event)
        self._place()
        if line and is_where_it_was:
            # The user has not scrolled: the line was revealed before the panel had its size.
            self._revealed = line, before, bar.value()
            self.reveal(line)

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
        if gutter.changes is not None:
            return numbers, sum(self._times()), theme.px(_RATIO), theme.px(_MARK)
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
        height = view.line_height
        numbers, self_time, share, bar = self._columns()
        last = min(view.row_at(self.height()), len(view.numbers) - 1)
        for row in range(max(view.row_at(0), 0), last + 1):
            y, line = view.top_of_row(row), view.numbers[row]
            if line == GAP:
                self._text(painter, numbers, y, "⋯", "code", "text3")
                continue
            marked = line in view.marked
            if marked:
                painter.fillRect(QRectF(0, y, self.width(), height), theme.color("selection"))
            self._text(painter, numbers, y, str(line), "code", "text2" if marked else "text3")
            change = (view.gutter.changes or {}).get(line)
            if change is not None:
                self._change(painter, y, numbers, change, marked=marked)
            note = view.gutter.notes.get(line) if view.gutter.changes is None else None
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

    def _change(
        self, painter: QPainter, y: int, left: int, change: LineChange, *, marked: bool
    ) -> None:
        """Paint the times of both arms, the change, its ratio and the mark of its verdict."""
        theme, height = self._theme, self._view.line_height
        is_proven = change.verdict in (SLOWER, FASTER)
        if is_proven and not marked:
            ground = QRectF(left, y, self.width() - left, height)
            painter.fillRect(ground, theme.color(f"{change.verdict}_row"))
        if is_proven:
            painter.fillRect(QRectF(0, y, 3, height), theme.color(change.verdict))
        painter.setFont(theme.font("cell"))
        tones = ("text2", "text2", change.verdict if is_proven else "text2")
        texts = (change.a, change.b, change.change)
        for text, tone, wide in zip(texts, tones, self._times(), strict=True):
            painter.setPen(theme.color(tone))
            paint_time(painter, QRect(left, y, wide, height), text)
            left += wide
        right = left + theme.px(_RATIO)
        self._text(painter, right, y, change.ratio, "cell", "text2")
        center = QPointF(right + theme.px(14), y + height / 2)
        paint_mark(painter, center, change.verdict, theme)

    def _times(self) -> tuple[int, int, int]:
        """The widths of the times of A and B, and of their difference, in px."""
        time = self._theme.px(_TIME)
        return time, time, self._theme.px(CHANGE_WIDTH)

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
            for line, middle in zip(bracket.lines, middles, strict=True):
                if view.shows(line):
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
            change = (self._view.gutter.changes or {}).get(line)
            others = [b.lines for b in self._view.gutter.brackets if line in b.lines]
            both = sorted({n for lines in others for n in lines})
            shares = f"Shares time with lines {', '.join(map(str, both))}" if both else ""
            self.setToolTip(tip("\n".join(filter(None, (change.detail if change else "", shares)))))
        return super().event(event)
