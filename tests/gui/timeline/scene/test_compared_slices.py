"""What stands out on the timeline while two arms are compared."""

import numpy as np
import pytest

import viewer.gui.timeline.scene.trace_rasters as compared_slices
from tests.builders.compare_sessions import write_sessions
from tests.builders.compared_windows import BASE, arms_of, write_arms
from viewer.analysis.comparison.arms import CALLS
from viewer.formats import open_file
from viewer.gui.qt.background import Latest
from viewer.gui.session.comparison import ComparisonFeed, compare
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.trace_rasters import ComparedSlices
from viewer.view.state import SliceRef


def drawn(a, b):
    """A session with two compared arms, and its drawings."""
    session = Session()
    drawings = Drawings(session)
    session.add([open_file(path) for path in (*a, *b)])
    compare(session, arms_of(a, b))
    return session, drawings


@pytest.fixture
def compared(qapp, tmp_path):
    """Two arms of which add.out is slower in B."""
    session, drawings = drawn(*write_arms(tmp_path))
    return session, drawings, ComparisonFeed.of(session).answer


def shown_numbers(session, found):
    paths = [found.typical(side)[0] for side in (0, 1)]
    return [next(i for i, t in enumerate(session.traces) if t.file.path == p) for p in paths]


def names_that_stand_out(session, drawings, number):
    trace = session.traces[number].trace
    which = np.arange(len(trace.slices))
    return {trace.name(int(i)) for i in which[drawings.stand_out(number, which)]}


def test_what_changed_stands_out_in_both_strips(compared):
    session, drawings, found = compared
    for number in shown_numbers(session, found):
        assert names_that_stand_out(session, drawings, number) == {
            "OPERATOR_CALL", "native_call_add.out",
        }  # fmt: skip


def test_a_selected_slice_makes_its_pair_stand_out(compared):
    session, drawings, found = compared
    row = next(i for i, (row, _) in enumerate(found.rows) if row.label == "conv.out")
    a, b = shown_numbers(session, found)
    path, run = found.typical(0)
    session.select_slice(SliceRef(a, int(found.slices_of_rows(path, (row,), run, CALLS)[0])))
    for number in (a, b):
        assert "native_call_conv.out" in names_that_stand_out(session, drawings, number)
        assert "native_call_add.out" not in names_that_stand_out(session, drawings, number)


def test_after_the_comparison_nothing_is_dimmed(compared):
    session, drawings, found = compared
    a, _ = shown_numbers(session, found)
    compare(session, None)
    which = np.arange(len(session.traces[a].trace.slices))
    assert drawings.stand_out(a, which).all()


def test_without_a_change_nothing_is_dimmed(qapp, tmp_path):
    a, b = ([str(p) for p in write_sessions(tmp_path, name, BASE)] for name in "ab")
    _, drawings = drawn(a, b)
    assert drawings.stand_out(0, np.arange(5)).all()


def test_slices_of_large_traces_are_found_in_a_thread(tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(compared_slices, "AT_ONCE", -1)
    session, drawings = drawn(*write_arms(tmp_path))
    finding = session.findChild(ComparedSlices).findChild(Latest)
    assert finding.pending
    qtbot.waitUntil(lambda: not finding.pending)
    found = ComparisonFeed.of(session).answer
    number = shown_numbers(session, found)[0]
    assert "native_call_add.out" in names_that_stand_out(session, drawings, number)
