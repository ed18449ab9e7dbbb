"""Ranges of the axis: what is seen at first, and what a range may be, without a session."""

from fractions import Fraction
from itertools import accumulate, pairwise

import pytest

from tests.paths import DATA
from viewer.analysis.links.labels import run_slices
from viewer.model.inference_views import Inferences
from viewer.model.times import plain_spaces
from viewer.render.time_axis import Axis
from viewer.resources import SAMPLES
from viewer.view.clock_groups import clock_groups
from viewer.view.open_trace import views_of
from viewer.view.state import ViewState
from viewer.view.visible_ranges import (
    at_same_ticks,
    first_state,
    first_view,
    limited_to_axis,
    run_span_ns,
    zoomed,
)
from viewer.workspace.workspace import Workspace

ATTENTION = next(sample for sample in SAMPLES if sample.key == "attention_xnnpack").paths()[0]


def test_a_first_view_of_nothing_is_the_whole_axis():
    seen = first_view([], 1000)
    assert (seen.t0, seen.t1, seen.run, seen.note) == (-20, 1020, None, "")


def test_the_first_state_has_the_preferred_inferences_where_there_are_several():
    preferred = ViewState(t0=5, t1=6, inferences=Inferences.TYPICAL, warm_up=True)
    space = Workspace()
    assert first_state(space, preferred) == ViewState(warm_up=True)
    space.open(str(ATTENTION))
    assert first_state(space, preferred) == ViewState(inferences=Inferences.TYPICAL, warm_up=True)
    assert first_state(space, ViewState()) == ViewState()


def test_a_first_view_skips_the_load_and_the_warm_up():
    space = Workspace()
    trace = space.open(str(ATTENTION))
    shown = list(views_of(space, {Inferences.AS_RUN}, {}).values())
    seen = first_view(shown, clock_groups(shown)[0].span_ns)
    run = trace.runs[seen.run]
    assert run.number == 2
    assert seen.note == "Showing run 2 of 5 (skipping load and warm-up)"
    start, end = (shown[0].axis.to_ns(tick) for tick in (run.start, run.end))
    assert seen.t0 < start < end < seen.t1


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ((100, 200), (100, 200)),
        ((-500, -400), (-100, 0)),  # moved at its width
        ((5000, 5100), (1000, 1100)),
        ((-10_000, 10_000), (-100, 1100)),  # no more than there is
        ((7, 7), (7, 8)),  # never nothing
    ],
)
def test_a_range_is_kept_inside_the_axis_and_a_tenth_around_it(asked, given):
    assert limited_to_axis(*asked, 1000) == given


def test_zooming_keeps_a_time_where_it_is_or_where_it_is_said_to_be():
    assert zoomed(0, 1000, 0.5, 250, None) == (125, 625)
    assert zoomed(0, 1000, 0.5, 250, Fraction(1, 2)) == (0, 500)
    assert zoomed(10, 12, 0.9, 10, None) == (10, 11)  # every step shows


def test_ticks_stay_in_view_at_another_rate():
    slow = Axis(Fraction(10), 0)
    assert at_same_ticks(1000, 2000, slow, Axis(Fraction(5, 4), 50)) == (175, 300)
    assert at_same_ticks(1000, 1001, slow, Axis(Fraction(1, 100), 0)) == (1, 2)


def view_of_runs(folder, *runs):
    """The first view of a profile of inferences, each with start and end, and the picked one.

    Each may have a third part, its thread.
    """
    rows = [
        f"npu,{''.join(thread) or 'main'},Method::execute,{start},{end - start},forward"
        for start, end, *thread in runs
    ]
    path = folder / "runs.csv"
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns,method", *rows]))
    space = Workspace()
    trace = space.open(str(path))
    shown = list(views_of(space, {Inferences.AS_RUN}, {}).values())
    seen = first_view(shown, clock_groups(shown)[0].span_ns)
    return seen, None if seen.run is None else trace.runs[seen.run]


def back_to_back(*lengths):
    return pairwise(accumulate(lengths, initial=0))


def test_a_first_view_of_slow_inferences_is_the_typical_one(tmp_path):
    seen, run = view_of_runs(tmp_path, *back_to_back(900, 101, 2000, 99, 100, 103))
    assert plain_spaces(seen.note) == "Showing run 2 of 6, the typical one (one is slow)"
    assert run.end - run.start == 101
    assert (seen.t0, seen.t1) == (898, 1003)


@pytest.mark.parametrize(
    ("first_thread", "median"),
    [((100, 100, 100), 100), ((100, 100, 300, 300, 300), 100)],
)
def test_the_typical_one_of_a_first_view_is_that_of_all_threads(tmp_path, first_thread, median):
    """All inferences of the first thread may warm up or be slow."""
    second = (*[100] * 9, 5000)
    runs = [(*span, "A") for span in back_to_back(*first_thread)]
    runs += [(start + 10_000, end + 10_000, "B") for start, end in back_to_back(*second)]
    seen, run = view_of_runs(tmp_path, *runs)
    assert "the typical one" in seen.note
    assert run.end - run.start == median


def test_a_first_view_of_usual_inferences_is_all_of_them(tmp_path):
    seen, run = view_of_runs(tmp_path, *back_to_back(200, 101, 102, 99, 100, 103))
    assert (seen.note, run) == ("", None)


def test_a_first_view_names_only_what_lies_before_it(tmp_path):
    """Three inferences far apart, without any load."""
    seen, _ = view_of_runs(tmp_path, (0, 100), (5_000, 5_100), (9_000, 9_100))
    assert seen.note == "Showing run 2 of 3 (skipping run 1)"


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted((DATA / "etdump").glob("[!BS]*.etdp")), ids=lambda p: p.stem
)
def test_the_first_inference_in_view_is_whole_and_as_long_as_its_slice(path):
    """So the headline of the picked inference is the length that its slice states."""
    space = Workspace()
    space.open(str(path))
    (shown,) = views_of(space, {Inferences.AS_RUN}, {}).values()
    first = first_view([shown], shown.axis.to_ns(shown.trace.end))
    runs = list(shown.trace.inferences()) if first.run is None else [shown.trace.runs[first.run]]
    spanned, slices = run_slices(shown.trace)
    for run in runs:
        start, end = run_span_ns(shown, run)
        assert first.t0 <= start
        assert end <= first.t1
        if run in spanned:
            index = int(slices[spanned.index(run)])
            assert shown.span_ns(index) == (start, end)
