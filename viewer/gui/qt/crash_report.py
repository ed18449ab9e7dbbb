"""Unexpected errors: `guard` for Qt overrides, a report that the user can copy, a log of faults.

On Python 3.11, an exception raised in C code (1 // 0, a numpy index error) ends the process
silently if it occurs in a Qt override that was called from another Python override. So every
override in this program is decorated with `guard`; tests/gui/qt/test_crash_report.py fails if one
is not.

Dialogs are at least 10 seconds apart; every report is printed to stderr. The copied text contains
no names of the user's files unless the user opts in.

Crashes that end the process are logged by Python's fault handler in `faults.log` in the settings
folder, without profile data. Each start appends a line with versions, which identifies the start
that a fault belongs to, and cuts the file to its last 32 kB.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import platform
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from datetime import datetime
from types import FunctionType, TracebackType
from typing import IO, Any, TypeVar, overload

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
from viewer.dataclasses import dataclass
from viewer.model.text import visible_controls

Override = TypeVar("Override", bound=Callable[..., Any])

SECONDS_BETWEEN_DIALOGS = 10.0
# A path in quotes may contain spaces; elsewhere it ends at the first space.
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
    """Decorate a Qt override so that it never raises: report the error and return a default.

    Use it bare (the default is None) or with a default: `@guard(QSize())`. Every QPainter argument
    is restored to the state it came in, even if the method saved states without restoring them.
    """
    if isinstance(override, FunctionType):
        return _guarded(override, None)
    return functools.partial(_guarded, default=override)


def _guarded(override: FunctionType, default: object) -> Callable[..., Any]:
    where = f"{override.__module__}.{override.__qualname__}"

    @functools.wraps(override)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Not isinstance, which takes 1 µs for Qt classes; a window makes thousands of these calls.
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
    """Save the painter's state below a marker; returns the brush origin that the marker replaces.

    A painter does not report how many states are saved, so an otherwise unused brush origin
    identifies the outer state.
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
    """Report an unexpected error from any thread; each place is reported once per process.

    A place consists of `where`, the dotted name of what failed, and the line that raised.
    """
    place = f"{where} {_line_of(error)} {type(error).__name__}"
    with _lock:
        if place in _reported:
            return
        _reported.add(place)
    text = describe(error, where)
    with contextlib.suppress(OSError):  # stderr may be full or closed
        print(visible_controls(text), file=sys.stderr, flush=True)
    if (reporter := _reporter) is not None:
        reporter.reported.emit(f"{type(error).__name__}: {error}", text)


def describe(error: BaseException, where: str) -> str:
    """The text of a report: versions, place and traceback."""
    trace = "".join(traceback.format_exception(error))
    return f"{versions()}\nin {where}\n\n{trace}"


def versions() -> str:
    """The versions in use, on one line; avoids `platform.platform()`, which runs a subprocess."""
    return (
        f"Opscope {__version__}, Python {platform.python_version()}, PySide6 "
        f"{PySide6.__version__}, Qt {qVersion()} on {QGuiApplication.platformName() or 'nothing'}, "
        f"{platform.system()} {platform.release()} {platform.machine()}"
    )


def without_paths(text: str, paths: Iterable[str] = ()) -> str:
    """Remove the names of the user's files from a report.

    Paths of program files are cut to their place in the package, and other paths to their suffix.
    `paths` are those of open files: occurrences of the bare file name are removed too.
    """
    for path in sorted(paths, key=len, reverse=True):
        hidden = f"<file{_SUFFIX.search(path)[0] if _SUFFIX.search(path) else ''}>"  # type: ignore[index]
        for form in (path, repr(path)[1:-1], os.path.basename(path)):
            if form:
                text = text.replace(form, hidden)
    for pattern in (_QUOTED_PATH, _PATH):
        text = pattern.sub(_shortened, text)
    return text


def _shortened(match: re.Match[str]) -> str:
    path = match["path"]
    if (program_file := _OF_PROGRAM.search(path.replace("\\", "/"))) is not None:
        return match[0].replace(path, f"…/{program_file[1] or program_file[2]}")
    suffix = _SUFFIX.search(path)
    return match[0].replace(path, f"<file{suffix[0] if suffix else ''}>")


