"""Charts of results by mouse and keyboard: what is drawn, and which rows its boxes are."""

import time

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.panels.query.test_panel import DUMP, NONE, run
from viewer.gui.panels.query.panel import QueryPanel
from viewer.gui.panels.query.result_area import ResultChart
from viewer.gui.session.feeds import derived
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.query.engine import Result, plotted
from viewer.view.derived_tracks import ChartKind

BY_NAME = "SELECT name, count(*) AS n, sum(dur_ns) AS dur_ns FROM slices GROUP BY 1 ORDER BY 2 DESC"


@pytest.fixture
def panel(show_files):
    return show_files(QueryPanel, DUMP)


def choose(panel, kind: ChartKind) -> ResultChart:
    """Choose a kind of chart with the keyboard, and paint it."""
    panel.chart_box.setFocus()
    QTest.keyClick(panel.chart_box, Qt.Key.Key_Home)
    for _ in range(list(ChartKind).index(kind)):
        QTest.keyClick(panel.chart_box, Qt.Key.Key_Down)
    if panel.chart is not None:
        panel.chart.grab()
    return panel.chart


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ChartKind.BARS, ChartKind.LINE, ChartKind.POINTS])
def test_a_click_selects_the_row_and_its_values_are_readable(qtbot, panel, kind):
    cells = run(qtbot, panel, BY_NAME)
    chart = choose(panel, kind)
    assert chart.accessibleName() == f"{kind.value} of n by name"
    QTest.mouseClick(chart.viewport(), Qt.MouseButton.LeftButton, NONE, chart.center_of(1))
    (index,) = panel.rows.selectionModel().selectedRows()
    assert index.row() == 1
    assert chart.accessible_value() == f"name: {cells[1][0]}, n: {cells[1][1]}"
    QTest.keyClick(chart, Qt.Key.Key_Right)
    (index,) = panel.rows.selectionModel().selectedRows()
    assert index.row() == 2


def test_a_click_on_a_row_marks_its_bar_after_sorting(qtbot, panel):
    run(qtbot, panel, "SELECT * FROM (VALUES ('a', 3), ('b', 1), ('c', 2)) v(name, n)")
    chart = choose(panel, ChartKind.BARS)
    panel.rows.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    place = panel.rows.visualRect(panel.rows.arranged.index(0, 0)).center()
    QTest.mouseClick(panel.rows.viewport(), Qt.MouseButton.LeftButton, NONE, place)
    assert chart.accessible_value() == "name: b, n: 1"


@pytest.mark.slow
def test_a_chart_is_kept_shown_again_and_removed(qtbot, panel):
    assert not panel.keep_button.isVisible()
    run(qtbot, panel, BY_NAME)
    assert not panel.keep_button.isVisible()
    choose(panel, ChartKind.BARS)
    QTest.keyClicks(panel.track_name, "by name")
    QTest.keyClick(panel.track_name, Qt.Key.Key_Return)
    assert panel.track_name.text() == ""
    choose(panel, ChartKind.LINE)
    QTest.mouseClick(panel.keep_button, Qt.MouseButton.LeftButton)
    kept = [(chart.name, chart.kind) for chart in panel.session.state.charts]
    assert kept == [("by name", ChartKind.BARS), ("Chart 1", ChartKind.LINE)]
    assert {chart.sql for chart in panel.session.state.charts} == {BY_NAME}
    assert set(DerivedTracks.of(panel.session).results) == {BY_NAME}
    run(qtbot, panel, "SELECT name FROM slices")
    panel.track_menu.aboutToShow.emit()
    show, _, remove, _ = panel.track_menu.actions()
    assert (show.text(), remove.text()) == ("Show chart by name", "Remove chart by name")
    show.trigger()
    qtbot.waitUntil(lambda: panel._running is None, timeout=60_000)
    assert panel.chart.accessibleName() == "Bars of n by name"
    remove.trigger()
    assert [chart.name for chart in panel.session.state.charts] == ["Chart 1"]
    panel.session.undo()
    assert [chart.name for chart in panel.session.state.charts] == ["by name", "Chart 1"]


def test_a_text_that_is_written_stays_when_a_session_has_charts(qtbot, panel):
    panel.editor.setFocus()
    QTest.keyClicks(panel.editor, "SELECT 12")
    text = panel.editor.toPlainText()
    derived.keep_chart(panel.session, "", BY_NAME, ChartKind.BARS)
    assert panel.editor.toPlainText() == text
    assert panel.tracks_button.isVisible()


def test_a_result_without_numbers_says_why(qtbot, panel):
    run(qtbot, panel, "SELECT name FROM slices")
    assert choose(panel, ChartKind.BARS) is None
    assert panel.no_chart.text() == "A chart needs a column to compare by and a column of numbers"
    run(qtbot, panel, "SELECT 'a' AS name, NULL::BIGINT AS n")
    assert panel.no_chart.text() == "No row has a number in n"
    run(qtbot, panel, "SELECT 'a' AS name, 1 AS n")
    assert panel.chart is not None
    assert not panel.no_chart.isVisible()
    choose(panel, ChartKind.TABLE)
    assert panel.chart is None


def test_points_are_at_the_values_of_a_dimension_of_numbers(qtbot, theme):
    rows = [(5, 10.0), (1, -2.5), (None, 3.0), (3, None), (9, 4.0)]
    result = Result(["x", "y"], ["BIGINT", "DOUBLE"], rows, len(rows))
    chart = ResultChart(result, plotted(result), ChartKind.POINTS, theme)
    qtbot.addWidget(chart)
    chart.resize(400, 200)
    chart.grab()
    assert [chart.row_of(box) for box in range(3)] == [1, 0, 4]
    left, middle, right = (chart.center_of(box) for box in range(3))
    assert left.x() < middle.x() < right.x()
    assert abs((middle.x() - left.x()) / (right.x() - left.x()) - 0.5) < 0.02
    assert middle.y() < right.y() < left.y()
    for box in range(3):
        assert chart.box_at(chart.center_of(box).toPointF()) == box


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_extremes_of_many_rows_are_drawn(qtbot, theme, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=100_000)
    peak = int(rng.integers(len(values)))
    values[peak] = 50.0
    rows = list(enumerate(values.tolist()))
    result = Result(["x", "y"], ["BIGINT", "DOUBLE"], rows, len(rows))
    for kind in (ChartKind.BARS, ChartKind.LINE, ChartKind.POINTS):
        chart = ResultChart(result, plotted(result), kind, theme)
        qtbot.addWidget(chart)
        chart.resize(800, 300)
        began = time.process_time()
        chart.grab()
        print(f"{kind.value}: {time.process_time() - began:.3f} s")
        center = chart.center_of(peak).toPointF()
        assert chart.row_of(chart.box_at(center)) == peak
        items = chart._items[0]
        tops = items.opts["y1"] if kind is ChartKind.BARS else items.getData()[1]
        assert max(tops) == 50.0
        assert len(tops) < 20_000
