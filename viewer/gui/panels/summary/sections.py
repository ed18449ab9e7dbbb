"""Sections of a summary: titles, rows and figures that can be clicked, and that of all sessions.

What can be clicked is painted by hand, and consists of buttons, so that the keyboard and screen
readers reach all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, isfinite
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QEnterEvent,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QHBoxLayout,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.findings.finding import OperatorSets
from viewer.gui.panels.base.cost_painting import Swatch, colors_of
from viewer.gui.panels.base.panel import PanelHost
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import ICON_SIZE, FontRole, Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import (
    ElidedLabel,
    Hairline,
    elided_text,
    explain,
    label,
    measurable,
)
from viewer.gui.session import navigation
from viewer.model.figures import WHOLE
from viewer.model.text import distinct_names, visible_controls
from viewer.model.times import NARROW_SPACE, counted, format_time, split_time
from viewer.view.open_trace import OpenTrace
from viewer.workspace.session_sets import SessionSet

if TYPE_CHECKING:
    from viewer.analysis.comparison.arms import Spread

_WRAP = int(Qt.TextFlag.TextWordWrap)
_UNIT_GAP = 3
_GAIN_WIDTH = 68  # "100.0 %"
_LINE_GAP = 2


class SummaryLink(QAbstractButton):
    """A link without a frame: highlighted while hovered, outlined while it has keyboard focus."""

    def __init__(self, theme: Theme, hint: str = "") -> None:
        super().__init__()
        self._theme = theme
        self._is_hovered = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        explain(self, hint)

    def setText(self, text: str) -> None:
        """Set the text, in which an "&" is a character and not the sign of a shortcut."""
        super().setText(visible_controls(text))
        self.setShortcut(QKeySequence())

    @guard
    def enterEvent(self, event: QEnterEvent) -> None:
        self._is_hovered = True
        self.update()
        super().enterEvent(event)

    @guard
    def leaveEvent(self, event: QEvent) -> None:
        self._is_hovered = False
        self.update()
        super().leaveEvent(event)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint_link(painter)
        if self.hasFocus():
            painter.setPen(self._theme.color("accent"))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()

    def paint_link(self, painter: QPainter) -> None:
        """Paint the contents."""
        raise NotImplementedError

    def _font(self, role: FontRole) -> QFont:
        """The font of a role, underlined while the mouse is over the link."""
        font = self._theme.font(role)
        font.setUnderline(self._is_hovered)
        return font


class TextLink(SummaryLink):
    """One line of text. elided: it takes any width and cuts what does not fit.

    Text is cut at its end; a name without spaces in its middle, because names often differ at
    their ends.
    """

    def __init__(
        self,
        text: str,
        theme: Theme,
        role: FontRole = "cell",
        tone: str = "text1",
        hint: str = "",
        *,
        elided: bool = False,
    ) -> None:
        super().__init__(theme, hint)
        self._role, self._tone, self._elided = role, tone, elided
        self.setText(text)
        policy = QSizePolicy.Policy.Ignored if elided else QSizePolicy.Policy.Fixed
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._theme.font(self._role))
        width = ceil(metrics.horizontalAdvance(measurable(self.text())))
        return QSize(width + 2, ceil(metrics.height()) + 2)

    @property
    def shown_text(self) -> str:
        """The visible part of the text."""
        if not self._elided:
            return self.text()
        metrics = QFontMetrics(self._theme.font(self._role))
        is_name = " " not in self.text()
        where = Qt.TextElideMode.ElideMiddle if is_name else Qt.TextElideMode.ElideRight
        return elided_text(metrics, self.text(), where, self.width() - 2)

    def paint_link(self, painter: QPainter) -> None:
        shown = self.shown_text
        if shown != self.text() and not self.toolTip():
            explain(self, self.text())
        painter.setFont(self._font(self._role))
        painter.setPen(self._theme.color(self._tone))
        place = self.rect().adjusted(1, 0, -1, 0)
        side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, int(side), shown)


class FigureLink(SummaryLink):
    """A number with its unit above a caption."""

    def __init__(self, number: str, unit: str, caption: str, theme: Theme, hint: str = "") -> None:
        super().__init__(theme, hint)
        self.number, self.unit, self.caption = number, unit, caption
        self.setText(f"{number} {unit}".strip())
        self.setAccessibleName(f"{caption}: {self.text()}")
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        number, unit, caption = self._metrics()
        first = number.horizontalAdvance(self.number) + unit.horizontalAdvance(self.unit)
        width = max(first + self._theme.px(_UNIT_GAP), caption.horizontalAdvance(self.caption))
        return QSize(int(width) + 4, int(number.height() + caption.height()) + 2)

    def _metrics(self) -> tuple[QFontMetricsF, QFontMetricsF, QFontMetricsF]:
        number, unit, caption = (self._theme.font(r) for r in ("figure", "cell", "caption"))
        return QFontMetricsF(number), QFontMetricsF(unit), QFontMetricsF(caption)

    def paint_link(self, painter: QPainter) -> None:
        theme, (number, _, caption) = self._theme, self._metrics()
        baseline = 1 + number.ascent()
        painter.setFont(self._font("figure"))
        painter.setPen(theme.color("text1"))
        painter.drawText(1, int(baseline), self.number)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        x = 1 + number.horizontalAdvance(self.number) + theme.px(_UNIT_GAP)
        painter.drawText(int(x), int(baseline), self.unit)
        painter.setFont(theme.font("caption"))
        painter.drawText(1, int(1 + number.height() + caption.ascent()), self.caption)


class FindingLink(SummaryLink):
    """A finding: its gain as a figure, what to do, and what that saves; texts wrap."""

    def __init__(self, gain: str, title: str, detail: str, theme: Theme, hint: str = "") -> None:
        super().__init__(theme, hint)
        self.gain, self._detail = gain, visible_controls(detail)
        self.setText(title)
        self.setAccessibleName(", ".join(filter(None, (title, detail))))
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @guard(True)
    def hasHeightForWidth(self) -> bool:
        return True

    @guard(0)
    def heightForWidth(self, width: int) -> int:
        return self._places(width)[1].bottom() + 3

    @guard(QSize())
    def sizeHint(self) -> QSize:
        width = max(self.width(), self._theme.px(200))
        return QSize(width, self.heightForWidth(width))

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.heightForWidth(self.width()))

    def _places(self, width: int) -> tuple[QRect, QRect]:
        """Return where the title and the detail are."""
        left = self._theme.px(_GAIN_WIDTH)
        title = self._wrapped(self.text(), "cell", left, 2, width)
        if not self._detail:
            return title, title
        top = title.bottom() + self._theme.px(_LINE_GAP)
        return title, self._wrapped(self._detail, "caption", left, top, width)

    def _wrapped(self, text: str, role: FontRole, left: int, top: int, width: int) -> QRect:
        metrics, wide = QFontMetrics(self._theme.font(role)), max(width - left - 2, 40)
        height = metrics.boundingRect(QRect(0, 0, wide, 0), _WRAP, text).height()
        return QRect(left, top, wide, height)

    def paint_link(self, painter: QPainter) -> None:
        theme, (title, detail) = self._theme, self._places(self.width())
        painter.setFont(theme.font("cost"))
        painter.setPen(theme.color("text1"))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
        painter.drawText(QRect(0, 1, title.left() - theme.px(10), 100), int(side), self.gain)
        painter.setFont(self._font("cell"))
        painter.drawText(title, _WRAP, self.text())
        if self._detail:
            painter.setFont(theme.font("caption"))
            painter.setPen(theme.color("text2"))
            painter.drawText(detail, _WRAP, self._detail)


Action = Callable[[], object]
_INSET, _SECTION_GAP, _ROW_GAP = 16, 10, 4


class IconMark(QWidget):
    """An icon in the color of a token, in light and dark."""

    def __init__(self, name: str, token: str, theme: Theme) -> None:
        super().__init__()
        self._name, self._token, self._theme = name, token, theme
        self.setFixedSize(ICON_SIZE, ICON_SIZE)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._theme.icon(self._name, self._token).paint(painter, self.rect())
        painter.end()


class SectionColumn(QWidget):
    """A column of sections, from top to bottom."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__()
        self._host = host
        theme = self._theme = host.theme
        self.column = QVBoxLayout(self)
        inset = theme.px(_INSET)
        self.column.setContentsMargins(inset, theme.px(14), inset, inset)
        self.column.setSpacing(theme.px(_ROW_GAP))

    def links(self) -> dict[str, SummaryLink]:
        """Return all links by their text; of equal texts the first."""
        links: dict[str, SummaryLink] = {}
        for link in self.findChildren(SummaryLink):
            links.setdefault(link.text(), link)
        return links

    def begin(self, title: str, caption: str = "") -> None:
        """Begin a section: a hairline, its title, and a caption at the right."""
        gap = self._theme.px(_SECTION_GAP)
        if self.column.count():
            self.column.addSpacing(gap - self._theme.px(_ROW_GAP))
            self.column.addWidget(Hairline(self._theme))
            self.column.addSpacing(gap - self._theme.px(_ROW_GAP))
        if title:
            row = QHBoxLayout()
            row.setSpacing(self._theme.px(8))
            row.addWidget(label(title, self._theme, "section", "text2"))
            elided_label = ElidedLabel(caption, self._theme, "caption", "text2")
            elided_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row.addWidget(elided_label, 1)
            self.column.addLayout(row)

    def figures(self, figures: Sequence[tuple[FigureLink, Action]]) -> None:
        """Add a row of key figures."""
        row = laid_out(QHBoxLayout(), gap=self._theme.px(12), margins=(0, self._theme.px(6), 0, 0))
        for link, action in figures:
            link.clicked.connect(action)
            row.addWidget(link, 1)
        self.column.addLayout(row)

    def grid(self, rows: Sequence[Sequence[QWidget | None]], stretch: int) -> None:
        """Add rows of widgets in columns. stretch: the column that takes the remaining width."""
        grid = QGridLayout()
        grid.setHorizontalSpacing(self._theme.px(8))
        grid.setVerticalSpacing(self._theme.px(_ROW_GAP))
        grid.setColumnStretch(stretch, 1)
        for number, widgets in enumerate(rows):
            for place, widget in enumerate(widgets):
                if widget is not None and place == stretch:
                    grid.addWidget(widget, number, place)
                elif widget is not None:
                    side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                    grid.addWidget(widget, number, place, side)
        self.column.addLayout(grid)

    def text(
        self,
        text: str,
        action: Action,
        tone: str = "text1",
        hint: str = "",
        *,
        elided: bool = False,
    ) -> TextLink:
        """Return a link of one line."""
        link = TextLink(text, self._theme, "cell", tone, hint, elided=elided)
        link.clicked.connect(action)
        return link

    def line(self, text: str, action: Action, tone: str = "accent") -> None:
        """Add a link on a line of its own."""
        row = QHBoxLayout()
        row.addWidget(self.text(text, action, tone, elided=True))
        self.column.addLayout(row)

    def end(self) -> None:
        """Keep the sections at the top."""
        self.column.addStretch(1)


