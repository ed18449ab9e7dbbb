"""No work is lost: not by Close all, another session, a closed window or the end."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from tests.gui.app.test_windows import take
from tests.gui.app.test_windows import windows as windows
from tests.gui.events import answer_file_dialog, drop, open_files, settle
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.window.dialogs.file_dialog import FileQuestion
from viewer.view.sessions.session_file import read
from viewer.view.state import Bookmark

DATA = Path(__file__).parents[3] / "data"
CTRL = Qt.KeyboardModifier.ControlModifier


def slow(controller):
    """A bookmark on the clock of what is open."""
    return Bookmark(2_000, 3_000, "slow", "why?", controller.session.state.clock)


@pytest.fixture
def files(tmp_path):
    """A dump and its record in a folder."""
    made = tmp_path / "work"
    made.mkdir()
    names = ("etdump/cnn_xnnpack_x10.etdp", "etrecord/cnn_teal_xnnpack.etrecord")
    return [Path(shutil.copy(DATA / name, made)) for name in names]


@pytest.fixture
def marked(controller, qtbot, files):
    """The window with a dump, its record, and a mark that no file has."""
    open_files(qtbot, controller, *files)
    set_bookmarks(controller.session, (slow(controller),), None, None)
    return controller


@pytest.fixture
def named(marked, qtbot, files, monkeypatch):
    """The same, saved as mine.opscope, and marked once more since."""
    save_as(qtbot, marked, monkeypatch, files[0].with_name("mine.opscope"))
    set_bookmarks(marked.session, (slow(marked), Bookmark(5_000, 5_000, "late")), None, None)
    return marked


def save_as(qtbot, controller, monkeypatch, path):
    answer_file_dialog(monkeypatch, path)
    with qtbot.waitSignal(controller.saver.saved):
        controller.commands.actions["file.save_session_as"].trigger()


def press(qtbot, controller, key, held=CTRL):
    qtbot.keyClick(controller.window, key, held)


def answer(qtbot, controller, text):
    box = controller.close_guard.question
    (button,) = [b for b in box.findChildren(QPushButton) if b.text().replace("&", "") == text]
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def marks(controller):
    return [mark.name for mark in controller.session.state.bookmarks]


def marks_in(path):
    return [mark.name for mark in read(str(path)).view.bookmarks]


def kept(controller):
    return controller.session_files.recent.paths()


def came_back(qtbot, controller):
    qtbot.waitUntil(lambda: bool(controller.session.traces), timeout=20_000)
    settle(qtbot, controller)


def test_what_close_all_took_away_is_the_last_session(marked, qtbot):
    press(qtbot, marked, Qt.Key.Key_W)
    assert marked.session.is_empty
    assert marked.close_guard.question is None
    assert marks_in(kept(marked)[0]) == ["slow"]
    page = marked.window.start_page
    (button,) = [b for b in page.findChildren(QPushButton) if b.text() == "Reopen last session"]
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    came_back(qtbot, marked)
    assert marked.session.state.bookmarks == (slow(marked),)
    assert marked.session_files.path == ""


def test_undo_takes_close_all_back_as_it_was_seen(marked, qtbot):
    marked.session.set_range(1_000, 9_000)
    was = marked.session.state
    press(qtbot, marked, Qt.Key.Key_W)
    assert marked.window.status.said.text() == "Closed 2 files · Ctrl+Z opens them again"
    press(qtbot, marked, Qt.Key.Key_Z)
    came_back(qtbot, marked)
    assert marked.session.state == was


def test_undo_after_other_files_were_opened_is_of_those(marked, qtbot):
    press(qtbot, marked, Qt.Key.Key_W)
    open_files(qtbot, marked, DATA / "table_csv/two_threads.csv")
    assert not marked.commands.actions["go.undo"].isEnabled()
    press(qtbot, marked, Qt.Key.Key_W)
    press(qtbot, marked, Qt.Key.Key_Z)
    came_back(qtbot, marked)
    assert [Path(path).name for path in marked.session.workspace.paths] == ["two_threads.csv"]


def test_a_dropped_session_keeps_what_it_takes_the_place_of(marked, qtbot, files, monkeypatch):
    session = files[0].with_name("mine.opscope")
    save_as(qtbot, marked, monkeypatch, session)
    press(qtbot, marked, Qt.Key.Key_W)
    open_files(qtbot, marked, DATA / "table_csv/two_threads.csv")
    set_bookmarks(marked.session, (Bookmark(5, 5, "mine"),), None, None)
    with qtbot.waitSignal(marked.session.files_added, timeout=20_000):
        assert drop(marked, [str(session)])
    settle(qtbot, marked)
    assert marks(marked) == ["slow"]
    assert marks_in(kept(marked)[0]) == ["mine"]


def test_the_menu_lists_what_was_kept_and_opens_it(marked, qtbot):
    press(qtbot, marked, Qt.Key.Key_W)
    open_files(qtbot, marked, DATA / "table_csv/two_threads.csv")
    press(qtbot, marked, Qt.Key.Key_W)
    menu = marked.recent_menus.sessions
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions()]
    assert texts[0].startswith("two_threads.csv · 20")
    assert texts[1].startswith("cnn_xnnpack_x10.etdp and 1 more · 1 bookmark · 20")
    with qtbot.waitSignal(marked.session.files_added, timeout=20_000):
        menu.actions()[1].trigger()
    settle(qtbot, marked)
    assert marks(marked) == ["slow"]


def test_a_saved_session_is_closed_without_a_question(marked, qtbot, files, monkeypatch):
    save_as(qtbot, marked, monkeypatch, files[0].with_name("mine.opscope"))
    marked.session.set_range(1_000, 9_000)  # to look elsewhere is no work
    press(qtbot, marked, Qt.Key.Key_W)
    assert marked.close_guard.question is None
    assert marked.session.is_empty


def test_changes_of_a_session_file_are_asked_for_and_saved(named, qtbot, files):
    press(qtbot, named, Qt.Key.Key_W)
    assert named.close_guard.question.text() == "Save the changes to mine.opscope?"
    assert not named.session.is_empty
    answer(qtbot, named, "Save")
    qtbot.waitUntil(lambda: named.session.is_empty)
    assert marks_in(files[0].with_name("mine.opscope")) == ["slow", "late"]


def test_what_is_done_while_it_is_saved_is_asked_for_again(named, qtbot, files):
    press(qtbot, named, Qt.Key.Key_W)
    answer(qtbot, named, "Save")
    set_bookmarks(
        named.session, (*named.session.state.bookmarks, Bookmark(7_000, 7_000, "last")), None, None
    )
    qtbot.waitUntil(lambda: named.close_guard.question is not None)
    assert marks_in(files[0].with_name("mine.opscope")) == ["slow", "late"]
    assert marks(named) == ["slow", "late", "last"]
    answer(qtbot, named, "Save")
    qtbot.waitUntil(lambda: named.session.is_empty)
    assert marks_in(files[0].with_name("mine.opscope")) == ["slow", "late", "last"]


def test_what_is_not_saved_is_kept_all_the_same_and_undo_brings_it_back(named, qtbot, files):
    press(qtbot, named, Qt.Key.Key_W)
    answer(qtbot, named, "Don't save")
    assert named.session.is_empty
    mine = files[0].with_name("mine.opscope")
    assert marks_in(mine) == ["slow"]
    assert marks_in(kept(named)[0]) == ["slow", "late"]
    press(qtbot, named, Qt.Key.Key_Z)
    came_back(qtbot, named)
    # It is the same session as before, and still lacks what its file lacks.
    assert named.session_files.path == str(mine)
    assert named.session_files.has_changes


@pytest.mark.parametrize("cancel", ["Cancel", Qt.Key.Key_Escape])
def test_cancel_leaves_all_as_it_is(named, qtbot, cancel):
    press(qtbot, named, Qt.Key.Key_W)
    if cancel == "Cancel":
        answer(qtbot, named, cancel)
    else:
        qtbot.keyClick(named.close_guard.question, cancel)
    assert marks(named) == ["slow", "late"]
    assert named.close_guard.question is None
    press(qtbot, named, Qt.Key.Key_W)
    assert named.close_guard.question is not None


def test_closing_the_window_asks_too(named, qtbot, files):
    press(qtbot, named, Qt.Key.Key_W, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert named.window.isVisible()
    answer(qtbot, named, "Cancel")
    assert named.window.isVisible()
    press(qtbot, named, Qt.Key.Key_W, CTRL | Qt.KeyboardModifier.ShiftModifier)
    answer(qtbot, named, "Save")
    qtbot.waitUntil(lambda: not named.window.isVisible())
    assert marks_in(files[0].with_name("mine.opscope")) == ["slow", "late"]


def test_another_session_asks_first_and_cancelled_it_changes_nothing(named, qtbot, files):
    other = shutil.copy(files[0].with_name("mine.opscope"), files[0].with_name("other.opscope"))
    assert drop(named, [str(other)])
    qtbot.waitUntil(lambda: named.close_guard.question is not None)
    answer(qtbot, named, "Cancel")
    assert marks(named) == ["slow", "late"]
    assert named.session_files.path.endswith("mine.opscope")


def test_reading_again_forgets_no_change(named, qtbot):
    with qtbot.waitSignal(named.session.files_added, timeout=20_000):
        press(qtbot, named, Qt.Key.Key_F5, Qt.KeyboardModifier.NoModifier)
    settle(qtbot, named)
    assert marks(named) == ["slow", "late"]
    assert named.session_files.has_changes


def test_a_session_that_is_just_being_saved_is_saved(marked, qtbot, files, monkeypatch):
    path = files[0].with_name("mine.opscope")
    answer_file_dialog(monkeypatch, path)
    press(qtbot, marked, Qt.Key.Key_S)
    marked.window.close()
    qtbot.waitUntil(lambda: not marked.window.isVisible())
    assert marks_in(path) == ["slow"]


def test_where_nothing_can_be_kept_it_is_asked(marked, qtbot, monkeypatch):
    def full(path, data, *, is_private):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viewer.view.sessions.recent_sessions.write_whole", full)
    press(qtbot, marked, Qt.Key.Key_W)
    assert marked.close_guard.question.text() == "Save this session?"
    assert "cannot be kept" in marked.close_guard.question.informativeText()
    # No file is chosen: then it stays.
    answer_file_dialog(monkeypatch, "")
    answer(qtbot, marked, "Save")
    assert marks(marked) == ["slow"]
    set_bookmarks(marked.session, (), None, None)
    press(qtbot, marked, Qt.Key.Key_W)
    assert marked.session.is_empty


def test_save_as_without_files_asks_for_no_name(controller, qtbot, monkeypatch):
    monkeypatch.setattr(FileQuestion, "ask", None)  # would raise
    with qtbot.waitSignal(controller.session_files.written) as written:
        controller.session_files.save_as()
    assert written.args == [False]


def test_a_session_of_which_nothing_can_be_read_is_not_overwritten_by_others(
    named, qtbot, files, monkeypatch
):
    mine = files[0].with_name("mine.opscope")
    press(qtbot, named, Qt.Key.Key_W)
    answer(qtbot, named, "Don't save")
    for path in files:
        path.write_bytes(b"\xff\xfe nothing that is known")
    with qtbot.waitSignal(named.loader.all_done):
        named.opener.open([str(mine)])
    open_files(qtbot, named, DATA / "table_csv/two_threads.csv")
    assert named.session_files.path == ""
    assert named.window.windowTitle() == "two_threads.csv – Opscope"


# -- several windows -------------------------------------------------------------------------------


def test_a_second_window_takes_no_place_of_the_first(windows, qtbot, files):
    first = take(qtbot, windows, *map(str, files))
    set_bookmarks(first.controller.session, (slow(first.controller),), None, None)
    second = take(qtbot, windows, str(DATA / "table_csv/two_threads.csv"))
    set_bookmarks(second.controller.session, (Bookmark(7, 9, "second"),), None, None)
    sessions = first.controller.session_files.recent
    first.controller.commands.actions["file.quit"].trigger()
    assert sorted(marks_in(path)[0] for path in sessions.paths()) == ["second", "slow"]


def test_quitting_asks_about_each_window_and_cancel_keeps_the_rest(
    windows, qtbot, files, monkeypatch
):
    first = take(qtbot, windows, str(DATA / "table_csv/two_threads.csv"))
    second = take(qtbot, windows, *map(str, files))
    save_as(qtbot, second.controller, monkeypatch, files[0].with_name("mine.opscope"))
    set_bookmarks(second.controller.session, (slow(second.controller),), None, None)
    first.controller.commands.actions["file.quit"].trigger()
    # It is asked before any window is closed.
    assert windows.all == [first, second]
    answer(qtbot, second.controller, "Cancel")
    assert first.isVisible()
    assert second.isVisible()
    first.controller.commands.actions["file.quit"].trigger()
    answer(qtbot, second.controller, "Don't save")
    qtbot.waitUntil(lambda: not any(w.isVisible() for w in windows.all))
