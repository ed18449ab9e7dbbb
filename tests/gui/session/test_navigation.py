"""Where the keys take the view: fitted ranges, the next file, inference and slice."""

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.paths import DATA
from viewer.gui.session import navigation
from viewer.gui.session.navigation import pick_run, run_span_ns, run_trace
from viewer.gui.session.session import Session
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def session(opened):
    """The attention sample."""
    return opened(*_PATHS["attention_xnnpack"])


def picked(session):
    return session.traces[0].trace.runs[session.state.run[1]].number


def test_fit_shows_the_selection_and_then_all(session):
    session.select_slice(SliceRef(0, 5))
    start, end = session.traces[0].span_ns(5)
    air = max((end - start) // 50, 1)
    session.set_range(0, 1000)
    navigation.fit_selection(session)
    assert (session.state.t0, session.state.t1) == (start - air, end + air)
    navigation.fit_selection(session)
    whole = session.group.span_ns
    assert (session.state.t0, session.state.t1) == (-(whole // 50), whole + whole // 50)
    navigation.fit_selection(session)
    assert (session.state.t0, session.state.t1) == (start - air, end + air)


def test_a_moment_is_shown_in_the_center_at_the_same_zoom(session):
    session.set_range(0, 1000)
    navigation.fit_span(session, 5000, 6000)
    assert (session.state.t0, session.state.t1) == (4980, 6020)
    navigation.fit_span(session, 9000, 9000)
    assert (session.state.t0, session.state.t1) == (8480, 9520)


def test_fitting_a_slice_of_no_length_shows_it(session):
    slices = session.traces[0].trace.slices
    index = int(np.flatnonzero(slices.start == slices.end)[0])
    session.select_slice(SliceRef(0, index))
    navigation.fit_selection(session)
    at = session.traces[0].span_ns(index)[0]
    assert (session.state.t0, session.state.t1) == (at - 1, at + 1)


def test_stepping_walks_a_row_in_time_and_stops_at_its_ends(session):
    slices = session.traces[0].trace.slices
    row = int(np.argmax(np.diff(slices.row_ptr)))
    first, last = int(slices.row_ptr[row]), int(slices.row_ptr[row + 1]) - 1
    session.select_slice(SliceRef(0, first))
    navigation.step_slice(session, -1)
    assert session.state.slice == SliceRef(0, first)
    starts = []
    for _ in range(last - first):
        navigation.step_slice(session, 1)
        index = session.state.slice.index
        starts.append(int(slices.start[index]))
        begin, end = session.traces[0].span_ns(index)
        assert begin <= session.state.t1
        assert end >= session.state.t0
    assert starts == sorted(starts)
    assert session.state.slice == SliceRef(0, last)
    navigation.step_slice(session, 1)
    assert session.state.slice == SliceRef(0, last)


def test_stepping_through_runs_keeps_zoom_and_place(session):
    pick_run(session, (0, session.state.run[1]))
    run = session.traces[0].trace.runs[session.state.run[1]]
    start = run_span_ns(session, 0, run)[0]
    session.set_range(start + 1_000, start + 5_000)
    for number in (3, 4, 5, 5):
        navigation.step_run(session, 1)
        assert picked(session) == number
        run = session.traces[0].trace.runs[session.state.run[1]]
        start = run_span_ns(session, 0, run)[0]
        assert (session.state.t0, session.state.t1) == (start + 1_000, start + 5_000)
    for _ in range(9):
        navigation.step_run(session, -1)
    assert picked(session) == 1


def test_a_profile_without_inferences_does_not_hide_those_of_the_next(opened, data):
    torq = data / "torq"
    session = opened(torq / "compile_c3_taskid.csv", torq / "host_h4_latest_2inv.csv")
    assert (session.current_trace, run_trace(session)) == (0, 1)
    navigation.step_run(session, 1)
    assert session.state.run is not None
    assert session.traces[1].trace.runs[session.state.run[1]].number == 1
    assert (session.current_trace, run_trace(session)) == (1, 1)


def test_from_no_run_far_out_one_steps_to_the_first_or_the_last(session):
    navigation.fit_all(session)
    pick_run(session, None)
    navigation.step_run(session, -1)
    assert picked(session) == 5
    navigation.fit_all(session)
    pick_run(session, None)
    navigation.step_run(session, 1)
    assert picked(session) == 1


def test_from_no_run_one_steps_from_the_one_in_view(session):
    first = view_of(session)  # of run 2
    span = first[1] - first[0]
    pick_run(session, None)
    session.set_range(*first)
    navigation.step_run(session, 1)
    assert picked(session) == 3
    assert view_of(session)[1] - view_of(session)[0] == span


def view_of(session):
    return session.state.t0, session.state.t1


def test_a_whole_run_in_view_is_followed_by_the_next_at_the_same_zoom_and_place(session):
    runs = session.traces[0].trace.runs
    now = session.state.run[1]
    start, end = run_span_ns(session, 0, runs[now])
    session.set_range(start - 30_000, end + 20_000)
    before = view_of(session)
    navigation.step_run(session, 1)
    shift = run_span_ns(session, 0, runs[now + 1])[0] - start
    assert view_of(session) == (before[0] + shift, before[1] + shift)


@pytest.fixture
def uneven(qapp):
    """Four inferences of 10 ms, 250 µs, 250 µs and 12 ms, 100 µs apart."""
    builder = TraceBuilder("a.csv", "test", "", Clock("us", Fraction(1000)))
    track, scope, key = builder.track("p", "t"), builder.scope("m"), builder.key(KeyKind.PLAIN, "a")
    start = 0
    for length in (10_000, 250, 250, 12_000):
        end = start + length
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]),
            name=builder.intern("a"), key=key,
        )  # fmt: skip
        builder.run(RunKind.INFERENCE, "m", track, scope, start, end)
        start = end + 100
    session = Session()
    session.add([builder.build()])
    return session


