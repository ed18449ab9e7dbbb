"""The menus where the mouse is: about what lies there, by the right button and by a key."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from tests.gui.events import canvas, open_files, open_sample, place_of, settle
from viewer.analysis.findings.finding import PanelRef
from viewer.gui.session import navigation
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.gui.session.feeds.search import Search
from viewer.gui.window.frame.panel_table import TABLE
from viewer.gui.window.menu_bar import CANVAS_MENU, SLICE_MENU
from viewer.view.state import SliceRef

ROWS = {page.id: page.row_commands for page in TABLE.pages.values() if page.row_commands}
OPENED: list[tuple[QMenu, QPoint]] = []


@pytest.fixture
def attention(attention, monkeypatch):
    """The window with the attention sample open; menus are not shown, but kept in OPENED."""
    OPENED.clear()
    monkeypatch.setattr(QMenu, "popup", lambda menu, at: OPENED.append((menu, at)))
    return attention


def ask(widget, at):
    """Ask for the menu of a place as the mouse does; the texts in it."""
    mouse = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(widget, QContextMenuEvent(mouse, at, widget.mapToGlobal(at)))
    return texts()


def texts():
    menu, _ = OPENED[-1]
    return [action.text().replace("&", "") for action in menu.actions() if action.text()]


def row_of(table, row=0):
    """The middle of a row on the viewport, after a right press there, which marks it."""
    index = table.model().index(row, 0)
    table.setCurrentIndex(index)
    return table.visualRect(index).center()


def choose(text):
    """Choose an entry of the open menu."""
    menu, _ = OPENED[-1]
    action = next(a for a in menu.actions() if a.text().replace("&", "") == text)
    assert action.isEnabled()
    action.trigger()


def titles(controller, ids):
    own = {"edit.copy_markdown": "Copy as Markdown", "edit.copy_json": "Copy as JSON"}
    return [own.get(id, controller.commands.commands[id].plain_title) for id in ids if id != "-"]


def test_every_command_in_a_menu_exists(controller):
    for ids in (CANVAS_MENU, SLICE_MENU, *ROWS.values()):
        assert {id for id in ids if id != "-"} <= controller.commands.commands.keys()
    assert ROWS.keys() <= controller.docks.by_name.keys()


def test_the_menu_of_a_slice_is_about_the_slice_under_the_mouse(attention):
    shown, state = attention.session.traces[0], attention.session.state
    spans = [shown.span_ns(i) for i in range(len(shown.trace.slices))]
    index = next(
        i for i, (t0, t1) in enumerate(spans) if state.t0 < t0 and t0 + 500 < t1 < state.t1
    )
    assert ask(canvas(attention), place_of(attention, index)) == [
        *titles(attention, SLICE_MENU), "Help",
    ]  # fmt: skip
    assert attention.session.state.slice == SliceRef(0, index)
    said = texts()
    assert {"Hide this track", "Pin this track on top", "Add bookmark"} <= set(said)
    choose("Copy name")
    assert QApplication.clipboard().text() == shown.label(index)
    choose("Copy as Markdown")
    assert QApplication.clipboard().text().startswith("| Name |")
    assert attention.window.status.said.text() == "Copied 1 row as Markdown"
    choose("Show Source")
    assert attention.panels["source"].isVisible()


def test_a_slice_that_is_selected_with_others_stays_so(attention):
    session = attention.session
    session.select_slice(SliceRef(0, 20), reveal=True)
    attention.commands.run("selection.same")
    chosen = session.state.slices
    if len(chosen) > 1:
        other = next(ref for ref in chosen if ref != session.state.slice)
        navigation.fit_all(session)
        ask(canvas(attention), place_of(attention, other.index))
        assert len(session.state.slices) == len(chosen)


def test_beside_all_slices_the_menu_is_of_the_view(attention):
    below = QPoint(5, canvas(attention).height() - 3)
    assert attention.timeline.view.slice_at(below) is None
    assert ask(canvas(attention), below) == [*titles(attention, CANVAS_MENU), "Help"]


def test_the_key_opens_the_menu_of_the_selected_slice_beside_it(attention, qtbot):
    view = attention.timeline.view
    attention.session.select_slice(SliceRef(0, 20), reveal=True)
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    assert texts() == [*titles(attention, SLICE_MENU), "Help"]
    place = view.place_of(SliceRef(0, 20))
    assert OPENED[-1][1] == view.viewport().mapToGlobal(place.center())


def test_the_menu_of_an_operator_selects_it(attention, qtbot):
    table = attention.panels["operators"].table
    found = ask(table.viewport(), row_of(table, 1))
    assert found[0] == "Copy row"
    assert found[1:3] == ["Copy table as TSV", "Copy table as Markdown"]
    assert found[3:] == [*titles(attention, ROWS["operators"]), "Help"]
    assert (
        attention.session.state.operators[1]
        == attention.panels["operators"].model.rows[1].operators
    )
    choose("Show Graph")
    settle(qtbot, attention)
    assert attention.panels["graph"].isVisible()


def test_the_key_opens_the_menu_of_the_row_that_the_keyboard_is_on(attention, qtbot):
    table = attention.panels["operators"].table
    row_of(table, 2)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    assert texts()[0] == "Copy row"
    assert (
        attention.session.state.operators[1]
        == attention.panels["operators"].model.rows[2].operators
    )


def test_the_menu_of_a_hit_selects_its_slice(attention, qtbot):
    Search.of(attention.session).set_query("linear")
    attention.commands.run("panel.search")
    settle(qtbot, attention)
    table = attention.panels["search"].table
    found = ask(table.viewport(), row_of(table, 3))
    assert found[2:] == [*titles(attention, ROWS["search"]), "Help"]
    assert attention.session.state.slice == Search.of(attention.session).hits.ref(3)


def test_the_menu_of_a_mark_is_about_that_mark(attention, qtbot):
    for index in (20, 40):
        attention.session.select_slice(SliceRef(0, index))
        attention.commands.run("mark.keep")
    attention.commands.run("panel.marks")
    settle(qtbot, attention)
    table = attention.panels["marks"].table
    ask(table.viewport(), row_of(table, 0))
    first = attention.panels["marks"].model.item_of(0)
    assert attention.session.state.mark == first
    choose("Delete bookmark")
    assert len(attention.session.state.bookmarks) == 1


def test_the_menu_of_a_problem_leads_to_the_links(attention, qtbot):
    controller = attention
    path = "/nowhere/x.etdp"
    ProblemsFeed.of(controller.session).add_failure(path, f"{path}: there is no such file")
    controller.commands.run("panel.problems")
    settle(qtbot, controller)
    table = controller.panels["problems"].table
    found = ask(table.viewport(), row_of(table))
    copying = ["Copy rows as TSV", "Copy rows as Markdown"]
    assert found == [*copying, *titles(controller, ROWS["problems"]), "Help"]
    choose("Show Links")
    settle(qtbot, controller)
    assert controller.panels["links"].isVisible()


def test_the_help_of_a_menu_is_on_the_panel_that_it_was_opened_in(attention):
    table = attention.panels["operators"].table
    ask(table.viewport(), row_of(table))
    choose("Help")
    assert attention.help.window.page == "operators"


def finding_row(controller, qtbot, is_report):
    """The row of the first finding that another panel details, or that is in the profile itself."""
    controller.commands.run("panel.findings")
    settle(qtbot, controller)
    rows = controller.panels["findings"].model.rows
    return next(
        i for i, row in enumerate(rows)
        if row.finding is not None and isinstance(row.finding.place, PanelRef) is is_report
    )  # fmt: skip


def test_the_menu_of_a_finding_selects_its_slices(attention, qtbot):
    row = finding_row(attention, qtbot, is_report=False)
    before = attention.session.state
    view = attention.panels["findings"].list
    view.scrollTo(view.model().index(row, 0))
    found = ask(view.viewport(), row_of(view, row))
    assert found[0] == "Copy findings as text"
    assert found[1:] == ["Show rule", *titles(attention, ROWS["findings"]), "Help"]
    assert attention.session.state != before


def test_the_menu_of_a_finding_that_a_panel_details_leads_there(controller, qtbot, monkeypatch):
    OPENED.clear()
    monkeypatch.setattr(QMenu, "popup", lambda menu, at: OPENED.append((menu, at)))
    open_sample(qtbot, controller, "delegate_handle_map")
    row = finding_row(controller, qtbot, is_report=True)
    before, view = controller.session.state, controller.panels["findings"].list
    view.setFocus()
    view.setCurrentIndex(view.model().index(row, 0))
    qtbot.keyClick(view, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    assert texts()[:2] == ["Copy findings as text", "Show full report"]
    assert controller.session.state == before
    assert controller.panels["findings"].isVisible()
    choose("Show full report")
    settle(qtbot, controller)
    name = controller.panels["findings"].model.rows[row].finding.place.name
    assert controller.docks.by_name[name].isVisible()


@pytest.mark.slow
def test_the_method_of_the_inference_of_a_slice_is_asked_for_in_links(attention, qtbot, data):
    commands, session = attention.commands, attention.session
    session.select_slice(SliceRef(0, 20), reveal=True)
    assert not commands.commands["selection.method"].enabled()  # its record has one method
    open_files(qtbot, attention, *(data / "pte" / f"multi3.{end}" for end in ("etdp", "etrecord")))
    number = len(session.traces) - 1
    trace = session.traces[number].trace
    second = next(run for run in trace.inferences() if run.number == 2)
    starts = trace.slices.start == second.start
    session.select_slice(SliceRef(number, int(starts.nonzero()[0][0])), reveal=True)
    commands.run("selection.method")
    settle(qtbot, attention)
    links = attention.docks.by_name["links"]
    assert links.isVisible()
    field = next(
        f for f in links.findChildren(QLineEdit) if f.accessibleName() == "Inferences of Execute 1"
    )
    assert field.text() == "2"
