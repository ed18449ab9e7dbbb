"""The page of the window, and its docks, as files come and go."""

from PySide6.QtCore import Qt

import viewer.gui.session.workspace_edits
from tests.gui.events import open_files, settle
from tests.gui.window.shown import ATTENTION_RECORD, CSV, DEMO, DOCKS, shown_docks
from viewer.view.state import SliceRef


def test_it_begins_with_the_start_page_and_nothing_else(desk):
    assert desk.window.pages.currentWidget() is desk.window.start_page
    assert desk.window.windowTitle() == "Opscope"
    assert shown_docks(desk) == set()
    assert desk.window.status.range.text() == "No trace open"
    assert not desk.window.status.progress.isVisible()


def test_a_record_alone_shows_operators_and_says_what_is_missing(desk, qtbot):
    open_files(qtbot, desk, ATTENTION_RECORD)
    assert desk.window.pages.currentWidget() is desk.layout.note
    assert desk.operators.table.model().rowCount() > 10
    assert not desk.toolbar._link_action.isVisible()
    assert not desk.commands.actions["view.fit"].isEnabled()
    assert desk.commands.actions["file.export_operators"].isEnabled()
    assert not desk.commands.actions["file.export_table"].isEnabled()
    assert not desk.commands.actions["file.export"].isEnabled()


def test_a_message_and_another_file_push_no_row_out_of_view(desk, qtbot, data):
    open_files(qtbot, desk, data / "etdump" / "cnn_portable_x10.etdp")
    for more in (ATTENTION_RECORD, DEMO):
        open_files(qtbot, desk, more)
        qtbot.waitUntil(lambda: desk.timeline.height() >= desk.timeline.content_height)


def test_closing_all_returns_to_the_start_page(attention):
    attention.session.select_slice(SliceRef(0, 3))
    attention.commands.actions["file.close_all"].trigger()
    assert attention.window.pages.currentWidget() is attention.window.start_page
    assert attention.window.windowTitle() == "Opscope"
    assert shown_docks(attention) == set()
    assert attention.session.is_empty
    assert not attention.session.history.can_undo
    said = "Closed 2 files · Ctrl+Z opens them again"
    assert attention.window.status.said.text() == said
    assert not attention.commands.actions["file.close_all"].isEnabled()


def test_the_bottom_panels_hide_and_come_back(attention, qtbot):
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    assert shown_docks(attention) == {"details"}
    assert not attention.commands.actions["view.panels"].isChecked()
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    assert shown_docks(attention) == DOCKS


def test_hidden_panels_stay_hidden_when_a_file_is_added(attention, qtbot):
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    open_files(qtbot, attention, DEMO)
    assert shown_docks(attention) == {"details"}


def test_the_window_is_painted_once_docks_and_panels_have_followed_a_large_profile(
    desk, qtbot, monkeypatch
):
    monkeypatch.setattr(viewer.gui.session.workspace_edits, "AT_ONCE", -1)
    painted, told = desk.window.updatesEnabled, []
    desk.session.workspace_changed.connect(
        lambda: told.append((painted(), bool(shown_docks(desk))))
    )
    open_files(qtbot, desk, CSV)
    assert told == [(False, True)]
    assert painted()
    desk.commands.actions["file.close_all"].trigger()
    assert painted()
    assert not shown_docks(desk)


def test_closing_all_while_a_large_profile_is_coming_leaves_the_start_page(
    desk, qtbot, monkeypatch
):
    monkeypatch.setattr(viewer.gui.session.workspace_edits, "AT_ONCE", -1)
    desk.session.about_to_change.connect(desk.session.close_all)
    with qtbot.waitSignal(desk.session.about_to_change):
        desk.opener.open([CSV])
    settle(qtbot, desk)
    assert desk.session.is_empty
    assert desk.window.updatesEnabled()
    assert not shown_docks(desk)


def test_a_large_profile_that_never_comes_leaves_a_window_that_is_painted(desk, qtbot, monkeypatch):
    monkeypatch.setattr("viewer.gui.window.frame.window_layout.UNVEILED_AFTER_MS", 1)
    desk.session.about_to_change.emit()
    assert not desk.window.updatesEnabled()
    qtbot.waitUntil(desk.window.updatesEnabled)
    assert desk.window.pages.currentWidget() is desk.window.start_page
    assert not shown_docks(desk)
