"""Several windows: each with files of its own, one closed leaves the others, one quits them all."""

import gc
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt

from tests.gui.dark_theme import dark_theme
from tests.gui.events import SAMPLE, settle
from viewer.gui.app.handover_request import HandoverRequest
from viewer.gui.app.windows import Windows
from viewer.gui.qt.settings import SMOOTH_MOTION, Settings
from viewer.gui.session import navigation
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.window.dialogs.preferences import PreferencesDialog
from viewer.gui.window.frame import start_page
from viewer.gui.window.main_window import MainWindow
from viewer.view.sessions.recent_sessions import RecentSessions
from viewer.view.sessions.session_file import read
from viewer.view.state import Bookmark, SliceRef

DEMO, DEMO_RECORD = SAMPLE["delegate_handle_map"].paths()
CSV = SAMPLE["plain_csv"].paths()[0]


@pytest.fixture
def windows(qtbot, qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(start_page, "_draw", lambda samples, width: {})
    settings = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    settings.set(SMOOTH_MOTION, False)
    made = Windows(dark_theme(), settings)
    made.new()
    yield made
    delete_closed()
    for window in list(made.all):
        window.close()
    delete_closed()
    for window in made.all:
        shiboken6.delete(window)
    made.all.clear()  # for the theme, which is of all tests


def delete_closed():
    for _ in range(2):  # panels that were never shown are deleted after their window
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def take(qtbot, windows, *files, **said):
    """A second start; the window that it got."""
    before = list(windows.all)
    windows.take(HandoverRequest(files, **said))
    (got,) = [w for w in windows.all if w not in before] or [windows.active]
    qtbot.waitUntil(lambda: not got.controller.opener.is_busy, timeout=20_000)
    settle(qtbot, got.controller)
    return got


def names(window):
    return [path.rpartition("/")[2] for path in window.controller.session.workspace.paths]


def test_a_second_start_uses_the_first_window_while_it_is_empty(windows, qtbot):
    (first,) = windows.all
    assert take(qtbot, windows, DEMO) is first
    assert names(first) == ["demo_str_x4.etdp"]


def test_then_it_opens_a_window_of_its_own(windows, qtbot):
    (first,) = windows.all
    take(qtbot, windows, DEMO)
    second = take(qtbot, windows, CSV)
    assert windows.all == [first, second]
    assert names(first) == ["demo_str_x4.etdp"]
    assert names(second) == ["demo_str_x4.csv"]
    assert second.isVisible()
    assert second.pos() != first.pos()


def test_a_new_window_can_be_asked_for_beside_an_empty_one(windows, qtbot):
    (first,) = windows.all
    assert take(qtbot, windows, DEMO, new_window=True) is not first
    assert names(first) == []


def test_the_command_shows_an_empty_window(windows, qtbot):
    first = windows.all[0]
    first.controller.commands.actions["file.new_window"].trigger()
    assert len(windows.all) == 2
    assert windows.all[1].is_empty


def test_what_is_asked_for_is_linked_as_it_was_said(windows, qtbot):
    from viewer.workspace.link_choices import Choices

    window = take(qtbot, windows, DEMO, DEMO_RECORD, choices=Choices(pairs=((DEMO, None),)))
    assert window.controller.session.traces[0].table.program is None


@pytest.mark.slow
def test_closing_one_leaves_the_others_and_frees_what_it_held(windows, qtbot, qapp):
    (first,) = windows.all
    take(qtbot, windows, DEMO, DEMO_RECORD)
    second = take(qtbot, windows, CSV)
    held = weakref.ref(second.controller.session)
    first.controller.commands.actions["view.theme_light"].trigger()
    second.controller.commands.actions["file.close_window"].trigger()
    assert windows.all == [first]
    delete_closed()
    assert not shiboken6.isValid(second)
    del second
    gc.collect()
    assert held() is None
    # What the two shared does not look for the one that is gone.
    first.controller.commands.actions["view.theme_dark"].trigger()
    navigation.fit_all(first.controller.session)
    settle(qtbot, first.controller)
    assert names(first) == ["demo_str_x4.etdp", "demo_str.etrecord"]


def test_quitting_closes_them_all(windows, qtbot):
    first = windows.all[0]
    take(qtbot, windows, DEMO)
    second = take(qtbot, windows, CSV)
    first.controller.commands.actions["file.quit"].trigger()
    assert not any(window.isVisible() for window in (first, second))


def test_a_file_manager_opens_beside_what_is_open(windows, qtbot):
    (first,) = windows.all
    for path in (DEMO, DEMO_RECORD):
        windows.open_one(path)
    qtbot.waitUntil(lambda: len(first.controller.session.workspace.paths) == 2, timeout=20_000)
    assert len(windows.all) == 1


def test_a_closed_window_takes_no_other_look(windows, qtbot):
    """Python may know its panels for longer than Qt: what exists when many modules are imported is
    never collected."""
    second = take(qtbot, windows, DEMO, DEMO_RECORD, new_window=True)
    known = list(vars(second.controller).values())
    second.close()
    delete_closed()
    theme = windows.all[0].theme
    theme.set_choice("light")  # pytest-qt fails on an exception in a slot
    assert theme.choice == "light"
    assert known
    assert not shiboken6.isValid(second)


def test_the_end_keeps_the_session_of_each_window_and_asks_nothing(windows, qtbot, tmp_path):
    for files in ((DEMO,), (CSV,)):
        window = take(qtbot, windows, *files)
        window.controller.session_files.path = str(tmp_path / "mine.opscope")  # lacks the changes
        window.controller.session_files._in_file = None
        assert window.has_changes
    both = list(windows.all)
    windows.end()
    assert [window.isVisible() for window in both] == [False, False]
    kept = RecentSessions(both[0].settings.folder).paths()
    assert [read(path).inputs[0].absolute for path in kept] == [CSV, DEMO]
    assert all(window.controller.autosave.file.path == "" for window in both)


def test_a_lost_display_saves_each_window_for_the_next_start(windows, qtbot):
    window = take(qtbot, windows, DEMO)
    windows.autosave_now()
    assert read(window.controller.autosave.file.path).inputs[0].absolute == DEMO
    windows.end()
    windows.autosave_now()  # after the windows are closed, there is nothing to save
    assert window.controller.autosave.file.path == ""


@pytest.fixture
def font_sizes(windows):
    """Chooses sizes of fonts in the preferences of a window, with the keys, as a user does."""

    def choose(window, qtbot, key):
        dialogs = [d for d in window.findChildren(PreferencesDialog) if d.isVisible()]
        if not dialogs:
            window.controller.commands.run("edit.preferences")
            dialogs = [d for d in window.findChildren(PreferencesDialog) if d.isVisible()]
        box = dialogs[0].controls["Font size"]
        dialogs[0].activateWindow()
        box.setFocus()
        qtbot.waitUntil(box.hasFocus)
        number = windows.all.index(window)
        qtbot.keyClick(box, key)
        qtbot.waitUntil(lambda: windows.all[number] is not window, timeout=20_000)
        after = windows.all[number]
        qtbot.waitUntil(lambda: not after.controller.opener.is_busy, timeout=20_000)
        settle(qtbot, after.controller)
        return after

    yield choose
    dark_theme().set_font_size("normal")
    windows._is_outdated.stop()


@pytest.mark.slow
def test_a_size_of_fonts_is_taken_at_once_with_all_that_is_open(
    windows, qtbot, font_sizes, monkeypatch
):
    """Names and rows grow too; no file is read again, and the dialog stays where it was."""
    first = take(qtbot, windows, DEMO, DEMO_RECORD)
    other = take(qtbot, windows, CSV, new_window=True)
    session = first.controller.session
    session.select_slice(SliceRef(0, 7))
    set_bookmarks(session, (Bookmark(5_000, 6_000, "slow"),), None, None)
    session.set_range(2_000, 90_000)
    settle(qtbot, first.controller)
    view = session.state.t0, session.state.t1
    timeline = first.controller.timeline
    sizes = (
        timeline.headers.width(),
        int(timeline.scene.layout.height.max()),
        first.menuBar().height(),
    )
    read_again = []
    monkeypatch.setattr(
        "viewer.gui.session.file_jobs.open_file", lambda path, *_: read_again.append(path)
    )
    names_before, size = names(first), first.size()
    points = first.menuBar().font().pointSizeF()
    after = font_sizes(first, qtbot, Qt.Key.Key_Down)
    assert len(windows.all) == 2
    assert other not in windows.all
    assert read_again == []
    assert names(after) == names_before
    assert after.size() == size
    assert after.menuBar().font().pointSizeF() > points
    state = after.controller.session.state
    assert [bookmark.name for bookmark in state.bookmarks] == ["slow"]
    assert (state.t0, state.t1) == view
    assert state.slice == SliceRef(0, 7)
    timeline = after.controller.timeline
    grown = (
        timeline.headers.width(),
        int(timeline.scene.layout.height.max()),
        after.menuBar().height(),
    )
    assert all(large > small for large, small in zip(grown, sizes, strict=True)), (grown, sizes)
    (dialog,) = [d for d in after.findChildren(PreferencesDialog) if d.isVisible()]
    assert dialog.focusWidget() is dialog.controls["Font size"]
    # And on with the keys, back to where it was.
    back = font_sizes(after, qtbot, Qt.Key.Key_Up)
    timeline = back.controller.timeline
    same = (
        timeline.headers.width(),
        int(timeline.scene.layout.height.max()),
        back.menuBar().height(),
    )
    assert same == sizes


@pytest.mark.slow
def test_a_file_that_changed_meanwhile_is_read_again(windows, qtbot, font_sizes, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,1000\n")
    window = take(qtbot, windows, str(path))
    path.write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,1000\np,t,b,1000,1000\n")
    after = font_sizes(window, qtbot, Qt.Key.Key_Down)
    assert len(after.controller.session.traces[0].trace.slices) == 2


@pytest.mark.slow
def test_a_window_that_reads_gets_its_size_afterwards(windows, qtbot, font_sizes, monkeypatch):
    window = take(qtbot, windows, DEMO)
    monkeypatch.setattr(MainWindow, "is_working", True)
    dark_theme().set_font_size("large")
    qtbot.wait(50)
    assert windows.all == [window]
    monkeypatch.setattr(MainWindow, "is_working", False)
    qtbot.waitUntil(lambda: windows.all != [window], timeout=20_000)
    (after,) = windows.all
    qtbot.waitUntil(lambda: names(after) == ["demo_str_x4.etdp"], timeout=20_000)
