"""All panels are about one selection: whoever changes it, all others follow, once and for good."""

import pytest
from PySide6.QtCore import QCoreApplication, Qt

from tests.gui.events import settle
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session.navigation import run_span_ns
from viewer.gui.session.selection import operator_of
from viewer.view.state import Area, SliceRef

ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention, models.py:52


@pytest.fixture
def desk_with_all(shared_window, qtbot):
    """The attention sample with every panel in sight of the event loop."""
    controller = shared_window.showing_sample("attention_xnnpack")
    controller.panels["statistics"].by.setCurrentIndex(
        controller.panels["statistics"].by.findData("operator")
    )
    controller.panels["statistics"].by.activated.emit(
        controller.panels["statistics"].by.currentIndex()
    )
    settle(qtbot, controller)
    return controller


def chosen_everywhere(controller):
    """What each panel says is selected, as the label of an operator or its line."""
    listed = [
        controller.panels["operators"].model.rows[i].name
        for i in marked_rows(controller.panels["operators"].table)
    ]
    tree = controller.panels["model"].model
    module = [
        tree.rows.full_name(tree.rows.items[tree.node(i)])
        for i in controller.panels["model"].view.selectionModel().selectedRows()
    ]
    groups = [
        controller.panels["statistics"].model.rows[i].name
        for i in marked_rows(controller.panels["statistics"].table)
    ]
    return {
        "operators": listed, "model": module, "statistics": groups,
        "source": controller.panels["source"].code.marked, "details": handle(controller),
    }  # fmt: skip


def handle(controller):
    """The debug handle on the card."""
    controller.panels["details"].refresh()
    return controller.panels["details"].widget().rows("Operator").get("Handle")


def click(qtbot, table, row):
    rect = table.visualRect(table.model().index(row, 0))
    table.scrollTo(table.model().index(row, 0))
    rect = table.visualRect(table.model().index(row, 0))
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())


def by_operators(controller, qtbot):
    controller.docks.show_panel("operators")
    row = controller.panels["operators"].model.row_of((ATTENTION_0,))
    click(qtbot, controller.panels["operators"].table, row)


def by_statistics(controller, qtbot):
    controller.docks.show_panel("statistics")
    row = next(
        i
        for i, r in enumerate(controller.panels["statistics"].model.rows)
        if r.operators == (ATTENTION_0,)
    )
    click(qtbot, controller.panels["statistics"].table, row)


def by_graph(controller, qtbot):
    """A click in the graph of the whole model."""
    controller.docks.show_panel("graph")
    controller.panels["graph"].show_whole()
    settle(qtbot, controller)
    view = controller.panels["graph"].view
    at = view.place_of(int(view.picture.tree.leaf[ATTENTION_0])).center().toPoint()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at)


def by_source(controller, qtbot):
    controller.panels["source"].show_source(
        operator_of(controller.session, 0, ATTENTION_0).source.path, 52
    )
    controller.panels["source"].code.line_clicked.emit(52)


def by_model(controller, qtbot):
    controller.docks.show_panel("model")
    settle(qtbot, controller)
    panel = controller.panels["model"]
    number = panel.model.rows.find((ATTENTION_0,))
    panel.view.mark(number)  # opens what it lies in
    panel.view.clearSelection()
    at = panel.view.visualRect(panel.model.index_of(number)).center()
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def by_session(controller, qtbot):
    controller.session.select_operators(0, (ATTENTION_0,))


WAYS = [by_operators, by_statistics, by_graph, by_source, by_model, by_session]


def ways(*daily):
    """All ways, of which these are taken every day."""
    return [way if way in daily else pytest.param(way, marks=pytest.mark.nightly) for way in WAYS]


@pytest.mark.parametrize("way", ways(by_operators, by_graph))
def test_an_operator_chosen_anywhere_is_chosen_everywhere_with_one_word(desk_with_all, qtbot, way):
    controller, session = desk_with_all, desk_with_all.session
    told = []
    session.selection_changed.connect(lambda: told.append(session.state.selection))
    way(controller, qtbot)
    settle(qtbot, controller)
    assert session.state.operators == (0, (ATTENTION_0,))
    assert len(told) == 1  # nobody answers a selection with another one
    label = operator_of(session, 0, ATTENTION_0).label
    found = chosen_everywhere(controller)
    assert found["operators"] == [label]
    assert found["model"] == ["blocks.0 · scaled_dot_product_attention"]
    assert found["statistics"] == [label]
    assert found["source"] == (52,)
    assert found["details"] == str(operator_of(session, 0, ATTENTION_0).debug_handle)
    settle(qtbot, controller)
    assert len(told) == 1


def test_a_slice_of_the_timeline_leads_everywhere(desk_with_all, qtbot):
    controller, session = desk_with_all, desk_with_all.session
    every = range(len(session.traces[0].trace.slices))
    slice_ = next(i for i in every if session.traces[0].link(i).operators == (ATTENTION_0,))
    session.select_slice(SliceRef(0, slice_))
    settle(qtbot, controller)
    found = chosen_everywhere(controller)
    label = operator_of(session, 0, ATTENTION_0).label
    assert (found["operators"], found["statistics"], found["source"]) == ([label], [label], (52,))
    assert session.state.slice == SliceRef(0, slice_)


def test_all_panels_are_of_one_range_and_agree_on_its_whole(desk_with_all, qtbot):
    controller, session = desk_with_all, desk_with_all.session
    run = list(session.traces[0].trace.inferences())[3]
    t0, t1 = run_span_ns(session, 0, run)
    session.select_area(Area(t0, (t0 + t1) // 2, frozenset({(0, run.track)})))
    settle(qtbot, controller)
    panels = (
        controller.panels["operators"],
        controller.panels["model"],
        controller.panels["statistics"],
        controller.panels["delegation"],
        controller.panels["handle_map"],
    )
    words = {panel.subtitle.text().partition(" · ")[0] for panel in panels}
    assert len(words) == 1
    assert words.pop().startswith("the selected range of ")
    wholes = {
        panel.footer.text().rpartition(", ")[2]
        for panel in (
            controller.panels["operators"],
            controller.panels["model"],
            controller.panels["statistics"],
            controller.panels["delegation"],
        )
    }
    assert len(wholes) == 1
    before = wholes, [row.texts for row in controller.panels["operators"].model.rows]
    click(qtbot, controller.panels["operators"].table, 2)
    settle(qtbot, controller)
    assert [row.texts for row in controller.panels["operators"].model.rows] == before[1]
    assert session.state.area is not None


@pytest.mark.parametrize("way", ways(by_model))
def test_back_and_forward_lead_all_panels_along(desk_with_all, qtbot, way):
    controller, session = desk_with_all, desk_with_all.session
    session.select_operators(0, (0,))
    settle(qtbot, controller)
    before = chosen_everywhere(controller)
    way(controller, qtbot)
    settle(qtbot, controller)
    after = chosen_everywhere(controller)
    assert before["operators"] != after["operators"]
    session.undo()
    settle(qtbot, controller)
    assert chosen_everywhere(controller) == before
    session.redo()
    settle(qtbot, controller)
    QCoreApplication.processEvents()
    assert chosen_everywhere(controller) == after
