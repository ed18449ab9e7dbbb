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


def test_the_picker_aligns_inferences_and_shows_their_median_and_mean(attention, qtbot):
    box, session = attention.toolbar.run, attention.session
    pick(box, box.findText("All inferences, aligned"))
    assert len(session.traces[0].trace.tracks) == 5
    assert box.currentText() == "All inferences, aligned"
    pick(box, box.findText("Median inference"))
    assert session.traces[0].trace.tracks[0].thread.startswith("Execute · median of 4, run ")
    pick(box, box.findText("Mean without warm-up"))
    assert session.traces[0].label(0) == "forward · mean of 4 inferences"
    assert attention.commands.actions["go.runs_mean"].isChecked()
    qtbot.keyClick(attention.window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert box.currentText() == "Median inference"
    pick(box, box.findText("All inferences"))
    assert session.traces[0].trace is session.traces[0].file
    assert box.currentText() == "All inferences"


def test_the_color_box_follows_undo(attention):
    pick(attention.toolbar.scheme, 1)
    attention.session.undo()
    assert attention.toolbar.scheme.currentData() == attention.session.state.scheme


def test_the_run_box_picks_a_run_and_follows_it(attention, qtbot):
    pick(attention.toolbar.run, attention.toolbar.run.findText("Run 4 of 5"))
    session = attention.session
    assert session.traces[0].trace.runs[session.state.run[1]].number == 4
    qtbot.keyClick(attention.window, Qt.Key.Key_P)
    assert attention.toolbar.run.currentText() == "Run 3 of 5"
    pick(attention.toolbar.run, 0)
    assert session.state.run is None


def test_the_run_box_follows_the_trace_of_the_selection(controller, qtbot):
    open_files(qtbot, controller, DEMO, CSV, ATTENTION)
    number = next(i for i, t in enumerate(controller.session.traces) if t.trace.path == ATTENTION)
    assert number != 0
    controller.session.select_slice(SliceRef(number, 3))
    assert "Run 5 of 5" in runs_offered(controller)


def test_a_profile_without_runs_offers_none(controller, qtbot, data):
    open_files(qtbot, controller, *(str(data / "torq" / name) for name in TORQ))
    assert runs_offered(controller) == ["No inferences"]
    assert not controller.toolbar.run.isEnabled()
    assert not controller.commands.actions["go.next_run"].isEnabled()
    assert controller.clock.text().startswith("2 clocks, 1 assumed · ")


def test_the_link_pill_follows_the_trace_of_the_selection(controller, qtbot):
    open_files(qtbot, controller, DEMO, ATTENTION, ATTENTION_RECORD)
    told = set()
    for number in range(2):
        controller.session.select_slice(SliceRef(number, 3))
        told.add(controller.toolbar.link_state.text())
    assert len(told) == 2


def test_the_link_state_leads_to_the_links(attention, qtbot):
    qtbot.mouseClick(attention.toolbar.link_state, Qt.MouseButton.LeftButton)
    assert attention.links.isVisible()


def test_the_help_of_the_search_stays_inside_the_window(attention, qtbot):
    attention.window.resize(900, 600)
    settle(qtbot, attention)
    attention.commands.run("search.find")
    sheet = attention.toolbar.search.help
    assert sheet.isVisible()
    assert attention.window.rect().contains(sheet.geometry().topLeft())
    assert sheet.geometry().right() < attention.window.width()
