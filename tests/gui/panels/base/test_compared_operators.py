"""The rows of a comparison as a table."""

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.base.compared_operators import compared_contents, reach_of
from viewer.gui.panels.base.operator_model import OperatorModel
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind
from viewer.gui.qt.widgets.cells import Dots
from viewer.view.open_comparison import OpenComparison
from viewer.workspace.workspace import Workspace


@pytest.fixture
def comparison(tmp_path):
    a, b = write_arms(tmp_path)
    space = Workspace()
    for path in (*a, *b):
        space.open(path)
    return OpenComparison(space, arms_of(a, b)).calls


def test_the_largest_change_is_first_with_its_sign_and_unit(comparison):
    contents = compared_contents(comparison, "Call")
    first = contents.rows[0]
    assert first.op == "add.out"
    assert first.texts[3].startswith("+6.0")
    assert first.texts[4].startswith("+30")
    assert (first.compared.verdict, first.compared.share) == ("slower", 1.0)
    assert len(first.compared.dots.a) == len(first.compared.dots.b) == 4
    assert "interval" in first.detail


def test_copied_rows_have_whole_ns_and_signs(comparison, qapp):
    model = OperatorModel()
    model.show(compared_contents(comparison, "Call"))
    head, first, *_ = model.tsv(range(3)).splitlines()
    assert head.split("\t")[:4] == ["Call", "A, ns", "B, ns", "Change, ns"]
    _, a, b, change, *_ = first.split("\t")
    assert int(b) - int(a) == pytest.approx(int(change), abs=1)


def test_times_of_different_clocks_have_no_difference(data, qapp):
    """A compile profile counts cycles, a runtime profile µs."""
    names = [str(data / "torq" / f"{x}.csv") for x in ("compile_c3_taskid", "runtime_r0_nss")]
    space = Workspace()
    for path in names:
        space.open(path)
    compared = OpenComparison(space, arms_of(names[:1], names[1:])).calls
    model = OperatorModel()
    model.show(compared_contents(compared, "Operator"))
    both = [row for row in model.rows if MISSING not in row.texts[1:3]]
    assert both
    assert {row.texts[3:5] for row in both} == {(MISSING, MISSING)}
    at = model.rows.index(both[0])
    assert model.tsv([at]).splitlines()[1].split("\t")[3] == ""


def test_the_scale_of_the_dots_holds_the_sessions_of_what_changed():
    near, far = Dots((0.0,), (0.02,)), Dots((0.0,), (0.3, 0.33))
    assert reach_of([(Verdict.NO_CHANGE, far)]) == 0.15
    assert reach_of([(Verdict.SLOWER, far), (Verdict.NO_CHANGE, near)]) == pytest.approx(0.35)
    assert reach_of([(Verdict.SLOWER, Dots((), (80.0,)))]) == 1.0


def test_a_table_has_no_column_of_lines_without_a_record(comparison):
    kinds = [heading.kind for heading in compared_contents(comparison, "Call").headings]
    assert kinds[-1] is ColumnKind.DOTS
