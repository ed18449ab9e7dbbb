"""Syntax coloring of Python and MLIR, with one regular expression each.

It matches tokens, not grammar; only triple-quoted strings span lines.
"""

from __future__ import annotations

import keyword
import re
from typing import Literal

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QSyntaxHighlighter, QTextCharFormat, QTextDocument

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

Language = Literal["python", "mlir", "text"]
Span = tuple[int, int, str]

# Longer lines are not colored: a line of weights can be megabytes long.
_LONGEST_LINE = 2000
_LINES_AT_ONCE = 50
_NUMBER = r"(?P<number>\b\d[\w.]*)"
_STRING = r"""(?P<string>[rbfuRBFU]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))"""
_TOKENS: dict[Language, re.Pattern[str]] = {
    "python": re.compile(
        r"(?P<comment>\#.*)"
        rf"|{_STRING}"
        rf"|(?P<keyword>\b(?:{'|'.join([*keyword.kwlist, 'self'])})\b)"
        r"|(?P<call>\b[A-Za-z_]\w*(?=\())"
        rf"|{_NUMBER}"
    ),
    "mlir": re.compile(
        r"(?P<comment>//.*)"
        r'|(?P<string>"(?:[^"\\]|\\.)*"?)'
        r"|(?P<keyword>\b(?:module|func|return|loc|attributes|dense|true|false|unit|private|public)\b)"
        r"|(?P<call>(?<=[=(\s])[a-z_]\w*(?:\.[a-z_]\w*)+)"
        r"|(?P<value>[%@#^!][\w$.-]+)"
        rf"|{_NUMBER}"
    ),
}
_TRIPLE = re.compile(r"'''|\"\"\"")
_QUOTES = ("", '"""', "'''")


def language_of(path: str) -> Language:
    suffix = path.lower().rpartition(".")[2]
    return "python" if suffix in ("py", "pyi") else "mlir" if suffix == "mlir" else "text"


def spans(line: str, language: Language, state: int = 0) -> tuple[list[Span], int]:
    """Return the colored parts of a line as (start, length, kind), and the state for the next line.

    state: 0, or the index in `_QUOTES` of the open triple quotes. Kinds: keyword, string, number,
    call, comment.
    """
    pattern = _TOKENS.get(language)
    if pattern is None or len(line) > _LONGEST_LINE:
        return [], state
    spans_found: list[Span] = []
    position = 0
    while position <= len(line):
        if state:
            end = line.find(_QUOTES[state], position)
            stop = len(line) if end < 0 else end + 3
            spans_found.append((position, stop - position, "string"))
            if end < 0:
                return spans_found, state
            position, state = stop, 0
            continue
        triple = _TRIPLE.search(line, position) if language == "python" else None
        for match in pattern.finditer(line, position):
            kind = match.lastgroup or ""
            start = match.start() if kind == "comment" else match.end() - 1
            if triple and start >= triple.start():
                break
            if kind != "value":
                spans_found.append((match.start(), match.end() - match.start(), kind))
            if kind == "comment":
                return spans_found, 0
        if triple is None:
            return spans_found, 0
        spans_found.append((triple.start(), 3, "string"))
        position, state = triple.end(), _QUOTES.index(triple[0])
    return spans_found, state


class Highlighter(QSyntaxHighlighter):
    """Colors a document with the theme's code colors."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        self._formats: dict[str, QTextCharFormat] = {}
        self._due: list[int] = []  # lines that still have the colors of the other theme
        self._soon = QTimer(self)
        self._soon.timeout.connect(self._restyle_some)
        self.language: Language = "text"

    def restyle(self, start: int, stop: int) -> None:
        """Color some lines now, the others a few at a time: each takes Qt 0.2 ms."""
        self._formats.clear()
        lines = self.document().blockCount()
        start, stop = min(start, lines), min(stop, lines)
        self._due = [*range(start, stop), *range(stop, lines), *range(start)][::-1]
        self._restyle_some(stop - start)
        self._soon.start(0)

    @Slot()
    def _restyle_some(self, count: int = _LINES_AT_ONCE) -> None:
        for _ in range(min(count, len(self._due))):
            block = self.document().findBlockByNumber(self._due.pop())
            if block.isValid():  # another file may be shown by now
                self.rehighlightBlock(block)
        if not self._due:
            self._soon.stop()

    @guard
    def highlightBlock(self, text: str) -> None:
        before = max(self.previousBlockState(), 0)
        colored, after = spans(text, self.language, before)
        self.setCurrentBlockState(after)
        for start, length, kind in colored:
            if kind not in self._formats:
                self._formats[kind] = QTextCharFormat()
                self._formats[kind].setForeground(self._theme.color(f"code_{kind}"))
            self.setFormat(start, length, self._formats[kind])
