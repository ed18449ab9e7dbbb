"""The session: ranges that are always valid, selection, runs, and an undo for every change."""

import gc
import weakref
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewer.gui.session.session
import viewer.gui.session.workspace_edits
from viewer.analysis.cost.costs import Costs
from viewer.formats import open_file
from viewer.gui.qt.background import Latest
from viewer.gui.session import navigation
from viewer.gui.session.choices import (
    add_substitution,
    arrange_tracks,
    choose_method,
    pair_files,
    remove_substitution,
    set_identifier_column,
    set_scheme,
    toggle_part,
)
from viewer.gui.session.clocks import clock_trace, set_clock
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.selection import calls_of, selected_span_ns, slices_of
from viewer.gui.session.session import BURST, Session
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.times import RateOrigin
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.model.warm_up import counted_inferences
from viewer.program.source_files import Substitution
from viewer.resources import SAMPLES
from viewer.view.clock_groups import Tie
from viewer.view.state import Area, SliceRef
from viewer.workspace.link_choices import Choices
from viewer.workspace.workspace import Workspace

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}
ATTENTION, ATTENTION_RECORD = _PATHS["attention_xnnpack"]
DEMO, DEMO_RECORD = _PATHS["delegate_handle_map"]


read = cache(open_file)


def opened(*paths):
    session = Session()
    session.add([read(str(path)) for path in paths])
    return session


@pytest.fixture
def session(qapp):
    """The attention sample."""
    return opened(ATTENTION, ATTENTION_RECORD)


@pytest.fixture(scope="module")
def shared(qapp):
    """One session for many random walks; nothing of it may depend on where a walk begins."""
    return opened(ATTENTION, ATTENTION_RECORD, DEMO)