MOST_SESSIONS = 8
MOST_OPERATORS = 3
_MOST_METHODS = 2  # besides that with the key figures
MEDIANS = "medians after warm-up"
OPERATORS = "Most expensive operators, median and range"
NAMES = "Most expensive events, median and range"


class SessionsSection:
    """Adds the section to a column. Its rows switch to the file of a session."""

    def __init__(
        self, card: SectionColumn, host: PanelHost, sessions: SessionSet, open_trace: OpenTrace
    ) -> None:
        """open_trace: the file that the other sections are about."""
        self._card, self._host, self._session = card, host, host.session
        self._sessions, self._open_trace = sessions, open_trace
        self._main, *others = sessions.inferences
        paths = [session.table.trace.path for session in sessions.arm.sessions]
        self._names = distinct_names(paths)
        card.begin(sessions.text, MEDIANS)
        card.figures(self._figures())
        card.grid([self._method_row(row) for row in others[:_MOST_METHODS]], 0)
        count = len(sessions.arm.sessions)
        card.grid([self._session_row(place) for place in range(min(count, MOST_SESSIONS))], 0)
        if count > MOST_SESSIONS:
            more = counted(count - MOST_SESSIONS, "more session")
            card.line(more, partial(host.show_panel, "links"))
        if sessions.operators:
            title = OPERATORS if sessions.arm.program is not None else NAMES
            card.column.addWidget(label(title, host.theme, "caption", "text2"))
            card.grid([self._operator_row(row) for row in sessions.operators[:MOST_OPERATORS]], 1)

    def _figures(self) -> list[tuple[FigureLink, Action]]:
        """The median of the sessions, and how far they are apart."""
        spread, theme, arm = self._main, self._host.theme, self._sessions.arm
        medians = np.array(spread.of_sessions)
        nearest = int(np.nanargmin(np.abs(medians - spread.median)))
        slowest = int(np.nanargmax(medians))
        of_all = f"median of {spread.sessions}"
        caption = f"{spread.name}, {of_all}" if spread.name else of_all
        number, unit = split_time(format_time(round(spread.median)))
        hint = f"The nearest session is {arm.sessions[nearest].name}"
        median = FigureLink(number, unit, caption, theme, hint)
        figures: list[tuple[FigureLink, Action]] = [(median, self._show(nearest))]
        if spread.share is not None:
            share = f"{100 * spread.share:.1f}"
            apart = FigureLink(share, "%", "fastest to slowest", theme, spread.range_text)
            figures.append((apart, self._show(slowest)))
        return figures

    def _show(self, place: int) -> Action:
        """What switches to the file of a session."""
        return partial(self._show_file, self._sessions.arm.sessions[place].table.trace.path)

    def _show_file(self, path: str) -> None:
        traces = enumerate(self._session.traces)
        number = next((i for i, open_trace in traces if open_trace.file.path == path), None)
        if number is not None:
            navigation.show_file(self._session, number)

    def _session_row(self, place: int) -> Sequence[QWidget | None]:
        session, show, text = self._sessions.arm.sessions[place], self._show(place), self._card.text
        path, ns = session.table.trace.path, self._main.of_sessions[place]
        tone = "text1" if path == self._open_trace.file.path else "accent"
        count = "" if session.is_whole else counted(len(session.runs), "inference")
        return (
            text(self._names[place], show, tone, path, elided=True),
            text(format_time(round(ns)) if isfinite(ns) else "–", show),
            text(count, show, "text2"),
        )

    def _method_row(self, row: Spread) -> Sequence[QWidget | None]:
        show, text = partial(self._host.show_panel, "events"), self._card.text
        return (
            text(row.name, show, elided=True),
            text(format_time(round(row.median)), show, hint=row.range_text),
            text(_share_text(row), show, "text2", row.range_text),
        )

    def _operator_row(self, row: Spread) -> Sequence[QWidget | None]:
        swatch, select, text = None, partial(self._host.show_panel, "operators"), self._card.text
        if row.operators:
            palette = self._open_trace.operator_colors(self._session.state.scheme)
            swatch = Swatch(colors_of(row.operators, palette), self._host.theme)
            select = partial(self._select, row.operators)
        hint = f"{row.range_text} in {counted(row.sessions, 'session')}"
        return (
            swatch,
            text(row.name, select, elided=True),
            text(format_time(round(row.median)), select, hint=hint),
            text(_share_text(row), select, "text2", hint),
        )

    def _select(self, operators: tuple[int, ...]) -> None:
        """Select operators in the file that the other sections are about."""
        place, open_trace = OperatorSets((operators,)), self._open_trace
        slices = open_trace.findings.slices_at(place, WHOLE)
        navigation.show_place(self._session, open_trace, place, slices)


def _share_text(row: Spread) -> str:
    """How far sessions are apart, as a share of their median."""
    return "" if row.share is None else f"{100 * row.share:.1f}{NARROW_SPACE}%"
