"""What costs are of: a selected area, the picked run, or all; and what ends or keeps an area."""

import itertools

import numpy as np
import pytest

from tests.gui.events import SAMPLE
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.session import navigation
from viewer.gui.session.feeds.feed import CostFeed
from viewer.gui.session.navigation import pick_run, run_span_ns
from viewer.gui.session.selection import calls_of, clear, selected_span_ns
from viewer.gui.window.frame.status import selection_text
from viewer.model.figures import WHOLE, TimeScope, starts_in
from viewer.model.inference_views import Inferences
from viewer.model.trace import KeyKind
from viewer.view.state import Area, SliceRef, SliceSet

ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention


@pytest.fixture
def session(opened):
    return opened(*SAMPLE["attention_xnnpack"].paths())


def area_of_run(session, number, share=1.0):
    """An area over the begin of an inference, on its track."""
    runs = list(session.traces[0].trace.inferences())
    t0, t1 = run_span_ns(session, 0, runs[number])
    return Area(t0, t0 + int((t1 - t0) * share), frozenset({(0, runs[number].track)}))


def test_costs_are_of_the_picked_run_until_an_area_is_selected(session):
    picked = session.traces[0].trace.runs[session.state.run[1]]
    assert session.scope(0) == TimeScope(run=picked)
    area = area_of_run(session, 3, 0.5)
    session.select_area(area)
    axis = session.traces[0].axis  # a tick of this file is a ns, from another zero on
    assert session.scope(0) == TimeScope(ticks=(area.t0 - axis.offset_ns, area.t1 - axis.offset_ns))
    assert session.scope(0, ranges=False) == TimeScope(run=picked)
    session.clear_selection()
    pick_run(session, None)
    assert session.scope(0) == WHOLE


def test_an_area_on_another_trace_is_none_of_this_one(opened):
    session = opened(*SAMPLE["attention_xnnpack"].paths(), *SAMPLE["plain_csv"].paths())
    session.select_area(Area(0, 1_000_000, frozenset({(1, 0)})))
    assert session.scope(0).ticks is None
    assert session.scope(1).ticks is not None
    assert session.current_trace == 1


def test_inferences_that_are_aligned_have_no_ranges(session):
    session.show_inferences(Inferences.ALIGNED)
    session.select_area(Area(0, 1_000, frozenset({(0, 0)})))
    assert session.scope(0).ticks is None


def test_the_costs_of_an_area_are_those_of_its_ticks(session):
    feed = CostFeed.of(session)
    area = area_of_run(session, 2, 0.37)
    session.select_area(area)
    answer = feed.answer
    # Slow and plain: every ns of the area belongs to the innermost linked slice around it.
    shown = session.traces[0]
    trace, table = shown.trace, shown.table
    track = next(iter(area.tracks))[1]
    owner = np.full(area.t1 - area.t0, -1)
    executes = np.zeros(area.t1 - area.t0, bool)
    depth = trace.slices.row_depth[trace.slices.rows()]
    for i in np.argsort(depth, kind="stable").tolist():
        if trace.slices.track(i) != track:
            continue
        part = slice(*(min(max(int(t) + shown.axis.offset_ns - area.t0, 0), len(owner))
                       for t in (trace.slices.start[i], trace.slices.end[i])))  # fmt: skip
        executes[part] |= trace.name(i) == "Method::execute"
        of_key = int(table.set_of_key[trace.slices.key[i]])
        if of_key >= 0:
            owner[part] = of_key
    expected = {
        table.sets[k]: n
        for k, n in zip(*map(np.ndarray.tolist, np.unique(owner, return_counts=True)), strict=True)
        if k >= 0
    }
    assert {r.operators: r.ticks for r in answer.table.rows if r.ticks} == expected
    assert answer.table.without_operator == int((executes & (owner < 0)).sum())
    assert scope_text(shown, answer.scope).startswith("the selected range of ")


def test_ranges_side_by_side_add_up_to_the_whole(session):
    costs = session.traces[0].costs
    trace = session.traces[0].trace
    cuts = np.linspace(trace.start, trace.end, 9).astype(int).tolist()
    parts = [costs.table(TimeScope(ticks=(a, b))) for a, b in itertools.pairwise(cuts)]
    whole = costs.table()
    assert sum(p.whole for p in parts) == whole.whole
    for row in whole.rows:
        found = [r for p in parts for r in p.rows if r.operators == row.operators]
        assert sum(r.ticks for r in found) == row.ticks
        assert sum(r.slices for r in found) == row.slices
        scopes = [TimeScope(ticks=(a if a is not None else trace.start, b or trace.end))
                  for a, b in itertools.pairwise(cuts)]  # fmt: skip
        slices = [i for s in scopes for i in costs.slices_of([row.operators], s).tolist()]
        assert sorted(slices) == costs.slices_of([row.operators], WHOLE).tolist()


def test_what_begins_in_a_scope_is_counted_in_it_alone(session):
    shown = session.traces[0]
    every = np.arange(len(shown.trace.slices))
    assert starts_in(shown.trace, WHOLE, every) is every
    runs = list(shown.trace.inferences())
    of_runs = [starts_in(shown.trace, TimeScope(run=run), every) for run in runs]
    assert len(np.unique(np.concatenate(of_runs))) == sum(map(len, of_runs))


# -- what keeps an area ----------------------------------------------------------------------------


def test_an_operator_chosen_in_an_area_keeps_it_and_shows_its_slice_in_it(session):
    area = area_of_run(session, 4)
    session.select_area(area)
    session.set_range(*run_span_ns(session, 0, next(session.traces[0].trace.inferences())))
    session.select_operators(0, (ATTENTION_0,))
    assert session.state.area == area
    assert session.state.t0 >= area.t0 - (session.state.t1 - session.state.t0)
    shown = session.traces[0]
    kinds = shown.trace.keys.kind[shown.trace.slices.key]  # a kernel is counted with its call
    own = [i for i in np.flatnonzero(kinds != KeyKind.KERNEL).tolist()
           if shown.link(i).operators == (ATTENTION_0,)]  # fmt: skip
    spans = [shown.span_ns(i) for i in own]
    calls = sum(area.t0 <= t0 < area.t1 for t0, _ in spans)
    assert calls_of(session, 0, (ATTENTION_0,)) == (calls, 3)
    assert selection_text(session).endswith(
        f"selected on 1 track · {calls} slices of the operator in the area, 3 shared calls"
    )
    navigation.fit_selection(session)
    assert area.t0 <= session.state.t0 < session.state.t1 <= area.t1


@pytest.mark.parametrize("several", [False, True])
def test_slices_chosen_in_a_panel_keep_the_area_and_those_of_the_timeline_end_it(session, several):
    area = area_of_run(session, 1)

    def choose(**keep):
        session.select_area(area)
        if several:
            session.select_slices(SliceSet({0: np.array([4, 9])}), SliceRef(0, 4), **keep)
        else:
            session.select_slice(SliceRef(0, 4), **keep)
        return session.state.area

    assert choose(keep_area=True) == area
    assert selected_span_ns(session) != (area.t0, area.t1)
    assert choose() is None


def test_escape_goes_back_to_the_area_and_then_to_nothing(session):
    area = area_of_run(session, 1)
    session.select_area(area)
    session.select_operators(0, (ATTENTION_0,))
    clear(session)
    assert (session.state.area, session.state.operators) == (area, None)
    clear(session)
    assert not any(session.state.selection)
    session.undo()
    session.undo()
    assert (session.state.area, session.state.operators) == (area, (0, (ATTENTION_0,)))
