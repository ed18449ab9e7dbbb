"""Asks what the columns of tables are that do not show it, and remembers the answers."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

from viewer.codecs.reading import UnreadableFile
from viewer.gui.qt.background import Latest
from viewer.gui.window.frame.shell import Shell
from viewer.model.text import display_name

if TYPE_CHECKING:
    from viewer.formats.table.stated_columns import Question
    from viewer.gui.window.dialogs.columns import ColumnsDialog


class TableColumns(QObject):
    """One dialog at a time.

    `answered(path, columns)` is emitted for each answer, which may be one that is remembered;
    `refused(path, question, message)` if the user gives none, with why the file cannot be read.
    """

    answered = Signal(object, str)
    refused = Signal(object, object, str)

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self._shell, self._settings = shell, shell.settings
        self._waiting: deque[tuple[str, Question, str]] = deque()
        self._tried: dict[str, str] = {}  # path -> remembered columns that it was opened with
        self.dialog: ColumnsDialog | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._looked)
        self._latest.failed.connect(shell.message.show_error)

    def answer(self, path: str, question: Question, message: str) -> None:
        """Answer a question as before for tables with this header, else ask.

        message: why the file cannot be read without.
        """
        from viewer.formats.table.stated_columns import is_columns

        remembered = self._settings.table_columns(question.layout.names)
        if remembered and is_columns(remembered) and self._tried.get(path) != remembered:
            self._tried[path] = remembered
            name = display_name(path)
            self._shell.status.show_text(f"{name}: columns as you chose them before")
            self.answered.emit(path, remembered)
            return
        self.ask(path, question, message)

    def ask(self, path: str, question: Question, message: str) -> None:
        """Ask, after the questions that wait."""
        self._tried.pop(path, None)
        self._waiting.append((path, question, message))
        self._show_next()

    def look_at(self, path: str, columns: str) -> None:
        """Ask for the columns of a table that is open with these columns, "" for as recognized."""
        self._latest.submit(_question, (path, columns))

    @Slot(object)
    def _looked(self, question: tuple[str, Question]) -> None:
        self.ask(*question, "")

    def _show_next(self) -> None:
        from viewer.gui.window.dialogs.columns import ColumnsDialog

        if self.dialog is not None or not self._waiting:
            return
        path, question, message = self._waiting.popleft()
        dialog = self.dialog = ColumnsDialog(path, question, self._shell.theme, self._shell)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.columns_chosen.connect(partial(self._chosen, path, question))
        dialog.rejected.connect(partial(self._closed, path, question, message))
        dialog.open()

    def _chosen(self, path: str, question: Question, columns: str) -> None:
        self.dialog = None
        self._settings.set_table_columns(question.layout.names, columns)
        self._tried[path] = columns
        self.answered.emit(path, columns)
        self._next()

    def _closed(self, path: str, question: Question, message: str) -> None:
        self.dialog = None
        if message:
            self.refused.emit(path, question, message)
        self._next()

    def _next(self) -> None:
        """Answer waiting questions as remembered for their header, and ask the first other one."""
        waiting, self._waiting = self._waiting, deque()
        for path, question, message in waiting:
            # Without a message, the user wants to change the columns of a file that is open.
            (self.answer if message else self.ask)(path, question, message)


def _question(table: tuple[str, str]) -> tuple[str, Question]:
    """A path, and the question with what is known of its columns. Raises UnreadableFile."""
    from viewer.formats.table.column_roles import known_columns
    from viewer.formats.table.stated_columns import Question, parse_columns
    from viewer.formats.zipped import table_layout

    path, columns = table
    try:
        layout = table_layout(path)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    stated = parse_columns(columns) if columns else None
    return path, Question(layout, known_columns(layout, stated), ())
