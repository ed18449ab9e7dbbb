"""Nothing that Qt calls may raise; what nobody caught is shown once, with a report to copy."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QModelIndex, QObject, QPoint, QSize
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QLabel, QWidget

import viewer
from viewer.gui.qt import crash_report
from viewer.gui.qt.crash_report import guard

pytestmark = pytest.mark.usefixtures("fresh_places")

# Methods that Qt calls on its own account, beside those that are named ...Event or paint...
VIRTUALS = set(
    """
    event eventFilter viewportEvent data setData rowCount columnCount headerData boundingRect
    shape sizeHint minimumSizeHint paint createEditor setEditorData setModelData
    updateEditorGeometry editorEvent helpEvent displayText initStyleOption lessThan
    filterAcceptsRow filterAcceptsColumn index parent flags canFetchMore fetchMore hasChildren
    sort mimeData dropMimeData supportedDropActions roleNames match highlightBlock itemChange
    sectionSizeFromContents heightForWidth hasHeightForWidth minimumSize maximumSize setGeometry
    count itemAt takeAt addItem validate fixup valueFromText textFromValue stepBy nativeEvent
    notify run drawControl drawPrimitive drawComplexControl styleHint pixelMetric subControlRect
    dataBounds pixelPadding tickStrings tickValues tickSpacing generatePicture raiseContextMenu
    sizeFromContents polish drawBackground drawForeground scrollContentsBy isIndexHidden
    moveCursor visualRect scrollTo indexAt accept reject done closeEditor focusNextPrevChild
    contains text role state rect child childAt childCount indexOfChild focusChild
    """.split()  # noqa: SIM905
)


def is_called_by_qt(name):
    return name in VIRTUALS or name.startswith("paint") or name.endswith("Event")


def unguarded(cls):
    """The names of the overrides in a class that Qt calls and that are not guarded.

    An override is a function whose name a base class from outside of this program has too; the
    methods of a class without a Qt base are nobody's override.
    """
    if not issubclass(cls, QObject | _other_qt_bases()):
        return []
    foreign = [c for c in cls.__mro__ if c.__module__.split(".")[0] in ("PySide6", "pyqtgraph")]
    return [
        f"{cls.__module__}.{cls.__qualname__}.{name}"
        for name, member in vars(cls).items()
        if inspect.isfunction(member)
        and is_called_by_qt(name)
        and any(hasattr(c, name) for c in foreign)
        and not getattr(member, "__guarded__", False)
    ]


def _other_qt_bases():
    from PySide6.QtCore import QRunnable
    from PySide6.QtGui import QAccessibleInterface, QIconEngine, QPaintDevice
    from PySide6.QtWidgets import QGraphicsItem, QLayoutItem

    return (
        QGraphicsItem | QRunnable | QIconEngine | QPaintDevice | QLayoutItem | QAccessibleInterface
    )


def classes_of(module):
    """Every class that a module defines, also inside of classes."""
    waiting = [c for _, c in inspect.getmembers(module, inspect.isclass)]
    while waiting:
        cls = waiting.pop()
        if cls.__module__ == module.__name__:
            yield cls
            waiting += [c for c in vars(cls).values() if inspect.isclass(c)]


def modules_of_the_program():
    for found in pkgutil.walk_packages(viewer.__path__, "viewer."):
        if found.name != "viewer.__main__":
            yield importlib.import_module(found.name)


def test_every_override_that_qt_calls_is_guarded():
    bad = sorted({name for module in modules_of_the_program() for cls in classes_of(module)
                  for name in unguarded(cls)})  # fmt: skip
    assert bad == [], "decorate these with viewer.gui.qt.crash_report.guard"


def test_the_walk_finds_the_classes_of_the_timeline_and_would_find_a_bad_one():
    found = {cls.__name__ for module in modules_of_the_program() for cls in classes_of(module)
             if issubclass(cls, QWidget)}  # fmt: skip
    assert len(found) > 5

    class Bad(QWidget):
        def paintEvent(self, event):
            pass

        def sizeHint(self):
            return QSize()

        @guard
        def mousePressEvent(self, event):
            pass

        def paintNothingOfQt(self):
            pass

    assert [name.rsplit(".", 1)[1] for name in unguarded(Bad)] == ["paintEvent", "sizeHint"]

    class Plain:
        def data(self):
            pass

    assert unguarded(Plain) == []


@pytest.fixture
def reporter(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    situation = crash_report.Situation(
        ("ETDump", "ETRecord"), ("/home/me/my net.etdp",), "/l/f.log"
    )
    reporter = crash_report.install(window, lambda: window, lambda: situation)
    yield reporter
    reporter.uninstall()


class Faulty(QWidget):
    @guard
    def paintEvent(self, event):
        painter = QPainter(self)
        painter.drawLine(0, 0, 9, 9)
        np.zeros(3)[7]

    @guard(QSize(30, 20))
    def sizeHint(self):
        return 1 // 0

    @guard(0)
    def rowCount(self, parent=None):
        """How many rows."""
        return 1 // 0


def test_a_guarded_override_answers_its_default_and_reports_once(qtbot, capsys):
    widget = Faulty()
    qtbot.addWidget(widget)
    assert [widget.sizeHint() for _ in range(3)] == [QSize(30, 20)] * 3
    assert widget.rowCount(QModelIndex()) == 0
    told = capsys.readouterr().err
    assert told.count("ZeroDivisionError: ") == 2
    assert "test_crash_report.Faulty.sizeHint\n" in told
    assert widget.rowCount.__doc__ == "How many rows."


def test_a_paint_event_that_fails_leaves_a_window_that_paints_on(qtbot, capsys):
    widget = Faulty()
    qtbot.addWidget(widget)
    assert not widget.grab().isNull()
    assert not widget.grab().isNull()
    assert capsys.readouterr().err.count("IndexError: ") == 1


def test_the_painter_comes_back_as_it_was(qapp):
    class Item:
        @guard
        def paint(self, painter, depth):
            assert painter.brushOrigin() == QPoint(3, 4)
            for _ in range(depth):
                painter.save()
                painter.translate(5, 5)
                painter.setOpacity(0.5)
            np.zeros(3)[7]

    image = QImage(10, 10, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    painter.setBrushOrigin(3, 4)
    painter.setOpacity(0.8)
    for depth in (0, 1, 3):
        Item().paint(painter, depth)
        assert painter.transform().isIdentity()
        assert painter.opacity() == pytest.approx(0.8, abs=0.01)
        assert painter.brushOrigin() == QPoint(3, 4)
    # Nothing of the guard's own is left saved, which Qt would warn of.
    painter.end()


def test_an_override_that_works_is_not_disturbed(qapp):
    @guard
    def paint(painter):
        painter.fillRect(0, 0, 10, 10, 0xFFFF0000)
        return "done"

    image = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    assert paint(painter) == "done"
    painter.end()


def test_an_uncaught_error_of_any_thread_is_shown_on_the_gui_thread(reporter, qtbot, capsys):
    def fail():
        raise LookupError("nobody caught this")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join(timeout=60)
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    dialog = reporter.dialog
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert dialog.thread() is QGuiApplication.instance().thread()
    dialog.copy()
    copied = QGuiApplication.clipboard().text()
    assert "LookupError: nobody caught this" in copied
    assert viewer.__version__ in copied
    dialog.close()
    capsys.readouterr()


def test_the_report_names_what_runs_and_no_file_unless_asked_to(reporter, qtbot, capsys):
    crash_report.report(OSError("/home/me/my net.etdp: it went away"), "reading a file (.etdp)")
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    dialog = reporter.dialog
    first, second = dialog.text.splitlines()[:2]
    assert first == "Open: ETDump, ETRecord"
    assert second.startswith(f"Opscope {viewer.__version__}, Python 3.")
    assert "Qt 6." in second
    assert "offscreen" in second
    assert "OSError: <file.etdp>: it went away" in dialog.text
    assert "/home" not in dialog.text
    assert [w.text() for w in dialog.findChildren(QLabel) if "/l/f.log" in w.text()]
    dialog.with_paths.setChecked(True)
    dialog.copy()
    assert "OSError: /home/me/my net.etdp: it went away" in QGuiApplication.clipboard().text()
    dialog.close()
    capsys.readouterr()


def test_a_fault_of_an_earlier_start_comes_with_the_report(qtbot):
    situation = crash_report.Situation(fault="== Opscope 0.1\nFatal Python error")
    dialog = crash_report.ReportDialog("title", "text", situation)
    qtbot.addWidget(dialog)
    assert dialog.text == (
        "Open: nothing\ntext\nA previous session crashed:\n== Opscope 0.1\nFatal Python error\n"
    )


HIDDEN = {
    'File "/home/me/.venv/lib/python3.11/site-packages/numpy/core.py", line 3':
        'File "…/numpy/core.py", line 3',
    'File "/usr/lib/python3.11/json/decoder.py", line 3': 'File "…/json/decoder.py", line 3',
    'File "/home/me/src/viewer/desk.py", line 3': 'File "…/viewer/desk.py", line 3',
    'File "C:\\Users\\me\\viewer\\desk.py"': 'File "…/viewer/desk.py"',
    "FileNotFoundError: '/home/me/a b/secret net.csv'": "FileNotFoundError: '<file.csv>'",
    "/data/secret.etdp: it is empty": "<file.etdp>: it is empty",
    "C:\\me\\secret.csv is empty": "<file.csv> is empty",
    "my net.etdp and /home/me/my net.etdp": "<file.etdp> and <file.etdp>",
    "1 / 2 and 3/4, n/a": "1 / 2 and 3/4, n/a",
}  # fmt: skip


@pytest.mark.parametrize("said", HIDDEN)
def test_paths_are_hidden_and_places_in_the_program_stay(said):
    assert crash_report.without_paths(said, ["/home/me/my net.etdp"]) == HIDDEN[said]


def test_the_hook_takes_what_the_main_thread_did_not_catch(reporter, qtbot, capsys):
    try:
        raise LookupError("in a slot")
    except LookupError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    reporter.dialog.close()
    assert "LookupError: in a slot" in capsys.readouterr().err


def test_no_second_dialog_for_the_same_place_nor_soon_after(reporter, qtbot, monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(crash_report.time, "monotonic", lambda: now[0])
    shown = []
    monkeypatch.setattr(crash_report.ReportDialog, "show", lambda dialog: shown.append(dialog))
    told = []
    reporter.reported.connect(lambda title, text: told.append(title))

    def report(where):
        before = len(told)
        crash_report.report(ValueError(where), where)
        if len(told) > before:
            # The slot is queued: one turn of the loop delivers it.
            QCoreApplication.processEvents()

    report("a")
    report("a")
    report("b")
    assert (len(told), len(shown)) == (2, 1)
    now[0] += crash_report.SECONDS_BETWEEN_DIALOGS
    report("a")
    assert len(shown) == 1
    report("c")
    assert len(shown) == 2
    capsys.readouterr()


def test_without_a_window_a_report_goes_to_stderr(capsys):
    crash_report.report(ValueError("alone"), "somewhere")
    assert "in somewhere" in capsys.readouterr().err


def test_uninstalling_gives_the_hooks_back(qtbot):
    before = sys.excepthook, threading.excepthook
    window = QWidget()
    qtbot.addWidget(window)
    reporter = crash_report.install(window)
    assert sys.excepthook is not before[0]
    reporter.uninstall()
    assert (sys.excepthook, threading.excepthook) == before


NESTED = """
import numpy as np
from PySide6.QtWidgets import QApplication, QWidget
from viewer.gui.qt.crash_report import guard

class Inner(QWidget):
    @guard
    def resizeEvent(self, event):
        np.zeros(3)[7]

class Outer(QWidget):
    @guard
    def paintEvent(self, event):
        self.inner.resize(self.inner.width() + 1, 9)

app = QApplication([])
outer = Outer()
outer.inner = Inner(outer)
outer.show()
for _ in range(3):
    outer.grab()
print("alive")
"""


@pytest.mark.slow
def test_an_error_of_c_code_in_a_nested_override_does_not_end_the_process():
    done = subprocess.run(
        [sys.executable, "-c", NESTED], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "alive\n", done.stderr
    assert done.stderr.count("IndexError: ") == 1
