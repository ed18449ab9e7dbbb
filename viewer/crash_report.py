"""Unexpected errors: `guard` for overrides that Qt calls, and one copyable report for the user.

On Python 3.11 an exception of C code (1 // 0, an index error of numpy) inside a Qt override that
was called from another Python override ends the process without a word. So every override of this
program is decorated with `guard`, and tests/test_crash_report.py fails on one that is not.

    @guard
    def paintEvent(self, event: QPaintEvent) -> None: ...

    @guard(0)
    def rowCount(self, parent: QModelIndex) -> int: ...

`install(window)` takes over what nobody caught, in any thread. A place is reported once per run,
and no two dialogs come within 10 seconds; all of it goes to stderr.
"""

from __future__ import annotations

import functools
import platform
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FunctionType, TracebackType
from typing import Any, TypeVar, overload

import PySide6
from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from viewer import __version__

Override = TypeVar("Override", bound=Callable[..., Any])

SECONDS_BETWEEN_DIALOGS = 10.0
_MARK = QPoint(-1234567, 7654321)
_DEEPEST_PAINTER = 64

_lock = threading.Lock()
_reported: set[str] = set()
_reporter: Reporter | None = None


@overload
def guard(override: Override, /) -> Override: ...
@overload
def guard(default: object = None, /) -> Callable[[Override], Override]: ...
def guard(override: object = None, /) -> Any:
    """Make an override of a Qt method never raise: report once, answer a default (None) instead.

    Used bare, or with the default to answer: `@guard(QSize())`. Every QPainter among the arguments
    gets back the state that it came with, whatever the method saved and did not restore.
    """
    if isinstance(override, FunctionType):
        return _guarded(override, None)
    return functools.partial(_guarded, default=override)


def _guarded(override: FunctionType, default: object) -> Callable[..., Any]:
    where = f"{override.__module__}.{override.__qualname__}"

    @functools.wraps(override)
    def call(*args: Any, **kwargs: Any) -> Any:
        painters = [(a, _mark(a)) for a in args if isinstance(a, QPainter)]
        try:
            return override(*args, **kwargs)
        except Exception as error:
            report(error, where)
            return default
        finally:
            for painter, origin in painters:
                _return_to_mark(painter, origin)

    call.__guarded__ = True  # type: ignore[attr-defined]
    return call


def _mark(painter: QPainter) -> QPoint:
    """Save the painter's state under a mark that the override does not see; give what it hides.

    A painter does not tell how many states are saved, so the outer one is told by an origin of the
    brush that nobody uses.
    """
    origin = painter.brushOrigin()
    painter.setBrushOrigin(_MARK)
    painter.save()
    painter.setBrushOrigin(origin)
    return origin


def _return_to_mark(painter: QPainter, origin: QPoint) -> None:
    for _ in range(_DEEPEST_PAINTER):
        if not painter.isActive() or painter.brushOrigin() == _MARK:
            break
        painter.restore()
    if painter.isActive():
        painter.setBrushOrigin(origin)


def report(error: BaseException, where: str) -> None:
    """Tell about an unexpected error, from any thread. A place is told once per run.

    `where` is the dotted name of what failed; the line that raised is part of the place.
    """
    place = f"{where} {_line_of(error)} {type(error).__name__}"
    with _lock:
        if place in _reported:
            return
        _reported.add(place)
    text = describe(error, where)
    print(text, file=sys.stderr, flush=True)
    reporter = _reporter
    if reporter is not None:
        reporter.told.emit(f"{type(error).__name__}: {error}", text)


def describe(error: BaseException, where: str) -> str:
    """The text that a report is made of: versions, place and traceback."""
    trace = "".join(traceback.format_exception(error))
    return (
        f"Opscope {__version__}, Python {platform.python_version()}, PySide6 "
        f"{PySide6.__version__}, {platform.platform()}\nin {where}\n\n{trace}"
    )


def forget() -> None:
    """Make all places new again: what was reported is reported once more."""
    with _lock:
        _reported.clear()


def install(parent: QWidget) -> Reporter:
    """Show uncaught exceptions of all threads in dialogs of `parent`, until `Reporter.uninstall`.

    Call it on the GUI thread, once.
    """
    global _reporter
    if _reporter is not None:
        _reporter.uninstall()
    _reporter = Reporter(parent)
    return _reporter


class Reporter(QObject):
    """Brings reports of any thread to dialogs on the GUI thread."""

    told = Signal(str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._last = -SECONDS_BETWEEN_DIALOGS
        self.dialog: ReportDialog | None = None
        # A bound slot of an object of the GUI thread, queued: the only way that surely leaves the
        # thread that failed, and a paint event that is still going on.
        self.told.connect(self._show, Qt.ConnectionType.QueuedConnection)
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = _uncaught
        threading.excepthook = _uncaught_in_thread

    def uninstall(self) -> None:
        """Give the hooks back; reports go to stderr only from now on."""
        global _reporter
        sys.excepthook, threading.excepthook = self._before
        if _reporter is self:
            _reporter = None

    @Slot(str, str)
    def _show(self, title: str, text: str) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_DIALOGS:
            return
        self._last = now
        self.dialog = ReportDialog(title, text, self._window)
        # Neither exec nor open: what is open in the window can still be used and saved.
        self.dialog.show()


class ReportDialog(QDialog):
    """What went wrong, with the report to copy."""

    def __init__(self, title: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Unexpected error")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._text = text
        message = QLabel(
            f"{title}\n\nThis is a fault in Opscope. What is open stays open; the same fault is "
            "not shown again. Please copy the report and send it to the project."
        )
        message.setTextFormat(Qt.TextFormat.PlainText)
        message.setWordWrap(True)
        details = QPlainTextEdit(text)
        details.setReadOnly(True)
        details.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        details.setAccessibleName("Report")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton("Copy report", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self.copy)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        for widget in (message, details, buttons):
            layout.addWidget(widget)
        self.resize(680, 420)

    @Slot()
    def copy(self) -> None:
        """Put the report on the clipboard."""
        QGuiApplication.clipboard().setText(self._text)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    report(error, _function_of(error))


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and args.exc_type is not SystemExit:
        report(args.exc_value, _function_of(args.exc_value))


def _last_frame(error: BaseException) -> traceback.FrameSummary | None:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1] if frames else None


def _function_of(error: BaseException) -> str:
    frame = _last_frame(error)
    return frame.name if frame else "unknown place"


def _line_of(error: BaseException) -> str:
    frame = _last_frame(error)
    return f"{frame.filename}:{frame.lineno}" if frame else ""
