"""Uses the real window at random for half a minute or an hour; then nothing may be left behind.

Reported exceptions, warnings of Qt, connections to other machines, files written outside the
temporary folder, and actions that block the window are findings. At checkpoints, all files and
dialogs are closed and the process is measured.
"""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.programs import ROOT

if TYPE_CHECKING:
    from tests.reliability.soak.actions import User
    from tests.reliability.soak.figures import Figures
    from viewer.gui.app.windows import Windows
    from viewer.gui.window.main_window import MainWindow

SHORT_SECONDS, LONG_SECONDS = 30.0, 3600.0
# After this share of the time, everything that is created once exists.
_WARM = 1 / 12
_CHECKPOINTS = 12
# Percent of memory; of everything else, compared with the largest of the first half. What is
# created on first use still grows in the first minutes.
_LONG_GROWTH, _SHORT_GROWTH = (5, 1), (25, 10)
_SHOWN_ACTIONS = 15
_BLOCKED_SECONDS = 10.0
_STUCK_SECONDS = 90.0
_ANSWERS_EVERY_MS = 100
_IDLE_SECONDS = 30.0
_MOST_WINDOWS = 2
_IGNORED = (
    "This plugin does not support",
    # QTest itself, for a key that a widget has no use for.
    "Keyboard event not accepted by receiving widget",
)
_FOLDERS = ("etdump", "etrecord", "torq", "chrome_json", "table_csv", "key_averages", "pte",
            "debug_handle_map", "inspector")  # fmt: skip
_OF_EACH, _LARGEST = 6, 200_000


