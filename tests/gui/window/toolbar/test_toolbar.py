"""The toolbar: its boxes and the state of links follow the view, and change it."""

from PySide6.QtCore import Qt

from tests.gui.events import canvas, open_files, settle
from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, CSV, DEMO, TORQ, pick, runs_offered
from viewer.gui.qt.theme.theme import ICON_SIZE
from viewer.view.state import SliceRef


def test_icons_are_drawn_in_the_size_that_they_have(controller):
    """Another size would be taken from a pixmap of another scale, larger and blurred at 150 %."""
    assert controller.toolbar.iconSize().toTuple() == (ICON_SIZE, ICON_SIZE)


def test_color_by_name_paints_anew_and_undo_paints_back(attention, qtbot):
    before = canvas(attention).grab().toImage()
    pick(attention.toolbar.scheme, 1)
    assert attention.session.state.scheme == "name"
    assert canvas(attention).grab().toImage() != before
    attention.session.undo()
    assert attention.session.state.scheme == "operator"
    assert canvas(attention).grab().toImage() == before


def test_the_color_box_follows_undo(attention):
    pick(attention.toolbar.scheme, 1)
    attention.session.undo()
    assert attention.toolbar.scheme.currentData() == attention.session.state.scheme


def test_the_run_box_follows_the_trace_of_the_selection(controller, qtbot):
    open_files(qtbot, controller, DEMO, CSV, ATTENTION)
    number = next(i for i, t in enumerate(controller.session.traces) if t.trace.path == ATTENTION)
    assert number != 0
    controller.session.select_slice(SliceRef(number, 3))
    assert 5 in runs_offered(controller)


def test_a_profile_without_runs_offers_none(controller, qtbot, data):
    open_files(qtbot, controller, *(str(data / "torq" / name) for name in TORQ))
    assert runs_offered(controller) == []
    assert controller.toolbar.run.text() == "No inferences"
    assert not controller.toolbar.run.isEnabled()
    assert not controller.commands.actions["go.next_run"].isEnabled()
    assert controller.clock.text().startswith("2 clock rates, 1 assumed · ")


def test_the_link_pill_follows_the_trace_of_the_selection(controller, qtbot):
    open_files(qtbot, controller, DEMO, ATTENTION, ATTENTION_RECORD)
    told = set()
    for number in range(2):
        controller.session.select_slice(SliceRef(number, 3))
        told.add(controller.toolbar.link_state.text())
    assert len(told) == 2


def test_the_link_state_lists_the_reasons_like_the_links_panel(attention):
    tooltip = attention.toolbar.link_state.toolTip()
    assert "× operator calls, by instruction" in tooltip


def test_the_link_state_leads_to_the_links(attention, qtbot):
    qtbot.mouseClick(attention.toolbar.link_state, Qt.MouseButton.LeftButton)
    assert attention.panels["links"].isVisible()


def test_the_help_of_the_search_stays_inside_the_window(attention, qtbot):
    attention.window.resize(900, 600)
    settle(qtbot, attention)
    attention.commands.run("search.find")
    sheet = attention.toolbar.search.help
    assert sheet.isVisible()
    assert attention.window.rect().contains(sheet.geometry().topLeft())
    assert sheet.geometry().right() < attention.window.width()
