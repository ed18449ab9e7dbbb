"""Delegation while two arms are compared: delegates, their calls, and what moved."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from viewer.analysis.comparison.levels import CALLS, DELEGATE
from viewer.gui.panels.delegation.page import (
    CALLED,
    DELEGATES,
    NO_COMPARED_CALLS,
    NONE_CALLED_IN_ARMS,
    NONE_MOVED,
    OUTSIDE_BOTH,
    SHARED,
    TOTALS,
    UNKNOWN,
    DelegationLine,
    compare_delegation,
    only_in,
)
from viewer.gui.panels.delegation.panel import DelegationPanel
from viewer.gui.session.comparison import (
    ComparisonFeed,
    compare,
    compare_files,
    select_row,
    swap_arms,
)
from viewer.model.times import format_time


@pytest.fixture
def session_of(opened, data):
    """A session that compares an edit of `tests/data/compare`, one profile in each arm."""

    def make(edit, *ends):
        source = data / "compare" / edit
        ends = ends or ("etrecord", "etdp")
        session = opened(*(source / f"{side}.{end}" for side in "ab" for end in ends))
        assert not compare_files(session, [str(source / "b.etdp")])
        return session

    return make


@pytest.fixture
def panel(session_of, show_panel, qtbot):
    """Portable kernels against XNNPACK."""
    made = show_panel(DelegationPanel, session_of("06_portable_vs_xnnpack"), 1100, 900)
    qtbot.waitUntil(lambda: not made.is_pending)
    return made


def rows_of(panel, section):
    """The rows of a section, with what they stand for."""
    items = [(panel.model.entry(i), row) for i, row in enumerate(panel.model.rows)]
    return [
        (item.of, row)
        for item, row in items
        if item.section == section and item.line is DelegationLine.CHANGE
    ]


def heads(panel):
    """The text next to the title of each section, and that below it."""
    items = [(panel.model.entry(i), row) for i, row in enumerate(panel.model.rows)]
    return {
        item.section: (row.hint, row.detail)
        for item, row in items
        if item.line is DelegationLine.SECTION
    }


def number_of(panel, section, at=0):
    """The number of a row of a section in the table."""
    wanted = rows_of(panel, section)[at][1]
    return next(i for i, row in enumerate(panel.model.rows) if row is wanted)


def test_figures_are_totals(panel):
    assert panel.subtitle.text() == "totals, medians of 1 + 1 sessions"
    tips = [heading.tip for heading in panel.model.contents.headings]
    assert tips[1:3] == [TOTALS, TOTALS]


def test_delegates_and_what_is_not_delegated_have_both_times(panel):
    assert [h.title for h in panel.model.contents.headings][1:4] == ["A", "B", "Change"]
    by_delegate = panel.answer.changes.by_delegate
    shown = {row.op: row for _, row in rows_of(panel, DELEGATES)}
    assert set(shown) == {"Not delegated", "XnnpackBackend"}
    for row, one in zip(by_delegate.rows, by_delegate.compared, strict=True):
        own = shown["Not delegated" if row.label.startswith("(") else row.label]
        times = [None if ns is None else format_time(round(ns)) for ns in (one.a_ns, one.b_ns)]
        assert [text if text != "–" else None for text in own.texts[1:3]] == times
        assert own.compared.verdict == one.verdict.value
    assert shown["XnnpackBackend"].hint == "only in B"


def test_the_head_shows_the_difference_of_coverage(panel):
    a, b = panel.answer.changes.coverage
    hint, below = heads(panel)[DELEGATES]
    assert (
        hint == f"0 of {a.operators} operators in A, {b.delegated} of {b.operators} operators in B"
    )
    assert below.startswith("No delegate call in A. B: ")
    assert f"{format_time(round(b.ns))} in {b.calls} delegate calls" in below
    assert f"Partly delegated: {b.partly} operator" in below


def test_delegate_calls_are_compared_with_all_kernels_that_they_replace(panel):
    shown = rows_of(panel, CALLED)
    assert {of.number for of, _ in shown} == set(panel.answer.changes.rows)
    rows = panel.answer.found.rows
    for of, row in shown:
        _, one = rows[of.number]
        assert of.level == CALLS
        assert row.texts[2] == format_time(round(one.b_ns))


def test_what_moved_has_one_time_and_no_change(panel):
    panel.model.expand(only_in(1))
    moved = panel.answer.changes.only_in[1]
    shown = rows_of(panel, only_in(1))
    assert [row.operators for _, row in shown] == [one.operators for one in moved]
    for (_, row), one in zip(shown, moved, strict=True):
        assert row.texts[1] == format_time(round(one.ns))
        assert row.texts[2] == (SHARED if one.members > 1 else "–")
        assert row.texts[3:6] == ("", "", "")
        assert not row.compared.verdict
        assert "XnnpackBackend instr. " in row.detail
    operators = {i for one in moved for i in one.operators}
    assert heads(panel)[only_in(1)][0].startswith(
        f"{len(operators)} operators · medians add up to "
    )
    assert only_in(0) not in heads(panel)


def test_what_neither_arm_delegates_is_listed_last(panel):
    assert list(heads(panel))[-1] == OUTSIDE_BOTH
    parts_a, parts_b = (arm.parts for arm in panel.answer.found.arms)
    for of, _ in rows_of(panel, OUTSIDE_BOTH):
        row, _ = panel.answer.found.rows[of.number]
        assert not any(parts_a[n].backend for n in row.a)
        assert not any(parts_b[n].backend for n in row.b)


@pytest.mark.parametrize("section", [DELEGATES, CALLED, only_in(1)])
def test_a_row_selects_its_slices_in_both_arms_and_stays_marked(panel, section):
    number = number_of(panel, section)
    index = panel.model.index(number, 0)
    panel.view.scrollTo(index)
    at = panel.view.visualRect(index).center()
    QTest.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    session, found = panel.session, panel.answer.found
    paths = {session.traces[trace].file.path for trace in session.state.slices.of}
    assert paths == {found.typical(side)[0] for side in (0, 1)}
    assert [i.row() for i in panel.view.selectionModel().selectedRows()] == [number]


def test_a_row_of_a_delegate_selects_all_its_calls(panel):
    number = next(
        i for i, row in enumerate(panel.model.rows) if row.op == "XnnpackBackend"
    )  # fmt: skip
    assert panel.model.entry(number).of.level == DELEGATE
    panel.view.chosen.emit(number)
    found, slices = panel.answer.found, panel.session.state.slices.of
    assert len(slices) == 1  # A has none
    ((_, own),) = slices.items()
    calls = panel.answer.changes.coverage[1].calls
    assert len(own) == calls
    assert found.side_of(panel.session.traces[next(iter(slices))].file.path) == 1


def test_a_selected_row_by_call_is_marked(panel):
    wanted = panel.answer.changes.rows[0]
    select_row(panel.session, panel.answer.found, wanted)
    (index,) = panel.view.selectionModel().selectedRows()
    of = panel.model.entry(index.row()).of
    assert (of.level, of.number) == (CALLS, wanted)


def test_swapped_arms_swap_the_sections(panel, qtbot):
    swap_arms(panel.session)
    qtbot.waitUntil(lambda: not panel.is_pending)
    assert only_in(0) in heads(panel)
    assert only_in(1) not in heads(panel)
    row = rows_of(panel, only_in(0))[0][1]
    assert row.texts[1] == SHARED
    assert row.operators  # those of A, whose colors are known


def test_without_changes_in_tables_the_report_of_a_profile_comes_back(panel, qtbot):
    compare(panel.session, replace(panel.session.state.compared, in_tables=False))
    qtbot.waitUntil(lambda: not panel.is_pending)
    assert "Change" not in [h.title for h in panel.model.contents.headings]
    compare(panel.session, None)
    qtbot.waitUntil(lambda: not panel.is_pending)
    assert "Unattributed, mean of 4" in [h.title for h in panel.model.contents.headings]


def test_copied_rows_have_no_time_for_what_is_shared(panel):
    number = number_of(panel, only_in(1))
    head, line = panel.model.tsv([number]).splitlines()
    assert head.startswith("Section\tDelegate or operator\tA, ns\tB, ns\tChange, ns")
    assert not head.endswith("What to do")
    cells = line.split("\t")
    moved = panel.answer.changes.only_in[1][0]
    assert cells[2:5] == [str(round(moved.ns)), SHARED, ""]


def test_equal_delegation_is_said(session_of):
    session = session_of("06_portable_vs_xnnpack")
    arms = session.state.compared
    both = replace(arms, a=replace(arms.b, numbers=(2,)), b=replace(arms.b, numbers=(3, 4)))
    compare(session, both)
    page = compare_delegation(ComparisonFeed.of(session).answer).page
    assert page.contents.rows[0].detail.endswith(NONE_MOVED)


@pytest.mark.parametrize(
    ("edit", "ends", "text"),
    [
        ("01_reexport", (), NONE_CALLED_IN_ARMS),
        ("06_portable_vs_xnnpack", ("etdp",), UNKNOWN),
    ],
)
def test_a_sentence_says_what_is_not_there(session_of, edit, ends, text):
    found = ComparisonFeed.of(session_of(edit, *ends)).answer
    assert text in compare_delegation(found).page.contents.rows[0].detail


def test_profiles_without_calls_have_nothing_to_delegate(opened, data):
    files = [data / "table_csv/two_threads.csv", data / "table_csv/semicolons_bom.csv"]
    session = opened(*files)
    assert not compare_files(session, [str(files[1])])
    page = compare_delegation(ComparisonFeed.of(session).answer).page
    assert [row.detail for row in page.contents.rows] == [NO_COMPARED_CALLS]