def shows_whole_run(session):
    """Whether the picked inference is in view, and as wide as the view but for its margin."""
    start, end = run_span_ns(session, 0, session.traces[0].trace.runs[session.state.run[1]])
    t0, t1 = view_of(session)
    return t0 < start < end < t1 and t1 - t0 < 1.1 * (end - start)


def test_an_inference_that_does_not_fit_the_view_or_is_a_sliver_in_it_is_zoomed_to(uneven):
    pick_run(uneven, (0, 0))
    navigation.step_run(uneven, 1)
    assert shows_whole_run(uneven), "of 250 µs after one of 10 ms"
    span = view_of(uneven)[1] - view_of(uneven)[0]
    navigation.step_run(uneven, 1)
    assert view_of(uneven)[1] - view_of(uneven)[0] == span
    assert shows_whole_run(uneven), "of the same length"
    navigation.step_run(uneven, 1)
    assert shows_whole_run(uneven), "of 12 ms after one of 250 µs"
    start = run_span_ns(uneven, 0, uneven.traces[0].trace.runs[3])[0]
    uneven.set_range(start + 6_000_000, start + 6_010_000)
    navigation.step_run(uneven, -1)
    assert shows_whole_run(uneven), "shorter than the place in the last one"


def test_all_inferences_shows_everything(uneven):
    pick_run(uneven, (0, 1))
    before = uneven.state
    pick_run(uneven, None)
    assert uneven.state.run is None
    t0, t1 = view_of(uneven)
    assert t0 < 0 < uneven.group.span_ns < t1
    uneven.undo()
    assert uneven.state == before


# -- files of one clock, hours apart ---------------------------------------------------------------


