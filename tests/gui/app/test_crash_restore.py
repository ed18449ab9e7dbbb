"""The offer to restore what a crash left: in plain words, in the first window, once."""

import os
from datetime import datetime, timedelta

import pytest

from tests.gui.app.test_windows import CSV, DEMO, names, take
from tests.gui.app.test_windows import windows as windows
from tests.gui.events import settle
from tests.view.sessions.test_recent_sessions import crash, session
from viewer.gui.app.windows import LATER, RESTORING, CrashRestore, offer_text
from viewer.view.sessions.recent_sessions import LeftSession, RecentSessions

NOW = datetime(2026, 11, 23, 18, 5)


def left(name, *marks, hours=0):
    return LeftSession(session(name, *marks), (NOW - timedelta(hours=hours)).timestamp())


@pytest.mark.parametrize(
    ("sessions", "what"),
    [
        ([left("a")], "1 file from 18:05"),
        ([left("a", 1, hours=4)], "1 file and 1 bookmark from 14:05"),
        ([left("a", 1, 2, hours=30)], "1 file and 2 bookmarks from 2026-11-22 12:05"),
        ([left("a", hours=2), left("b", 3, hours=1)],
         "2 windows with 2 files and 1 bookmark from 17:05"),
    ],
)  # fmt: skip
def test_it_says_what_there_is_and_from_when(sessions, what):
    assert offer_text(sessions, NOW) == f"Opscope did not close properly. Restore {what}?"


@pytest.fixture
def folder(windows):
    return windows.all[0].settings.folder


def offered(qtbot, windows):
    """The start of a program with these windows, after its offer."""
    restore = CrashRestore(windows, windows.all[0].settings)
    restore.offer_in(windows.all[0])
    qtbot.waitUntil(
        lambda: not (restore._taking.pending or restore._cleaning.pending), timeout=20_000
    )
    return restore


@pytest.mark.slow
def test_restore_opens_each_session_in_a_window(windows, folder, qtbot):
    crash(folder, DEMO, CSV)
    restore = offered(qtbot, windows)
    assert "Restore 2 windows with 2 files and 2 bookmarks" in restore.bar.text
    assert restore.bar.isVisible()
    restore.bar.action.click()
    assert restore.bar is None
    assert windows.all[0].status.said.text() == RESTORING
    qtbot.waitUntil(lambda: not any(w.is_empty for w in windows.all), timeout=20_000)
    for window in windows.all:
        qtbot.waitUntil(lambda w=window: len(w.controller.session.state.bookmarks) == 1)
        settle(qtbot, window.controller)
    assert [names(window) for window in windows.all] == [["demo_str_x4.etdp"], ["demo_str_x4.csv"]]
    assert offered(qtbot, windows).bar is None


def test_a_window_in_use_is_left_as_it_is(windows, folder, qtbot):
    crash(folder, CSV)
    take(qtbot, windows, DEMO)
    restore = offered(qtbot, windows)
    restore.bar.action.click()
    first, second = windows.all
    # It is not empty from the start of reading on.
    qtbot.waitUntil(lambda: names(second) == ["demo_str_x4.csv"])
    settle(qtbot, second.controller)
    assert names(first) == ["demo_str_x4.etdp"]


def test_what_is_dismissed_stays_among_the_earlier_sessions(windows, folder, qtbot):
    crash(folder, DEMO)
    restore = offered(qtbot, windows)
    restore.bar.dismiss()
    assert restore.bar is None
    assert windows.all[0].status.said.text() == LATER
    assert windows.all[0].is_empty
    assert len(RecentSessions(folder).paths()) == 1
    assert offered(qtbot, windows).bar is None


def test_the_offer_stays_while_files_are_opened(windows, folder, qtbot):
    crash(folder, CSV)
    restore = offered(qtbot, windows)
    take(qtbot, windows, DEMO)
    assert restore.bar.isVisible()
    assert names(windows.all[0]) == ["demo_str_x4.etdp"]


def test_without_a_crash_nothing_is_offered_and_temporary_files_go(windows, folder, qtbot):
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, f".opscope-{'0' * 16}.part")
    open(part, "w").close()
    os.utime(part, (0, 0))
    assert offered(qtbot, windows).bar is None
    assert not os.path.exists(part)


def test_temporary_files_next_to_recent_files_are_removed(windows, qtbot, tmp_path):
    left = tmp_path / f".opscope-{16 * '0'}.part"
    left.write_bytes(b"half of an export")
    windows.all[0].settings.add_recent_set([str(tmp_path / "run.etdp")])
    offered(qtbot, windows)
    assert not left.exists()
