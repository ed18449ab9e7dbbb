"""Unexpected errors: `guard` for overrides that Qt calls, and one copyable report for the user.

On Python 3.11 an exception of C code (1 // 0, an index error of numpy) inside a Qt override that
was called from another Python override ends the process without a word. So every override of this
program is decorated with `guard`, and tests/gui/qt/test_crash_report.py fails on one that is not.

    @guard
    def paintEvent(self, event: QPaintEvent) -> None: ...

    @guard(0)
    def rowCount(self, parent: QModelIndex) -> int: ...

`install(owner, ...)` takes over what nobody caught, in any thread. A place is reported once per
run, and no two dialogs come within 10 seconds; all of it goes to stderr. What is copied names no
file of the user unless the user wants it to.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType, TracebackType
from typing import Any, TypeVar, overload

import PySide6
from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot, qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication, QPainter
from PySide6.QtWidgets import (
    QCheckBox,
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
# In quotation marks a path may have spaces, elsewhere it ends at the first.
_QUOTED_PATH = re.compile(r"""(["'])(?P<path>(?:[A-Za-z]:[\\/]|\\\\|/)[^"'\n]*)\1""")
_PATH = re.compile(r"""(?<![\w…>.:/\\])(?P<path>(?:[A-Za-z]:[\\/]|\\\\|/)[^\s"'<>|,;:]+)""")
_OF_PROGRAM = re.compile(r".*/(?:site-packages|python3\.\d+|_internal)/(.+)$|.*/(viewer/.+\.py)$")
_SUFFIX = re.compile(r"\.\w{1,12}$")
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
        # Not isinstance: it takes a microsecond for a class of Qt, of thousands of calls a window.
        painters = [(a, _mark(a)) for a in args if type(a) is QPainter]
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
        reporter.reported.emit(f"{type(error).__name__}: {error}", text)


def describe(error: BaseException, where: str) -> str:
    """The text that a report is made of: versions, place and traceback."""
    trace = "".join(traceback.format_exception(error))
    return f"{versions()}\nin {where}\n\n{trace}"


def versions() -> str:
    """What runs here, in a line. Not `platform.platform()`, which runs another program."""
    return (
        f"Opscope {__version__}, Python {platform.python_version()}, PySide6 "
        f"{PySide6.__version__}, Qt {qVersion()} on {QGuiApplication.platformName() or 'nothing'}, "
        f"{platform.system()} {platform.release()} {platform.machine()}"
    )


def without_paths(text: str, known: Iterable[str] = ()) -> str:
    """A report without names of the user's files: of program files the place in their package
    stays, of all others the suffix. known: paths that are open, whose names alone go too."""
    for path in sorted(known, key=len, reverse=True):
        hidden = f"<file{_SUFFIX.search(path)[0] if _SUFFIX.search(path) else ''}>"  # type: ignore[index]
        for said in (path, repr(path)[1:-1], os.path.basename(path)):
            if said:
                text = text.replace(said, hidden)
    for pattern in (_QUOTED_PATH, _PATH):
        text = pattern.sub(_shortened, text)
    return text


def _shortened(found: re.Match[str]) -> str:
    path = found["path"]
    own = _OF_PROGRAM.search(path.replace("\\", "/"))
    if own is not None:
        return found[0].replace(path, f"…/{own[1] or own[2]}")
    suffix = _SUFFIX.search(path)
    return found[0].replace(path, f"<file{suffix[0] if suffix else ''}>")


def forget() -> None:
    """Make all places new again: what was reported is reported once more."""
    with _lock:
        _reported.clear()


@dataclass(frozen=True, slots=True)
class Situation:
    """What a report tells beside the fault. formats: of the open files; paths: theirs, to be left
    out; log: where faults that end the program are written, fault: the last one that was."""

    formats: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    log: str = ""
    fault: str = ""


def install(
    owner: QObject,
    window: Callable[[], QWidget | None] = lambda: None,
    situation: Callable[[], Situation] = Situation,
) -> Reporter:
    """Show uncaught exceptions of all threads in dialogs, until `Reporter.uninstall`.

    Call it on the GUI thread, once. window: before which a dialog is shown, of several the one
    that is worked in.
    """
    global _reporter
    if _reporter is not None:
        _reporter.uninstall()
    _reporter = Reporter(owner, window, situation)
    return _reporter


class Reporter(QObject):
    """Brings reports of any thread to dialogs on the GUI thread."""

    reported = Signal(str, str)

    def __init__(
        self,
        owner: QObject,
        window: Callable[[], QWidget | None],
        situation: Callable[[], Situation],
    ) -> None:
        super().__init__(owner)
        self._window, self._situation = window, situation
        self._last = -SECONDS_BETWEEN_DIALOGS
        self.dialog: ReportDialog | None = None
        # A bound slot of an object of the GUI thread, queued: the only way that surely leaves the
        # thread that failed, and a paint event that is still going on.
        self.reported.connect(self._show, Qt.ConnectionType.QueuedConnection)
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
        self.dialog = ReportDialog(title, text, self._situation(), self._window())
        # Neither exec nor open: what is open in the window can still be used and saved.
        self.dialog.show()


class ReportDialog(QDialog):
    """What went wrong, with the report to copy."""

    def __init__(
        self, title: str, text: str, situation: Situation, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Unexpected error")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        formats = ", ".join(situation.formats) or "nothing"
        self._text = f"Open: {formats}\n{text}"
        self._paths = situation.paths
        if situation.fault:
            self._text += f"\nA start before this one ended with a fault:\n{situation.fault}\n"
        message = QLabel(
            f"{title}\n\nThis is a fault in Opscope. What is open stays open; the same fault is "
            "not shown again. Nothing is sent by itself: please copy the report, read it, and send "
            "it to the project."
        )
        self._details = QPlainTextEdit()
        self._details.setReadOnly(True)
        self._details.setTabChangesFocus(True)
        self._details.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._details.setAccessibleName("Report")
        self.with_paths = QCheckBox("With the paths of files")
        self.with_paths.toggled.connect(self._show_text)
        log = QLabel(
            f"Should Opscope ever end by itself, {situation.log} tells where."
            if situation.log
            else ""
        )
        log.setVisible(bool(situation.log))
        for label in (message, log):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        log.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton("Copy report", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self.copy)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        for widget in (message, self._details, self.with_paths, log, buttons):
            layout.addWidget(widget)
        self.resize(680, 460)
        self._show_text()

    @property
    def text(self) -> str:
        """The report as it is shown and copied."""
        return self._details.toPlainText()

    @Slot()
    def copy(self) -> None:
        """Put the report on the clipboard."""
        QGuiApplication.clipboard().setText(self.text)

    @Slot()
    def _show_text(self) -> None:
        whole = self.with_paths.isChecked()
        self._details.setPlainText(self._text if whole else without_paths(self._text, self._paths))


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
