"""Operators of a profile without any: the names of its slices, with the figures of Statistics."""

import json
from fractions import Fraction

import numpy as np
import pytest

from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.base import group_rows
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.operators.panel import OperatorsPanel
from viewer.gui.panels.statistics.panel import KEYS, StatisticsPanel
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session.inferences import include_warm_up
from viewer.model.scope import TimeScope
from viewer.model.times import plain_spaces
from viewer.render.color_shares import Counted, shares
from viewer.view.slice_colors import color_classes

CNN = "etdump/cnn_portable_x10.etdp"


@pytest.fixture
def session(opened, data):
    return opened(data / CNN)


@pytest.fixture
def panel(session, show_panel):
    return show_panel(OperatorsPanel, session, 815, 560)


def test_the_figures_are_those_of_statistics_by_name(panel, session, show_panel):
    """Once both cover the same inferences: Statistics always includes the warm-up."""
    include_warm_up(session, included=True)
    statistics = show_panel(StatisticsPanel, session)
    statistics._pick(KEYS.index("name"))
    assert panel.model.contents.headings == statistics.model.contents.headings
    assert {row.name: row.texts for row in panel.model.rows} == {
        row.name: row.texts for row in statistics.model.rows
    }
    titles = [heading.title for heading in panel.model.contents.headings]
    assert [titles[0], titles[1], titles[3], titles[4]] == ["Name", "Self", "Total", "Count"]


def test_a_click_selects_the_slices_of_the_name_and_marks_its_row(panel, session):
    row = next(i for i, row in enumerate(panel.model.rows) if int(row.keys[4]) > 1)
    panel.table.chosen.emit(row)
    selected = session.state.slices.of[0]
    shown = session.traces[0]
    names = {shown.trace.name(int(i)) for i in selected}
    assert names == {panel.model.rows[row].name}
    assert len(selected) == panel.model.rows[row].keys[4]
    assert np.all(np.diff(selected.astype(np.int64)) > 0)
    assert marked_rows(panel.table) == [row]


def test_names_are_filtered_by_name_and_operators_also_by_module_and_line(
    panel, sample, show_panel
):
    assert panel.filter.placeholderText() == "Filter by name"
    operators = show_panel(OperatorsPanel, sample("attention_xnnpack"))
    assert operators.filter.placeholderText() == "Filter by module, operator or line"


def test_it_has_no_costs_of_operators(panel):
    assert panel.costs is None
    assert panel.select_most_expensive() == ""


def test_the_names_of_a_plain_profile_add_up_to_its_busy_time(opened, show_panel, data):
    panel = show_panel(OperatorsPanel, opened(data / "chrome_json" / "kineto_cpu.json"), 815, 560)
    rows = {row.name: row for row in panel.model.rows}
    profiler = rows["PyTorch Profiler (0)"]
    assert profiler.texts[1:3] == (MISSING, MISSING)
    assert panel.model.contents.headings[2].title == "% of busy time"
    assert sum(row.keys[2] for row in rows.values()) == pytest.approx(1)
    assert panel.footer.text().split(", ")[-1].startswith("Busy time")
    assert "PyTorch Profiler (0)" in panel.note.text()


def test_a_span_that_nothing_explains_is_listed_as_in_the_legend(opened, show_panel, tmp_path):
    path = tmp_path / "main.csv"
    path.write_text("process,thread,name,start_ns,dur_ns\np,t,main,0,1000\np,t,conv,5,10\n")
    session = opened(path)
    panel = show_panel(OperatorsPanel, session, 815, 560)
    shown = session.traces[0]
    classes = color_classes(shown, "name")
    counted = Counted(shown.trace, classes, Fraction(1), threads=shown.findings.threads)
    legend = {share.title: share.ns for share in shares([counted]).listed}
    assert {row.name: row.keys[1] for row in panel.model.rows} == legend
    assert legend == {"main": 990, "conv": 10}
    assert panel.note.text() == ""


def test_names_leave_out_the_warm_up_as_the_summary_does(opened, show_panel, tmp_path):
    """Eight steps from step 0: the first two warm up."""
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "name": name, "cat": category, "ts": ts, "dur": dur}
        for n in range(8)
        for name, category, ts, dur in (
            (f"ProfilerStep#{n}", "user_annotation", 100 * n, 90),
            ("conv", "cpu_op", 100 * n + 10, 60),
        )
    ]
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(events))
    session = opened(path)
    panel = show_panel(OperatorsPanel, session, 815, 560)
    context = session.traces[0].findings.context(TimeScope(warm_up=False), Fraction(1))
    rows = {row.name: row.texts for row in panel.model.rows}
    assert rows["conv"][4] == "6"
    assert [plain_spaces(rows["conv"][i]) for i in (1, 3)] == ["360.000 µs"] * 2
    assert rows["ProfilerStep"][1] == MISSING
    assert context.whole_ticks == 360_000
    assert "the warm-up" in panel.subtitle.text()


def test_a_filter_shows_its_first_rows(opened, data, show_panel):
    panel = show_panel(
        OperatorsPanel, opened(data / "chrome_json" / "torch_training.json.gz"), 815, 300
    )
    panel.table.scrollToBottom()
    panel.filter.setText("aten::")
    assert panel.table.verticalScrollBar().value() == 0


def test_of_many_names_those_with_the_most_self_time_are_listed(
    opened, show_panel, tmp_path, monkeypatch
):
    monkeypatch.setattr(group_rows, "MOST_ROWS", 3)
    rows = "".join(f"app,main,op {i},{i * 100},{i + 1}\n" for i in range(10))
    path = tmp_path / "names.csv"
    path.write_text(f"process,thread,name,start_ns,dur_ns\n{rows}")
    session = opened(path)
    panel = show_panel(OperatorsPanel, session)
    assert [row.name for row in panel.model.rows] == ["op 9", "op 8", "op 7"]
    assert panel.note.text().startswith("… 7 more names with less self time")
    statistics = show_panel(StatisticsPanel, session)
    assert len(statistics.model.rows) == 3
    assert "first 3 of 10 rows: export lists all" in statistics.subtitle.text()
    jobs = []
    statistics.export_requested.connect(jobs.append)
    statistics.export()
    jobs[0](str(tmp_path / "all.csv"))(no_progress, never_cancelled)
    assert sum(",op " in line for line in (tmp_path / "all.csv").read_text().splitlines()) == 10
