"""The summary panel: its figures are those of other panels, and each of them leads somewhere."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from viewer.gui.panels.delegation.panel import DelegationPanel
from viewer.gui.panels.findings.panel import FindingsPanel
from viewer.gui.panels.operators import OperatorsPanel
from viewer.gui.panels.summary.card import parts_of
from viewer.gui.panels.summary.panel import NO_SLICES, NOTHING, SummaryPanel
from viewer.gui.panels.summary.sections import FigureLink, FindingLink, TextLink
from viewer.gui.qt.background import BEING_COUNTED
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.gui.session.navigation import include_warm_up, pick_run
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.times import format_time, plain_spaces


@pytest.fixture
def panel(sample, show_panel):
    return show_panel(SummaryPanel, sample("attention_xnnpack"), 372, 800)


def figures(panel):
    found = panel.card.findChildren(FigureLink)
    return {one.caption: plain_spaces(one.text()) for one in found}


def texts(panel):
    return [plain_spaces(one.text()) for one in panel.card.findChildren(TextLink)]


def link(panel, text):
    return next(one for name, one in panel.card.links().items() if plain_spaces(name) == text)


def picked(session):
    return session.traces[0].trace.runs[session.state.run[1]].number if session.state.run else None


def test_the_first_row_is_the_picked_inference_the_delegated_share_and_the_median(panel):
    assert figures(panel) == {
        "run 2 of 5": "55.212 µs",
        "delegated": "57.6 %",
        "median after warm-up": "51.607 µs",
    }
    pick_run(panel.session, None)
    assert figures(panel) == {
        "median after warm-up": "51.607 µs",
        "delegated": "57.6 %",
        "slowest": "115.072 µs",
    }
    include_warm_up(panel.session, included=True)
    assert figures(panel)["median"] == "52.007 µs"


def test_a_switch_of_theme_keeps_its_card(panel, theme):
    card, before = panel.card, theme.choice
    try:
        theme.set_choice("light" if theme.dark else "dark")
        light = panel.grab().toImage()
        assert panel.card is card
        panel.show_again()
        assert panel.card is not card
        assert panel.grab().toImage() == light
    finally:
        theme.set_choice(before)


def test_with_the_typical_view_its_figures_are_those_of_the_typical_inference(panel, show_panel):
    pick_run(panel.session, None)
    panel.session.show_inferences(Inferences.TYPICAL)
    assert panel.answer.scope.run.number == 5
    assert figures(panel) == {
        "inference 5, typical": "51.207 µs",
        "delegated": "57.5 %",
        "median after warm-up": "51.607 µs",
    }
    findings = show_panel(FindingsPanel, panel.session)
    delegation = show_panel(DelegationPanel, panel.session)
    assert panel.answer.summary.findings == findings.answer.findings
    assert delegation.answer.scope == panel.answer.scope
    operators = show_panel(OperatorsPanel, panel.session)
    assert findings.answer.findings.scope == "the typical one of 4 inferences"
    for other in (delegation, operators):
        assert other.subtitle.text().startswith("the typical one of 4 inferences ·")
    include_warm_up(panel.session, included=True)
    assert figures(panel)["median after warm-up"] == "51.607 µs"  # the view leaves them out
    panel.session.show_inferences(Inferences.MEAN)
    assert panel.answer.scope.is_whole


def test_slow_inferences_are_named_before_sums_of_all(opened, show_panel, tmp_path):
    path = tmp_path / "runs.csv"
    lengths = (900, 101, 2000, 99, 100, 103)
    rows = [f"npu,forward,Method::execute,{i * 5000},{n},forward" for i, n in enumerate(lengths)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns,method", *rows]))
    panel = show_panel(SummaryPanel, opened(path), 372, 760)
    pick_run(panel.session, None)
    labels = [plain_spaces(one.text()) for one in panel.card.findChildren(QLabel)]
    assert any(
        one.startswith("1 of 5 inferences after warm-up took up to 19.8 t") for one in labels
    )
    link(panel, "Show the typical inference").clicked.emit()
    assert panel.session.state.inferences is Inferences.TYPICAL
    assert panel.answer.scope.run.number == 2


@pytest.mark.parametrize("run", [None, 1, 3])
def test_its_numbers_are_those_of_operators_delegation_and_findings(panel, show_panel, run):
    session = panel.session
    pick_run(session, None if run is None else (0, run))
    summary = panel.answer.summary
    operators = show_panel(OperatorsPanel, session)
    delegation = show_panel(DelegationPanel, session)
    findings = show_panel(FindingsPanel, session)
    assert summary.costs == operators.answer.answer.table
    parts = parts_of(summary)
    assert [part.ns for part in parts] == [ns for _, _, ns in delegation.answer.page.parts]
    assert sum(part.ns for part in parts) == pytest.approx(delegation.answer.page.whole)
    assert summary.findings == findings.answer.findings
    shown = [one.text() for one in panel.card.findChildren(FindingLink)]
    assert shown == [row.title for row in findings.model.rows[:3]]
    alone = [row for row in operators.answer.answer.table.rows if not row.is_shared]
    assert [(one.operators, one.ticks) for one in summary.expensive] == [
        (row.operators, row.ticks) for row in alone[:3]
    ]


def test_a_click_on_an_operator_selects_it_and_its_line_asks_for_the_source(panel):
    link(panel, "blocks.0 · scaled_dot_product_attention").click()
    assert panel.session.state.operators == (0, (9,))
    link(panel, ":52").click()
    *_, asked = panel.host.asked
    assert asked == ("show_source", "/home/user/models/models.py", 52)


def test_a_click_or_enter_on_an_inference_picks_it(panel, qtbot):
    listed = panel.card.list
    place = listed.visualRect(listed.model().index(3, 0)).center()
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert picked(panel.session) == 4
    panel.card.list.setFocus()
    qtbot.keyClick(panel.card.list, Qt.Key.Key_1)
    qtbot.keyClick(panel.card.list, Qt.Key.Key_Return)
    assert picked(panel.session) == 1
    assert panel.card.list.hasFocus()
    link(panel, "51.607 µs").click()
    assert picked(panel.session) == 5


def test_other_figures_open_their_panels(panel):
    problems = ProblemsFeed.of(panel.session)
    for path in ("/some/bad.etdp", "/some/worse.etdp"):
        problems.add_failure(path, "the file is empty")
    for text in ("57.6 %", "31.777 µs", "4 more findings", "2 problems"):
        link(panel, text).click()
    link(panel, "Linked · 100 % of time").click()
    names = ["delegation", "delegation", "findings", "problems", "links"]
    assert panel.host.asked == [("show_panel", name) for name in names]
    problems.failures.clear()
    problems.refresh()
    assert "No problems in the files" in texts(panel)


def test_a_finding_leads_to_its_place(panel):
    finding = panel.answer.summary.findings.found[0]
    link(panel, finding.action).click()
    state, shown = panel.session.state, panel.session.traces[0]
    found = shown.findings.slices_of(finding, panel.answer.scope)
    assert state.slices.of[0].tolist() == found.tolist()


def test_every_figure_can_be_reached_by_keyboard_and_has_a_name(panel):
    links = list(panel.card.links().values())
    assert len(links) > 15
    for one in links:
        assert one.focusPolicy() == Qt.FocusPolicy.StrongFocus
        assert one.accessibleName() or one.text()


def test_nothing_is_cut_at_the_width_of_the_side(panel):
    cut = [
        one.text()
        for one in panel.card.findChildren(TextLink)
        if one.shown_text != one.text() and "scaled_dot" not in one.text()
    ]
    assert cut == []
    inner = panel.page.viewport().width()
    wide = [w for w in panel.card.findChildren(QWidget) if w.geometry().right() > inner]
    assert wide == []


def test_many_inferences_are_the_slowest_and_a_link_to_all(show_files):
    panel = show_files(SummaryPanel, "etdump/cnn_portable_x10.etdp", width=372)
    assert panel.card.list.model().rowCount() == 10
    panel.session.close_all()
    assert panel.sentence == NOTHING


def test_a_mismatched_pair_shows_the_reason_first(opened, show_panel, data, attention_record):
    session = opened(data / "etdump" / "cnn_portable_x10.etdp", attention_record)
    panel = show_panel(SummaryPanel, session, 372, 700)
    assert texts(panel)[0] == "Show links"
    assert "ETRecord does not match" in texts(panel)


def test_a_trace_without_inferences_has_no_empty_section(show_files):
    panel = show_files(SummaryPanel, "chrome_json/kineto_cpu.json", width=372)
    assert set(figures(panel)) >= {"duration", "busy time"}
    assert panel.card.list is None
    assert "no ETRecord linked" not in texts(panel)


def test_runs_of_onnx_runtime_are_inferences(show_files):
    panel = show_files(SummaryPanel, "chrome_json/onnxruntime_profile.json", width=372)
    assert figures(panel) == {"run 2 of 2": "1.695 ms", "median": "1.695 ms"}
    assert panel.card.list is not None


def test_torq_profiles_show_operators_and_one_another(sample, show_panel):
    session = sample("torq_npu")
    panel = show_panel(SummaryPanel, session, 372, 700)
    assert figures(panel) == {"median": "1.138 ms", "slowest": "1.158 ms"}
    assert {"Operators", "Shared", "No operator"} <= set(texts(panel))
    before = session.state.t0, session.state.t1
    link(panel, "compile.csv").click()
    assert (session.state.t0, session.state.t1) != before
    session.close_all()


def test_a_compile_profile_has_a_duration_and_busy_time(data, show_files):
    panel = show_files(SummaryPanel, "torq/compile_c0_callsite.csv", "torq/tiny_cnn.mlir")
    assert list(figures(panel)) == ["duration", "busy time, added up"]
    assert "Most expensive operators" in {one.text() for one in panel.card.findChildren(QLabel)}


def test_a_record_alone_shows_what_it_holds_and_the_next_step(opened, show_panel, attention_record):
    panel = show_panel(SummaryPanel, opened(attention_record), 372, 700)
    assert {"38", "operators", "2", "operators partly delegated"} <= set(texts(panel))
    panel.card.button.click()
    assert panel.host.asked == [("open_files",)]


def test_without_a_file_it_says_what_to_do(show_panel):
    assert show_panel(SummaryPanel, Session()).sentence == NOTHING


def test_a_large_trace_is_summarized_once_the_panel_is_seen(sample, make_panel, qtbot, monkeypatch):
    monkeypatch.setattr(SummaryPanel, "SYNC_LIMIT", 0)
    panel = make_panel(SummaryPanel, sample("attention_xnnpack"))
    assert panel.sentence == BEING_COUNTED
    panel.show()
    qtbot.waitUntil(lambda: panel.card is not None)
    assert figures(panel)["delegated"] == "57.6 %"


def test_a_profile_without_slices_says_how_to_record_one(show_files, tmp_path):
    counter = {"ph": "C", "pid": 1, "name": "memory", "ts": 1, "args": {"bytes": 2}}
    path = tmp_path / "counters.json"
    path.write_text(json.dumps({"traceEvents": [counter]}))
    panel = show_files(SummaryPanel, str(path))
    assert panel.sentence == NO_SLICES
    panel.empty.pressed.emit()
    assert panel.host.asked == [("open_files",)]


def test_names_that_do_not_fit_keep_their_ends(theme, qtbot):
    name = TextLink(
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward", theme, elided=True
    )
    sentence = TextLink("Inference 1 took 2.2 times the median of the others", theme, elided=True)
    for link in (name, sentence):
        qtbot.addWidget(link)
        link.resize(150, 20)
    assert name.shown_text.startswith("aten::")
    assert name.shown_text.endswith("backward")
    assert sentence.shown_text.endswith("…")


def test_several_methods_have_a_median_each_and_one_slowest_inference(show_files):
    panel = show_files(SummaryPanel, "etdump/multi_forward_decode_portable_x3.etdp", width=372)
    pick_run(panel.session, None)
    methods = panel.answer.summary.methods
    assert [(one.runs, one.name) for one in methods] == [(3, "Execute 2"), (3, "Execute 1")]
    shown = figures(panel)
    assert list(shown) == ["Execute 2, median", "Execute 1, median", "slowest"]
    runs = list(panel.session.traces[0].file.inferences())
    longest = max(one.end - one.start for one in runs)
    assert shown["slowest"] == plain_spaces(format_time(longest))
    assert panel.answer.summary.median is None


@pytest.mark.parametrize(
    "name", ["torq/host_h4_latest.csv", "torq/host_h4_latest_2inv.csv", "table_csv/two_threads.csv"]
)
def test_shares_of_events_say_what_they_are_of(opened, data, show_panel, name):
    panel = show_panel(SummaryPanel, opened(data / name), 372, 800)
    summary = panel.answer.summary
    captions = [plain_spaces(one.texts[0]) for one in panel.card.findChildren(ElidedLabel)]
    whole = plain_spaces(summary.base.text(summary.expensive_whole))
    assert any(caption.endswith(f" · % of {whole}") for caption in captions)
    first = summary.expensive[0]
    assert f"{100 * first.wall / summary.expensive_whole:.1f} %" in texts(panel)