class Watch:
    """Collects findings, with the last actions before each. folder: where files may be written."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.findings: dict[str, Finding] = {}
        self.actions: deque[str] = deque(maxlen=_SHOWN_ACTIONS)
        self.count = 0
        self._folder, self._seed = str(folder), seed
        self.is_on = True

    def found(self, what: str) -> None:
        """Keep a finding once."""
        last = "\n        ".join(self.actions)
        repeat = (
            f"packaging/reliability --only soak --seed {self._seed}, action {self.count}, "
            f"after:\n        {last}"
        )
        self.findings.setdefault(what[:120], Finding(what[-1500:], repeat))

    def install(self) -> None:
        """Watch this process: reports, messages of Qt, connections, files written."""
        from PySide6.QtCore import QtMsgType, qInstallMessageHandler

        from viewer.gui.qt import crash_report

        class Reported:
            def emit(_, title: str, text: str) -> None:
                self.found(f"exception: {title}\n{text}")

        class Reporter:
            reported = Reported()

        crash_report._reporter = Reporter()  # type: ignore[assignment]
        sys.excepthook = crash_report._uncaught
        threading.excepthook = crash_report._uncaught_in_thread

        def told(kind: QtMsgType, context: object, text: str) -> None:
            if kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) and not text.startswith(
                _IGNORED
            ):
                self.found(f"Qt: {text}")

        qInstallMessageHandler(told)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            self.found(f"a connection to {arguments[1]}")
        elif event in ("socket.getaddrinfo", "subprocess.Popen", "os.system", "os.posix_spawn"):
            self.found(f"{event}: {arguments}")
        elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            path = os.fspath(arguments[0]) if not isinstance(arguments[0], int) else ""
            path = os.fsdecode(path)
            if path and not path.startswith((self._folder, "/dev/", "/proc/")):
                self.found(f"a file outside the temporary folder is written: {path}")

    def stop(self) -> None:
        """Stop watching files: audit hooks cannot be removed."""
        self.is_on = False


def soak(options: Options) -> Outcome:
    """Use the window at random."""
    seconds = LONG_SECONDS if options.is_long else SHORT_SECONDS
    seconds = float(os.environ.get("OPSCOPE_SOAK_SECONDS", seconds))
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    folder = Path(tempfile.mkdtemp(prefix="opscope-reliability-"))
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "TMPDIR"):
        os.environ[name] = str(folder / name.lower())
        (folder / name.lower()).mkdir(mode=0o700)
    tempfile.tempdir = None
    try:
        return _soak(options.seed, seconds, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _soak(seed: int, seconds: float, folder: Path) -> Outcome:
    from PySide6.QtCore import QSettings

    from tests.reliability.soak.actions import User
    from tests.reliability.soak.figures import largest
    from viewer.gui.app.application import _application
    from viewer.gui.app.windows import Windows
    from viewer.gui.qt.settings import Settings
    from viewer.gui.qt.theme.theme import Theme

    chosen = random.Random(seed)
    watch = Watch(folder, seed)
    app = _application()
    app.setQuitOnLastWindowClosed(False)
    watch.install()
    files = _copied_files(folder)
    store = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
    windows = Windows(Theme(app), Settings(store), app)
    windows.new()
    user = User(chosen, lambda: _window(windows, chosen), files)
    _isolate(chosen, folder, files)
    _keep_answering(user, watch)
    threading.Thread(target=_end_if_stuck, args=(watch, threading.get_ident()), daemon=True).start()
    user.show_everything(all_files=seconds >= LONG_SECONDS)
    measured = list(_use(user, watch, windows, seconds))
    watch.stop()
    (first, last), slowest = (measured[0], measured[-1]), user_slowest(watch)
    earlier = largest(measured[: max(len(measured) // 2, 1)])
    if seconds >= LONG_SECONDS:  # minute five counts
        earlier = dataclasses.replace(earlier, memory=first.memory)
    for grown in last.grown(earlier, *_growth(seconds)):
        watch.found(f"all files are closed, but: {grown} (checkpoints: {_series(measured)})")
    memory = f"{first.memory >> 20} → {last.memory >> 20} MB"
    figures = f"{memory}, {last.widgets} widgets, {last.descriptors} fds, slowest {slowest}"
    return Outcome(watch.count, tuple(watch.findings.values()), figures)


def _growth(seconds: float) -> tuple[int, int]:
    return _LONG_GROWTH if seconds >= LONG_SECONDS else _SHORT_GROWTH


def user_slowest(watch: Watch) -> str:
    """The longest action and its duration."""
    seconds, what = getattr(watch, "slowest", (0.0, ""))
    return f"{seconds:.1f} s ({what})"


def _series(measured: list[Figures]) -> str:
    return "; ".join(
        f"{one.memory >> 20} MB {one.descriptors} fds {one.threads} threads {one.widgets} widgets "
        f"{one.objects} objects"
        for one in measured
    )


def _use(user: User, watch: Watch, windows: Windows, seconds: float) -> Iterator[Figures]:
    """Act until the time is over; yields what is measured at checkpoints."""
    from PySide6.QtCore import QCoreApplication

    from tests.reliability.soak.figures import figures

    watch.slowest = (0.0, "")  # type: ignore[attr-defined]
    began = time.monotonic()
    checkpoint = began + seconds * _WARM
    while time.monotonic() < began + seconds:
        name, act = user.choose()
        watch.count += 1
        watch.actions.append(f"{watch.count} {name}")
        start = time.monotonic()
        try:
            details = act()
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)
            details = repr(error)
        QCoreApplication.processEvents()
        took = time.monotonic() - start
        watch.actions[-1] = f"{watch.count} {name}: {details}"
        if took > watch.slowest[0] and name != "wait":  # type: ignore[attr-defined]
            watch.slowest = took, f"{name} {details}"  # type: ignore[attr-defined]
        if took > _BLOCKED_SECONDS:
            watch.found(f"the window blocks: {name} {details} took {took:.0f} s")
        if time.monotonic() > checkpoint and time.monotonic() < began + seconds:
            checkpoint += seconds / _CHECKPOINTS
            _close_everything(windows, watch)
            yield figures()
    _close_everything(windows, watch)
    yield figures()


def _window(windows: Windows, chosen: random.Random) -> MainWindow:
    """A window that is shown; a new one if all were closed, and at most two."""
    shown = [window for window in windows.all if window.isVisible()]
    for window in [window for window in windows.all if not window.isVisible()]:
        windows.all.remove(window)
        window.put_away()
    for window in shown[_MOST_WINDOWS:]:
        window.close()
    return chosen.choice(shown[:_MOST_WINDOWS]) if shown else windows.new()


def _close_everything(windows: Windows, watch: Watch) -> None:
    """Close all dialogs, all files and all windows but one, and wait until nothing is running."""
    from PySide6.QtCore import QCoreApplication
    from PySide6.QtTest import QTest

    from tests.reliability.soak.actions import dismiss_all

    window = _window(windows, random.Random(0))
    until = time.monotonic() + _IDLE_SECONDS
    while time.monotonic() < until:
        dismiss_all()
        for other in [*windows.all]:
            controller = other.controller
            controller.opener.cancel()
            controller.saver.cancel()
            controller.perfetto_ui.close()
            controller.session.close_all()
            if other is not window:
                other._agreed = True
                other.close()
        QTest.qWait(50)
        window.settle(1.0)
        controller = window.controller
        shown = [one for one in windows.all if one.isVisible()]
        if not (controller.work.is_busy or len(shown) > 1) and controller.session.is_empty:
            break
    else:
        watch.found(
            f"not idle {_IDLE_SECONDS:.0f} s after everything was closed: {len(shown)} windows, "
            f"{controller.session.workspace.paths} open, busy: {controller.work.is_busy}"
        )
    _window(windows, random.Random(0))
    window.message.dismiss()
    QCoreApplication.processEvents()
    QTest.qWait(300)


def _copied_files(folder: Path) -> list[Path]:
    """Copies of samples and test data of every kind, which the user may change."""
    found = [p for p in sorted((ROOT / "resources/samples").rglob("*")) if p.suffix != ".md"]
    for name in _FOLDERS:
        found += sorted((ROOT / "tests/data" / name).rglob("*"))[:_OF_EACH]
    files = [path for path in found if path.is_file() and path.stat().st_size < _LARGEST]
    copies: dict[str, Path] = {}
    for part in ("files", "originals"):
        (folder / part).mkdir()
        for path in files:
            copies[path.name] = folder / "files" / path.name
            shutil.copyfile(path, folder / part / path.name)
    return list(copies.values())


def _isolate(chosen: random.Random, folder: Path, files: list[Path]) -> None:
    """File dialogs answer at random in the folder; no browser, editor or network is used."""
    from PySide6.QtCore import QProcess
    from PySide6.QtGui import QDesktopServices

    from viewer.gui.window.dialogs.file_dialog import FileAnswer, FileQuestion, PathKind
    from viewer.gui.window.files import perfetto_server

    def maybe(path: Path | str) -> str:
        return str(path) if chosen.random() < 0.7 else ""

    def ask(question: FileQuestion, *_: object) -> FileAnswer:
        if question.kind is PathKind.OPEN_FILES:
            return FileAnswer(tuple(map(str, chosen.sample(files, 2))))
        if question.kind is PathKind.SAVE_FILE:
            suffix = Path(question.start).suffix or ".csv"
            path = maybe(folder / "files" / f"saved{suffix}")
        elif question.kind is PathKind.OPEN_FILE:
            path = maybe(chosen.choice(files))
        else:
            path = maybe(folder / "files")
        return FileAnswer((path,) if path else ())

    patched: dict[tuple[type, str], Callable[..., object]] = {
        (FileQuestion, "ask"): ask,
        (QDesktopServices, "openUrl"): lambda url: chosen.random() < 0.5,
        (QProcess, "startDetached"): lambda *_: chosen.random() < 0.5,
    }
    for (owner, name), replacement in patched.items():
        setattr(owner, name, staticmethod(replacement))
    perfetto_server.is_reachable = lambda *_: chosen.random() < 0.5


def _keep_answering(user: User, watch: Watch) -> None:
    """Use or close open menus and dialogs from now on, also inside their own event loops."""
    from PySide6.QtCore import QTimer

    if not watch.is_on:
        return
    # Before the answer, which may start an event loop. A timer that repeats would wait for its end.
    QTimer.singleShot(_ANSWERS_EVERY_MS, lambda: _keep_answering(user, watch))
    done = user.answer()
    if done:
        watch.actions.append(f"{watch.count} answer: {done}")


def _end_if_stuck(watch: Watch, thread: int) -> None:
    """End the process with the stack of the window's thread if there is no action for a minute."""
    count = -1
    while watch.is_on and count != watch.count:
        count = watch.count
        time.sleep(_STUCK_SECONDS)
    if watch.is_on:
        stack = "".join(traceback.format_stack(sys._current_frames()[thread]))
        last = "\n".join(watch.actions)
        print(f"soak: no action for {_STUCK_SECONDS:.0f} s\n{last}\n{stack}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)
