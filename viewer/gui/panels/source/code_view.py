"""A source code view with a gutter, and what stands there: times of lines or their changes.

Every row has the same height, so the gutter computes positions arithmetically and paints only the
visible rows. While two arms are compared, a line sums the operators on it, and has a verdict of its
own. Time that several lines share, in one arm or through the calls of the other, is never divided:
it has brackets and one change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import ceil

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
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

from viewer.analysis.comparison.comparison import Compared, Comparison
from viewer.analysis.comparison.levels import LINE
from viewer.analysis.comparison.operator_pairs import Row
from viewer.analysis.cost.source_costs import LineCosts, PlaceOf, SharedCost, lines_text, place_of
from viewer.analysis.numbers.compared import EDGES, OperatorErrors
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import paint_bar
from viewer.gui.panels.source.syntax import Highlighter, Language
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.style_sheet import Tokens
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.cells import FASTER, SLOWER, paint_mark, paint_time, unit_slot
from viewer.gui.qt.widgets.labels import span, tip
from viewer.gui.session.choices import shown_scheme
from viewer.gui.session.comparison import ComparisonFeed
from viewer.gui.session.session import Session
from viewer.model import figures as figure_terms
from viewer.model.figures import FigureBase
from viewer.model.text import display_name
from viewer.model.times import MINUS, format_share, split_time
from viewer.program.source_files import GAP
from viewer.render.color_schemes import ERROR
from viewer.reports.compare_text import change_ns_text, change_text, median_text, row_sentence
from viewer.view.open_comparison import OpenComparison
from viewer.view.open_trace import OpenTrace

# With more rows by call, the comparison by line takes more than 50 ms.
_ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class LineChange:
    """The texts of a line: its times, the change with its `Verdict` value, and a tooltip."""

    a: str
    b: str
    change: str
    ratio: str
    verdict: str
    detail: str


@dataclass(frozen=True, slots=True)
class SharedChange:
    """The change of time that several lines share.

    lines: those in the file, ascending. elsewhere: whether others are in other files. operators: of
    these lines, in the program of the arm.
    """

    lines: tuple[int, ...]
    elsewhere: bool
    operators: frozenset[int]
    change: LineChange


class ComparedLines(QObject):
    """Emits `changed` when other lines have changes."""

    changed = Signal()

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._feed = ComparisonFeed.of(session)
        self._found: OpenComparison | None = None
        self._lines: Comparison | None = None
        self._latest = Latest(self, self._take)
        self._feed.changed.connect(self._follow)
        self._follow()

    @property
    def title(self) -> str:
        """What stands above the changes, "" if there are none."""
        return "" if self._lines is None else "  A, B, change"

    def of(self, path: str) -> Mapping[int, LineChange] | None:
        """Return the changes of the lines of a file in the arm of the current trace, if any."""
        lines = self._lines
        return None if lines is None else changes_of(lines, self._side, path)

    def shared(self, path: str) -> tuple[SharedChange, ...]:
        """Return the changes of shared time in the same file, the largest first."""
        return () if self._lines is None else shared_changes_of(self._lines, self._side, path)

    @property
    def _side(self) -> int:
        number = self._session.current_trace
        if self._found is None or number is None:
            return 0
        return self._found.side_of(self._session.traces[number].file.path) or 0

    @Slot()
    def _follow(self) -> None:
        open_comparison = self._feed.in_tables
        if open_comparison is None or None in map(open_comparison.program, (0, 1)):
            self._latest.cancel()
            self._found = None
            self._take(None)
        elif open_comparison is not self._found:
            self._found = open_comparison
            self._latest.ask(len(open_comparison.rows) <= _ROWS_AT_ONCE, by_line, open_comparison)

    @Slot(object)
    def _take(self, lines: Comparison | None) -> None:
        if lines is not self._lines:
            self._lines = lines
            self.changed.emit()


def by_line(open_comparison: OpenComparison) -> Comparison:
    """Return a comparison by line with its figures; a pure function."""
    lines = open_comparison.at(LINE)
    _ = lines.compared
    return lines


def changes_of(lines: Comparison, side: int, path: str) -> dict[int, LineChange]:
    """Return the changes of the lines of a file of side 0 or 1 that do not share their time."""
    changes: dict[int, LineChange] = {}
    for row, compared in zip(lines.rows, lines.compared, strict=True):
        places = _places(lines, side, row)
        if len(places) == 1 and (number := _line_in(path, places[0])):
            changes[number] = _change(row, compared)
    return changes


def shared_changes_of(lines: Comparison, side: int, path: str) -> tuple[SharedChange, ...]:
    """Return the changes of time that several lines share, the largest first."""
    arm = lines.b if side else lines.a
    changes: list[tuple[float, SharedChange]] = []
    for row, compared in zip(lines.rows, lines.compared, strict=True):
        places = _places(lines, side, row)
        own_lines = tuple(sorted(filter(None, (_line_in(path, place) for place in places))))
        if len(places) > 1 and own_lines:
            parts = row.b if side else row.a
            operators = frozenset(i for part in parts for i in arm.parts[part].operators)
            is_elsewhere, change = len(own_lines) < len(places), _change(row, compared)
            shared = SharedChange(own_lines, is_elsewhere, operators, change)
            changes.append((abs(compared.change_ns), shared))
    return tuple(change for _, change in sorted(changes, key=lambda each: -each[0]))


def _change(row: Row, compared: Compared) -> LineChange:
    return LineChange(
        median_text(compared.a_ns),
        median_text(compared.b_ns),
        change_ns_text(compared),
        change_text(compared),
        compared.verdict.value,
        row_sentence(row, compared),
    )


def _places(lines: Comparison, side: int, row: Row) -> list[str]:
    """The lines of a side of a row: "model.py:28"."""
    arm, parts = (lines.b, row.b) if side else (lines.a, row.a)
    return list(dict.fromkeys(place for part in parts for place in arm.parts[part].id.group))


def _line_in(path: str, place: str) -> int:
    """The number of a line in a file, 0 for one in another file."""
    start = f"{display_name(path)}:"
    end = place[len(start) :]
    return int(end) if place.startswith(start) and end.isdecimal() else 0


LINE_HEIGHT = 19
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
    """The gutter: notes by line, or else the changes of compared arms, and brackets."""

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
        self.gutter = Gutter({})
        self._shown: tuple[str, ...] = ()
        self.numbers: Sequence[int] = range(1, 1)  # the line of each row, `GAP` for none
        self._rows: dict[int, int] = {}  # line -> row, ascending
        self.marked: tuple[int, ...] = ()
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
        if (lines, numbers) == (self._shown, self.numbers):
            return
        self._shown, self.numbers = lines, numbers
        self._rows = {number: row for row, number in enumerate(numbers) if number != GAP}
        self.marked, self._revealed = (), (0, 0, 0)
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
    def line_height(self) -> int:
        return self._theme.px(LINE_HEIGHT)

    def set_gutter(self, gutter: Gutter) -> None:
        self.gutter = gutter
        self._place()
        self._side.update()

    def mark(self, lines: Sequence[int]) -> None:
        self.marked = tuple(lines)
        self.viewport().update()
        self._side.update()

    def forget(self) -> None:
        """Start the next text from its top, also if it is the same."""
        self.numbers, self._revealed = [], (0, 0, 0)
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
        return self.numbers[row] if 0 <= row < len(self.numbers) else 0

    def top_of(self, line: int) -> int:
        """Return the y coordinate of a line's top in the viewport."""
        return self.top_of_row(self._row(line))

    def top_of_row(self, row: int) -> int:
        """Return the y coordinate of a row's top in the viewport."""
        return row * self.line_height + self._offset - self.verticalScrollBar().value()

    def shows(self, line: int) -> bool:
        return line in self._rows

    def _row(self, line: int) -> int:
        """Return the row of a line; of a line that is not shown, that of the next line."""
        if line in self._rows:
            return self._rows[line]
        lines = list(self._rows)
        index = bisect_left(lines, line)
        return self._rows[lines[index]] if index < len(lines) else len(self.numbers)

    @property
    def _offset(self) -> int:
        # Qt puts text at the bottom of a line of fixed height; this centers the backgrounds on it.
        metrics = QFontMetrics(self.document().defaultFont())
        return _MARGIN + (self.line_height - metrics.ascent() - metrics.descent()) // 2

    @property
    def gutter_width(self) -> int:
        return self._side.sizeHint().width()

    def marked_rects(self) -> list[QRect]:
        """Return the visible parts of the highlighted lines, in viewport coordinates."""
        room = self.viewport().rect()
        height, marked = self.line_height, filter(self.shows, self.marked)
        lines = (QRect(0, self.top_of(n), room.width(), height) for n in marked)
        return [line.intersected(room) for line in lines if line.intersects(room)]

    def _place(self) -> None:
        width = self._side.sizeHint().width()
        self.setViewportMargins(width, 0, 0, 0)
        room = self.contentsRect()
        self._side.setGeometry(room.left(), room.top(), width, self.viewport().height())

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        for line, change in (self.gutter.changes or {}).items():
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
            if (change := (view.gutter.changes or {}).get(line)) is not None:
                self._change(painter, y, numbers, change, marked=marked)
            note = view.gutter.notes.get(line) if view.gutter.changes is None else None
            if note is not None:
                painter.setFont(theme.font("cell"))
                painter.setPen(theme.color("text1"))
                paint_time(painter, QRect(0, y, numbers + self_time, height), note.text)
                self._text(painter, numbers + self_time + share, y, note.of_all, "cell", "text2")
                left, thick = numbers + self_time + share + theme.px(8), theme.px(8)
                length = (bar - theme.px(12)) * note.share
                rect = QRectF(left, y + (height - thick) / 2, length, thick)
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


