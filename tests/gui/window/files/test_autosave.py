"""What is open is on the disk soon after each change, and only then."""

import os

import pytest
from PySide6.QtCore import Qt

from tests.gui.events import open_files, settle
from tests.gui.window.files.test_closing import CTRL, press, slow
from tests.gui.window.files.test_closing import files as files
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.session import Session
from viewer.gui.window.files.unsaved_work import EVERY_MS
from viewer.view.sessions.session_file import read


@pytest.fixture
def opened_window(controller, qtbot, files):
    """A window with two files, which are saved."""
    open_files(qtbot, controller, *files)
    qtbot.waitUntil(lambda: bool(saved(controller)))
    return controller


def saved(controller):
    """The saved session; None if nothing is saved."""
    path = controller.autosave.file.path
    return read(path) if path and os.path.exists(path) else None


def autosaves(controller):
    return [n for n in os.listdir(controller.settings.folder) if n.startswith("autosave")]


def add_bookmark(controller):
    set_bookmarks(controller.session, (slow(controller),), None, None)


def test_files_are_saved_when_they_are_open(opened_window, files):
    assert [one.absolute for one in saved(opened_window).inputs] == [str(path) for path in files]


def test_a_bookmark_is_saved_at_once(opened_window, qtbot):
    opened_window.autosave._last_start -= 1  # a second later
    add_bookmark(opened_window)
    assert opened_window.autosave._timer.remainingTime() == 0
    with qtbot.waitSignal(opened_window.autosave.saved):
        pass
    assert [mark.name for mark in saved(opened_window).view.bookmarks] == ["slow"]


def test_other_changes_wait_and_later_ones_do_not_postpone_them(opened_window):
    session, timer = opened_window.session, opened_window.autosave._timer
    timer.stop()
    session.set_range(1_000, 2_000)
    assert timer.isActive()
    assert timer.interval() == EVERY_MS
    timer.start(500)
    session.set_range(1_000, 3_000)
    assert timer.interval() == 500
    add_bookmark(opened_window)
    assert timer.interval() <= 500


def test_a_change_while_the_last_one_is_written_is_saved_after_it(opened_window, qtbot):
    autosave = opened_window.autosave
    opened_window.session.set_range(1_000, 2_000)
    autosave.save()
    add_bookmark(opened_window)
    autosave.save()  # nothing starts, as the thread is writing
    assert autosave._is_due
    autosave._last_start -= 1
    qtbot.waitUntil(lambda: len(saved(opened_window).view.bookmarks) == 1)


def test_nothing_is_saved_while_nothing_is_open(controller):
    controller.session.ruler_changed.emit()
    controller.autosave.save()
    assert autosaves(controller) == []


def test_close_all_deletes_it_as_the_session_was_kept(opened_window, qtbot):
    add_bookmark(opened_window)
    press(qtbot, opened_window, Qt.Key.Key_W, CTRL)
    assert opened_window.session.is_empty
    opened_window.autosave.save()
    assert autosaves(opened_window) == []
    assert len(opened_window.session_files.recent.paths()) == 1


def test_closing_the_window_deletes_it(opened_window):
    opened_window.window.close()
    assert autosaves(opened_window) == []


def test_during_a_reload_it_stays(opened_window, qtbot):
    """If a file cannot be read any more, and this ends the program, the session is there."""
    add_bookmark(opened_window)
    opened_window.autosave.save_now()
    with qtbot.waitSignal(opened_window.loader.all_done, timeout=20_000):
        opened_window.session_files.reload()
        opened_window.autosave.save_now()
        assert len(saved(opened_window).view.bookmarks) == 1
    settle(qtbot, opened_window)
    assert len(opened_window.session.state.bookmarks) == 1


def test_what_cannot_be_saved_is_reported_once(opened_window, qtbot, monkeypatch):
    def full(path, data, *, is_private):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viewer.view.sessions.recent_sessions.write_whole", full)
    message = opened_window.window.message
    for end in (2_000, 3_000):
        opened_window.session.set_range(1_000, end)
        with qtbot.waitSignal(opened_window.autosave.saved):
            opened_window.autosave.save()
        assert ("No space left on device" in message.text) == (end == 2_000)
        message.dismiss()


def test_the_end_of_the_desktop_keeps_it_and_asks_nothing_about_it(opened_window, qtbot, files):
    controller = opened_window
    controller.session_files.path = str(files[0].with_name("mine.opscope"))  # lacks the bookmark
    add_bookmark(controller)
    controller.window.keep_session()
    assert autosaves(controller) == []
    (kept,) = controller.session_files.recent.paths()
    assert [mark.name for mark in read(kept).view.bookmarks] == ["slow"]
    assert not controller.close_guard.needs_confirmation(lambda: None)
    set_bookmarks(controller.session, (), None, None)  # the user has canceled the end
    assert controller.close_guard.needs_confirmation(lambda: None)
    controller.close_guard.question.reject()


def test_a_full_disk_at_the_end_leaves_the_autosave(opened_window, monkeypatch):
    def full(path, data, *, is_private):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viewer.view.sessions.recent_sessions.write_whole", full)
    opened_window.window.keep_session()
    opened_window.window.close_unasked()
    assert saved(opened_window) is not None


def test_each_change_of_the_session_is_noticed(controller):
    """All signals of the session that change the view."""
    silent = {
        "about_to_change", "range_jumped", "history_changed", "columns_remembered", "revealed",
        "file_fitted", "file_shown", "files_added", "files_replaced", "workspace_changed",
        "bookmarks_changed", "source_requested",
    }  # fmt: skip
    timer = controller.autosave._timer
    for name in [name for name in vars(Session) if name not in silent]:
        if type(vars(Session)[name]).__name__ == "Signal":
            timer.stop()
            getattr(controller.session, name).emit()
            assert timer.isActive(), name
