"""The costs and changes of operators as texts and fills of nodes."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tests.gui.panels.graph.picture import THIN
from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.cost.costs import CostRow, CostTable
from viewer.gui.panels.graph import measures
from viewer.gui.panels.graph.measures import (
    CHANGE_STEPS,
    NO_SLICE,
    ChangeFigures,
    ChangeFill,
    CostFigures,
    NoCostFill,
)
from viewer.gui.session.comparison import ComparisonFeed, compare_files, compare_inferences
from viewer.model.figures import FigureBase

ROWS = (
    CostRow((0,), 50, 50, 40, 2), CostRow((1, 2), 30, 30, 0, 1), CostRow((2, 3, 4), 12, 12, 0, 1),
    CostRow((2,), 5, 5, 0, 1), CostRow((5,), 0, 0, 0, 3),
)  # fmt: skip
LINKED = ((0,), (1, 2), (2, 3, 4), (2,), (5,), (6,))


def costs_of(rows, linked, count):
    shown = SimpleNamespace(
        table=SimpleNamespace(sets=linked), axis=SimpleNamespace(ns_per_tick=Fraction(1))
    )
    base = FigureBase(Fraction(1))
    answer = SimpleNamespace(table=CostTable(rows, 3), open_trace=shown, scope=None, base=base)
    return CostFigures(answer, count)


def test_own_and_shared_time_are_told_apart_and_never_divided(monkeypatch):
    monkeypatch.setattr(measures, "scope_text", lambda *_, **__: "run 2")
    costs = costs_of(ROWS, LINKED, 8)
    assert costs.order.tolist() == [50, 30, 42, 12, 12, 0, 0, 0]
    assert costs.linked.tolist() == [True] * 7 + [False]
    assert [costs.text(operator).replace(THIN, " ") for operator in (0, 2, 5)] == [
        "50 ns · 50.0 %", "5 ns · 5.0 % + shared", "0 · 0.0 %"
    ]  # fmt: skip
    lines = [costs.lines(operator)[0].replace(THIN, " ") for operator in range(8)]
    assert lines == [
        "50 ns self, 50.0 % in run 2",
        "30 ns shared by 2, not divided in run 2",
        "5 ns self, 5.0 % and 42 ns in 2 shared calls, not divided in run 2",
        "12 ns shared by 3, not divided in run 2",
        "12 ns shared by 3, not divided in run 2",
        "0 self, 0.0 % in run 2",
        "no slice in run 2",
        "not linked to any slice",
    ]


def test_without_rows_nothing_cost_anything():
    costs = costs_of((), (), 2)
    assert costs.order.tolist() == [0, 0]
    assert not costs.linked.any()


def figures_of(session):
    return ChangeFigures(ComparisonFeed.of(session).in_tables)


@pytest.fixture
def slower(compared):
    return figures_of(compared({"blocks.1.dw": 2.0}))


@pytest.fixture
def files(opened, data):
    """The changes of an edit of `tests/data/compare`, one session each."""

    def make(edit, *ends, swapped=False):
        source = data / "compare" / edit
        ends = ends or ("etrecord", "etdp")
        session = opened(*(source / f"{side}.{end}" for side in "ab" for end in ends))
        assert not compare_files(session, [str(source / f"{'a' if swapped else 'b'}.etdp")])
        return figures_of(session)

    return make


def cell(figures, label):
    operators = figures.comparison.program(0).operators
    number = next(one.index for one in operators if one.label == label)
    (found,) = figures.cells(np.array([number]))
    return number, found


def test_a_proven_change_has_its_color_and_number(slower):
    number, found = cell(slower, "blocks.1.dw · convolution")
    assert found.fill == ChangeFill(Verdict.SLOWER, CHANGE_STEPS)
    assert found.text.startswith("+")
    assert found.text.endswith("2.00 x")
    lines = slower.lines(number)
    assert lines[0].startswith("A ")
    assert ", B " in lines[0]
    assert "per inference, 2.00 x" in lines[0]
    assert lines[1].startswith("Slower. 95 % interval of the change: ")
    assert lines[2] == "Same record."
    assert slower.summary((number,)).startswith("blocks.1.dw · convolution: A ")


def test_what_did_not_change_is_gray(slower):
    _, found = cell(slower, "blocks.0.dw · convolution")
    assert found.fill == ChangeFill(Verdict.NO_CHANGE)
    assert found.verdict is Verdict.NO_CHANGE


def test_the_color_has_a_step_for_the_size_of_the_change(compared):
    figures = figures_of(compared({"blocks.1.dw": 2.0, "blocks.0.dw": 1.2}))
    _, large = cell(figures, "blocks.1.dw · convolution")
    _, small = cell(figures, "blocks.0.dw · convolution")
    assert (large.fill.step, small.fill.step) == (CHANGE_STEPS, 1)


def test_operators_of_a_group_show_its_change_and_that_it_is_shared(files):
    figures = files("06_portable_vs_xnnpack")
    row = next(n for n, own in enumerate(figures.changes.operators) if len(own) > 2)
    members = figures.changes.operators[row]
    cells = figures.cells(np.array(members))
    assert len({one.text for one in cells}) == 1
    assert cells[0].text.endswith(f" shared by {len(members)}")
    assert "not divided: " in figures.lines(members[0])[0]
    assert figures.comparison.rows[row][0].label in figures.lines(members[0])[0]


def test_a_node_names_the_delegate_call_that_b_runs_it_in(files):
    figures = files("06_portable_vs_xnnpack")
    tags = {figures.tag(one.index) for one in figures.comparison.program(0).operators}
    assert any(tag.startswith("Xnnpack ") and tag.endswith(" in B") for tag in tags)


def test_an_operator_without_a_slice_has_no_figure(opened, data):
    profile = data / "etdump/cond_portable_x5.etdp"  # operators in a branch have no link
    session = opened(profile, data / "etrecord/cond_toedge_portable.etrecord")
    runs = {run.number: run for run in session.traces[0].file.inferences()}
    compare_inferences(session, session.traces[0].file, runs[2], (runs[3], runs[4]))
    figures = figures_of(session)
    bare = [i for i in range(len(figures.changes.own)) if figures.changes.row_of(i) < 0]
    assert bare
    for number in bare:
        (found,) = figures.cells(np.array([number]))
        assert (found.text, found.fill) == (NO_SLICE, NoCostFill.UNLINKED)
        assert figures.lines(number) == [NO_SLICE]
        assert figures.summary((number,)) == ""


def test_what_only_one_arm_has_is_said(files):
    inserted = files("10_blocks_6_to_8")
    count = inserted.changes.only_b
    assert inserted.title == f"{count} rows only in B · medians of 1 + 1 sessions"
    removed = files("10_blocks_6_to_8", swapped=True)
    alone = [
        found
        for found in removed.cells(np.arange(len(removed.changes.own)))
        if isinstance(found.fill, ChangeFill) and found.fill.only_in == "A"
    ]
    assert len(alone) >= count
    assert all("only in A" in found.text for found in alone)


def test_without_verdicts_nothing_has_a_color(files):
    figures = files("02_module_renamed")
    fills = {found.fill for found in figures.cells(np.arange(len(figures.changes.own)))}
    assert all(fill.step == 0 for fill in fills if isinstance(fill, ChangeFill))
    assert figures.most == ""
