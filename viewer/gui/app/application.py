"""Starts the application: one QApplication with theme and exception hook, and a window or image.

Before importing Qt, it checks for a library that Qt's X11 plugin needs, because Qt aborts the
process if it is missing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from ctypes import CDLL
from typing import TYPE_CHECKING

from viewer import APPLICATION_ID, __version__
from viewer.gui.app import handover_request

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from viewer.gui.window.main_window import MainWindow
    from viewer.workspace.link_choices import Choices

XCB_PACKAGES = (
    "libgl1 libegl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0 libxcb-cursor0 "
    "libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0"
)


_GIVE_UP_AFTER = 0.0002  # seconds


def run(
    files: Sequence[str],
    choices: Choices | None,
    theme: str | None = None,
    *,
    new_window: bool = False,
    alone: bool = False,
    keep_columns: bool = True,
) -> int:
    """Open a window with `files` and run until all windows are closed; returns the exit code.

    If this user's program already runs on this display, hand the files to it and return 0. The code
    after a signal such as SIGTERM is 128 and its number, and 1 if the display is lost.
    `new_window`: that program opens them in a new window even if it has an empty one. `alone`: do
    not hand them over, since this process has a memory limit of its own. `keep_columns`: write the
    columns of large profiles next to other caches of the user, and map them the next time.
    """
    if missing := _missing_for_a_window():
        print(f"opscope: {missing}", file=sys.stderr)
        return 1
    if not alone and _was_handed_over(files, choices, theme, new_window):
        return 0
    # What is imported and built from here on is not garbage; collecting now would take an eighth of
    # the time to the first window. `GuiCollector` takes over once the application exists.
    gc.disable()
    from viewer.formats.column_cache import CACHE
    from viewer.gui.app.windows import CrashRestore, ExitSignals, HandoverServer, Windows
    from viewer.gui.qt import crash_report
    from viewer.gui.qt.settings import FONT_SIZE, THEME, Settings, columns_folder
    from viewer.gui.qt.theme.theme import Theme

    # A reader thread releases the interpreter after this long when the window needs it. While
    # panels update for an opened file, a frame of the timeline needs it 40 times, once per call of
    # numpy: 1 ms each makes it late. At half of this, two busy threads take half as much CPU again.
    sys.setswitchinterval(_GIVE_UP_AFTER)
    app = _application()
    settings = Settings()
    CACHE.folder = columns_folder() if keep_columns else ""
    chosen = theme or settings.get(THEME)
    look = Theme(app, chosen, settings.get(FONT_SIZE))  # type: ignore[arg-type]
    windows = Windows(look, settings, app)
    fault = crash_report.last_fault(settings.folder)
    crash_report.begin_fault_log(settings.folder)

    def situation() -> crash_report.Situation:
        files = windows.open_files
        formats, paths = tuple(kind for _, kind in files), tuple(path for path, _ in files)
        log = crash_report.fault_log_path(settings.folder)
        return crash_report.Situation(formats, paths, log, fault)

    crash_report.install(windows, lambda: windows.active, situation)
    restore = CrashRestore(windows, settings)
    first = windows.new(files, choices)
    restore.offer_in(first)
    signals = ExitSignals(app)
    signals.received.connect(windows.end)
    app.commitDataRequest.connect(windows.keep_sessions)  # the desktop session ends
    app.opened_file.connect(windows.open_one)  # type: ignore[attr-defined]
    server = HandoverServer(app)
    server.request_received.connect(windows.take)
    with contextlib.suppress(OSError):
        server.listen(handover_request.place())
    code = app.exec()
    # Without a display, Qt ends the event loop while windows are open (6.8 to 6.11; Wayland's part
    # of Qt ends the process instead, so that only the last autosave is there).
    windows.autosave_now()
    settings.sync()
    return signals.exit_code or code


def _was_handed_over(
    files: Sequence[str], choices: Choices | None, theme: str | None, new_window: bool
) -> bool:
    token = os.environ.get("XDG_ACTIVATION_TOKEN") or os.environ.get("DESKTOP_STARTUP_ID", "")
    paths = tuple(map(os.path.abspath, files))
    with contextlib.suppress(OSError):
        request = handover_request.HandoverRequest(paths, choices, new_window, theme, token)
        return handover_request.hand_over(request, handover_request.place())
    return False


def screenshot(
    files: Sequence[str],
    choices: Choices | None,
    output: str,
    *,
    size: tuple[int, int],
    visible: tuple[int, int] | None,
    warm_up: bool = False,
    theme: str,
    report_most_expensive: Callable[[str], object] | None = None,
) -> list[str]:
    """Draw the real window offscreen and write it as PNG, or only its timeline as SVG or PDF.

    The suffix of `output` selects the format. `visible` is the time range in ns from the start of
    every clock; None shows the default first view. `warm_up`: whether figures include inferences
    that warm up. `report_most_expensive`, if given, is called with the name and time of the most
    expensive operator, which is selected in the image. Returns one message per failure; writes
    nothing if no file could be opened.
    """
    from viewer.codecs.atomic_file import write_whole
    from viewer.gui.panels.operators import OperatorsPanel
    from viewer.gui.session.navigation import include_warm_up, show_times

    failures: list[str] = []
    with window_to_draw(files, choices, size=size, theme=theme, failures=failures) as window:
        controller = window.controller
        if visible is not None:
            for group in reversed(controller.session.groups):
                controller.session.activate(group.key)
                show_times(controller.session, *visible)
            window.settle()
        if warm_up:
            include_warm_up(controller.session, included=True)
            window.settle()
        if report_most_expensive is not None:
            operators = controller.panels["operators"]
            assert isinstance(operators, OperatorsPanel)
            if summary := operators.select_most_expensive():
                report_most_expensive(summary)
            window.settle()
        suffix = os.path.splitext(output)[1].lower()
        if suffix == ".png":
            data = window.picture_png()
        else:
            from viewer.gui.timeline.picture import ViewPicture

            data = ViewPicture(controller.timeline).bytes_of(suffix)
        nothing = bool(files) and controller.session.is_empty
    if nothing:
        return failures
    try:
        write_whole(output, data)
    except OSError as error:
        failures.append(f"{output}: it cannot be written ({error.strerror or error})")
    return failures


@contextlib.contextmanager
def window_to_draw(
    files: Sequence[str],
    choices: Choices | None,
    *,
    size: tuple[int, int],
    theme: str,
    failures: list[str],
) -> Iterator[MainWindow]:
    """Open a window offscreen with its own settings; yield it once `files` are loaded.

    Appends a message to `failures` for each file that could not be read. Closes the window at exit.
    """
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # The offscreen platform logs irrelevant warnings for every window.
    os.environ.setdefault("QT_LOGGING_RULES", "qt.qpa.*=false;default.warning=false")
    from PySide6.QtCore import QEventLoop, QSettings
    from PySide6.QtWidgets import QLayout

    from viewer.codecs.temporary_folder import TemporaryFolder
    from viewer.gui.qt.settings import Settings
    from viewer.gui.qt.theme.theme import Theme
    from viewer.gui.window.main_window import MainWindow

    app = _application()
    look = Theme(app, theme)  # type: ignore[arg-type]
    with TemporaryFolder() as folder, contextlib.ExitStack() as at_exit:
        store = QSettings(os.path.join(folder, "settings.ini"), QSettings.Format.IniFormat)
        at_exit.callback(store.sync)  # else Qt writes at the exit, and makes the folder again
        window = MainWindow(look, Settings(store))
        controller = window.controller
        controller.loader.failed.connect(lambda path, message: failures.append(message))
        # An image may be smaller than the minimum size of an interactive window.
        if (layout := window.layout()) is not None:
            layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        window.setMinimumSize(*size)
        window.resize(*size)
        if files:
            loop = QEventLoop()
            controller.loader.all_done.connect(loop.quit)
            # Nobody is there to choose files of a folder, so that it is refused.
            folders = [path for path in files if os.path.isdir(path)]
            controller.opener.read(folders, choices)
            controller.opener.open([path for path in files if path not in folders], choices)
            window.show()
            if controller.opener.is_busy:
                loop.exec()
        else:
            window.show()
        window.settle()  # for a large file, the view is built after reading has finished
        try:
            yield window
        finally:
            window.close()
            look.remove_pictures()


def _application() -> QApplication:
    """The one QApplication, with its name and icon set; emits a signal for each file-open event."""
    from PySide6.QtCore import QEvent, Signal
    from PySide6.QtGui import QFileOpenEvent, QIcon
    from PySide6.QtWidgets import QApplication

    from viewer.formats.memory import use_single_arena
    from viewer.gui.qt.background import GuiCollector
    from viewer.gui.qt.crash_report import guard
    from viewer.resources import resource

    class Application(QApplication):
        """Emits `opened_file` for macOS file-open events, which replace command line arguments."""

        opened_file = Signal(str)

        @guard(False)
        def event(self, event: QEvent) -> bool:
            if isinstance(event, QFileOpenEvent):
                self.opened_file.emit(event.file())
                return True
            return super().event(event)

    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    use_single_arena()  # before Qt starts a thread
    app = Application(sys.argv[:1])
    app.setApplicationName("Opscope")
    app.setApplicationVersion(__version__)
    app.setDesktopFileName(APPLICATION_ID)
    app.setWindowIcon(QIcon(str(resource("icons", "app.svg"))))
    GuiCollector(app)
    return app


def _missing_for_a_window() -> str:
    """What the user must do before a window can open on this machine; "" if nothing."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return (
            "no display found. Use `opscope screenshot FILES -o OUT.png` for an image or "
            "`opscope export FILES -o OUT.pftrace` for Perfetto"
        )
    try:
        CDLL("libxcb-cursor.so.0")
    except OSError:
        return f"a library of Qt is missing. On Debian: apt-get install {XCB_PACKAGES}"
    return ""
