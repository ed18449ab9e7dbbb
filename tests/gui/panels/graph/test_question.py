"""The graph during a comparison of two arms: it is that of A, and shows changes."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.panels.graph.picture import (
    click,
    leaf,
    marked,
    node,
    operators,
    seeds,
    settle,
    walk,
)
from viewer.analysis.comparison.arms import CALLS
from viewer.analysis.comparison.comparison import Verdict
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.graph.controls import GraphMode
from viewer.gui.panels.graph.measures import CHANGE_STEPS, ChangeFill, colors_of
from viewer.gui.panels.graph.panel import NOT_IN_A, UNSELECTED, GraphPanel
from viewer.gui.panels.graph.question import node_tip
from viewer.gui.session.comparison import (
    ComparisonFeed,
    compare,
    compare_files,
    select_row,
    swap_arms,
)
from viewer.view.state import SliceRef


@pytest.fixture
def session(compared):
    return compared({"blocks.1.dw": 2.0})


@pytest.fixture
def graph(session, show_graph, qtbot):
    """The neighborhood of the operator that is slower in B."""
    panel = show_graph(session)
    panel.controls.modes.buttons[GraphMode.NEIGHBORHOOD].click()
    found = ComparisonFeed.of(session).answer
    panel.controls.hops.setValue(6)
    select_row(session, found, found.operators.row_of(slow(panel)))
    settle(qtbot, panel)
    return panel


def slow(panel):
    """The operator that is slower in B."""
    program = ComparisonFeed.of(panel.session).answer.program(0)
    return next(op.index for op in program.operators if op.label == "blocks.1.dw · convolution")


def test_nodes_have_the_colors_of_changes(graph):
    assert node(graph, slow(graph)).fill == ChangeFill(Verdict.SLOWER, CHANGE_STEPS)
    assert graph.view.picture.focus == leaf(graph, slow(graph))
    assert graph.controls.subtitle.text() == "medians of 3 + 3 sessions"
    assert graph.foot.legend.isVisible()
    assert graph.foot.legend.accessibleName().startswith("Color by change per inference: faster")


def test_a_click_selects_the_slices_in_both_arms_and_marks_the_node(graph):
    before = operators(graph)
    click(graph, slow(graph))
    session, found = graph.session, ComparisonFeed.of(graph.session).answer
    paths = {session.traces[trace].file.path for trace in session.state.slices.of}
    assert paths == {found.typical(side)[0] for side in (0, 1)}
    assert marked(graph) == {slow(graph)}
    assert operators(graph) == before
    assert graph.foot.summary.text().startswith("blocks.1.dw · convolution: A ")
    assert "slower" in graph.view.accessible_value()


def test_it_follows_a_selected_slice_of_b_to_its_operator(graph, qtbot):
    session, found = graph.session, ComparisonFeed.of(graph.session).answer
    path, run = found.typical(1)
    own = found.slices_of_rows(path, (found.operators.row_of(slow(graph)),), run, CALLS)
    number = next(i for i, shown in enumerate(session.traces) if shown.file.path == path)
    session.select_slice(SliceRef(number, int(own[0])))
    settle(qtbot, graph)
    assert marked(graph) == {slow(graph)}
    assert slow(graph) in operators(graph)
    assert not graph.controls.is_whole


def test_a_double_click_centers_the_graph(graph, qtbot):
    walk(graph, slow(graph))
    settle(qtbot, graph)
    assert seeds(graph) == {slow(graph)}


def test_the_keys_walk_along_the_changes(graph):
    click(graph, slow(graph))
    QTest.keyClick(graph.view, Qt.Key.Key_Down)
    (after,) = marked(graph)
    assert after != slow(graph)
    row = ComparisonFeed.of(graph.session).answer.operators.row_of(after)
    assert row >= 0


def test_hover_shows_both_times_and_the_verdict(graph):
    shown = node_tip(graph.answer, leaf(graph, slow(graph)))
    assert "\nA " in shown
    assert "Slower. 95 % interval of the change" in shown


def test_without_changes_in_tables_costs_come_back(graph, qtbot):
    operator, place = slow(graph), graph.view.to_widget(0, 0)
    compare(graph.session, replace(graph.session.state.compared, in_tables=False))
    settle(qtbot, graph)
    assert not isinstance(node(graph, operator).fill, ChangeFill)
    assert graph.foot.legend.isVisible()
    assert graph.foot.legend.accessibleName().startswith("Color by Time, 0 to ")
    assert graph.view.to_widget(0, 0) == place
    compare(graph.session, None)
    settle(qtbot, graph)
    assert not isinstance(node(graph, operator).fill, ChangeFill)


def test_swapped_arms_swap_the_colors(graph, qtbot):
    operator = slow(graph)
    swap_arms(graph.session)
    settle(qtbot, graph)
    assert node(graph, operator).fill == ChangeFill(Verdict.FASTER, CHANGE_STEPS)


def test_pictures_have_the_colors(graph, tmp_path, theme):
    path = tmp_path / "graph.svg"
    graph.job_of(str(path))(no_progress, never_cancelled)
    fill = colors_of(ChangeFill(Verdict.SLOWER, CHANGE_STEPS), theme).fill
    assert fill.name() in path.read_text().lower()


def test_a_delegate_call_is_marked_as_a_whole(opened, data, show_graph, qtbot):
    source = data / "compare/06_portable_vs_xnnpack"
    session = opened(*(source / f"{side}.{end}" for side in "ab" for end in ("etrecord", "etdp")))
    compare_files(session, [str(source / "b.etdp")])
    panel = show_graph(session)
    found = ComparisonFeed.of(session).answer
    row = next(n for n, own in enumerate(found.operators.operators) if len(own) > 2)
    select_row(session, found, row)
    settle(qtbot, panel)
    assert marked(panel) == set(found.operators.operators[row])


def test_what_only_b_has_is_not_in_the_graph_of_a(opened, data, show_graph, qtbot):
    source = data / "compare/10_blocks_6_to_8"
    session = opened(*(source / f"{side}.{end}" for side in "ab" for end in ("etrecord", "etdp")))
    compare_files(session, [str(source / "b.etdp")])
    panel = show_graph(session)
    panel.controls.modes.buttons[GraphMode.NEIGHBORHOOD].click()
    assert panel.sentence == UNSELECTED
    found = ComparisonFeed.of(session).answer
    row = next(n for n, (row, _) in enumerate(found.rows) if not row.a)
    select_row(session, found, row)
    assert panel.sentence == NOT_IN_A
    panel.show_whole()
    settle(qtbot, panel)
    assert f"{found.operators.only_b} rows only in B" in panel.foot.summary.text()


def test_arms_without_a_record_have_no_graph(opened, data, show_panel):
    source = data / "compare/06_portable_vs_xnnpack"
    session = opened(source / "a.etdp", source / "b.etdp")
    compare_files(session, [str(source / "b.etdp")])
    panel = show_panel(GraphPanel, session)
    assert panel.is_empty
    assert panel.sentence
