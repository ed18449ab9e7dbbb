"""Gaps with which paired calls of two inferences begin at the same place."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.call_traces import trace_of
from viewer.model.trace import Run, RunKind
from viewer.render.time_axis import Axis, XMap
from viewer.view.open_comparison import ShownInference, longest_rise, pair_gaps, paired_starts


def inference(names, *calls, axis=None, start=0):
    """An inference whose slices have the row of their name in `names`, -1 for others."""
    trace = trace_of(*(("t", name, first, last) for name, first, last in calls))
    found = [trace.name(i) for i in range(len(trace.slices))]
    rows = np.array([names.index(name) if name in names else -1 for name in found])
    run = Run(RunKind.INFERENCE, 1, "run", 0, 0, start, trace.end, all_tracks=True)
    return ShownInference(trace, run, axis or Axis(), rows)


def starts_on_screen(one, gaps):
    """Where on screen slices begin, in ns from the start of the inference, in order of time."""
    own = gaps.on(one.axis, one.axis.ns_per_tick, one.axis.offset_ns)
    ticks = np.sort(one.trace.slices.start)
    return [float((place - one.run.start) * one.axis.ns_per_tick) for place in own.places(ticks)]


def test_a_later_pair_begins_where_the_slower_inference_has_it():
    a = inference(["x", "y", "z"], ("x", 0, 10), ("y", 10, 30), ("z", 30, 35))
    b = inference(["x", "y", "z"], ("x", 0, 14), ("y", 14, 24), ("z", 24, 30))
    gaps = pair_gaps(a, b)
    assert starts_on_screen(a, gaps[0]) == starts_on_screen(b, gaps[1]) == [0, 14, 34]
    assert [(one.at.tolist(), one.added.tolist()) for one in gaps] == [([10], [4]), ([24], [10])]


def test_slices_keep_their_width_and_the_gap_is_after_them():
    a = inference(["x", "y"], ("x", 0, 10), ("y", 10, 30))
    b = inference(["x", "y"], ("x", 0, 14), ("y", 14, 34))
    xmap = XMap(0, 40, 40, gaps=pair_gaps(a, b)[0]).on(a.axis)
    slices = a.trace.slices
    assert xmap.pixel_of(slices.start).tolist() == [0, 14]
    assert xmap.end_pixel_of(slices.end).tolist() == [10, 34]
    assert xmap.edges[10:16].tolist() == [10, 10, 10, 10, 10, 11]


def test_what_has_no_pair_stays_where_it_is_between_those_that_have():
    a = inference(["x", "y"], ("x", 0, 10), ("alone", 12, 18), ("y", 20, 30))
    b = inference(["x", "y"], ("x", 0, 10), ("y", 10, 20))
    gaps = pair_gaps(a, b)
    assert starts_on_screen(a, gaps[0]) == [0, 12, 20]
    assert starts_on_screen(b, gaps[1]) == [0, 20]


def test_calls_of_a_row_are_paired_in_order_or_else_the_first_ones():
    same = inference(["x"], ("x", 0, 5), ("x", 7, 9)), inference(["x"], ("x", 1, 5), ("x", 6, 9))
    assert [one.tolist() for one in paired_starts(*same)] == [[0, 7], [1, 6]]
    unlike = same[0], inference(["x"], ("x", 3, 9))
    assert [one.tolist() for one in paired_starts(*unlike)] == [[0], [3]]


def test_pairs_in_another_order_than_most_are_left_out():
    names = ["w", "x", "y", "z"]
    a = inference(names, ("w", 0, 1), ("x", 10, 11), ("y", 20, 21), ("z", 30, 31))
    b = inference(names, ("x", 0, 1), ("y", 10, 11), ("z", 20, 21), ("w", 30, 31))
    assert [one.tolist() for one in paired_starts(a, b)] == [[10, 20, 30], [0, 10, 20]]


def test_files_with_other_ticks_and_offsets_begin_at_one_place_to_a_tick():
    coarse = Axis(Fraction(5, 2), 7)
    a = inference(["x", "y", "z"], ("x", 100, 110), ("y", 111, 120), ("z", 121, 122), start=100)
    b = inference(
        ["x", "y", "z"], ("x", 40, 41), ("y", 42, 48), ("z", 49, 50), axis=coarse, start=40
    )
    gaps = pair_gaps(a, b)
    for here, there in zip(*map(starts_on_screen, (a, b), gaps), strict=True):
        assert abs(here - there) < 2.5


def test_inferences_without_paired_calls_have_no_gaps():
    a, b = inference(["x"], ("x", 0, 10)), inference(["x"], ("y", 5, 10))
    assert [len(one) for one in pair_gaps(a, b)] == [0, 0]


@given(st.lists(st.integers(0, 12), max_size=12))
def test_a_longest_rise_is_one_and_none_is_longer(values):
    found = [values[i] for i in longest_rise(values)]
    assert found == sorted(found)
    best = [0] * (len(values) + 1)
    for i, value in enumerate(values):
        best[i] = 1 + max((best[j] for j in range(i) if values[j] <= value), default=0)
    assert len(found) == max(best[: len(values)], default=0)


def test_ticks_of_very_different_lengths_have_no_gaps():
    """A gap of a year in ticks of a femtosecond does not fit int64."""
    a = inference(["x", "y"], ("x", 0, 10), ("y", 10, 30), axis=Axis(Fraction(1, 10**6)))
    b = inference(["x", "y"], ("x", 0, 10), ("y", 40, 50), axis=Axis(Fraction(10**16)))
    assert pair_gaps(a, b) is None
