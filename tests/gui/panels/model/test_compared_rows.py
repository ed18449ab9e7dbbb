"""The changes of modules between two arms in the Model panel."""

from dataclasses import replace

import pytest

from tests.gui.panels.model.tree import click, marked, row_at
from viewer.analysis.comparison.arms import CALLS
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.model.table import OF_CHANGES, WITH_COSTS, ModelColumn, RowKind
from viewer.gui.session.comparison import compare, compare_files, swap_arms
from viewer.model.times import NARROW_SPACE as NARROW
from viewer.view.state import SliceRef


@pytest.fixture
def panel(compared, show_panel):
    return show_panel(ModelPanel, compared({"blocks.1.dw": 2.0}))


@pytest.fixture
def delegated(opened, data, show_panel):
    """Portable kernels against XNNPACK, one session each."""
    source = data / "compare/06_portable_vs_xnnpack"
    session = opened(*(source / f"{side}.{end}" for side in "ab" for end in ("etrecord", "etdp")))
    compare_files(session, [str(source / "b.etdp")])
    return show_panel(ModelPanel, session)


def change(panel, *names):
    return panel.model.rows.change(row_at(panel, *names))


def test_every_module_has_both_times_and_a_verdict_of_all_that_is_in_it(panel):
    assert panel.model.rows.columns == OF_CHANGES
    verdicts = {
        name: change(panel, "forward", name).verdict.value
        for name in ("stem", "blocks.0", "blocks.1", "norm")
    }
    assert verdicts == {
        "stem": "no_change", "blocks.0": "no_change", "blocks.1": "slower", "norm": "no_change"
    }  # fmt: skip
    row = row_at(panel, "forward", "blocks.1", "dw")
    shown = [panel.model.rows.text(row, cell) for cell in OF_CHANGES[1:]]
    assert shown == [f"11.438{NARROW}µs", f"22.877{NARROW}µs", f"+11.438{NARROW}µs", "2.00 x"]
    assert panel.subtitle.text() == "medians of 3 + 3 sessions"


def test_an_operator_has_the_change_of_its_call(panel):
    slower = row_at(panel, "forward", "blocks.1", "dw", "convolution")
    assert panel.model.rows.change(slower).verdict.value == "slower"
    assert "Same record" in panel.model.rows.explained(slower)
    assert not panel.model.rows.has_below(slower.id)


def test_modules_are_sorted_by_their_change(panel):
    panel.model.sort(OF_CHANGES.index(ModelColumn.CHANGE))
    rows = panel.model.rows
    inside = [rows.items[n] for n in rows.below(0)]
    changes = [rows.change(row).change_ns for row in inside if rows.change(row)]
    assert changes == sorted(changes)
    assert rows.name(inside[-1]) == "blocks.1"


def test_a_click_selects_the_slices_of_a_module_in_both_arms(panel, qtbot):
    click(qtbot, panel, row_at(panel, "forward", "blocks.1"))
    chosen = panel.session.state.slices
    assert [len(own) for own in chosen.of.values()] == [4, 4]  # dw, relu, pw and add
    assert marked(panel) == ["blocks.1"]


def test_a_slice_selects_the_operator_that_it_ran(panel):
    session, rows = panel.session, panel.model.rows
    path, run = rows.changes.found.typical(0)
    slower = row_at(panel, "forward", "blocks.1", "dw", "convolution")
    own = rows.changes.found.slices_of_rows(path, (rows.call_of(slower),), run, CALLS)
    number = next(i for i, shown in enumerate(session.traces) if shown.file.path == path)
    session.select_slice(SliceRef(number, int(own[0])))
    (index,) = panel.view.selectionModel().selectedRows()
    assert index.internalId() == slower.id


def test_swapped_arms_swap_verdicts(panel):
    swap_arms(panel.session)
    assert change(panel, "forward", "blocks.1").verdict.value == "faster"


def test_without_changes_in_panels_the_tree_has_costs_again(panel):
    session = panel.session
    compare(session, replace(session.state.compared, in_tables=False))
    assert panel.model.rows.columns == WITH_COSTS
    compare(session, None)
    assert panel.model.rows.columns == WITH_COSTS
    assert panel.costs is not None


def test_calls_of_several_operators_are_listed_where_they_count(delegated):
    rows = delegated.model.rows
    block = row_at(delegated, "forward", "layers.0")
    sets = [rows.items[n] for n in rows.below(block.id) if rows.items[n].kind is RowKind.SET]
    assert sets
    assert any("→ XnnpackBackend" in rows.name(row) for row in sets)
    assert all(rows.change(row).b_ns for row in sets)
    hidden = row_at(delegated, "forward", "layers.0", "attn", "q")
    assert rows.change(hidden) is None
    assert "Its time is shared" in rows.explained(hidden)


def test_copied_rows_have_plain_numbers(panel):
    row = row_at(panel, "forward", "blocks.1", "dw")
    copied = panel.model.rows.tsv([row.id], OF_CHANGES).splitlines()
    assert copied[0] == "Module\tKind\tA, ns\tB, ns\tChange, ns\tChange, %"
    assert copied[1] == "blocks.1.dw\tmodule\t11438\t22877\t11438\t2.00 x"


def test_the_filter_keeps_changes(panel):
    panel.filter.setText("dw")
    assert panel.model.rows.columns == OF_CHANGES
    names = [panel.model.rows.cell(n, ModelColumn.NAME) for n in panel.view.listed_nodes()]
    assert "dw" in names
    assert "stem" not in names
