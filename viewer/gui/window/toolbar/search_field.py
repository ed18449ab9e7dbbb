"""The search field: the query, a hit count such as "3 of 128", and help on the syntax below.

The search runs while typing. Enter and Shift+Enter go to the next and previous hit, Down to the
list of hits. Escape clears the query and returns the focus to the timeline.
"""

from __future__ import annotations

import time
from html import escape

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QFocusEvent, QKeyEvent, QMoveEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.search.query import LONGEST
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.session import Session
from viewer.gui.window.toolbar.first_toolbar import SearchBox
from viewer.model.times import group_digits

SYNTAX = (
    ("conv", "in a name, label, operator, module, source file or identifier"),
    ("a b   a or b   -b   (…)", "both, one of them, not b, grouping"),
    ('"two words"', "as one phrase"),
    ("op: type: module: name:", "operator, operator type, module, name in the file"),
    ("file:model.py:12", "source file, or one of its lines"),
    ("id: delegate:", "delegate identifier or debug handle, backend"),
    ("inference:2 thread: process:", "inference, thread, process"),
    ("arg:batch>5 category:", "argument, also = : < <= >=; category in the file"),
    ("dur > 1ms", "duration; also self and start, < = <= >=, ns us ms s cycles"),
    ("linked unlinked shared zero derived", "linked, not linked, fused, zero-length, derived"),
)
KEYS = (
    "Enter: next · Shift+Enter: previous · Down: list · Escape: clear · {} in the timeline: show "
    "only matches"
)


class SearchField(SearchBox):
    """The toolbar's search field, which follows the query of the view."""

    left = Signal()  # the focus should return to the timeline
    list_requested = Signal()

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(theme)
        self._session = session
        self._searching = Search.of(session)
        self.setMaxLength(LONGEST)
        self._keys = ""  # shortcuts shown in the help
        self.only_hits = QAction("Show only matches", self)
        self.only_hits.setCheckable(True)
        self.only_hits.triggered.connect(self._searching.show_only_hits)
        self.addAction(self.only_hits, QLineEdit.ActionPosition.TrailingPosition)
        self.count = QLabel(self)
        self.count.setFont(theme.font("caption"))
        self.count.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.help: _Help | None = None
        self.textEdited.connect(self._search)
        self._searching.changed.connect(self._follow)
        session.query_changed.connect(self._follow)
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._follow)
        theme.changed.connect(self._follow)
        self._follow()

    def set_shortcut_hints(self, find: str, only_hits: str) -> None:
        """Update the shortcuts in tooltip and help: to focus the field, and to show only hits."""
        self.setToolTip(f"Search  {find}")
        self._keys = KEYS.format(only_hits)
        self.only_hits.setToolTip(f"Show only matches  {only_hits}")
        self._show_help()

    @Slot(str)
    def _search(self, text: str) -> None:
        Search.of(self._session).set_query(text, now=time.monotonic())

    @Slot()
    def _follow(self) -> None:
        """Update to the view's query and its hits."""
        query = self._session.state.query
        complaint = self._searching.complaint or self._searching.advice
        if self.text() != query:
            self.setText(query)
        self.setEnabled(bool(self._session.traces))
        self._icon.setIcon(self._theme.icon("search", "error" if complaint else "text2"))
        only = self._session.state.only_hits
        self.only_hits.setVisible(self._searching.is_on)
        self.only_hits.setChecked(only)
        self.only_hits.setIcon(self._theme.icon("filter", "accent" if only else "text2"))
        self.count.setText(self._count_text())
        token = "error" if complaint else "text2"
        self.count.setStyleSheet(f"color: {self._theme.color(token).name()}; border: 0;")
        self.setAccessibleDescription(complaint or self.count.text())
        self._place()
        self._show_help()

    def _count_text(self) -> str:
        searching = self._searching
        if not searching.is_on:
            return "?" if searching.complaint else ""
        if searching.pending:
            return "…"
        count, index = len(searching.hits), searching.position
        if index is None:
            return group_digits(count) if count else "none"
        return f"{group_digits(index + 1)} of {group_digits(count)}"

    def _place(self) -> None:
        self.count.adjustSize()
        x = self.width() - self.count.width() - self._theme.px(10)
        if self.only_hits.isVisible():
            buttons = self.findChildren(QToolButton)
            x -= next(b.width() for b in buttons if b.defaultAction() is self.only_hits)
        self.count.move(x, (self.height() - self.count.height()) // 2)
        right = self.count.width() + self._theme.px(8) if self.count.text() else 0
        self.setTextMargins(0, 0, right, 0)

    def _show_help(self) -> None:
        """Show help below the focused field: the error or advice if there is one, else the syntax.

        The syntax is shown only while the field is empty.
        """
        complaint = self._searching.complaint or self._searching.advice
        visible = self.hasFocus() and bool(complaint or not self.text())
        if self.help is None and visible:
            self.help = _Help(self.window(), self._theme)
        if self.help is not None:
            self.help.setVisible(visible)
            if visible:
                below = self.mapTo(self.window(), QPoint(0, self.height() + self._theme.px(4)))
                self.help.show_below(below, complaint, self._keys)

    # -- events ----------------------------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()
        self._show_help()

    @guard
    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._show_help()

    @guard
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_help()

    @guard
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_help()

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, back = event.key(), event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if key == Qt.Key.Key_Escape:
            Search.of(self._session).set_query("")
            self.left.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._searching.step(-1 if back else 1)
        elif key == Qt.Key.Key_Down:
            self.list_requested.emit()
        else:
            super().keyPressEvent(event)


class _Help(QFrame):
    """A help sheet over the window, below the field."""

    def __init__(self, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._theme = theme
        self.setObjectName("search_help")
        self.setAutoFillBackground(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(14), theme.px(10), theme.px(14), theme.px(10))
        column.addWidget(self._text)

    def show_below(self, point: QPoint, complaint: str, keys: str) -> None:
        """Show `complaint` if given, else syntax and shortcuts, at a point of the window."""
        colors = self._theme.tokens
        self.setStyleSheet(
            f"#search_help {{ background: {colors.raised}; border: 1px solid {colors.line};"
            " border-radius: 6px; }"
        )
        if complaint:
            self._text.setText(f'<span style="color: {colors.error}">{escape(complaint)}</span>')
        else:
            cell = '<td style="padding: 2px 18px 2px 0;'
            rows = "".join(
                f'<tr>{cell} color: {colors.text1}; white-space: pre">{escape(example)}</td>'
                f'{cell} color: {colors.text2}">{escape(meaning)}</td></tr>'
                for example, meaning in SYNTAX
            )
            shortcuts = f'<p style="color: {colors.text2}">{escape(keys)}</p>'
            self._text.setText(f"<table>{rows}</table>{shortcuts}")
        layout = self.layout()
        assert layout is not None
        layout.activate()
        self.resize(self.sizeHint())
        window = self.parentWidget()
        room = window.width() - self.width() if window is not None else 0
        self.move(max(min(point.x(), room), 0), point.y())
        self.raise_()