def trace_of(path, *slices, start=0):
    """A trace of one row: (start, end) each."""
    builder = TraceBuilder(path, "test", "", Clock())
    times = np.array(slices, np.int64).reshape(-1, 2) + start
    builder.add(
        track=builder.track("p", "t"), start=times[:, 0], end=times[:, 1],
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


def limits(session):
    """The widest range: the axis and a tenth of it on both sides."""
    span = session.group.span_ns
    margin = max(span // 10, 1)
    return -margin, span + margin


# -- ranges ----------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-2_000_000, 2_000_000), st.just(0)
)
FACTORS = st.floats(1e-9, 1e9) | st.sampled_from([0.8, 1.25])
CALLS = st.one_of(
    st.tuples(st.just("set_range"), NUMBERS, NUMBERS),
    st.tuples(st.just("zoom"), FACTORS, NUMBERS),
    st.tuples(st.just("pan"), NUMBERS),
    st.tuples(st.sampled_from(["fit_all", "fit_selection", "undo", "redo", "clear_selection"])),
    st.tuples(st.just("step_run"), st.sampled_from([-1, 1])),
    st.tuples(st.just("step_slice"), st.sampled_from([-1, 1])),
    st.tuples(st.just("select"), st.integers(0, 600)),
    st.tuples(st.just("operators"), st.integers(0, 5)),
    st.tuples(st.just("area"), NUMBERS, NUMBERS),
)


def call(session, name, *given):
    if name == "select":
        session.select_slice(SliceRef(0, given[0]), reveal=True)
    elif name == "operators":
        session.select_operators(0, (given[0],))
    elif name == "area":
        session.select_area(Area(min(given), max(given), frozenset({(0, 0)})))
    elif hasattr(navigation, name):
        getattr(navigation, name)(session, *given)
    else:
        getattr(session, name)(*given)


@given(st.lists(CALLS, min_size=1, max_size=25))
def test_no_sequence_of_calls_makes_a_range_that_cannot_be_shown(shared, calls):
    low, high = limits(shared)
    for one in calls:
        call(shared, *one)
        state = shared.state
        assert type(state.t0) is int
        assert type(state.t1) is int
        assert low <= state.t0 < state.t1 <= high, one


@settings(max_examples=30)
@given(st.lists(CALLS.filter(lambda c: c[0] not in ("undo", "redo")), min_size=1, max_size=12))
def test_undo_walks_back_through_every_state_and_redo_forth(shared, calls):
    while shared.history.can_redo:  # another walk may have ended in the past
        shared.redo()
    first = shared.state
    for one in calls:
        call(shared, *one)
    last = shared.state
    for _ in range(200):
        if shared.state == first:
            break
        shared.undo()
    assert shared.state == first
    while shared.history.can_redo:
        shared.redo()
    assert shared.state == last


def test_the_visible_range_ends_a_tenth_beyond_the_trace(session):
    low, high = limits(session)
    for _ in range(80):
        navigation.zoom(session, 1.25, session.group.span_ns // 3)
    assert (session.state.t0, session.state.t1) == (low, high)
    navigation.pan(session, -(10**18))
    assert (session.state.t0, session.state.t1) == (low, high)


def zoom_to_one_ns(session, at, factor):
    for _ in range(400):
        if session.state.t1 - session.state.t0 == 1:
            break
        navigation.zoom(session, factor, at)
        assert session.state.t0 <= at <= session.state.t1


def test_one_ns_is_the_least_that_is_shown_and_one_zooms_out_of_it(session):
    navigation.fit_all(session)
    before = session.state
    at = (before.t0 + before.t1) // 2
    zoom_to_one_ns(session, at, 0.5)
    navigation.zoom(session, 0.5, at)
    assert session.state.t1 - session.state.t0 == 1
    for _ in range(200):
        if session.state.t1 - session.state.t0 >= before.t1 - before.t0:
            break
        navigation.zoom(session, 1.25, at)
        assert session.state.t0 <= at <= session.state.t1
    assert session.state.t1 - session.state.t0 >= before.t1 - before.t0


@pytest.mark.parametrize("factor", [1 / 1.25, 1 / 1.1, 1 / 1.008])
def test_a_notch_and_a_key_zoom_in_down_to_one_ns(session, factor):
    session.set_range(700_000, 700_200)
    zoom_to_one_ns(session, 700_100, factor)
    assert session.state.t1 - session.state.t0 == 1


def test_a_range_beyond_the_trace_is_moved_back_at_its_width(session):
    low, high = limits(session)
    session.set_range(high + 5_000, high + 6_000)
    assert (session.state.t0, session.state.t1) == (high - 1_000, high)
    session.set_range(low - 9_000, low - 8_000)
    assert (session.state.t0, session.state.t1) == (low, low + 1_000)


# -- opening ---------------------------------------------------------------------------------------


def test_a_trace_of_one_instant_has_a_range(qapp):
    session = Session()
    session.add([trace_of("/a.csv", (7, 7))])
    assert session.state.t0 < session.state.t1
    navigation.fit_all(session)
    navigation.zoom(session, 0.5, 0)
    assert session.state.t0 < session.state.t1


def test_every_file_of_its_own_clock_begins_at_0(qapp):
    session = Session()
    session.add([trace_of("/a.csv", (0, 50)), trace_of("/b.csv", (0, 80), start=10**15)])
    assert [t.span_ns(0)[0] for t in session.traces] == [0, 0]
    assert [group.span_ns for group in session.groups] == [50, 80]
    assert session.group.span_ns == 50
    session.activate("/b.csv")
    assert session.group.span_ns == 80


def test_adding_a_file_keeps_the_view_and_drops_the_selection(session):
    session.set_range(1_000, 2_000)
    session.select_slice(SliceRef(0, 5))
    session.add([read(DEMO)])
    assert (session.state.t0, session.state.t1) == (1_000, 2_000)
    assert session.state.slice is None


def test_a_record_after_its_dump_colors_and_links_it(qapp):
    session = opened(ATTENTION)
    told = []
    session.workspace_changed.connect(lambda: told.append("opened"))
    assert session.traces[0].table.program is None
    session.add([read(ATTENTION_RECORD)])
    assert session.traces[0].table.program.path == ATTENTION_RECORD
    assert told == ["opened"]


def test_closing_forgets_view_and_history(session):
    session.set_range(1_000, 2_000)
    session.close_all()
    assert session.is_empty
    assert session.traces == []
    assert not session.history.can_undo
    assert session.state.t0 < session.state.t1
    assert session.current_trace is None
    for name in ("fit_all", "fit_selection", "clear_selection", "undo", "redo"):
        call(session, name)
    navigation.step_run(session, 1)
    navigation.step_slice(session, 1)


def test_a_file_opened_again_selects_nothing_that_is_gone(qapp):
    session = Session()
    session.add([trace_of("/a.csv", *((n, n + 1) for n in range(50)))])
    session.select_slice(SliceRef(0, 40))
    session.set_range(0, 10)
    session.add([trace_of("/a.csv", (0, 5))])
    assert session.state.slice is None
    assert selected_span_ns(session) is None


def test_undo_brings_back_what_a_reload_replaced_and_redo_the_new_version(qapp):
    session = Session()
    old, new = trace_of("/a.csv", *((n, n + 1) for n in range(50))), trace_of("/a.csv", (0, 5))
    session.add([old])
    session.set_range(0, 20)
    session.select_slice(SliceRef(0, 40))
    before = session.state
    steps = []
    session.files_replaced.connect(lambda paths, step: steps.append((paths, step)))
    session.add([new])
    set_scheme(session, "name")
    session.undo()
    assert session.workspace.traces == [new]
    session.undo()
    assert session.workspace.traces == [old]
    assert session.state == before
    session.undo()
    assert session.state.slice is None, "the history before the reload is back"
    session.redo()
    session.redo()
    assert session.workspace.traces == [new]
    assert session.state.scheme != "name"
    session.redo()
    assert session.state.scheme == "name"
    assert steps == [(["/a.csv"], step) for step in ("reload", "undo", "redo")]


@pytest.mark.slow
def test_only_the_last_reload_is_held(qapp):
    """The memory of a version that cannot come back is free."""
    session = Session()
    session.add([trace_of("/a.csv", (0, 5))])
    first = weakref.ref(session.workspace.traces[0])
    session.add([trace_of("/a.csv", (0, 6))])
    gc.collect()
    assert first() is not None
    session.add([trace_of("/a.csv", (0, 7))])
    gc.collect()
    assert first() is None
    session.undo()
    assert not session.history.can_undo


def test_undo_of_a_reload_keeps_files_that_were_opened_since(qapp):
    session = Session()
    old = trace_of("/a.csv", (0, 5), (5, 9))
    session.add([old])
    session.add([trace_of("/a.csv", (0, 6))])
    session.add([trace_of("/b.csv", (0, 6))])
    session.undo()
    assert [trace.path for trace in session.workspace.traces] == ["/a.csv", "/b.csv"]
    assert session.workspace.traces[0] is old


def test_a_reloaded_record_keeps_the_selection_and_comes_back_with_undo(session):
    index = linked_slice(session)
    session.select_slice(SliceRef(0, index))
    old = session.workspace.programs[0]
    session.add([open_file(str(ATTENTION_RECORD))])
    assert session.workspace.programs[0] is not old
    assert session.state.slice == SliceRef(0, index)
    assert session.state.operators == (0, session.traces[0].link(index).operators)
    session.undo()
    assert session.workspace.programs[0] is old


def linked_slice(session):
    """A slice with operators."""
    shown = session.traces[0]
    return next(i for i in range(len(shown.trace.slices)) if shown.link(i).operators)


def test_closing_frees_what_a_reload_replaced(qapp):
    session = Session()
    session.add([trace_of("/a.csv", (0, 5))])
    session.add([trace_of("/a.csv", (0, 6))])
    session.close_all()
    assert session.history.earlier is None
    assert not session.history.can_undo


def test_what_is_folded_stays_folded_when_files_change_places(qapp):
    session = Session()
    session.add([trace_of("/a.csv", (0, 9)), trace_of("/b.csv", (0, 9))])
    toggle_part(session, (0, "p"))
    session.add([trace_of("/a.csv", (0, 5))])
    paths = {session.traces[number].trace.path for number, _ in session.state.tracks.collapsed}
    assert paths <= {"/a.csv"}


# -- undo ------------------------------------------------------------------------------------------

CHANGES = {
    "range": lambda s: s.set_range(5_000, 9_000),
    "zoom": lambda s: navigation.zoom(s, 0.5, 700_000),
    "pan": lambda s: navigation.pan(s, 1_000),
    "fit": lambda s: navigation.fit_all(s),
    "slice": lambda s: s.select_slice(SliceRef(0, 5)),
    "operators": lambda s: s.select_operators(0, (3,)),
    "area": lambda s: s.select_area(Area(0, 9, frozenset({(0, 0)}))),
    "fold": lambda s: toggle_part(s, (0, Path(ATTENTION).name)),
    "scheme": lambda s: set_scheme(s, "name"),
    "run": lambda s: pick_run(s, (0, 4)),
    "all inferences": lambda s: pick_run(s, None),
    "next run": lambda s: navigation.step_run(s, 1),
}
SIGNALS = (
    "range_changed", "tracks_changed", "coloring_changed", "selection_changed", "run_picked",
)  # fmt: skip


@pytest.mark.parametrize("kind", CHANGES)
def test_every_kind_of_change_is_taken_back_and_made_again(session, kind):
    before = session.state
    told = []
    for name in SIGNALS:
        getattr(session, name).connect(lambda name=name: told.append(name))
    CHANGES[kind](session)
    after, said = session.state, sorted(set(told))
    assert after != before
    assert said
    told.clear()
    while session.history.can_undo:
        session.undo()
    assert session.state == before
    assert sorted(set(told)) == said
    while session.history.can_redo:
        session.redo()
    assert session.state == after


def test_a_change_forgets_what_was_taken_back(session):
    session.set_range(1_000, 2_000)
    session.undo()
    session.set_range(3_000, 4_000)
    assert not session.history.can_redo


def test_a_burst_of_the_wheel_is_one_step(session):
    before = session.state
    for step in range(10):
        navigation.zoom(session, 0.8, 700_000, now=100 + step * BURST / 2)
    session.undo()
    assert session.state == before
    session.redo()
    navigation.zoom(session, 0.8, 700_000, now=200)
    session.undo()
    assert session.history.can_undo


def test_a_burst_changes_the_history_once(session, qtbot):
    told = []
    session.history_changed.connect(lambda: told.append(session.history.can_undo))
    for step in range(10):
        navigation.zoom(session, 0.8, 700_000, now=100 + step * BURST / 2)
    assert told == [True]


def test_a_burst_that_returns_to_where_it_began_takes_the_way_back_and_gives_it_again(session):
    began = session.state.t0, session.state.t1
    told = []
    session.history_changed.connect(lambda: told.append(session.history.can_go_back(session.state)))
    for step, times in enumerate([(1_000, 2_000), began, (3_000, 4_000), (5_000, 6_000)]):
        session.set_range(*times, now=100 + step * BURST / 2)
    assert told == [True, False, True]


def test_two_bursts_are_two_steps(session):
    navigation.zoom(session, 0.8, 700_000, now=100)
    between = session.state
    navigation.zoom(session, 0.8, 700_000, now=100 + 2 * BURST)
    session.undo()
    assert session.state == between


def test_a_wheel_that_still_turns_after_a_view_was_restored_can_be_taken_back(session):
    first = session.state
    navigation.zoom(session, 0.8, 700_000, now=100)
    session.restore_view(first)
    navigation.zoom(session, 0.8, 700_000, now=100.1)
    session.undo()
    assert session.state == first


def test_a_wheel_after_undo_can_be_taken_back(session):
    navigation.zoom(session, 0.8, 700_000, now=100)
    session.undo()
    navigation.zoom(session, 0.5, 700_000, now=100.1)
    assert session.history.can_undo
    assert not session.history.can_redo


def test_a_wheel_after_a_click_is_a_step_of_its_own(session):
    navigation.zoom(session, 0.8, 700_000, now=100)
    session.select_slice(SliceRef(0, 5))
    clicked = session.state
    navigation.zoom(session, 0.8, 700_000, now=100.2)
    session.undo()
    assert session.state == clicked


def test_nothing_new_is_no_step(session):
    session.set_range(session.state.t0, session.state.t1)
    session.clear_selection()
    set_scheme(session, "operator")
    assert not session.history.can_undo


def test_history_does_not_grow_without_end(session):
    for step in range(700):
        session.set_range(step, step + 1_000)
    steps = 0
    while session.history.can_undo:
        session.undo()
        steps += 1
    assert steps == 500


# -- selection -------------------------------------------------------------------------------------


def test_selecting_a_slice_highlights_its_operators(session):
    shown = session.traces[0]
    for i in range(len(shown.trace.slices)):
        session.select_slice(SliceRef(0, i))
        found = shown.link(i).operators
        assert session.state.operators == ((0, found) if found else None)


def test_an_operator_out_of_view_is_brought_into_it_at_the_same_zoom(session):
    session.set_range(0, 1_000)
    session.select_operators(0, (5,))
    state = session.state
    assert state.t1 - state.t0 == 1_000
    spans = [session.traces[0].span_ns(i) for i in slices_of(session, 0, (5,)).tolist()]
    assert any(start < state.t1 and end > state.t0 for start, end in spans)


def test_a_slice_is_brought_into_view_as_one_step_whatever_hides_it(session):
    hidden = replace(
        session.state.tracks, collapsed=frozenset({(0, 0)}), filter="nothing so called"
    )
    arrange_tracks(session, hidden)
    session.set_range(0, 1_000)
    assert session.first_view_note == ""
    before, last = session.state, int(slices_of(session, 0, (0,))[-1])
    for select in (
        lambda: session.select_slice(SliceRef(0, last), reveal=True),
        lambda: session.select_operators(0, (0,)),
    ):
        select()
        state = session.state
        track = session.traces[0].trace.slices.track(last)
        assert state.tracks.filter == ""
        assert (0, track) not in state.tracks.collapsed
        assert state.t0 > before.t1
        session.undo()
        assert session.state == before


def test_jobs_made_of_the_host_slices_are_no_further_calls(qapp):
    """Each of two runs starts the job of the operators once and waits for it once."""
    session = opened(*_PATHS["torq_npu"])
    table = session.traces[0].table
    operator = next(
        i for i, each in enumerate(table.program.operators) if "depthwise" in each.label
    )
    assert len(slices_of(session, 0, (operator,))) == 6
    assert calls_of(session, 0, (operator,)) == (0, 4)
    rows = Costs(table).table().rows
    assert sum(row.slices for row in rows if operator in row.operators) == 4


def test_calls_of_an_operator_are_of_the_picked_run_and_kernels_do_not_count(qapp):
    session = opened(DEMO, DEMO_RECORD)
    trace = session.traces[0].trace
    operator = (
        session.traces[0]
        .link(next(i for i in range(len(trace.slices)) if session.traces[0].link(i).operators))
        .operators[:1]
    )
    found = slices_of(session, 0, operator)
    kinds = trace.keys.kind[trace.slices.key[found]]
    every = int((kinds != KeyKind.KERNEL).sum())
    assert sum(calls_of(session, 0, operator)) == every
    number = next(i for i, run in enumerate(trace.runs) if run.kind is RunKind.INFERENCE)
    pick_run(session, (0, number))
    assert sum(calls_of(session, 0, operator)) < every


# -- runs ------------------------------------------------------------------------------------------


def picked(session):
    return session.traces[0].trace.runs[session.state.run[1]].number


@pytest.mark.parametrize(
    "step", [lambda s: pick_run(s, (0, 2)), lambda s: navigation.step_run(s, 1)]
)
def test_a_run_that_is_picked_from_another_view_of_them_is_one_step_of_undo(session, step):
    session.show_inferences(Inferences.MEAN)
    before = session.state
    step(session)
    assert session.state.inferences is Inferences.AS_RUN
    assert session.state.run is not None
    after = session.state
    session.undo()
    assert session.state == before
    session.redo()
    assert session.state == after


def test_a_trace_that_was_linked_anew_has_no_number_under_its_old_self(qapp):
    session = opened(DEMO)
    before = session.traces[0]
    assert session.number_of(before) == 0
    session.add([read(str(DEMO_RECORD))])
    assert session.number_of(before) is None
    assert session.number_of(session.traces[0]) == 0


# -- inferences from one start, and their mean -----------------------------------------------------


def test_aligned_inferences_begin_together_and_keep_their_links(session):
    costs = session.traces[0].costs.table().whole
    session.show_inferences(Inferences.ALIGNED)
    shown = session.traces[0]
    assert [run.start for run in shown.trace.runs] == [0] * 5
    assert shown.axis.to_ns(0) == 0
    assert session.group.span_ns == max(run.end for run in shown.trace.runs)
    assert shown.costs.table().whole == costs
    assert shown.file is session.workspace.traces[0]
    session.select_slice(SliceRef(0, 3))
    session.undo()
    session.undo()
    assert session.traces[0].trace is shown.file
    session.redo()
    assert session.traces[0] is shown


def test_the_mean_of_the_runs_costs_their_mean(session):
    runs = counted_inferences(session.traces[0].trace, warm_up=False)
    session.show_inferences(Inferences.MEAN)
    shown = session.traces[0]
    mean = sum(run.end - run.start for run in runs) // len(runs)
    assert shown.costs.table().whole == mean
    assert shown.label(0) == "forward · mean of 4 inferences"


def test_picking_a_run_shows_it_as_it_ran(session):
    session.show_inferences(Inferences.MEAN)
    pick_run(session, (0, 3))
    assert session.state.inferences is Inferences.AS_RUN
    assert session.traces[0].trace.runs[3].number == 3


def test_a_record_that_is_opened_later_links_the_view_too(data):
    session = opened(str(data / "etdump" / "demo_str_x4.etdp"))
    session.show_inferences(Inferences.ALIGNED)
    session.add([open_file(str(data / "etrecord" / "demo_str.etrecord"))])
    assert session.state.inferences is Inferences.ALIGNED
    assert session.traces[0].table.program is not None
    assert len(session.traces[0].trace.runs) == 4


def test_a_trace_with_one_inference_stays_as_it_is(data):
    session = opened(str(data / "etdump" / "cnn_portable_x1.etdp"))
    before = session.traces[0].trace
    session.show_inferences(Inferences.MEAN)
    assert session.traces[0].trace is before


# -- large traces: worked out off the GUI thread ---------------------------------------------------


@pytest.fixture
def patient(qapp, monkeypatch):
    """A session for which every trace is a large one."""
    for module in (viewer.gui.session.session, viewer.gui.session.workspace_edits):
        monkeypatch.setattr(module, "AT_ONCE", -1)
    made = Session()
    yield made
    for latest in made.findChildren(Latest):
        latest.shutdown()


def wait(qtbot, session):
    qtbot.waitUntil(lambda: not any(latest.pending for latest in session.findChildren(Latest)))


def test_what_is_added_is_shown_once_it_is_linked_and_complaints_are_told(patient, qtbot):
    choices = Choices(methods=(("no such runs", "forward"),))
    with qtbot.waitSignal(patient.files_added) as told:
        patient.add([read(ATTENTION), read(ATTENTION_RECORD)], choices)
        assert patient.is_empty
    assert [t.table.program is not None for t in patient.traces] == [True]
    assert "no inferences have this name" in told.args[0][0]


def test_before_a_large_trace_is_shown_it_is_told_to_be_coming(patient, qtbot):
    told = []
    patient.about_to_change.connect(lambda: told.append(("coming", len(patient.traces))))
    patient.workspace_changed.connect(lambda: told.append(("opened", len(patient.traces))))
    patient.add([read(ATTENTION)])
    wait(qtbot, patient)
    assert told == [("coming", 0), ("opened", 1)]


def test_changes_follow_one_another_however_fast_they_come(patient, qtbot):
    patient.add([read(ATTENTION)])
    patient.add([read(ATTENTION_RECORD)])
    pair_files(patient, ATTENTION, None)
    wait(qtbot, patient)
    assert patient.workspace.paths == [ATTENTION, ATTENTION_RECORD]
    assert patient.traces[0].table.program is None
    done = []
    pair_files(
        patient, ATTENTION, ATTENTION_RECORD, lambda: done.append(patient.traces[0].table.program)
    )
    wait(qtbot, patient)
    assert [program.path for program in done] == [ATTENTION_RECORD]


def test_a_fault_in_a_change_leaves_what_is_open(patient, qtbot, monkeypatch, capsys):
    patient.add([read(ATTENTION)])
    wait(qtbot, patient)
    monkeypatch.setattr(Workspace, "add", lambda space, item, found_for: 1 // 0)
    with qtbot.waitSignal(patient.files_added) as told:
        patient.add([read(DEMO)])
    monkeypatch.undo()
    assert "ZeroDivisionError" in told.args[0][0]
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert patient.workspace.paths == [ATTENTION]


def test_a_choice_that_an_earlier_one_made_impossible_is_told(patient, qtbot, capsys):
    patient.add([read(ATTENTION), read(ATTENTION_RECORD)])
    wait(qtbot, patient)
    pair_files(patient, ATTENTION, None)
    with qtbot.waitSignal(patient.files_added) as told:
        choose_method(patient, ATTENTION, "Execute", "forward")
    assert "is not linked to an ETRecord" in told.args[0][0]
    assert capsys.readouterr().err == ""


def test_closing_all_takes_back_what_is_worked_on(patient, qtbot):
    patient.add([read(ATTENTION)])
    patient.close_all()
    patient.add([read(DEMO)])
    wait(qtbot, patient)
    assert patient.workspace.paths == [DEMO]


def test_another_view_of_the_runs_comes_when_it_is_ready(patient, qtbot):
    patient.add([read(ATTENTION)])
    wait(qtbot, patient)
    patient.show_inferences(Inferences.MEAN)
    assert patient.state.inferences is Inferences.AS_RUN
    wait(qtbot, patient)
    assert patient.state.inferences is Inferences.MEAN
    patient.undo()
    assert patient.state.inferences is Inferences.AS_RUN
    patient.redo()
    assert patient.state.inferences is Inferences.MEAN


def test_a_view_that_is_not_wanted_any_more_does_not_come(patient, qtbot):
    patient.add([read(ATTENTION)])
    wait(qtbot, patient)
    patient.show_inferences(Inferences.ALIGNED)
    navigation.step_run(patient, 1)
    wait(qtbot, patient)
    assert patient.state.inferences is Inferences.AS_RUN


def test_a_view_that_is_asked_for_while_files_are_linked_is_of_all_of_them(patient, qtbot):
    patient.add([read(ATTENTION)])
    wait(qtbot, patient)
    patient.add([read(DEMO), read(ATTENTION_RECORD)])
    patient.show_inferences(Inferences.ALIGNED)
    wait(qtbot, patient)
    assert patient.state.inferences is Inferences.ALIGNED
    assert [shown.trace is shown.file for shown in patient.traces] == [False, False]
    assert patient.traces[0].table.program is not None
    assert patient.as_run(0).trace is patient.traces[0].file


def test_a_copy_of_a_workspace_changes_for_itself(session):
    space = session.workspace
    other = copy(space)
    other.pair(ATTENTION, None)
    assert other.links(other.traces[0]).program is None
    assert space.links(space.traces[0]).program is not None
    other.add(read(DEMO))
    assert ATTENTION in space.paths
    assert DEMO not in space.paths


def test_another_column_of_identifiers_keeps_the_view_and_its_history(qapp):
    """The slices are the same at the same places; only what they stand for is another."""
    data = Path(__file__).parents[2] / "data"
    session = Session()
    csv, record = data / "torq" / "demo_str_c1.csv", data / "etrecord" / "demo_str.etrecord"
    session.add([open_file(str(csv)), open_file(str(record))])
    session.set_range(100, 500)
    assert session.traces[0].table.program is not None
    set_identifier_column(session, str(csv), None)
    assert session.traces[0].table.program is None
    assert (session.state.t0, session.state.t1) == (100, 500)
    assert session.history.can_undo
    session.undo()
    assert (session.state.t0, session.state.t1) != (100, 500)


# -- clocks ----------------------------------------------------------------------------------------

CYCLES = Path(__file__).parents[2] / "data" / "torq" / "compile_c3_taskid_mtu.csv"
STATED = Path(__file__).parents[2] / "data" / "torq" / "runtime_r0_nss.csv"
MHZ_100 = Fraction(10)  # 8 times as long as the 800 MHz that are assumed


def visible_ticks(session, trace=0):
    axis = session.traces[trace].axis
    return [Fraction(t - axis.offset_ns) / axis.ns_per_tick
            for t in (session.state.t0, session.state.t1)]  # fmt: skip


def test_another_rate_shows_the_same_ticks_and_is_taken_back_with_the_range(qapp):
    session = opened(CYCLES)
    session.set_range(10_000, 30_000)
    session.select_area(Area(12_000, 14_000, frozenset({(0, 1)})))
    before, ticks = session.state, visible_ticks(session)
    length = session.group.span_ns
    set_clock(session, 0, MHZ_100)
    assert (session.state.t0, session.state.t1) == (80_000, 240_000)
    assert visible_ticks(session) == ticks
    assert (session.state.area.t0, session.state.area.t1) == (96_000, 112_000)
    assert session.group.span_ns == 8 * length
    after = session.state
    session.undo()
    assert session.state == before
    assert session.traces[0].axis.ns_per_tick == Fraction(5, 4)
    assert session.workspace.choices.clocks == {}
    assert session.group.span_ns == length
    session.redo()
    assert session.state == after
    assert session.workspace.choices.clocks == {str(CYCLES): MHZ_100}


def test_another_rate_keeps_selection_labels_costs_and_counters(qapp):
    session = opened(CYCLES)
    session.select_slice(SliceRef(0, 3))
    before = session.traces[0]
    told = []
    session.workspace_changed.connect(lambda: told.append("opened"))
    counters = before.counters
    set_clock(session, 0, MHZ_100)
    after = session.traces[0]
    assert told == ["opened"]
    assert session.state.slice == SliceRef(0, 3)
    assert after.labels is before.labels
    assert after.costs is before.costs
    assert counters
    assert after.counters is counters
    assert after.rate.origin is RateOrigin.CHOSEN
    slices = after.trace.slices
    assert after.span_ns(3) == (10 * slices.start[3], 10 * slices.end[3])
    set_clock(session, 0, MHZ_100)
    session.undo()
    assert session.state.clocks == {}


def test_the_whole_axis_stays_the_whole_axis(qapp):
    session = opened(CYCLES)
    for rate in (Fraction(1, 9), Fraction(10**6), Fraction(1000, 33), None):
        set_clock(session, 0, rate)
        low, high = limits(session)
        assert low <= session.state.t0 <= 0
        assert session.group.span_ns <= session.state.t1 <= high


def test_a_rate_that_was_chosen_with_the_files_is_part_of_the_first_view(qapp):
    session = Session()
    session.add([read(str(CYCLES))], Choices(clocks=((str(CYCLES), MHZ_100),)))
    assert session.state.clocks == {str(CYCLES): MHZ_100}
    assert session.state.t1 > session.group.span_ns == 8 * session.traces[0].trace.end * 5 // 4
    set_clock(session, 0, None)
    session.undo()
    assert session.traces[0].axis.ns_per_tick == MHZ_100


def test_the_rate_is_of_the_current_trace_or_of_the_first_that_has_none(qapp):
    session = opened(STATED, CYCLES)
    assert clock_trace(session) == 1
    assert clock_trace(opened(STATED)) is None
    two = opened(ATTENTION, CYCLES)
    assert clock_trace(two) == 0
    two.select_slice(SliceRef(1, 0))
    assert clock_trace(two) == 1
    with pytest.raises(ValueError, match="states its clock rate"):
        set_clock(session, 0, MHZ_100)
    assert not session.history.can_undo


def test_a_rate_holds_in_every_view_of_the_inferences(session):
    session.show_inferences(Inferences.ALIGNED)
    length = session.group.span_ns
    set_clock(session, 0, MHZ_100)
    assert session.group.span_ns == 10 * length
    session.show_inferences(Inferences.AS_RUN)
    assert session.traces[0].axis.ns_per_tick == MHZ_100
    session.undo()
    session.undo()
    assert session.group.span_ns == length


def test_a_rate_chosen_while_files_are_added_is_kept(patient, qtbot):
    patient.add([read(ATTENTION)])
    wait(qtbot, patient)
    patient.add([read(ATTENTION_RECORD)])
    set_clock(patient, 0, MHZ_100)
    moved = Substitution("/home", "/data")
    add_substitution(patient, moved)
    wait(qtbot, patient)
    assert patient.traces[0].table.program is not None
    assert patient.traces[0].axis.ns_per_tick == MHZ_100
    assert patient.workspace.choices.clocks == patient.state.clocks == {ATTENTION: MHZ_100}
    assert patient.workspace.choices.source_paths == (moved,)


def test_where_sources_lie_is_kept_when_all_files_are_closed(qapp):
    session = opened(CYCLES)
    moved = Substitution("/home", "/data")
    add_substitution(session, moved)
    session.close_all()
    assert session.workspace.choices.source_paths == (moved,)
    assert session.state.clocks == {}
    remove_substitution(session, moved)
    assert session.workspace.choices.source_paths == ()


def test_undo_highlights_no_operator_of_a_record_that_it_was_linked_to_before(qapp):
    session = opened(ATTENTION, ATTENTION_RECORD, DEMO, DEMO_RECORD)
    last = len(session.traces[0].table.program.operators) - 1
    session.select_operators(0, (last,))
    session.clear_selection()
    pair_files(session, ATTENTION, DEMO_RECORD)
    session.undo()
    assert len(session.traces[0].table.program.operators) <= last
    assert session.state.operators is None


# -- clock groups ----------------------------------------------------------------------------------


@pytest.fixture
def two(qapp):
    """Two files on clocks of their own: 1000 and 5000 ns."""
    session = Session()
    session.add([trace_of("/a.csv", (0, 1000)), trace_of("/b.csv", (0, 5000))])
    return session


def test_activation_changes_no_range_and_is_no_step(two):
    before = two.state.all_ranges
    told = []
    two.clock_activated.connect(lambda: told.append(two.state.clock))
    two.range_changed.connect(lambda: told.append("range"))
    for clock in ("/b.csv", "/b.csv", "/a.csv", "/no such clock"):
        two.activate(clock)
    assert told == ["/b.csv", "/a.csv"]
    assert two.state.all_ranges == before
    assert not two.history.can_undo


def test_undo_restores_the_ranges_of_all_clocks(two):
    first = two.state
    two.set_range(100, 200)
    two.activate("/b.csv")
    two.set_range(3_000, 4_000)
    assert two.state.all_ranges == {"/a.csv": (100, 200), "/b.csv": (3_000, 4_000)}
    two.undo()
    assert two.state.all_ranges == {"/a.csv": (100, 200), "/b.csv": (-100, 5_100)}
    two.undo()
    assert two.state == first
    two.redo()
    two.redo()
    assert two.state.all_ranges == {"/a.csv": (100, 200), "/b.csv": (3_000, 4_000)}


def test_back_returns_to_the_clock_that_was_looked_at(two):
    two.set_range(100, 200)
    two.activate("/b.csv")
    two.set_range(3_000, 4_000)
    two.go_back()
    assert two.state.range_of("/b.csv") == (-100, 5_100)
    two.go_back()
    assert two.state.all_ranges == {"/a.csv": (-20, 1_020), "/b.csv": (-100, 5_100)}
    two.go_forward()
    assert two.state.range_of("/a.csv") == (100, 200)


def test_bursts_on_two_clocks_are_two_steps(two):
    navigation.zoom(two, 0.5, 500, now=100)
    between = two.state
    two.activate("/b.csv")
    navigation.zoom(two, 0.5, 500, now=100.1)
    two.undo()
    assert two.state.all_ranges == between.all_ranges


def test_opening_a_file_keeps_the_ranges_and_gives_it_one_of_its_own(two):
    two.activate("/b.csv")
    two.set_range(3_000, 4_000)
    two.add([trace_of("/c.csv", (0, 50))])
    assert two.state.clock == "/b.csv"
    assert two.state.all_ranges == {
        "/a.csv": (-20, 1_020), "/b.csv": (3_000, 4_000), "/c.csv": (-1, 51),
    }  # fmt: skip


def test_what_is_undone_knows_the_ranges_of_clocks_that_were_opened_later(two):
    two.set_range(100, 200)
    two.set_range(300, 400)
    two.undo()
    two.add([trace_of("/c.csv", (0, 50))])
    for step in (two.undo, two.redo, two.redo, two.go_back, two.go_forward):
        step()
        assert two.state.ranges.keys() == {"/b.csv", "/c.csv"}
        assert two.state.range_of("/c.csv") == (-1, 51)


def test_a_slice_of_another_clock_activates_it_in_the_same_step(two):
    two.select_slice(SliceRef(1, 0))
    assert two.state.clock == "/b.csv"
    assert two.current_trace == 1
    two.undo()
    assert two.state.clock == "/a.csv"
    assert two.state.slice is None


def test_the_rate_of_one_clock_moves_no_range_of_another(qapp):
    session = opened(CYCLES)
    session.add([trace_of("/b.csv", (0, 5000))])
    session.set_range(10_000, 30_000)
    session.activate("/b.csv")
    session.set_range(1_000, 2_000)
    set_clock(session, 0, MHZ_100)
    assert session.state.all_ranges == {str(CYCLES): (80_000, 240_000), "/b.csv": (1_000, 2_000)}
    session.undo()
    assert session.state.all_ranges == {str(CYCLES): (10_000, 30_000), "/b.csv": (1_000, 2_000)}


def tie(session, **anchors):
    """Tie the clocks a and b: the zoom of b is three times that of a."""
    ties = {
        f"/{name}.csv": Tie(Fraction(scale), anchors.get(name))
        for name, scale in (("a", 1), ("b", 3))
    }
    session.change(replace(session.state, ties=ties))


def test_tied_clocks_zoom_together(two):
    tie(two)
    two.set_range(400, 500)
    first, last = two.state.range_of("/b.csv")
    assert last - first == 300
    two.activate("/b.csv")
    two.set_range(0, 600)
    first, last = two.state.range_of("/a.csv")
    assert last - first == 200


def test_a_clock_whose_zoom_is_tied_stays_inside_its_limits(two):
    two.activate("/b.csv")
    two.set_range(4_600, 4_700)
    two.activate("/a.csv")
    two.set_range(0, 30)
    tie(two)
    for _ in range(20):
        navigation.zoom(two, 1.25, 0)
        first, last = two.state.range_of("/b.csv")
        assert last - first == 3 * (two.state.t1 - two.state.t0)
        assert -600 <= first < last <= 5_600


def test_aligned_clocks_pan_together_and_show_each_other_s_ends(two):
    tie(two, a=500, b=2_000)
    two.set_range(400, 600)
    assert two.state.range_of("/b.csv") == (1_700, 2_300)
    navigation.pan(two, 100)
    assert two.state.range_of("/b.csv") == (2_000, 2_600)
    navigation.pan(two, 10**9)
    # b ends 3000 after its anchor, so 1000 after that of a at a third of the scale.
    last = 500 + 1_000
    assert last < two.state.t1 <= last + 200
    two.change(replace(two.state, ties={}))
    assert two.state.t1 <= 1_100, "alone, it ends a tenth after its axis"
