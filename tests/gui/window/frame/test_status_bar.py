"""The texts of the status bar: none widens the window, and messages give way to the selection."""

import shutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.events import open_files, settle
from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, CSV
from viewer.gui.session.feeds.search import Search
from viewer.gui.window.frame.shell import ReadingPage
from viewer.view.state import SliceRef

LONG = "a rather long text from a file " * 12


def least_width(controller):
    return controller.window.minimumSizeHint().width()


@pytest.mark.slow
def test_no_text_makes_the_window_wider_than_a_small_screen(controller, qtbot, tmp_path):
    window, status = controller.window, controller.window.status
    window.resize(1024, 700)
    named = tmp_path / f"{'profile_of_the_model_' * 9}.csv"
    shutil.copy(CSV, named)
    open_files(qtbot, controller, ATTENTION, ATTENTION_RECORD, named)
    controller.session.select_slice(SliceRef(2 if len(controller.session.traces) > 2 else 1, 0))
    Search.of(controller.session).set_query("e")
    window.message.show_warning(LONG, LONG[:40], lambda: None)
    window.message.show_error("word" * 80)
    status._late.setInterval(0)
    status.show_text(LONG)
    status.start()
    status.set_status(LONG, 0.5)
    qtbot.waitUntil(status.progress.isVisible)
    for name in controller.docks.by_name:
        controller.docks.show_panel(name)
        settle(qtbot, controller)
        assert least_width(controller) <= 1024, name
    assert window.width() == 1024
    assert all(w.geometry().right() < 1024 for w in (status.cancel, controller.clock))
    assert status.said.text() == LONG


def test_a_text_that_is_cut_is_in_the_tooltip(controller):
    said = controller.window.status.said
    controller.window.status.show_text(LONG * 4)
    said.grab()
    assert said.shown_text.endswith("…")
    assert LONG in said.toolTip()


def test_a_message_gives_way_to_the_selection(attention):
    status = attention.window.status
    attention.session.select_slice(SliceRef(0, 3))
    selected = status.said.text()
    status.show_text("Copied 3 rows as TSV")
    assert status.said.text() == "Copied 3 rows as TSV"
    status._message_timer.timeout.emit()
    assert status.said.text() == selected
    status.show_text("Copied 3 rows as TSV")
    attention.session.select_slice(None)
    assert status.said.text() != "Copied 3 rows as TSV"


@pytest.fixture
def reading_page(theme, qtbot):
    page = ReadingPage(theme)
    qtbot.addWidget(page)
    page.resize(800, 400)
    page.show()
    return page


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["/a/run.etdp"], "Reading run.etdp"),
        (["/a/b/"], "Reading b"),
        ([f"/a/{i}.etdp" for i in range(5)], "Reading 0.etdp · 1.etdp · 2.etdp · 2 more"),
    ],
)
def test_files_and_folders_are_named(reading_page, paths, text):
    page = reading_page
    page.begin(paths)
    assert (page.task.text(), page.progress.value()) == (text, 0)


def test_progress_and_cancel(reading_page, qtbot):
    page = reading_page
    page.show_progress("Reading run.etdp 5 MB of 10 MB", 0.5)
    assert page.progress.value() == page.progress.maximum() // 2
    with qtbot.waitSignal(page.cancelled):
        QTest.mouseClick(page.cancel, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(page.cancelled):
        QTest.keyClick(page.cancel, Qt.Key.Key_Space)
