"""The view in a session file: each clock group with its range, bookmarks and alignment."""

from dataclasses import replace
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.clocked_traces import CYCLES, HOST, NS, clocked_trace, shown_traces
from viewer.analysis.comparison.hand_pairs import HandPairs
from viewer.codecs.reading import UnreadableFile
from viewer.gui.session import bookmarks
from viewer.gui.session.session import Session
from viewer.render.time_axis import Gaps
from viewer.view import visible_ranges
from viewer.view.clock_groups import Tie, clock_groups
from viewer.view.open_trace import OpenTrace
from viewer.view.sessions.saved_view import kept_view, shown_view
from viewer.view.sessions.session_file import (
    SavedArea,
    SavedBookmark,
    SavedClock,
    SavedPlace,
    SavedSession,
    SavedTie,
    SavedView,
    encoded,
    read,
)
from viewer.view.state import (
    Area,
    Bookmark,
    ChosenArm,
    ComparedArms,
    SliceRef,
    StripView,
    ViewState,
)

# Two files of one clock; the second one starts 4 µs before the first one.
FILES = (
    clocked_trace("host.csv", HOST, (104, 120), (130, 140)),
    clocked_trace("net.etdp", NS, (5_000, 9_000)),
    clocked_trace("host2.csv", HOST, (100, 150)),
    clocked_trace("npu.csv", CYCLES, (16, 96)),
)
INPUTS = ("net.etrecord", "host.csv", "net.etdp", "host2.csv", "npu.csv")


def first_state(shown: list[OpenTrace]) -> ViewState:
    return visible_ranges.reset(ViewState(), clock_groups(shown), shown)[0]


def shown_again(saved: SavedView, *files: int) -> tuple[ViewState, list[str]]:
    """The view for some of the files, by their numbers; without any for all of them."""
    shown = shown_traces(*[FILES[n] for n in files or range(4)])
    paths = [path if any(t.file.path == path for t in shown) else None for path in INPUTS]
    return shown_view(saved, first_state(shown), shown, paths)


MANY = ViewState(
    scheme="arg:batch size",
    clock="net.etdp", t0=1_000, t1=3_000,
    ranges={"torq host": (2_000, 40_000), "npu.csv": (7, 77)},
    ties={
        "torq host": Tie(Fraction(1), 4_000, "start of run 1"),
        "net.etdp": Tie(Fraction(1, 19), 0, "start of run 2"),
        "npu.csv": Tie(Fraction(7, 3)),
    },
    strips=StripView(("npu.csv", "torq host"), frozenset({"npu.csv"}), {"torq host": 200}),
    bookmarks=(
        Bookmark(4_000, 4_000, "first", clock="torq host"),
        Bookmark(10, 20, "second", "a note", "npu.csv"),
        Bookmark(0, 4_000, clock="net.etdp"),
    ),
    mark=1, measured=(5, 6), measured_on="npu.csv",
    area=Area(8_000, 9_000, frozenset({(0, 0), (2, 0)})), slice=SliceRef(1, 0),
)  # fmt: skip


def test_a_view_of_several_clocks_comes_back_as_it_was():
    saved = kept_view(MANY, shown_traces(*FILES), INPUTS)
    assert shown_again(saved) == (MANY, [])
    again = msgspec.json.decode(msgspec.json.encode(saved), type=SavedView)
    assert shown_again(again) == (MANY, [])


def test_times_count_from_the_first_profile_of_their_clock():
    saved = kept_view(MANY, shown_traces(*FILES), INPUTS)
    # host.csv starts at 4 µs of its axis, on which host2.csv starts at 0.
    assert (saved.start_ns, saved.end_ns) == (-2_000, 36_000), "as earlier versions read it"
    assert saved.clocks == (
        SavedClock(1, -2_000, 36_000, SavedTie("1", 0, "start of run 1"), height=200),
        SavedClock(2, 1_000, 3_000, SavedTie("1/19", 0, "start of run 2")),
        SavedClock(4, 7, 77, SavedTie("7/3"), collapsed=True),
    )
    assert (saved.clock, saved.strips, saved.measured_on) == (2, (4, 1), 4)
    assert saved.bookmarks[0] == SavedBookmark(0, 0, "first", clock=1)
    assert saved.area == SavedArea(
        4_000, 5_000, (SavedPlace(1, "p", "t"), SavedPlace(3, "p", "t")), 1
    )


