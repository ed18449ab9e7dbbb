"""All panels are about one selection: whoever changes it, all others follow, once and for good."""

import pytest
from PySide6.QtCore import QCoreApplication, Qt

from tests.gui.events import open_sample, settle
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session.inferences import run_span_ns
from viewer.gui.session.selection import operator_of
from viewer.view.state import Area, SliceRef

ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention, models.py:52


@pytest.fixture
def desk_with_all(desk, qtbot):
    """The attention sample with every panel in sight of the event loop."""
    open_sample(qtbot, desk, "attention_xnnpack")
    desk.statistics.by.setCurrentIndex(desk.statistics.by.findData("operator"))
    desk.statistics.by.activated.emit(desk.statistics.by.currentIndex())
    settle(qtbot, desk)
    return desk


def chosen_everywhere(desk):
    """What each panel says is selected, as the label of an operator or its line."""
    listed = [desk.operators.model.rows[i].name for i in marked_rows(desk.operators.table)]
    module = [
        desk.model.model.rows.full_name(desk.model.model.row(i))
        for i in desk.model.view.selectionModel().selectedRows()
    ]
    groups = [desk.statistics.model.rows[i].name for i in marked_rows(desk.statistics.table)]
    return {
        "operators": listed, "model": module, "statistics": groups,
        "source": desk.source.code.marked, "details": handle(desk),
    }  # fmt: skip


def handle(desk):
    """The debug handle on the card."""
    desk.details.refresh()
    return desk.details.widget().rows("Operator").get("Handle")


def click(qtbot, table, row):
    rect = table.visualRect(table.model().index(row, 0))
    table.scrollTo(table.model().index(row, 0))
    rect = table.visualRect(table.model().index(row, 0))
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())


def by_operators(desk, qtbot):
    desk.docks.show_panel("operators")
    row = desk.operators.model.row_of((ATTENTION_0,))
    click(qtbot, desk.operators.table, row)


def by_statistics(desk, qtbot):
    desk.docks.show_panel("statistics")
    row = next(i for i, r in enumerate(desk.statistics.model.rows) if r.operators == (ATTENTION_0,))
    click(qtbot, desk.statistics.table, row)


def by_graph(desk, qtbot):
    """A click in the graph of the whole model."""
    desk.docks.show_panel("graph")
    desk.graph.show_whole()
    settle(qtbot, desk)
    view = desk.graph.view
    at = view.place_of(view.picture.around.position[ATTENTION_0]).center().toPoint()
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at)


def by_source(desk, qtbot):
    desk.source.show_source(operator_of(desk.session, 0, ATTENTION_0).source.path, 52)
    desk.source.code.line_clicked.emit(52)


def by_model(desk, qtbot):
    desk.docks.show_panel("model")
    settle(qtbot, desk)
    number = desk.model.model.rows.find((ATTENTION_0,))
    desk.model.view.show_row(number)  # opens what it lies in
    desk.model.view.clearSelection()
    at = desk.model.view.visualRect(desk.model.model.index_of(number)).center()
    qtbot.mouseClick(desk.model.view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def by_session(desk, qtbot):
    desk.session.select_operators(0, (ATTENTION_0,))


WAYS = [by_operators, by_statistics, by_graph, by_source, by_model, by_session]


@pytest.mark.parametrize("way", WAYS)
def test_an_operator_chosen_anywhere_is_chosen_everywhere_with_one_word(desk_with_all, qtbot, way):
    desk, session = desk_with_all, desk_with_all.session
    told = []
    session.selection_changed.connect(lambda: told.append(session.state.selection))
    way(desk, qtbot)
    settle(qtbot, desk)
    assert session.state.operators == (0, (ATTENTION_0,))
    assert len(told) == 1  # nobody answers a selection with another one
    label = operator_of(session, 0, ATTENTION_0).label
    found = chosen_everywhere(desk)
    assert found["operators"] == [label]
    assert found["model"] == ["blocks.0 · scaled_dot_product_attention"]
    assert found["statistics"] == [label]
    assert found["source"] == (52,)
    assert found["details"] == str(operator_of(session, 0, ATTENTION_0).debug_handle)
    settle(qtbot, desk)
    assert len(told) == 1


def test_a_slice_of_the_timeline_leads_everywhere(desk_with_all, qtbot):
    desk, session = desk_with_all, desk_with_all.session
    every = range(len(session.traces[0].trace.slices))
    slice_ = next(i for i in every if session.traces[0].link(i).operators == (ATTENTION_0,))
    session.select_slice(SliceRef(0, slice_))
    settle(qtbot, desk)
    found = chosen_everywhere(desk)
    label = operator_of(session, 0, ATTENTION_0).label
    assert (found["operators"], found["statistics"], found["source"]) == ([label], [label], (52,))
    assert session.state.slice == SliceRef(0, slice_)


def test_all_panels_are_of_one_range_and_agree_on_its_whole(desk_with_all, qtbot):
    desk, session = desk_with_all, desk_with_all.session
    run = list(session.traces[0].trace.inferences())[3]
    t0, t1 = run_span_ns(session, 0, run)
    session.select_area(Area(t0, (t0 + t1) // 2, frozenset({(0, run.track)})))
    settle(qtbot, desk)
    panels = (desk.operators, desk.model, desk.statistics, desk.delegation, desk.handle_map)
    words = {panel.subtitle.text().partition(" · ")[0] for panel in panels}
    assert len(words) == 1
    assert words.pop().startswith("the selected range of ")
    wholes = {
        panel.footer.text().rpartition(", ")[2]
        for panel in (desk.operators, desk.model, desk.statistics, desk.delegation)
    }
    assert len(wholes) == 1
    before = wholes, [row.texts for row in desk.operators.model.rows]
    click(qtbot, desk.operators.table, 2)
    settle(qtbot, desk)
    assert [row.texts for row in desk.operators.model.rows] == before[1]
    assert session.state.area is not None


@pytest.mark.parametrize("way", WAYS)
def test_back_and_forward_lead_all_panels_along(desk_with_all, qtbot, way):
    desk, session = desk_with_all, desk_with_all.session
    session.select_operators(0, (0,))
    settle(qtbot, desk)
    before = chosen_everywhere(desk)
    way(desk, qtbot)
    settle(qtbot, desk)
    after = chosen_everywhere(desk)
    assert before["operators"] != after["operators"]
    session.undo()
    settle(qtbot, desk)
    assert chosen_everywhere(desk) == before
    session.redo()
    settle(qtbot, desk)
    QCoreApplication.processEvents()
    assert chosen_everywhere(desk) == after
