"""Operators while two arms are compared."""

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.panels.operators.panel import OperatorsPanel
from viewer.gui.session.comparison import compare
from viewer.gui.session.feeds.comparison import ComparisonFeed


@pytest.fixture
def arms(tmp_path):
    return write_arms(tmp_path)


@pytest.fixture
def panel(opened, arms, show_panel):
    session = opened(*arms[0], *arms[1])
    ComparisonFeed.of(session)  # as in the window, where it follows changes before the costs do
    made = show_panel(OperatorsPanel, session, 900, 400)
    compare(session, arms_of(*arms))
    return made


def names(panel):
    return [row.op for row in panel.model.rows]


def test_it_lists_the_changes_the_largest_first(panel):
    assert names(panel)[0] == "add.out"
    assert panel.subtitle.text() == "medians of 4 + 4 sessions"
    assert [heading.title for heading in panel.model.contents.headings][:4] == [
        "Call", "A", "B", "Change",
    ]  # fmt: skip


def test_a_row_selects_its_slices_in_both_arms_and_is_marked(panel):
    panel.table.chosen.emit(0)
    session, found = panel.session, ComparisonFeed.of(panel.session).answer
    paths = {session.traces[ref.trace].file.path for ref in session.state.slices}
    assert paths == {found.typical(side)[0] for side in (0, 1)}
    assert [index.row() for index in panel.table.selectionModel().selectedRows()] == [0]


def test_a_row_in_one_arm_is_counted_below(opened, tmp_path, show_panel):
    from tests.builders.compare_sessions import write_sessions
    from tests.builders.compared_windows import BASE

    a, b = (
        [str(path) for path in write_sessions(tmp_path, name, *([kernels] * 1))]
        for name, kernels in (("a", BASE), ("b", {**BASE, "new.out": 4_000}))
    )
    made = show_panel(OperatorsPanel, opened(*a, *b), 900, 400)
    compare(made.session, arms_of(a, b))
    assert "new.out" in names(made)
    assert made.note.text() == "1 row in one arm only"


def test_ending_the_comparison_brings_the_costs_back(panel):
    compare(panel.session, None)
    assert "Change" not in [heading.title for heading in panel.model.contents.headings]


def test_closing_all_files_ends_it_without_a_row(panel):
    panel.session.close_all()
    assert panel.is_empty
