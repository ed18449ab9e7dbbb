"""A window to test with, and the mouse, wheel and drop events that a window system would send.

`shown`: a controller, or a `tests.gui.timeline_harness.TimelineHarness`.
"""

from collections.abc import Iterable

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.gui.dark_theme import dark_theme
from viewer.gui.qt.background import Latest
from viewer.gui.qt.settings import SMOOTH_MOTION, Settings
from viewer.gui.window.dialogs.file_dialog import FileAnswer, FileQuestion
from viewer.gui.window.frame import start_page
from viewer.gui.window.main_window import MainWindow
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

SAMPLE = {sample.key: sample for sample in SAMPLES}
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
PLAIN = Qt.KeyboardModifier.NoModifier
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def controller_of(qtbot, tmp_path, monkeypatch, size=(1600, 900), paints=False):
    """The controller of a shown and active window with settings of its own; the start page draws no
    thumbnails. Without a size the window is as large as it was.

    paints: whether it paints by itself, which takes a fifth of the time of a test. What a test
    grabs is painted in any case.
    """
    monkeypatch.setattr(start_page, "_draw", lambda samples, width: {})
    store = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    settings = Settings(store)
    settings.set(SMOOTH_MOTION, False)  # what is drawn is where the view is, without a wait
    window = MainWindow(dark_theme(), settings)
    controller = window.controller
    if size is not None:
        window.resize(*size)
    window.show()
    window.setUpdatesEnabled(paints)  # showing it enables them
    window.activateWindow()
    qtbot.waitExposed(window)
    qtbot.waitUntil(window.isActiveWindow)
    release_modifiers(window)
    return controller


def put_away(window):
    """Close and destroy a window: a later style sheet must not polish it again."""
    window.hide()  # or closing lays out and paints all docks, to remember where they are
    window.close()
    shiboken6.delete(window)


def has_controller(window):
    """Whether the controller of a window exists yet; `window.controller` would create it."""
    is_alive = shiboken6.isValid(window)
    return is_alive and any(type(c).__name__ == "WindowController" for c in window.children())


def open_files(qtbot, controller, *paths):
    """Open files as a command would and wait until all of it is shown."""
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        controller.opener.open([str(path) for path in paths])
    settle(qtbot, controller)


def open_sample(qtbot, controller, key):
    """Open a bundled sample."""
    open_files(qtbot, controller, *SAMPLE[key].paths())


def release_modifiers(widget):
    """Let go of Ctrl and Shift: Qt takes those of the last key event for held."""
    QTest.keyRelease(widget, Qt.Key.Key_Shift, PLAIN)


def settle(qtbot, shown):
    """Wait for answers of the background and for layouts."""
    window = shown.window

    def tasks():
        in_window = isinstance(window, MainWindow)
        return window.background_tasks() if in_window else window.findChildren(Latest)

    qtbot.waitUntil(lambda: not any(task.pending for task in tasks()))
    for _ in range(3):
        QCoreApplication.processEvents()


def canvas(shown):
    """The widget that gets the mouse events of the timeline."""
    return shown.timeline.view.viewport()


def column(shown, ns):
    """The pixel column of a time, by definition: floor of its share of the visible range."""
    state = shown.session.state
    return (ns - state.t0) * canvas(shown).width() // (state.t1 - state.t0)


def middle_of(shown, band):
    """The line of the canvas in the middle of a band."""
    scene = shown.timeline.scene
    return int(scene.layout.y[band] + scene.layout.height[band] // 2) - scene.scroll


def place_of(shown, index, trace=0):
    """A point of the canvas inside the part of a slice that is in view."""
    start, end = shown.session.traces[trace].span_ns(index)
    first = max(column(shown, start), 0)
    last = min(max(column(shown, end) - 1, first), canvas(shown).width() - 1)
    band = shown.timeline.scene.band_of(SliceRef(trace, index))
    return QPoint((first + last) // 2, middle_of(shown, band))


def press(widget, at, button=LEFT, held=PLAIN):
    _mouse(widget, QEvent.Type.MouseButtonPress, at, button, button, held)


def move(widget, at, buttons=Qt.MouseButton.NoButton, held=PLAIN):
    _mouse(widget, QEvent.Type.MouseMove, at, Qt.MouseButton.NoButton, buttons, held)


def release(widget, at, button=LEFT, held=PLAIN):
    _mouse(widget, QEvent.Type.MouseButtonRelease, at, button, Qt.MouseButton.NoButton, held)


def drag(widget, start, end, *, button=LEFT, held=PLAIN):
    """Press, move in two steps and release."""
    press(widget, start, button, held)
    move(widget, (start + end) / 2, button, held)
    move(widget, end, button, held)
    release(widget, end, button, held)


def _mouse(widget, kind, at, button, buttons, held):
    point = QPointF(at)
    event = QMouseEvent(kind, point, widget.mapToGlobal(point), button, buttons, held)
    QApplication.sendEvent(widget, event)


def wheel(widget, at, notches=0.0, *, sideways=0.0, held=PLAIN, pixels=None):
    """Turn the wheel: positive is away from the user. Returns whether the widget took it."""
    point = QPointF(at)
    event = QWheelEvent(
        point, widget.mapToGlobal(point), pixels or QPoint(),
        QPoint(round(120 * sideways), round(120 * notches)), Qt.MouseButton.NoButton, held,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def drop(controller, urls: Iterable[str] = (), text="", onto=None):
    """Bring something over a widget of the window and let go of it; whether it was taken."""
    mime = QMimeData()
    if urls:
        mime.setUrls([QUrl(url) if "://" in url else QUrl.fromLocalFile(url) for url in urls])
    if text:
        mime.setText(text)
    over = onto or controller.window
    everything = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    enter = QDragEnterEvent(over.rect().center(), everything, mime, LEFT, PLAIN)
    QApplication.sendEvent(over, enter)
    if not enter.isAccepted():
        return False
    QApplication.sendEvent(
        controller.window, QDropEvent(QPointF(over.rect().center()), everything, mime, LEFT, PLAIN)
    )
    return True


def answer_file_dialog(monkeypatch, *answers, chosen_filter=""):
    """Answer the next file dialogs, the last answer also all later ones; returns what they ask.

    answers: a path, "" for Cancel, or a list of paths.
    """
    questions = []

    def ask(question, parent, theme):
        answer = answers[min(len(questions), len(answers) - 1)]
        questions.append(question)
        paths = answer if isinstance(answer, list) else [answer] if answer else []
        return FileAnswer(tuple(map(str, paths)), chosen_filter)

    monkeypatch.setattr(FileQuestion, "ask", ask)
    return questions
