"""Files are put on one axis on request: one undo step, and a sentence on why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders.clocked_traces import clocked_trace
from tests.builders.inference_trace import inference_trace
from tests.paths import DATA
from viewer.formats import open_file
from viewer.gui.session.clocks import (
    align_at_run,
    separate,
    separate_obstacle,
    share,
    share_obstacle,
    share_stated,
    shared_clocks,
    stated_obstacle,
)
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.times import plain_spaces
from viewer.model.trace import Clock, ClockZero
from viewer.view.clock_groups import group_caption, group_title
from viewer.view.sessions.saved_view import kept_view, shown_view
from viewer.view.state import Bookmark, StripView
from viewer.workspace.clocks import SameClock
from viewer.workspace.link_choices import Choices

EPOCH = 1_700_000_000_000_000_000
BASE = "baseTimeNanoseconds"
DATED = f"both state the time of day: {BASE}"


def dated(path: str, base: int, *slices: tuple[int, int]):
    return clocked_trace(path, Clock(zeros=(ClockZero("REALTIME", EPOCH + base, BASE),)), *slices)


def starts(session: Session) -> dict[str, int]:
    """Where each file starts on its axis, in ns."""
    return {t.file.path: t.axis.to_ns(t.file.start) for t in session.traces}


@pytest.fixture
def session(qapp):
    """Two files that state the time of day, the later one first, and one that does not."""
    made = Session()
    made.add([dated("b.json", 500, (100, 200)), dated("a.json", 0, (100, 300)),
              clocked_trace("c.csv", Clock(), (130, 190))])  # fmt: skip
    return made


def test_files_that_state_the_time_of_day_are_put_on_one_axis(session):
    assert starts(session) == {"a.json": 0, "b.json": 0, "c.csv": 0}
    assert share_stated(session) == f"On one axis: b.json, a.json · {DATED}"
    assert starts(session) == {"a.json": 0, "b.json": 500, "c.csv": 0}
    assert [group.traces for group in session.groups] == [(0, 1), (2,)]
    group = session.groups[0]
    assert group_title(group, session.traces) == "b.json"
    assert plain_spaces(group_caption(group, session.traces)) == f"+ 1 file · 1 ns ticks · {DATED}"
    assert [plain_spaces(note) for note in shared_clocks(session)] == [
        "", f"on one axis with b.json, starts 500 ns earlier · {DATED}", "",
    ]  # fmt: skip
    # Everything on the new axis is in view.
    t0, t1 = session.state.range_of("b.json")
    assert t0 <= 0 < 600 <= t1
    assert stated_obstacle(session) != ""


def test_undo_and_redo(session):
    before = session.state
    share_stated(session)
    after = session.state
    session.undo()
    assert (session.state, len(session.groups)) == (before, 3)
    assert session.workspace.choices.same_clocks == ()
    session.redo()
    assert (session.state, len(session.groups)) == (after, 2)
    assert starts(session) == {"a.json": 0, "b.json": 500, "c.csv": 0}
    separate(session)
    assert (starts(session)["b.json"], len(session.groups)) == (0, 3)
    session.undo()
    assert session.state == after


def test_back_does_not_lead_to_other_axes(session):
    session.set_range(10, 60)
    share_stated(session)
    session.set_range(0, 400)
    session.go_back()
    assert session.state.same_clocks != ()
    session.go_back()
    assert session.state.same_clocks != ()
    session.undo()
    session.undo()
    session.undo()
    assert session.state.same_clocks == ()
    assert (session.state.t0, session.state.t1) == (10, 60)


def test_bookmarks_and_measurements_stay_at_their_moments(session):
    marks = (Bookmark(10, 20, "b", clock="b.json"), Bookmark(5, 5, "a", clock="a.json"),
             Bookmark(7, 8, "c", clock="c.csv"))  # fmt: skip
    session.change(replace(session.state, bookmarks=marks, measured=(1, 2), measured_on="b.json"))
    share_stated(session)
    assert session.state.bookmarks == (
        Bookmark(510, 520, "b", clock="b.json"), Bookmark(5, 5, "a", clock="b.json"),
        Bookmark(7, 8, "c", clock="c.csv"),
    )  # fmt: skip
    assert (session.state.measured, session.state.measured_on) == ((501, 502), "b.json")
    separate(session)
    assert session.state.bookmarks[0] == Bookmark(10, 20, "b", clock="b.json")


def test_the_active_strip_shares_the_clock_of_the_one_above(session):
    session.activate("c.csv")
    assert share(session) == "On one axis: a.json, c.csv · same clock, as you stated"
    assert starts(session) == {"b.json": 0, "a.json": 0, "c.csv": 30}
    assert session.state.clock == "a.json"
    session.undo()
    session.activate("b.json")  # the topmost: with the one below
    assert share(session) == f"On one axis: b.json, a.json · {DATED}"


def test_two_ranks_and_two_dumps(qapp):
    made = Session()
    paths = [DATA / f"clocks/m{rank}.pt.trace.json" for rank in (0, 1)]
    paths += [DATA / f"clocks/{name}_etdump.etdp" for name in ("prefill", "decode")]
    made.add([open_file(str(path)) for path in paths])
    share_stated(made)
    made.activate(str(paths[3]))
    share(made)
    assert list(starts(made).values()) == [0, 500_000, 0, 0]
    assert [group.traces for group in made.groups] == [(0, 1), (2, 3)]
    assert made.traces[1].trace.tracks[-1].process == "python · CPU · rank 1"
    made.undo()
    assert [group.traces for group in made.groups] == [(0, 1), (2,), (3,)]


def test_an_alignment_of_what_is_put_on_one_axis_ends(qapp):
    made = Session()
    made.add([inference_trace(path, [(at, [("conv", 50)])], load=5) for path, at in
              (("a", 0), ("b", 40), ("c", 90))])  # fmt: skip
    align_at_run(made)
    assert set(made.state.ties) == {"a", "b", "c"}
    made.activate("b")
    share(made)
    assert made.state.ties == {}
    made.undo()
    assert set(made.state.ties) == {"a", "b", "c"}


def test_strips_are_arranged_as_before(session):
    strips = StripView(("c.csv", "a.json", "b.json"), frozenset(("a.json", "c.csv")),
                       {"b.json": 100, "c.csv": 90}, ("a.json", "b.json"))  # fmt: skip
    session.change(replace(session.state, strips=strips))
    share_stated(session)
    assert session.state.strips == StripView(
        ("c.csv", "b.json"), frozenset(("c.csv",)), {"c.csv": 90}
    )
    separate(session)
    assert session.state.strips.shown(session.groups.keys) == ["c.csv", "b.json", "a.json"]


def test_what_is_not_possible_is_told_beforehand(qapp):
    made = Session()
    made.add([clocked_trace("a", Clock(), (0, 5))])
    assert share(made) == share_obstacle(made) == "Open a second file with another clock first"
    assert share_stated(made) == stated_obstacle(made) != ""
    assert separate(made) == separate_obstacle(made) != ""
    made.add([clocked_trace("far", Clock(), (EPOCH, EPOCH + 5))])
    before = made.state
    assert share(made).startswith("Not on one axis: a and far would be 53 years apart")
    assert made.state == before


def test_only_as_inferences_ran(qapp):
    made = Session()
    made.add([inference_trace(path, [(at, [("conv", 50)]), (at + 100, [("conv", 60)])])
              for path, at in (("a", 0), ("b", 40))])  # fmt: skip
    share(made)
    made.show_inferences(Inferences.ALIGNED)
    assert separate(made) == "Show inferences as they ran first"
    made.show_inferences(Inferences.AS_RUN)
    assert starts(made) == {"a": 0, "b": 40}
    made.undo()
    made.undo()
    made.undo()
    made.show_inferences(Inferences.ALIGNED)
    assert share(made) == "Show inferences as they ran first"


def test_a_file_opened_with_a_statement_joins_what_is_open(session):
    session.change(replace(session.state, bookmarks=(Bookmark(10, 20, clock="b.json"),)))
    choices = Choices(same_clocks=(SameClock(("early.json", "b.json")),))
    session.add([dated("early.json", 0, (50, 60))], choices)
    assert starts(session) == {"b.json": 550, "a.json": 0, "c.csv": 0, "early.json": 0}
    assert session.groups.of(3).key == "b.json"
    assert session.state.bookmarks == (Bookmark(560, 570, clock="b.json"),)
    t0, t1 = session.state.range_of("b.json")
    assert t0 <= 0 < 650 <= t1
    assert not session.history.can_undo


def test_a_file_that_is_opened_later_moves_the_axis_of_one_that_it_shares(session):
    share_stated(session)
    before = session.state.range_of("b.json")
    session.add([clocked_trace("d.csv", Clock(), (0, 9))])
    assert session.state.range_of("b.json") == before
    session.undo()
    assert [group.traces for group in session.groups] == [(0,), (1,), (2,), (3,)]
    assert starts(session) == dict.fromkeys(("a.json", "b.json", "c.csv", "d.csv"), 0)


def test_a_reload_keeps_the_axis(session):
    share_stated(session)
    session.add([dated("a.json", 40, (100, 300))])
    assert starts(session) == {"a.json": 0, "b.json": 460, "c.csv": 0}
    session.add([clocked_trace("a.json", Clock(), (100, 300))])
    assert [group.traces for group in session.groups] == [(0,), (1,), (2,)]
    session.undo()
    assert starts(session)["b.json"] == 460


def test_a_saved_view_comes_back(session):
    marks = (Bookmark(10, 20, "b", clock="b.json"),)
    session.change(replace(session.state, bookmarks=marks))
    share_stated(session)
    session.set_range(100, 450)
    inputs = session.workspace.paths
    saved = kept_view(session.state, session.traces, inputs)
    other = Session()
    other.add([t.file for t in session.traces], Choices(same_clocks=session.state.same_clocks))
    state, messages = shown_view(saved, other.state, other.traces, inputs)
    other.restore_view(state)
    assert messages == []
    assert (other.state.t0, other.state.t1) == (100, 450)
    assert other.state.bookmarks == session.state.bookmarks
    assert other.state.same_clocks == session.state.same_clocks
    assert starts(other) == starts(session)
