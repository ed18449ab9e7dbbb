"""The findings panel: its list is the answer, a click goes there, a selection changes nothing."""

import json

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from tests.builders.clocked_traces import NS, clocked_trace
from tests.builders.delegation_cases import DATA
from viewer.analysis.findings.finding import Family
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.formats import open_file
from viewer.gui.panels.findings.list import NONE_FOUND, RowKind
from viewer.gui.panels.findings.panel import NOTHING, FindingsPanel
from viewer.gui.qt.background import BEING_COUNTED
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.session.navigation import far_place, fit_rest, pick_run, show_place
from viewer.gui.session.session import Session
from viewer.model.figures import STEADY
from viewer.model.inference_views import Inferences
from viewer.model.times import plain_spaces
from viewer.view.state import SliceRef

EPOCH = 51 * 8766 * 3600 * 10**9  # 51 years, in ns


@pytest.fixture
def panel(sample, show_panel):
    made = show_panel(FindingsPanel, sample("attention_xnnpack"), 820, 600)
    pick_run(made.session, None)
    return made


def row_of(panel, family):
    return next(
        i for i, row in enumerate(panel.model.rows) if row.finding and row.finding.family is family
    )


def finding(panel, family):
    return panel.model.rows[row_of(panel, family)].finding


def click(qtbot, panel, family):
    row = panel.model.index(row_of(panel, family))
    panel.list.scrollTo(row)
    place = panel.list.visualRect(row).center()
    qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_the_list_is_the_answer_by_rank(panel):
    shown = panel.session.traces[0]
    answer = FindingsAnalysis(shown.table).of(STEADY, shown.axis.ns_per_tick)
    rows = [row for row in panel.model.rows if row.kind is RowKind.FINDING]
    assert [row.finding for row in rows] == list(answer.found)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert plain_spaces(panel.subtitle.text()) == (
        f"{len(rows)} findings · 4 inferences after warm-up · attn_xnnpack_x5.etdp"
    )


def test_the_other_checks_are_two_lines(panel):
    groups = [row.title for row in panel.model.rows if row.kind is RowKind.GROUP]
    assert groups == ["2 checks passed", "4 checks do not apply to this trace"]
    assert not [row for row in panel.model.rows if row.kind is RowKind.CHECK]


def test_checks_that_were_expanded_stay_so_for_another_inference(panel):
    panel.model.toggle(len(panel.model.rows) - 1)
    pick_run(panel.session, (0, 3))
    checks = [row.title for row in panel.model.rows if row.kind is RowKind.CHECK]
    assert "Estimates: no estimates of what this profile measured are open" in checks


def test_it_follows_the_picked_run(panel):
    pick_run(panel.session, (0, 3))
    assert "inference 3" in panel.subtitle.text()
    assert finding(panel, Family.GAPS).ticks == 3770


def test_a_click_selects_all_slices_of_the_hot_spots(panel, qtbot):
    click(qtbot, panel, Family.LARGEST)
    state, shown = panel.session.state, panel.session.traces[0]
    sets = finding(panel, Family.LARGEST).place.sets
    assert state.slices.of[0].tolist() == shown.costs.slices_of(sets, STEADY).tolist()


def test_a_click_on_gaps_shows_the_longest(panel, qtbot):
    click(qtbot, panel, Family.GAPS)
    state, place = panel.session.state, finding(panel, Family.GAPS).place
    axis = panel.session.traces[0].axis
    assert (state.area.t0, state.area.t1) == (axis.to_ns(place.start), axis.to_ns(place.end))
    assert state.t0 < state.area.t0 < state.area.t1 < state.t1
    assert state.area.tracks == {(0, place.tracks[0])}
    panel.session.undo()
    assert panel.session.state.area is None


def test_gaps_are_shown_on_their_clock(panel):
    session, gaps = panel.session, finding(panel, Family.GAPS).place
    session.add([clocked_trace("other.etdp", NS, (0, 90_000))])
    own, other = (group.key for group in session.groups)
    session.set_range(0, 1_000)
    session.activate(other)
    session.set_range(500, 600)
    show_place(session, session.traces[0], gaps, np.empty(0, np.int64))
    state = session.state
    assert state.clock == own
    assert state.t0 < state.area.t0 < state.area.t1 < state.t1
    assert state.range_of(other) == (500, 600)
    session.undo()
    assert (session.state.clock, session.state.t0, session.state.t1) == (other, 500, 600)


