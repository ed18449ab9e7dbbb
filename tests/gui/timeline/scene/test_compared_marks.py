"""The bars and hatches on the slices of two compared arms."""

from dataclasses import replace

import numpy as np
import pytest

import viewer.gui.timeline.scene.trace_rasters as compared_marks
from tests.builders.compare_sessions import varied, write_sessions
from tests.builders.compared_windows import BASE, CHANGED, arms_of, write_arms
from viewer.formats import open_file
from viewer.gui.session.comparison import compare
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.trace_rasters import FASTER, SLOWER
from viewer.model.inference_views import Inferences
from viewer.view.state import SliceRef

NOISE = (0.0, 0.01, -0.01, 0.02)


def drawn(a, b):
    """A session with two compared arms, and its drawings."""
    session = Session()
    drawings = Drawings(session)
    session.add([open_file(path) for path in (*a, *b)])
    compare(session, arms_of(a, b))
    return session, drawings


def marked(session, drawings, kind):
    """The names of the slices with marks of a kind, by whether their trace is in B."""
    names = {}
    for number, marks in drawings.compared_marks.answer.of.items():
        raster, trace = getattr(marks, kind), session.traces[number].trace
        own = [] if raster is None else raster.drawn.index.tolist()
        names[marks.is_b] = {trace.name(i) for i in own}
    return names


@pytest.fixture
def slower(qapp, tmp_path):
    return drawn(*write_arms(tmp_path))


def test_the_outermost_slices_of_a_changed_row_have_bars_in_both_arms(slower):
    session, drawings = slower
    assert marked(session, drawings, "bars") == {False: {"OPERATOR_CALL"}, True: {"OPERATOR_CALL"}}
    for marks in drawings.compared_marks.answer.of.values():
        assert set(np.unique(marks.bars.color)) == {SLOWER}
        assert marks.alone is None


def test_swapped_arms_are_faster(slower):
    session, drawings = slower
    compare(session, session.state.compared.swapped)
    for marks in drawings.compared_marks.answer.of.values():
        assert set(np.unique(marks.bars.color)) == {FASTER}


def test_bars_stay_while_a_slice_is_selected_and_go_with_the_changes(slower):
    session, drawings = slower
    before = drawings.compared_marks.answer
    session.select_slice(SliceRef(0, 0))
    assert drawings.compared_marks.answer is before
    session.show_inferences(Inferences.ALIGNED)
    assert not drawings.compared_marks.answer.of
    session.show_inferences(Inferences.AS_RUN)
    assert drawings.compared_marks.answer.pairs is not None
    compare(session, None)
    assert not drawings.compared_marks.answer.of


def test_what_only_one_arm_runs_is_marked_there(qapp, tmp_path):
    more = {**CHANGED, "relu.out": 50_000}
    a, b = (
        [str(path) for path in write_sessions(tmp_path, name, *varied(base, NOISE))]
        for name, base in (("a", BASE), ("b", more))
    )
    session, drawings = drawn(a, b)
    assert marked(session, drawings, "alone") == {False: set(), True: {"OPERATOR_CALL"}}
    number = next(n for n, m in drawings.compared_marks.answer.of.items() if m.is_b)
    trace, marks = session.traces[number].trace, drawings.compared_marks.answer.of[number]
    lengths = (trace.slices.end - trace.slices.start)[marks.alone.drawn.index]
    assert (lengths > 45_000).all()
    # It stands out, too.
    assert drawings.stand_out(number, marks.alone.drawn.index.astype(np.int64)).all()


def test_marks_on_large_traces_are_found_in_a_thread(tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(compared_marks, "AT_ONCE", -1)
    session, drawings = drawn(*write_arms(tmp_path))
    assert drawings.compared_marks.pending
    qtbot.waitUntil(lambda: not drawings.compared_marks.pending)
    assert marked(session, drawings, "bars")[True] == {"OPERATOR_CALL"}


def test_marks_of_other_traces_are_not_kept_while_new_ones_are_found(slower, monkeypatch):
    session, drawings = slower
    asked = []
    monkeypatch.setattr(
        drawings.compared_marks._latest, "ask", lambda *question: asked.append(question)
    )
    every = session.state.strips.with_only(())
    session.change(replace(session.state, strips=every))
    (question,) = asked
    assert [number for number, _ in question[3]] == list(range(len(session.traces)))
    assert not drawings.compared_marks.answer.of
    assert drawings.compared_marks.comparison is None
