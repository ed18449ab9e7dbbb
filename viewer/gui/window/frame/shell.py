"""The frame of the window: menus, pages, message bar, status bar, and its signals.

It exists from the first paint on, so nothing imported here may need numpy. Services take the shell
to show things in it; what it shows about a session is up to them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStatusBar,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from viewer.dataclasses import dataclass
from viewer.gui.qt.accessibility import FocusFrame, Framed
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import ElidedLabel, PageStack
from viewer.gui.window.frame.start_page import StartPage
from viewer.gui.window.toolbar.first_toolbar import FirstToolbar
from viewer.model.text import visible_controls

_MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    is_error: bool
    action: str = ""
    answer: Callable[[], None] | None = None


class MessageBar(QWidget):
    """Shows errors and warnings above the timeline until dismissed; `changed`: its height."""

    changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._text = QLabel()
        self._text.setWordWrap(True)
        # A long path cannot be wrapped, and must not make the window wider.
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self._text.setSizePolicy(policy)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._dot = QLabel("●")
        self.action = QPushButton()
        self.action.clicked.connect(self._act)
        self.action.hide()  # until a message has an action
        close = QPushButton("Dismiss")
        close.clicked.connect(self.dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self._dot)
        row.addWidget(self._text, 1)
        row.addWidget(self.action)
        row.addWidget(close)
        self._messages: list[_Message] = []
        self.setAutoFillBackground(True)
        theme.changed.connect(self._show)
        self.hide()

    def show_error(
        self, text: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Show an error, optionally with a button as in `show_warning`."""
        self._add(_Message(text, True, action, answer))

    def show_warning(
        self, text: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Show a warning, optionally with a button titled `action` that calls `answer`."""
        self._add(_Message(text, False, action, answer))

    def dismiss(self) -> None:
        """Remove all messages."""
        self._messages.clear()
        self._show()

    def keep_warnings(self, texts: Collection[str]) -> None:
        """Remove warnings that are not in `texts`; errors stay until they are dismissed."""
        remaining = [m for m in self._messages if m.is_error or m.text in texts]
        if remaining != self._messages:
            self._messages = remaining
            self._show()

    def remove(self, text: str) -> None:
        """Remove a message that no longer holds; does nothing if it is not shown."""
        remaining = [m for m in self._messages if m.text != text]
        if remaining != self._messages:
            self._messages = remaining
            self._show()

    @property
    def text(self) -> str:
        """The text shown, "" while the bar is hidden."""
        return self._text.text() if not self.isHidden() else ""

    def _add(self, message: _Message) -> None:
        self._messages = [m for m in self._messages if m.text != message.text]
        self._messages.append(message)
        self._show()

    def _act(self) -> None:
        answer = self._answer()
        self.dismiss()
        if answer is not None and answer.answer is not None:
            answer.answer()

    def _answer(self) -> _Message | None:
        """The latest message that has an action."""
        return next((m for m in reversed(self._messages) if m.action), None)

    def _show(self) -> None:
        more = len(self._messages) - _MOST_LINES
        lines = [m.text for m in self._messages[-_MOST_LINES:]]
        rest = [f"and {more} more, see Problems"] if more > 0 else []
        self._text.setText(visible_controls("\n".join([*lines, *rest])))
        answer = self._answer()
        self.action.setText(answer.action if answer is not None else "")
        self.action.setVisible(answer is not None)
        token = "error" if any(m.is_error for m in self._messages) else "warning"
        self._dot.setStyleSheet(f"color: {self._theme.color(token).name()}")
        self.setVisible(bool(self._messages))
        self.changed.emit()


PROGRESS_AFTER_MS = 300
MESSAGE_MS = 10_000
_STEPS = 1000
_RANGE_STEP = 64  # px
_PAGE_WIDTH = 420
_MOST_NAMED = 3


class StatusBar(QStatusBar):
    """Shows texts and progress; emits `cancelled` when its Cancel button is clicked.

    `said` is the last message, or else the selection. No text makes the window wider.
    """

    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.range = QLabel()
        self.range.setTextFormat(Qt.TextFormat.PlainText)
        self.said = ElidedLabel("", theme, "body", "text2")
        self.progress = QProgressBar()
        self.progress.setFixedWidth(180)
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self._task = ElidedLabel("", theme, "body", "text2")
        self._task.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelled)
        self.addWidget(self.range)
        self.addWidget(self.said, 1)
        self._busy = (self._task, self.progress, self.cancel)
        for widget in self._busy:
            self.addPermanentWidget(widget, 1 if widget is self._task else 0)
        self._selection = ""
        # runs while a message is shown
        self._message_timer = QTimer(self, interval=MESSAGE_MS, singleShot=True)
        self._message_timer.timeout.connect(self._show_selection)
        self._late = QTimer(self, interval=PROGRESS_AFTER_MS, singleShot=True)
        self._late.timeout.connect(self._show_busy)
        self.end()

    def show_range(self, text: str) -> None:
        """Show the visible range."""
        self.range.setText(text)
        # Each change of the label's width causes a new layout and repaint, so widths are rounded
        # up.
        needed = self.range.sizeHint()
        steps = -(-needed.width() // _RANGE_STEP) if text else 0
        self.range.setFixedSize(steps * _RANGE_STEP, needed.height())

    def show_selection(self, text: str) -> None:
        """Show the text of the selection, in place of any message."""
        self._selection = text
        self._message_timer.stop()
        self._show_selection()

    def show_text(self, text: str) -> None:
        """Show a message for 10 s, or until the selection changes."""
        self.said.setText(text)
        self._message_timer.start()

    def _show_selection(self) -> None:
        self.said.setText(self._selection)

    def start(self) -> None:
        """Show progress with a Cancel button, unless `end` follows within 300 ms."""
        self._late.start()

    def set_status(self, task: str, share: float | None = None) -> None:
        """Show the current task, and the fraction done, 0 to 1."""
        self._task.setText(task)
        if share is not None:
            self.progress.setValue(round(share * _STEPS))

    def end(self) -> None:
        """Hide progress and Cancel button."""
        self._late.stop()
        for widget in self._busy:
            widget.hide()

    def _show_busy(self) -> None:
        for widget in self._busy:
            widget.show()

    @guard(QSize(0, 0))
    def minimumSizeHint(self) -> QSize:
        """As narrow as the window needs; texts are elided."""
        return QSize(0, super().minimumSizeHint().height())


class ReadingPage(QWidget):
    """What is read, how far, and a button that emits `cancelled`."""

    cancelled = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.task = ElidedLabel("", theme, "body", "text2", Qt.TextElideMode.ElideMiddle)
        self.task.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.progress = QProgressBar()
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelled)
        self.task.setFixedWidth(theme.px(_PAGE_WIDTH))
        self.progress.setFixedWidth(theme.px(_PAGE_WIDTH))
        column = laid_out(QVBoxLayout(self), 1, gap=theme.px(12))
        for widget in (self.task, self.progress, self.cancel):
            row = laid_out(QHBoxLayout(), 1, widget, 1)
            column.addLayout(row)
        column.addStretch(1)

    def begin(self, paths: Sequence[str]) -> None:
        """Name the files that are about to be read, or the folders that are searched."""
        names = [os.path.basename(path.rstrip(os.sep)) or path for path in paths]
        more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
        self.show_progress(f"Reading {' · '.join([*names[:_MOST_NAMED], *more])}", 0.0)

    def show_progress(self, task: str, share: float) -> None:
        """Show what is read, and the fraction of it that is done, 0 to 1."""
        self.task.setText(task)
        self.progress.setValue(round(share * _STEPS))


MENU_TITLES = ("&File", "&Edit", "&View", "&Go", "&Tracks", "&Selection", "&Help")
USUAL_SIZE = QSize(1600, 900)
TOOLBAR_HEIGHT = 44  # px


class Shell(Framed, QMainWindow):
    """The frame of one window.

    Signals: `resized` on a new size. `closing` when the window closes for good, so that everything
    in it must stop, and `closed` after that. `stayed` if it was to be closed and stays open.
    """

    resized = Signal()
    closing = Signal()
    stayed = Signal()
    closed = Signal(object)  # the window
    new_window_requested = Signal()
    quit_requested = Signal()
    picture_offered = Signal(object)  # what `save_picture` takes

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self.theme, self.settings = theme, settings
        self.scale = theme.scale  # of the fonts that its parts were made for
        theme.apply_to(self)
        self.setWindowTitle("Opscope")
        self.resize(USUAL_SIZE.boundedTo(self.screen().availableGeometry().size()))
        bar = self.menuBar()
        self.menus = {title.replace("&", ""): bar.addMenu(title) for title in MENU_TITLES}
        self.toolbar: QToolBar = FirstToolbar(theme)  # until the real one exists
        self.toolbar.setFixedHeight(theme.px(TOOLBAR_HEIGHT))
        self.addToolBar(self.toolbar)
        self.status = StatusBar(theme, self)
        self.setStatusBar(self.status)
        self.message = MessageBar(theme)
        self.start_page = StartPage(theme, settings)
        self.reading = ReadingPage(theme)
        self.reading.cancelled.connect(self.status.cancelled)
        self.pages = PageStack()
        for page in (self.start_page, self.reading):
            self.pages.addWidget(page)
        self.center = center = QWidget()
        self._column = column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.message)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(center)
        self._focus_frame = FocusFrame(theme, self)

    def add_bar(self) -> MessageBar:
        """Add a message bar for one message, which no other message or reading replaces."""
        bar = MessageBar(self.theme)
        self._column.insertWidget(0, bar)
        return bar

    def show_text(self, text: str) -> None:
        """Show a message in the status bar, for a part of the window."""
        self.status.show_text(text)

    def save_picture(self, bytes_of: Callable[[str], bytes]) -> None:
        """Ask for a file, and write a picture, for a part of the window."""
        self.picture_offered.emit(bytes_of)

    def lay_out(self) -> None:
        """Apply the layout of message bar and pages now."""
        self._column.activate()

    def take_toolbar(self, toolbar: QToolBar) -> None:
        """Replace the placeholder with the real toolbar."""
        self.removeToolBar(self.toolbar)
        self.toolbar.deleteLater()
        self.toolbar = toolbar
        self.addToolBar(toolbar)

    # -- Qt overrides ------------------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    @guard
    def createPopupMenu(self) -> None:
        """Disable Qt's menu, which could hide the toolbar; panels are in the View menu."""
        return None
