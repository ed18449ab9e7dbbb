"""Which of several selected slices one is: the longest by the file's own clock."""

import pytest

from tests.builders.clocked_traces import NS, clocked_trace, shown_traces
from tests.builders.workspaces import opened
from viewer.model.inference_views import Inferences
from viewer.view import selection
from viewer.view.open_trace import OpenTrace, views_of
from viewer.view.selection import SelectedSpan, place_among
from viewer.view.state import SliceRef, SliceSet

LOAD, EXECUTE, INIT, CALL = range(4)  # 900, 8000, 800 and 7000 ticks
ACCELERATOR = 4  # on a foreign clock, drawn over all of its call


@pytest.fixture
def shown() -> OpenTrace:
    space = opened("SYN_qnn_like.etdp")
    return views_of(space, {Inferences.AS_RUN}, {})[space.traces[0], Inferences.AS_RUN]


def place(shown: OpenTrace, one: int, *chosen: int) -> str:
    return place_among([shown], SliceRef(0, one), SliceSet({0: sorted(chosen)}))


def test_the_longest_is_named(shown):
    assert place(shown, EXECUTE, LOAD, EXECUTE, CALL) == "longest of 3 selected"
    assert place(shown, CALL, LOAD, EXECUTE, CALL) == "one of 3 selected"
    assert place(shown, LOAD, LOAD) == ""


def test_slices_on_foreign_clocks_are_not_compared(shown):
    assert place(shown, ACCELERATOR, LOAD, ACCELERATOR) == "one of 2 selected"
    assert place(shown, LOAD, LOAD, INIT, ACCELERATOR) == "longest of 3 selected"


def test_the_lengths_of_very_many_slices_are_not_compared(shown, monkeypatch):
    monkeypatch.setattr(selection, "AT_ONCE", 2)
    assert place(shown, EXECUTE, LOAD, EXECUTE) == "longest of 2 selected"
    assert place(shown, EXECUTE, LOAD, EXECUTE, CALL) == "one of 3 selected"


def test_the_span_of_a_selection_is_that_on_the_clock_of_its_primary_slice():
    traces = shown_traces(
        clocked_trace("a", NS, (0, 10), (20, 30)), clocked_trace("b", NS, (0, 5), (600, 700))
    )
    span, others = SelectedSpan(), SliceSet.of_refs([SliceRef(0, 1), SliceRef(1, 1)])
    assert span.of(traces, SliceRef(0, 0), others, (0,)) == (0, 30)
    assert span.of(traces, SliceRef(1, 0), others, (1,)) == (0, 700)
    assert span.of(traces, SliceRef(1, 0), others, (0, 1)) == (0, 700)