def test_far_times_zoom_to_the_rest_and_back(opened, make_panel):
    far = [(0, 5), *((EPOCH + 100 * i, EPOCH + 100 * i + 50) for i in range(20))]
    session = opened()
    session.add([clocked_trace("near.etdp", NS, (0, 90_000)), clocked_trace("far.etdp", NS, *far)])
    panel = make_panel(FindingsPanel, session)
    _, own = (group.key for group in session.groups)
    assert far_place(session) is None
    session.activate(own)
    session.set_range(0, EPOCH)
    assert panel.model.rows[0].title == "Zoom to the rest: 1 slice is 51\u202fyears before it"
    for zoom in (lambda: panel.list.chosen.emit(0), lambda: fit_rest(session)):
        zoom()
        state = session.state
        assert state.clock == own
        assert EPOCH - 500 < state.t0 <= EPOCH
        assert EPOCH + 1950 <= state.t1 < EPOCH + 2500
        assert state.area is None
        session.undo()
        assert (session.state.t0, session.state.t1) == (0, EPOCH)


def test_an_area_has_the_ticks_of_its_stretch(opened, make_panel):
    """A tick is 1.25 ns: an area that starts a ns too early has a part of what ended there."""
    panel = make_panel(FindingsPanel, opened(DATA / "torq" / "compile_c3_taskid.csv"))
    panel.list.chosen.emit(row_of(panel, Family.DMA))
    area, place = panel.session.state.area, finding(panel, Family.DMA).place
    axis = panel.session.traces[0].axis
    assert [axis.to_ticks_floor(t) for t in (area.t0, area.t1)] == [place.start, place.end]


def test_enter_on_the_warm_up_picks_its_inference_and_stays_current(panel, qtbot):
    panel.list.setCurrentIndex(panel.model.index(row_of(panel, Family.WARM_UP)))
    qtbot.keyClick(panel.list, Qt.Key.Key_Return)
    trace, number = panel.session.state.run
    assert panel.session.traces[trace].trace.runs[number].number == 1
    assert panel.list.currentIndex().row() == row_of(panel, Family.WARM_UP)


def test_a_click_on_links_requests_the_report(panel, qtbot):
    click(qtbot, panel, Family.LINKS)
    *_, requested = panel.host.asked
    assert requested == ("show_panel", "delegation")


def test_a_selection_leaves_the_list_as_it_is(panel):
    answer, rows = panel.answer, panel.model.rows
    panel.resize(820, 200)
    panel.list.scrollToBottom()
    at = panel.list.verticalScrollBar().value()
    panel.session.select_slice(SliceRef(0, 40))
    panel.session.select_operators(0, (9,))
    assert (panel.answer, panel.model.rows) == (answer, rows)
    assert panel.list.verticalScrollBar().value() == at > 0


def test_a_click_shows_the_inferences_as_they_ran(panel, qtbot):
    panel.session.show_inferences(Inferences.MEAN)
    rows = panel.model.rows
    click(qtbot, panel, Family.OUTSIDE)
    assert panel.session.state.inferences is Inferences.AS_RUN
    assert [row.plain for row in panel.model.rows] == [row.plain for row in rows]


def test_what_is_copied_is_text(panel):
    panel.list.setCurrentIndex(panel.model.index(row_of(panel, Family.GAPS)))
    panel.copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0] == panel.subtitle.text()
    assert lines[1:] == [panel.model.rows[row_of(panel, Family.GAPS)].plain]
    panel.list.clearSelection()
    panel.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 1 + len(panel.model.rows)


def test_copied_findings_are_sentences_in_every_format(panel):
    panel.list.clearSelection()
    title, sentences = panel.subtitle.text(), [row.plain for row in panel.model.rows]
    panel.copy(CopyFormat.JSON)
    found = json.loads(QGuiApplication.clipboard().text())
    assert found == {"title": title, "rows": sentences}
    panel.copy(CopyFormat.MARKDOWN)
    head, empty, *lines = QGuiApplication.clipboard().text().splitlines()
    assert (head, empty) == (title, "")
    assert [line.startswith("- ") for line in lines] == [True] * len(sentences)


def test_nothing_open_and_nothing_found(make_panel):
    session = Session()
    panel = make_panel(FindingsPanel, session)
    assert panel.sentence == NOTHING
    session.add([open_file(str(DATA / "table_csv" / "two_threads.csv"))])
    assert not panel.is_empty
    titles = [row.title for row in panel.model.rows]
    assert (NONE_FOUND in titles) == (not panel.answer.findings.found)
    assert "11 checks do not apply to this trace" in titles


def test_a_large_trace_is_analyzed_when_the_panel_is_seen(sample, make_panel, qtbot, monkeypatch):
    monkeypatch.setattr(FindingsPanel, "SYNC_LIMIT", 0)
    panel = make_panel(FindingsPanel, sample("attention_xnnpack"))
    assert panel.sentence == BEING_COUNTED
    panel.resize(820, 600)
    panel.show()
    qtbot.waitUntil(lambda: panel.answer is not None)
    assert not panel.is_empty


def test_closing_all_empties_it(panel):
    panel.session.close_all()
    assert (panel.is_empty, panel.answer, panel.model.rows) == (True, None, ())
