"""Files on one axis: by the user's statement, or by the time of day that they state."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.clocked_traces import clocked_trace, space_of
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.model.times import tick_to_ns
from viewer.model.timing import BOOT, STEADY, TIME_OF_DAY, parse_zeros, zeros_text
from viewer.model.trace import Clock, ClockZero, Trace
from viewer.view.sessions.session_file import SavedChoices, choices_of, kept_choices
from viewer.workspace.clocks import SameClock
from viewer.workspace.link_choices import Choices, apply, chosen
from viewer.workspace.workspace import Workspace

RANKS = [str(DATA / f"clocks/m{rank}.pt.trace.json") for rank in (0, 1)]
PREFILL, DECODE = (str(DATA / f"clocks/{name}_etdump.etdp") for name in ("prefill", "decode"))
EPOCH = 1_700_000_000_000_000_000
YEAR = 31_557_600 * 10**9


def clock(rate: Fraction | int = 1, domain: str = "", **zeros: int) -> Clock:
    """A clock with zeros by their names."""
    stated = tuple(ClockZero(name, ns, "test") for name, ns in zeros.items())
    return Clock("ns", Fraction(rate), domain=domain, zeros=stated)


def starts(space: Workspace) -> dict[str, int]:
    """Where each trace starts on its axis, in ns."""
    clocks = space.clocks
    return {
        t.path: tick_to_ns(t.start, clocks.ns_per_tick(t)) + clocks.offset_ns(t)
        for t in space.traces
    }


def kernel_ns(space: Workspace, trace: Trace) -> int:
    """Where add_kernel starts on the axis of a trace."""
    names = [trace.name(i) for i in range(len(trace.slices))]
    tick = int(trace.slices.start[names.index("add_kernel")])
    return tick_to_ns(tick, space.clocks.ns_per_tick(trace)) + space.clocks.offset_ns(trace)


def test_two_ranks_are_placed_by_the_time_of_day():
    space = workspace_of(*RANKS)
    assert [kernel_ns(space, trace) for trace in space.traces] == [200_000, 207_000]
    space.share_stated_clock()
    # The axis starts with the first slice, 1,000,000 ns after the base of rank 0.
    after_base = [1_000_000 + kernel_ns(space, trace) for trace in space.traces]
    assert after_base == [1_200_000, 1_707_000]
    places = [space.clocks.place(trace) for trace in space.traces]
    assert [place.shift_ns for place in places] == [0, 500_000]
    assert {place.reason for place in places} == {"both state the time of day: baseTimeNanoseconds"}
    assert space.clocks.same_clock(space.traces[1]) == space.traces


@pytest.mark.parametrize("order", [(PREFILL, DECODE), (DECODE, PREFILL)])
def test_prefill_is_directly_followed_by_decode(order):
    space = workspace_of(*order)
    space.share_clock([PREFILL, DECODE])
    runs = sorted(
        (run.start + space.clocks.offset_ns(trace), run.end - run.start, trace.path)
        for trace in space.traces
        for run in trace.inferences()
    )
    assert [path for _, _, path in runs] == 3 * [PREFILL, *8 * [DECODE]]
    assert [start for start, length, _ in runs if length == 3_000_040] == [
        399_999_000, 404_607_360, 409_215_720,
    ]  # fmt: skip
    # The time between inferences counts over both files.
    between = [b[0] - a[0] - a[1] for a, b in pairwise(runs)]
    assert [gap for gap, run in zip(between, runs, strict=False) if run[2] == PREFILL] == 3 * [1000]
    assert set(between[:8]) == {1000}


@st.composite
def dated_traces(draw):
    """Traces with random rates and bases, and what their starts are on one axis, exactly."""
    rates = st.sampled_from([Fraction(1), Fraction(1, 1000), Fraction(5, 4), Fraction(1000)])
    traces, moments = [], []
    for number in range(draw(st.integers(2, 4))):
        rate = draw(rates)
        base = EPOCH + draw(st.integers(-(10**17), 10**17))
        start = draw(st.integers(-(10**12), 10**12))
        length = draw(st.integers(0, 10**6))
        traces.append(
            clocked_trace(f"t{number}", clock(rate, REALTIME=base), (start, start + length))
        )
        moments.append(base + start * rate.numerator // rate.denominator)
    return traces, [moment - min(moments) for moment in moments]


@pytest.mark.slow
@given(dated_traces())
def test_dates_are_exact(made):
    traces, expected = made
    space = space_of(traces)
    space.share_stated_clock()
    assert list(starts(space).values()) == expected
    assert len({space.clocks.place(trace).key for trace in space.traces}) == 1
    space.separate_clock("t1")
    assert set(starts(space).values()) == {0}
    assert space.choices.same_clocks == ()


@pytest.mark.slow
@given(dated_traces(), st.randoms(use_true_random=False))
def test_pairs_of_any_order_say_the_same_as_all_at_once(made, random):
    traces, expected = made
    paths = [trace.path for trace in traces]
    pairs = list(pairwise(paths))
    random.shuffle(pairs)
    space = space_of(traces)
    for pair in pairs:
        space.share_clock(random.sample(pair, 2))
    assert list(starts(space).values()) == expected


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15)),
                min_size=2, max_size=4))  # fmt: skip
def test_a_chain_leads_over_different_clocks(zeros):
    """A dump counts the steady clock of a trace, whose time of day is that of further files."""
    (boot, start), *others = zeros
    date = EPOCH + boot
    android = clocked_trace("a", clock(MONOTONIC=boot, BOOTTIME=0, REALTIME=date), (10**15, 10**15))
    dump = clocked_trace("d", Clock(assumed=True), (start + boot, start + boot + 1))
    dated = [
        clocked_trace(str(i), clock(REALTIME=EPOCH + base), (at, at))
        for i, (base, at) in enumerate(others)
    ]
    space = space_of([dump, *dated, android])
    space.share_clock(["d", "a"])
    space.share_clock(["a", *(trace.path for trace in dated)], by_date=True)
    # In ns of the clock of the Android trace.
    moments = {"d": start, "a": 10**15}
    moments |= {t.path: EPOCH + base + at - date for t, (base, at) in
                zip(dated, others, strict=True)}  # fmt: skip
    zero = min(moments.values())
    assert starts(space) == {path: ns - zero for path, ns in moments.items()}


def test_a_dump_counts_the_steady_clock_of_a_trace_of_its_boot():
    slept = 7_000_000_000
    boot = clock(MONOTONIC=-slept, BOOTTIME=0)
    android = clocked_trace("a.pftrace", boot, (100 + slept, 900 + slept))
    dump = clocked_trace("run.etdp", Clock(assumed=True), (250, 300))
    space = space_of([android, dump])
    space.share_clock(["run.etdp", "a.pftrace"])
    assert starts(space) == {"a.pftrace": 0, "run.etdp": 150}
    assert space.clocks.place(dump).reason == "same clock, as you stated: MONOTONIC"
    assert space.clocks.doubts == []


def test_files_that_are_hours_apart_are_doubted():
    android = clocked_trace("a", clock(MONOTONIC=0, BOOTTIME=0), (10**13, 2 * 10**13))
    space = space_of([android, clocked_trace("b", Clock(), (0, 0))])
    space.share_clock(["a", "b"])
    assert space.clocks.doubts == [
        "b ends 10 000.000 s before a starts. Do they count from the same moment? Many runtimes "
        "count from the start of their program."
    ]


def test_files_of_one_domain_come_along():
    host = clock(1000, domain="torq host")
    traces = [clocked_trace(p, host, (s, s + 1)) for p, s in (("h1", 5), ("h2", 9))]
    space = space_of([*traces, clocked_trace("c", Clock(), (7_000, 7_001))])
    space.share_clock(["c", "h2"])
    assert starts(space) == {"h1": 0, "h2": 4000, "c": 2000}
    assert {space.clocks.place(t).key for t in space.traces} == {"torq host"}


def test_two_boots_do_not_share_a_clock_that_counts_from_the_boot():
    one, other = (
        clocked_trace(path, clock(BOOTTIME=0, REALTIME=EPOCH + boot), (5, 6))
        for path, boot in (("a", 0), ("b", 86_400 * 10**9))
    )
    space = space_of([one, other])
    with pytest.raises(ValueError, match="two boots"):
        space.share_clock(["a", "b"])
    space.share_stated_clock()
    assert starts(space) == {"a": 0, "b": 86_400 * 10**9}


@pytest.mark.parametrize(
    ("names", "why"),
    [(["a", "a"], "named twice"), (["a"], "at least two"), (["a", "x"], "x is not an open profile"),
     (["a", "far"], "would be 53 years apart: they do not count from the same moment")],
)  # fmt: skip
def test_a_statement_that_is_not_possible_changes_nothing(names, why):
    far = clocked_trace("far", Clock(), (EPOCH, EPOCH + 1))
    space = space_of([clocked_trace("a", Clock(), (0, 1)), far])
    before = space.choices
    with pytest.raises(ValueError, match=why):
        space.share_clock(names)
    assert space.choices is before


def test_a_file_without_a_time_of_day_is_named():
    space = space_of([clocked_trace("a", clock(REALTIME=EPOCH), (0, 1)),
                      clocked_trace("b", Clock(), (0, 1))])  # fmt: skip
    with pytest.raises(ValueError, match="b does not state the time of day"):
        space.share_clock(["a", "b"], by_date=True)
    with pytest.raises(ValueError, match="only one open profile states the time of day"):
        space.share_stated_clock()


def test_a_contradiction_is_refused_and_the_axis_stays():
    space = space_of([
        clocked_trace("a", clock(BOOTTIME=0, REALTIME=EPOCH), (5, 6)),
        clocked_trace("b", clock(BOOTTIME=3, REALTIME=EPOCH + 5), (5, 6)),
    ])  # fmt: skip
    space.share_stated_clock()
    before = starts(space)
    with pytest.raises(ValueError, match="on one axis already, and 2 ns apart"):
        space.share_clock(["a", "b"])
    assert starts(space) == before == {"a": 0, "b": 5}
    # A steady clock is more exact than the time of day, which then adds nothing.
    other = space_of(space.traces)
    other.share_clock(["a", "b"])
    other.share_stated_clock()
    assert starts(other) == {"a": 0, "b": 3}


def test_times_too_far_apart_for_an_axis_are_refused():
    space = space_of([clocked_trace("a", clock(REALTIME=2**62), (2**61, 2**61)),
                      clocked_trace("b", clock(REALTIME=1), (-(2**61), 0))])  # fmt: skip
    with pytest.raises(ValueError, match="years apart"):
        space.share_stated_clock()


def test_a_file_that_was_closed_leaves_the_others_on_one_axis():
    made = [clocked_trace(p, Clock(), (s, s + 1)) for p, s in (("a", 3), ("b", 5), ("c", 9))]
    space = space_of(made)
    space.share_clock(["a", "b", "c"])
    rest = Workspace(space.choices)
    for trace in (made[2], made[0]):
        rest.add(trace)
    assert starts(rest) == {"c": 6, "a": 0}
    assert chosen(rest).same_clocks == (SameClock(("a", "c")),)
    alone = Workspace(space.choices)
    alone.add(made[1])
    assert starts(alone) == {"b": 0}
    assert chosen(alone).same_clocks == ()


def test_a_file_that_is_read_again_without_its_date_goes_back_to_its_own_axis():
    space = space_of([clocked_trace(p, clock(REALTIME=EPOCH + i), (0, 1)) for i, p in
                      enumerate("ab")])  # fmt: skip
    space.share_stated_clock()
    assert starts(space) == {"a": 0, "b": 1}
    space.add(clocked_trace("b", Clock(), (0, 1)))
    assert starts(space) == {"a": 0, "b": 0}
    assert len({space.clocks.place(t).key for t in space.traces}) == 2


def test_a_session_keeps_which_files_share_a_clock():
    space = workspace_of(*RANKS, PREFILL, DECODE)
    space.share_stated_clock()
    space.share_clock([PREFILL, DECODE])
    kept = kept_choices(space, space.paths)
    again = msgspec.json.decode(msgspec.json.encode(kept), type=SavedChoices)
    other = workspace_of(*RANKS, PREFILL, DECODE)
    assert apply(choices_of(again, space.paths), other) == []
    assert starts(other) == starts(space)
    assert other.choices.same_clocks == space.choices.same_clocks
    missing = choices_of(again, [RANKS[0], None, PREFILL, DECODE])
    assert missing.same_clocks == (SameClock((PREFILL, DECODE)),)


def test_what_is_not_possible_is_told_as_the_option():
    space = workspace_of(PREFILL, DECODE)
    wrong = Choices(same_clocks=(SameClock((PREFILL, "x")), SameClock((), by_date=True)))
    assert apply(wrong, space) == [
        "--same-clock prefill_etdump.etdp=x: x is not an open profile",
        "--same-clock stated: no open profile states the time of day",
    ]


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([TIME_OF_DAY, BOOT, STEADY]), st.integers()),
                unique_by=lambda one: one[0]))  # fmt: skip
def test_zeros_as_a_text(made):
    zeros = tuple(ClockZero(name, ns % 10**39, "a clock, or so") for name, ns in made)
    assert parse_zeros(zeros_text(zeros)) == zeros


def test_a_damaged_text_has_no_zeros():
    assert parse_zeros("REALTIME x y; FOO 1 z; BOOTTIME 1; ; MONOTONIC 5 a") == (
        ClockZero(STEADY, 5, "a"),
    )