ERROR_TITLE = "  Error"
ERROR_TIP = "The largest error of the operators on a line, relative to their signal."

_MOST_SHARED = 6
_SHAPES = {SLOWER: "▲ ", FASTER: "▼ "}


def time_notes(costs: LineCosts, base: FigureBase, whole: int) -> dict[int, LineNote]:
    """Return the self times of lines, and their shares of the ticks of all, `whole`."""
    most = max((c.ticks for c in costs.self_costs.values()), default=0)
    return {
        n: LineNote(
            base.text(c.ticks, c.zeros),
            c.ticks / most if most else 0,
            format_share(c.wall, whole) if whole and (c.ticks or not c.zeros) else "",
        )
        for n, c in costs.self_costs.items()
    }


def error_notes(
    session: Session, open_trace: OpenTrace, path: str, place_of: PlaceOf = place_of
) -> dict[int, LineNote] | None:
    """Return the largest error of each line of a recorded file; None if they are not shown."""
    errors, program = open_trace.errors, open_trace.table.program
    if errors is None or program is None or shown_scheme(session) != ERROR:
        return None
    of_line: dict[int, list[int]] = {}
    for operator in program.operators:
        place = place_of(operator)
        if place is not None and place[0] == path:
            of_line.setdefault(place[1], []).append(operator.index)
    return {
        line: _note(errors, operators)
        for line, operators in of_line.items()
        if errors.largest(operators) is not None
    }