def forget() -> None:
    """Forget which places were reported, so that they are reported again."""
    with _lock:
        _reported.clear()


@dataclass(frozen=True, slots=True)
class Situation:
    """Context for a report.

    `formats` and `paths` describe the open files; paths are removed from the report by default.
    `log` is the path of the log of fatal faults, and `fault` is the last fault in it.
    """

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

    Call it once, on the GUI thread. `window` returns the parent for a dialog: the active window.
    """
    global _reporter
    if _reporter is not None:
        _reporter.uninstall()
    _reporter = Reporter(owner, window, situation)
    return _reporter


class Reporter(QObject):
    """Shows reports from any thread in dialogs on the GUI thread."""

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
        # A queued connection to a slot of a GUI thread object: the only reliable way to leave the
        # failing thread, and any paint event in progress.
        self.reported.connect(self._show, Qt.ConnectionType.QueuedConnection)
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = _uncaught
        threading.excepthook = _uncaught_in_thread

    def uninstall(self) -> None:
        """Restore the exception hooks; reports then go to stderr only."""
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
        # Not modal, so that the user can still use the window and save.
        self.dialog.show()


class ReportDialog(QDialog):
    """Shows an unexpected error with a report to copy."""

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
            self._text += f"\nA previous session crashed:\n{situation.fault}\n"
        message = QLabel(
            f"{title}\n\nThis is an error in Opscope. Your files stay open; the same error is not "
            f"shown again. Nothing is sent automatically: please copy the report, read it, and "
            f"send it to the project."
        )
        self._details = QPlainTextEdit()
        self._details.setReadOnly(True)
        self._details.setTabChangesFocus(True)
        self._details.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._details.setAccessibleName("Report")
        self.with_paths = QCheckBox("Include file paths")
        self.with_paths.toggled.connect(self._show_text)
        log = QLabel(f"If Opscope crashes, {situation.log} shows where." if situation.log else "")
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
        """The report as shown and copied."""
        return self._details.toPlainText()

    @Slot()
    def copy(self) -> None:
        """Copy the report to the clipboard."""
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


FAULT_LOG = "faults.log"
FAULT_LOG_BYTES = 32 << 10  # bytes
_START = "== Opscope "
_file: IO[str] | None = None


def begin_fault_log(folder: str) -> None:
    """Start logging faults of this process to a folder; never raises, as logging is optional."""
    global _file
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, FAULT_LOG)
        _cut(path)
        # Kept open until `end`, because the fault handler writes to its descriptor.
        _file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        now = datetime.now().isoformat(" ", "seconds")
        _file.write(
            f"{_START}{__version__}, Python {platform.python_version()}, {sys.platform}, {now}\n"
        )
        _file.flush()
        faulthandler.enable(_file)


def end_fault_log() -> None:
    """Stop logging faults."""
    global _file
    faulthandler.disable()
    if _file is not None:
        _file.close()
        _file = None


def fault_log_path(folder: str) -> str:
    """The path of the log in a folder."""
    return os.path.join(folder, FAULT_LOG)


def last_fault(folder: str) -> str:
    """The log section of the last start that ended with a fault; "" if there is none."""
    try:
        with open(fault_log_path(folder), encoding="utf-8", errors="replace") as file:
            text = file.read(2 * FAULT_LOG_BYTES)
    except (OSError, ValueError):
        return ""
    starts = [_START + part for part in text.split(_START)[1:]]
    faults = [start.strip() for start in starts if len(start.strip().splitlines()) > 1]
    return faults[-1] if faults else ""


def _cut(path: str) -> None:
    """Cut the log to its last `KEPT` bytes, beginning at the first whole section."""
    if not os.path.exists(path) or os.path.getsize(path) <= FAULT_LOG_BYTES:
        return
    with open(path, "rb") as file:
        file.seek(-FAULT_LOG_BYTES, os.SEEK_END)
        tail = file.read(FAULT_LOG_BYTES)
    position = tail.find(_START.encode())
    with open(path, "wb") as file:
        file.write(tail[position:] if position >= 0 else b"")