def host_profile(path, start):
    builder = TraceBuilder(path, "test", "", Clock("us", Fraction(1000), domain="boot"))
    builder.add(
        track=builder.track("p", "t"), start=np.array([start]), end=np.array([start + 900]),
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


HOUR = 3_600_000_000  # µs


def test_of_files_hours_apart_the_first_is_shown_and_one_steps_through_them(qapp):
    session = Session()
    session.add([host_profile("a", 5 * HOUR), host_profile("b", 7 * HOUR), host_profile("c", HOUR)])
    spans = [shown.whole_span_ns for shown in session.traces]
    assert spans == [(s * HOUR * 1000, s * HOUR * 1000 + 900_000) for s in (4, 6, 0)]
    air = 900_000 // 50
    seen = [(first - air, last + air) for first, last in spans]
    assert (session.state.t0, session.state.t1) == seen[0]
    assert session.first_view_note == "Showing a · the other files are far away in time"
    for expected in (seen[1], seen[2], seen[0]):
        navigation.fit_file(session)
        assert (session.state.t0, session.state.t1) == expected
    navigation.fit_all(session)
    navigation.fit_file(session)
    assert (session.state.t0, session.state.t1) == seen[0]


def test_files_of_one_length_are_one_step(qapp):
    session = Session()
    session.add([host_profile("a", 0), host_profile("b", 0), host_profile("c", 5)])
    seen = []
    for _ in range(3):
        navigation.fit_file(session)
        seen.append((session.state.t0, session.state.t1))
    assert seen == [(-18_000, 918_000), (-13_000, 923_000), (-18_000, 918_000)]


def test_of_files_that_follow_one_another_all_are_shown(qapp):
    session = Session()
    session.add([host_profile("a", 0), host_profile("b", 1_000)])
    assert session.state.t1 >= session.group.span_ns == 1_900_000
    assert session.first_view_note == ""


@pytest.mark.parametrize("seed", range(4))
def test_a_file_that_is_switched_to_is_shown_as_if_it_alone_were_open(opened, seed):
    chance = random.Random(seed)
    paths = [path for sample in SAMPLES for path in sample.paths()]
    paths = [*dict.fromkeys(paths), *map(str, (DATA / "phases").glob("*.etdp"))]
    chance.shuffle(paths)
    session = opened(*paths)
    records = {program.path for program in session.workspace.programs}
    for number in chance.sample(range(len(session.traces)), len(session.traces)):
        session.select_slice(SliceRef(chance.randrange(len(session.traces)), 0))
        navigation.show_file(session, number)
        open_trace = session.traces[number]
        alone = opened(
            *(path for path in paths if path == open_trace.file.path or path in records)
        ).state
        assert session.current_trace == number
        run = None if session.state.run is None else session.state.run[1]
        assert run == (None if alone.run is None else alone.run[1])
        start = open_trace.whole_span_ns[0]
        assert (session.state.t0 - start, session.state.t1 - start) == (alone.t0, alone.t1)
        assert (session.state.slice, session.state.operators, session.state.area) == (None,) * 3


def test_switching_to_a_file_is_one_step_and_says_what_it_shows(opened):
    session = opened(DATA / "phases/sus_steps.etdp", DATA / "phases/llm_200.etdp")
    before = session.state
    navigation.show_file(session, 1)
    assert session.state.file == session.noted_file == 1
    session.undo()
    assert session.state == before


def test_files_of_one_axis_can_each_be_switched_to(opened):
    session = Session()
    session.add([host_profile("a", 0), host_profile("b", 500), host_profile("c", 2_000)])
    assert len(session.groups) == 1
    for number in (2, 1, 0):
        navigation.show_file(session, number)
        assert session.current_trace == number
    navigation.show_file(session, 1)
    session.select_slice(SliceRef(2, 0))
    assert session.current_trace == 2
    session.clear_selection()
    assert session.current_trace == 1


def test_all_inferences_stay_those_of_the_file(opened):
    session = opened(DATA / "phases/sus_steps.etdp", DATA / "phases/llm_200.etdp")
    run = next(i for i, r in enumerate(session.traces[1].file.runs) if r.kind is RunKind.INFERENCE)
    pick_run(session, (1, run))
    pick_run(session, None)
    assert session.current_trace == 1