def test_a_session_of_an_earlier_version_is_on_its_first_clock():
    """Its only axis was that of the first profile; every clock started at 0 of it."""
    old = SavedView(
        start_ns=1_000, end_ns=9_000, measured=(0, 5), mark=0,
        bookmarks=(SavedBookmark(-4_000, 0, "old"),),
        area=SavedArea(-3_000, -1_000, (SavedPlace(2, "p", "t"), SavedPlace(1, "p", "t"))),
    )  # fmt: skip
    state, messages = shown_again(old)
    assert (state.clock, state.t0, state.t1) == ("torq host", 5_000, 13_000)
    assert state.bookmarks == (Bookmark(0, 4_000, "old", clock="torq host"),)
    assert (state.measured, state.measured_on) == ((4_000, 4_005), "torq host")
    # An area is of one clock: that of its first track.
    assert state.area == Area(1_000, 3_000, frozenset({(1, 0)}))
    assert state.ties == {}
    assert state.ranges == first_state(shown_traces(*FILES)).ranges
    assert messages == []


def test_what_belongs_to_a_missing_input_is_dropped_and_lost_bookmarks_are_told():
    saved = kept_view(MANY, shown_traces(*FILES), INPUTS)
    state, messages = shown_again(saved, 0, 1, 2)
    assert state.all_ranges == {"net.etdp": (1_000, 3_000), "torq host": (2_000, 40_000)}
    assert state.ties == {key: tie for key, tie in MANY.ties.items() if key != "npu.csv"}
    assert state.strips == StripView(("torq host",), heights={"torq host": 200})
    assert [mark.clock for mark in state.bookmarks] == ["torq host", "net.etdp"]
    assert (state.mark, state.measured, state.measured_on) == (None, None, "")
    assert messages == ["1 bookmark of the session is not in these files"]
    # host2.csv has the same clock, but not the start that times count from.
    state, messages = shown_again(replace_mark(saved, 2), 1, 2)
    assert (state.clock, state.t0, state.t1) == ("net.etdp", 1_000, 3_000)
    assert state.mark == 0
    assert state.ties == {}
    assert "2 bookmarks of the session are not in these files" in messages


def replace_mark(saved: SavedView, mark: int) -> SavedView:
    return msgspec.structs.replace(saved, mark=mark)


def test_another_order_of_the_files_moves_nothing():
    saved = kept_view(MANY, shown_traces(*FILES), INPUTS)
    state, messages = shown_again(saved, 3, 2, 1, 0)
    assert messages == []
    expected = replace(
        MANY, slice=SliceRef(2, 0), area=replace(MANY.area, tracks=frozenset({(1, 0), (3, 0)}))
    )
    assert state == expected


def test_a_bookmark_of_a_closed_file_is_not_in_the_session():
    state = replace(MANY, bookmarks=(Bookmark(1, 2, clock="gone.etdp"), *MANY.bookmarks), mark=2)
    saved = kept_view(state, shown_traces(*FILES), INPUTS)
    assert ([mark.name for mark in saved.bookmarks], saved.mark) == (["first", "second", ""], 1)


@pytest.mark.parametrize(
    "scale",
    ["0", "-1", "1/0", "0/5", "1e999999999", "1e9", "nan", "1.5", "", " 1", "1/", "/2", "١",
     "9" * 41, "1_0", "9" * 40, f"1/{'9' * 38}"],
)  # fmt: skip
def test_a_scale_that_is_no_ratio_ties_nothing(scale):
    saved = SavedView(
        clocks=(
            SavedClock(1, 0, 10, SavedTie(scale)),
            SavedClock(2, 0, 20, SavedTie("1")),
        )
    )
    state, messages = shown_again(saved)
    assert state.ties == {}
    assert state.all_ranges["net.etdp"] == (0, 20)
    assert messages == []


def test_odd_clocks_are_ignored():
    saved = SavedView(
        clock=2**70,
        strips=(99, 4, -1, 4, 0, 2**70),
        clocks=(
            SavedClock(2**70, 0, 10, SavedTie("1")),
            SavedClock(-1, 0, 10, SavedTie("1")),
            SavedClock(0, 0, 10, SavedTie("1")),  # an ETRecord has no clock
            SavedClock(2, 30, 40, SavedTie("1"), collapsed=True, height=10**30),
            SavedClock(2, 50, 60, SavedTie("2"), collapsed=True),
            SavedClock(4, 9, 9),
        ),
    )
    state, messages = shown_again(saved)
    assert (state.clock, state.ties) == ("torq host", {}), "one group alone is not tied"
    assert state.all_ranges["net.etdp"] == (30, 40)
    assert state.all_ranges["npu.csv"] == first_state(shown_traces(*FILES)).all_ranges["npu.csv"]
    assert state.strips == StripView(("npu.csv",), frozenset({"net.etdp"}), {"net.etdp": 4000})
    assert messages == []


