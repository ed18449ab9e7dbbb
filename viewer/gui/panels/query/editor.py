"""The text of a query, which completes tables, columns and words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtCore import QStringListModel, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QSyntaxHighlighter, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QCompleter, QListView, QPlainTextEdit

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON",
    "USING", "AS", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS NULL", "CASE", "WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "UNION ALL", "EXCEPT", "WITH", "OVER", "PARTITION BY", "DESC",
    "count(*)", "sum(", "avg(", "min(", "max(", "median(", "quantile_cont(", "overlap(", "lead(",
    "lag(", "row_number()", "coalesce(", "round(",
)  # fmt: skip
_SINGLE = sorted({part for word in WORDS if word[0].isupper() for part in word.split()})
_KEYWORD = re.compile(rf"\b(?:{'|'.join(_SINGLE)})\b", re.IGNORECASE)
_TEXT, _REMARK = re.compile(r"'(?:[^']|'')*'?"), re.compile(r"--.*")
_FEWEST = 2  # letters before words are proposed
_RUN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_POPUP_KEYS = (*_RUN_KEYS, Qt.Key.Key_Tab, Qt.Key.Key_Escape, Qt.Key.Key_Backtab)


def proposals(text: str, schema: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what can follow in a query, the columns of the tables that it names first."""
    names = {table: table.partition("(")[0] for table in schema}  # without a parameter
    named = [
        table for table, name in names.items() if re.search(rf"\b{name}\b", text, re.IGNORECASE)
    ]
    columns: Iterable[str] = (c for table in (named or schema) for c in schema[table])
    return list(dict.fromkeys((*columns, *schema, *WORDS)))


class _Colors(QSyntaxHighlighter):
    """Colors the words of SQL, texts and remarks."""

    def __init__(self, editor: QPlainTextEdit, theme: Theme) -> None:
        super().__init__(editor.document())
        self._theme = theme

    @guard
    def highlightBlock(self, text: str) -> None:
        for pattern, token in ((_KEYWORD, "accent"), (_TEXT, "text2"), (_REMARK, "text3")):
            look = QTextCharFormat()
            look.setForeground(QColor(self._theme.color(token)))
            for match in pattern.finditer(text):
                self.setFormat(match.start(), match.end() - match.start(), look)


class QueryEditor(QPlainTextEdit):
    """The editor. Ctrl+Enter runs the query, Ctrl+Space proposes words; Tab leaves it."""

    run_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.schema: Mapping[str, Sequence[str]] = {}
        self.setAccessibleName("SQL query")
        self.setPlaceholderText("SELECT name, count(*), sum(dur_ns) FROM slices GROUP BY 1")
        self.setTabChangesFocus(True)
        self.setFont(theme.font("code"))
        self._colors = _Colors(self, theme)
        self._words = QStringListModel(self)
        self.completer = QCompleter(self._words, self)
        self.proposed = QListView()
        self.completer.setPopup(self.proposed)
        self.completer.setWidget(self)
        self.completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.completer.setFilterMode(Qt.MatchFlag.MatchStartsWith)
        self.completer.activated.connect(self._complete)

    @property
    def _start(self) -> str:
        """The letters before the cursor."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        match = re.search(r"\w*$", before)
        return match[0] if match else ""

    def insert_word(self, word: str) -> None:
        """Insert a word at the cursor, with spaces around it where they are needed."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        space = " " if before and before[-1].isalnum() else ""
        cursor.insertText(f"{space}{word}")
        self.setFocus()

    @Slot(str)
    def _complete(self, word: str) -> None:
        cursor = self.textCursor()
        cursor.movePosition(
            QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(self._start)
        )
        cursor.insertText(word)
        self.setTextCursor(cursor)

    def propose(self, fewest: int = _FEWEST) -> None:
        """Show the words that begin with the letters before the cursor, if there are so many."""
        start, popup = self._start, self.proposed
        words = proposals(self.toPlainText(), self.schema)
        self._words.setStringList(words)
        self.completer.setCompletionPrefix(start)
        alone = self.completer.completionCount() == 1 and (
            self.completer.currentCompletion().casefold() == start.casefold()
        )
        if len(start) < fewest or alone or not self.completer.completionCount():
            popup.hide()
            return
        popup.setCurrentIndex(self.completer.completionModel().index(0, 0))
        place = self.cursorRect()
        place.setWidth(popup.sizeHintForColumn(0) + popup.verticalScrollBar().sizeHint().width())
        self.completer.complete(place)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        has_control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        if self.proposed.isVisible() and not has_control and key in _POPUP_KEYS:
            event.ignore()  # the popup takes them
            return
        if has_control and key in _RUN_KEYS:
            self.proposed.hide()
            self.run_requested.emit()
            return
        if has_control and key == Qt.Key.Key_Space:
            self.propose(0)
            return
        super().keyPressEvent(event)
        if event.text().isalnum() or event.text() == "_" or key == Qt.Key.Key_Backspace:
            self.propose()
        else:
            self.proposed.hide()