def _note(errors: OperatorErrors, operators: list[int]) -> LineNote:
    text = f"{errors.largest(operators):.2g}".replace("-", MINUS)
    return LineNote(text, errors.step(operators) / len(EDGES))


def shared_times(shared: Sequence[SharedCost], base: FigureBase, tokens: Tokens) -> str:
    """Return the shared times of a file as rich text. base: what they are per."""
    parts = [
        _shared_part(cost.lines, cost.elsewhere, base.text(cost.ticks), tokens)
        for cost in shared[:_MOST_SHARED]
    ]
    return _shared_text(parts, len(shared), tokens, base.titled(figure_terms.SHARED.title))


def shared_changes(changes: Sequence[SharedChange], tokens: Tokens) -> str:
    """Return the changes of the shared times of a file as rich text."""
    colors = {SLOWER: tokens.slower, FASTER: tokens.faster}
    parts = []
    for shared in changes[:_MOST_SHARED]:
        change = shared.change
        figures = ", ".join(filter(None, (change.change, change.ratio)))
        by = f"{_SHAPES.get(change.verdict, '')}{figures}".replace(" ", "\N{NO-BREAK SPACE}")
        by = span(by, colors.get(change.verdict, tokens.text1))
        times = f"{change.a or '–'} → {change.b or '–'}"
        part = _shared_part(shared.lines, shared.elsewhere, times, tokens)
        parts.append(f"{part}&nbsp; {by}")
    return _shared_text(parts, len(changes), tokens)


def _shared_part(lines: Sequence[int], elsewhere: bool, time: str, tokens: Tokens) -> str:
    where = lines_text(lines) + (" and other files" if elsewhere else "")
    return f"{span(where, tokens.text2)}&nbsp; {span(time, tokens.text1, bold=True)}"


def _shared_text(
    parts: Sequence[str], count: int, tokens: Tokens, title: str = figure_terms.SHARED.title
) -> str:
    every = [span(title, tokens.text2), *parts]
    if count > _MOST_SHARED:
        every.append(span(f"and {count - _MOST_SHARED} more", tokens.text3))
    return "&nbsp;&nbsp;&nbsp;&nbsp;".join(every)
