"""The page of the window, and its docks, as files come and go."""

from PySide6.QtCore import Qt

import viewer.gui.session.workspace_edits
from tests.gui.events import open_files, settle
from tests.gui.window.shown import ATTENTION_RECORD, CSV, DEMO, DOCKS, shown_docks
from viewer.view.state import SliceRef


def test_it_begins_with_the_start_page_and_nothing_else(controller):
    assert controller.window.pages.currentWidget() is controller.window.start_page
    assert controller.window.windowTitle() == "Opscope"
    assert shown_docks(controller) == set()
    assert controller.window.status.range.text() == "No trace open"
    assert not controller.window.status.progress.isVisible()


def test_a_record_alone_shows_operators_and_says_what_is_missing(controller, qtbot):
    open_files(qtbot, controller, ATTENTION_RECORD)
    assert controller.window.pages.currentWidget() is controller.layout.note
    assert controller.window.focusWidget().text() == "Open a profile…"
    assert controller.panels["operators"].table.model().rowCount() > 10
    assert not controller.toolbar._link_action.isVisible()
    assert not controller.commands.actions["view.fit"].isEnabled()
    assert controller.commands.actions["file.export_operators"].isEnabled()
    assert not controller.commands.actions["file.export_table"].isEnabled()
    assert not controller.commands.actions["file.export"].isEnabled()


def test_a_program_file_alone_shows_what_runs_and_says_what_is_missing(controller, qtbot, data):
    open_files(qtbot, controller, data / "pte" / "part_x.pte")
    assert controller.window.pages.currentWidget() is controller.layout.program_note
    assert "program" in controller.docks.front_tabs
    assert controller.panels["program"].model.rowCount() == 1
    assert not controller.commands.actions["file.export"].isEnabled()
    open_files(qtbot, controller, ATTENTION_RECORD)
    assert controller.window.pages.currentWidget() is controller.layout.note
    open_files(qtbot, controller, DEMO)
    assert controller.window.pages.currentWidget() is controller.timeline
    assert controller.panels["program"].model.rowCount() == 1


def test_a_message_and_another_file_push_no_row_out_of_view(controller, qtbot, data):
    controller.window.resize(1600, 1200)  # has room for the strips of two clocks beside the panels
    open_files(qtbot, controller, data / "etdump" / "cnn_portable_x10.etdp")
    for more in (ATTENTION_RECORD, DEMO):
        open_files(qtbot, controller, more)
        qtbot.waitUntil(lambda: controller.timeline.height() >= controller.timeline.content_height)


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
    assert shown_docks(attention) == {"summary", "details"}
    assert not attention.commands.actions["view.panels"].isChecked()
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    assert shown_docks(attention) == DOCKS


def test_hidden_panels_stay_hidden_when_a_file_is_added(attention, qtbot):
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    open_files(qtbot, attention, DEMO)
    assert shown_docks(attention) == {"summary", "details"}


def test_the_window_is_painted_once_docks_and_panels_have_followed_a_large_profile(
    controller, qtbot, monkeypatch
):
    monkeypatch.setattr(viewer.gui.session.workspace_edits, "AT_ONCE", -1)
    painted, told = controller.window.updatesEnabled, []
    controller.session.workspace_changed.connect(
        lambda: told.append((painted(), bool(shown_docks(controller))))
    )
    open_files(qtbot, controller, CSV)
    assert told == [(False, True)]
    assert painted()
    controller.commands.actions["file.close_all"].trigger()
    assert painted()
    assert not shown_docks(controller)


def test_closing_all_while_a_large_profile_is_coming_leaves_the_start_page(
    controller, qtbot, monkeypatch
):
    monkeypatch.setattr(viewer.gui.session.workspace_edits, "AT_ONCE", -1)
    controller.session.about_to_change.connect(controller.session.close_all)
    with qtbot.waitSignal(controller.session.about_to_change):
        controller.opener.open([CSV])
    settle(qtbot, controller)
    assert controller.session.is_empty
    assert controller.window.updatesEnabled()
    assert not shown_docks(controller)


def test_a_large_profile_that_never_comes_leaves_a_window_that_is_painted(
    controller, qtbot, monkeypatch
):
    monkeypatch.setattr("viewer.gui.window.frame.window_layout.UNVEILED_AFTER_MS", 1)
    controller.session.about_to_change.emit()
    assert not controller.window.updatesEnabled()
    qtbot.waitUntil(controller.window.updatesEnabled)
    assert controller.window.pages.currentWidget() is controller.window.start_page
    assert not shown_docks(controller)
