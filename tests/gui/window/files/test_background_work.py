"""Reading and writing in the background: progress, cancelling, and the end of the window."""

import threading
import time
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt

from tests.gui.events import open_files
from tests.gui.window.blocked import Blocked, blocked_export
from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, CSV, DEMO, THIN, message, names
from viewer.gui.qt.background import Latest
from viewer.view.state import SliceRef


def test_escape_cancels_the_load_then_hides_the_message_then_clears(attention, qtbot, tmp_path):
    attention.session.select_slice(SliceRef(0, 5))
    open_files(qtbot, attention, tmp_path / "none.etdp")
    attention.loader._reader = Blocked()
    attention.opener.open([DEMO])
    assert attention.opener.is_busy
    with qtbot.waitSignal(attention.loader.all_done):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert names(attention) == [Path(ATTENTION).name, Path(ATTENTION_RECORD).name]
    assert "none.etdp" in message(attention)
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert message(attention) == ""
    assert attention.session.state.slice == SliceRef(0, 5)
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert attention.session.state.slice is None


def test_a_cancelled_load_is_told(attention, qtbot):
    attention.loader._reader = Blocked()
    attention.opener.open([DEMO])
    with qtbot.waitSignal(attention.loader.all_done):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert attention.window.status.said.text() == "demo_str_x4.etdp was not opened"


def test_progress_is_shown_late_and_can_be_cancelled(controller, qtbot):
    controller.loader._reader = Blocked()
    controller.window.status._late.setInterval(0)
    controller.opener.open([DEMO])
    qtbot.waitUntil(controller.window.status.cancel.isVisible)
    with qtbot.waitSignal(controller.loader.all_done):
        qtbot.mouseClick(controller.window.status.cancel, Qt.MouseButton.LeftButton)
    assert not controller.window.status.cancel.isVisible()
    assert names(controller) == []


def test_several_loads_tell_how_far_each_is(controller, qtbot):
    """Two files are read at once; the others wait for them."""
    totals, begun, end = {DEMO: 4_000_000, CSV: 200_000_000}, threading.Semaphore(0), Blocked()

    def slow(path, progress, cancelled):
        progress(totals[path] // 4, totals[path])
        begun.release()
        return end(path, progress, cancelled)

    controller.loader._reader = slow
    controller.window.status._late.setInterval(0)
    controller.opener.open([DEMO, CSV, ATTENTION])
    status = controller.window.status
    parts = (
        "demo_str_x4.etdp 1.0 MB of 4.0 MB", "demo_str_x4.csv 50 MB of 200 MB", "1 more"
    )  # fmt: skip
    told = "Reading " + " · ".join(parts)
    qtbot.waitUntil(lambda: status._task.text().replace(THIN, " ") == told)
    qtbot.waitUntil(status.progress.isVisible)
    assert status.progress.value() == 250  # of 1000
    with qtbot.waitSignal(controller.loader.all_done):
        qtbot.keyClick(controller.window, Qt.Key.Key_Escape)
    assert not status.progress.isVisible()


def test_an_export_that_ends_leaves_the_progress_of_a_load(attention, qtbot, tmp_path, monkeypatch):
    reader, job = Blocked(), blocked_export(attention, monkeypatch)
    job.result = 1
    attention.window.status._late.setInterval(0)
    attention.loader._reader = reader
    attention.opener.open([DEMO])
    qtbot.waitUntil(attention.window.status.cancel.isVisible)
    with qtbot.waitSignal(attention.saver.saved):
        attention.exports.export(str(tmp_path / "out.csv"))
        job.end.set()
    assert attention.window.status.cancel.isVisible()
    with qtbot.waitSignal(attention.loader.all_done):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)


def test_escape_cancels_an_export_whose_progress_is_shown(attention, qtbot, tmp_path, monkeypatch):
    blocked_export(attention, monkeypatch)
    attention.window.status._late.setInterval(0)
    attention.exports.export(str(tmp_path / "out.csv"))
    qtbot.waitUntil(attention.window.status.progress.isVisible)
    assert attention.window.status._task.text() == "Writing out.csv"
    with qtbot.waitSignal(attention.saver.failed):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert message(attention) == "Export canceled; no file was written"
    assert not attention.window.status.progress.isVisible()
    assert list(tmp_path.glob("*out*")) == []


def test_escape_cancels_an_export_at_once(attention, qtbot, tmp_path, monkeypatch):
    job = blocked_export(attention, monkeypatch)
    attention.session.select_slice(SliceRef(0, 5))
    attention.exports.export(str(tmp_path / "out.csv"))
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    stopped, kept = attention.saver._write.stop.is_set(), attention.session.state.slice
    job.end.set()
    qtbot.waitUntil(lambda: not attention.saver.is_busy)
    assert stopped
    assert kept == SliceRef(0, 5)


def living(*prefixes):
    return [t.name for t in threading.enumerate() if t.name.startswith(prefixes)]


def test_quitting_while_a_file_is_read_is_quick_and_leaves_no_thread(controller, qtbot):
    reader = Blocked()
    controller.loader._reader = reader
    controller.opener.open([DEMO, CSV, ATTENTION])
    assert reader.begun.wait(5)
    began = time.monotonic()
    assert controller.window.close()
    assert time.monotonic() - began < 1
    assert living("read ") == []
    QCoreApplication.processEvents()
    assert names(controller) == []


def test_quitting_while_an_export_is_written_is_quick(attention, qtbot, tmp_path, monkeypatch):
    job = blocked_export(attention, monkeypatch)
    attention.exports.export(str(tmp_path / "out.csv"))
    assert job.begun.wait(5)
    began = time.monotonic()
    assert attention.window.close()
    assert time.monotonic() - began < 1
    assert living("write ") == []
    QCoreApplication.processEvents()


def test_quitting_takes_questions_of_the_background_back(controller, qtbot, monkeypatch):
    monkeypatch.setattr("viewer.gui.qt.background._QUIT_SECONDS", 0.01)
    gate = threading.Event()
    latest = controller.window.findChildren(Latest)[0]
    latest.submit(gate.wait)
    controller.window.close()
    assert not latest.pending
    gate.set()