WHOLE = st.integers(-(2**62), 2**62)
NUMBER = st.integers(-2, 6) | st.integers()
TIES = st.builds(
    SavedTie, st.from_regex(r"[0-9]{0,45}/?[0-9]{0,45}", fullmatch=True), st.none() | WHOLE
)
CLOCK = st.builds(
    SavedClock, NUMBER, WHOLE, WHOLE, st.none() | TIES, st.booleans(), st.none() | st.integers()
)
VIEWS = st.builds(
    SavedView, start_ns=WHOLE, end_ns=WHOLE, clocks=st.lists(CLOCK, max_size=6).map(tuple),
    clock=st.none() | NUMBER, strips=st.lists(NUMBER, max_size=6).map(tuple),
    bookmarks=st.lists(
        st.builds(SavedBookmark, WHOLE, WHOLE, clock=st.none() | NUMBER), max_size=4
    ).map(tuple),
    mark=st.none() | NUMBER, measured=st.none() | st.tuples(WHOLE, WHOLE),
    measured_on=st.none() | NUMBER,
)  # fmt: skip


@pytest.mark.slow
@given(VIEWS)
def test_any_saved_view_gives_ranges_that_can_be_shown(saved):
    shown = SHOWN
    paths: list[str | None] = [None, *INPUTS[1:]]
    state, _ = shown_view(saved, first_state(shown), shown, paths)
    groups = clock_groups(shown)
    restored = visible_ranges.restored(state, groups, shown)
    assert set(restored.all_ranges) == {group.key for group in groups}
    assert len(restored.ties) != 1
    panned = replace(restored, t0=restored.t0 + 1, t1=restored.t1 + 1)
    moved = visible_ranges.tied(restored, panned)
    for t0, t1 in (*restored.all_ranges.values(), *moved.all_ranges.values()):
        assert -(2**63) < t0 < t1 < 2**63


SHOWN = shown_traces(*FILES)


def test_a_file_with_a_long_reason_is_refused(tmp_path):
    path = tmp_path / "odd.opscope"
    view = SavedView(clocks=(SavedClock(0, 0, 1, SavedTie(reason="x" * 300)),))
    path.write_bytes(encoded(SavedSession(1, (), view=view)))
    with pytest.raises(UnreadableFile, match=r"\$\.view\.clocks"):
        read(str(path))


def test_a_session_restores_what_it_saved(qapp):
    session = Session()
    session.add(list(FILES))
    session.set_range(1_000, 30_000)
    session.activate("npu.csv")
    session.set_range(20, 60)
    ties = {"torq host": Tie(Fraction(29_000)), "npu.csv": Tie(Fraction(40))}
    session.change(replace(session.state, ties=ties))
    session.set_range(20, 50)
    host = session.state.range_of("torq host")
    assert host[1] - host[0] == 21_750, "the zooms are tied"
    bookmarks.keep(session, 30)
    session.change(replace(session.state, strips=session.state.strips.toggled("net.etdp")))
    paths = [trace.file.path for trace in session.traces]
    saved = kept_view(session.state, session.traces, paths)
    again = Session()
    again.add(list(FILES))
    state, messages = shown_view(saved, again.state, again.traces, list(paths))
    again.restore_view(state)
    assert messages == []
    assert again.state == session.state
    assert again.state.bookmarks == (Bookmark(30, 30, "Bookmark 1", clock="npu.csv"),)
    # Still tied.
    again.set_range(20, 60)
    host = again.state.range_of("torq host")
    assert host[1] - host[0] == 29_000


ARMS = ComparedArms(
    ChosenArm(("host.csv", "host2.csv")),
    ChosenArm(("net.etdp",), (1, 3), "Execute 2"),
    by_hand=HandPairs((("forward:3", "forward:4"),), (("forward:1", "forward:1"),)),
    relative=True,
    stretched=True,
)


def test_a_comparison_comes_back_with_its_pairs():
    saved = kept_view(replace(MANY, compared=ARMS), shown_traces(*FILES), INPUTS)
    again = msgspec.json.decode(msgspec.json.encode(saved), type=SavedView)
    assert shown_again(again) == (replace(MANY, compared=ARMS), [])


def test_without_the_files_of_one_arm_there_is_no_comparison():
    saved = kept_view(replace(MANY, compared=ARMS), shown_traces(*FILES), INPUTS)
    state, messages = shown_again(saved, 0, 2, 3)
    assert state.compared is None
    assert "1 compared profile of the session is not in these files" in messages


def test_a_view_with_gaps_is_saved_by_its_times():
    """Gaps are made anew from the pairs of the comparison; places on screen mean nothing then."""
    free = replace(MANY, ties={})
    gaps = Gaps(np.array([free.t0 + 1]), np.array([1000]))
    stretched = free.with_gaps({free.clock: gaps})
    assert stretched.t1 == free.t1 + 1000
    saved = [kept_view(state, shown_traces(*FILES), INPUTS) for state in (stretched, free)]
    assert saved[0] == saved[1]
