"""How long ticks last, by whose word, and where files start on the axis of their clock."""

from copy import copy
from fractions import Fraction

import numpy as np
import pytest

from tests.builders.workspaces import opened, read
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import ClockRate, RateOrigin, tick_to_ns
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.workspace.link_choices import Choices, apply
from viewer.workspace.workspace import Workspace

MHZ_100, MHZ_800 = Fraction(10), Fraction(5, 4)


def test_a_rate_that_no_file_states_is_chosen_and_taken_back():
    workspace = opened("compile_c0_callsite.csv")
    (trace,) = workspace.traces
    before = trace.slices.end.copy()
    assert workspace.clocks.rate(trace) == ClockRate("cycle", MHZ_800, RateOrigin.ASSUMED)
    assert workspace.clocks.ns_per_tick(trace) == MHZ_800
    workspace.set_clock(trace.path, MHZ_100)
    assert workspace.clocks.rate(trace) == ClockRate("cycle", MHZ_100, RateOrigin.CHOSEN)
    assert workspace.clocks.ns_per_tick(trace) == MHZ_100
    assert (trace.slices.end == before).all()
    workspace.set_clock(trace.path, MHZ_800)
    assert workspace.clocks.rate(trace).origin is RateOrigin.CHOSEN
    workspace.set_clock(trace.path, None)
    assert workspace.clocks.rate(trace).origin is RateOrigin.ASSUMED


def test_a_stated_rate_cannot_be_chosen():
    workspace = opened("runtime_r0_nss.csv")
    with pytest.raises(ValueError, match="states its clock rate"):
        workspace.set_clock(workspace.traces[0].path, MHZ_100)
    with pytest.raises(ValueError, match="is not an open profile"):
        workspace.set_clock("other.csv", MHZ_100)
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == 1000


@pytest.mark.parametrize(
    ("rate", "why"),
    [(Fraction(0), "cannot last 0 ns"), (Fraction(-1), "cannot last -1 ns"),
     (Fraction(2**62, 2**62 - 1), "cannot last"), (Fraction(2**62), "292 years")],
)  # fmt: skip
def test_a_rate_with_which_no_time_can_be_told_is_refused(rate, why):
    workspace = opened("compile_c0_callsite.csv")
    with pytest.raises(ValueError, match=why):
        workspace.set_clock(workspace.traces[0].path, rate)


def test_a_rate_at_which_durations_cannot_be_added_up_is_refused():
    builder = TraceBuilder("many.etdp", "ETDump", "", Clock(assumed=True))
    spans = np.full(100, 10**8, np.int64)
    key = builder.key(KeyKind.PLAIN, "s")
    name = builder.intern("s")
    for thread in range(100):
        track = builder.track("p", str(thread))
        builder.add(track=track, start=spans * 0, end=spans, name=name, key=key)
    workspace = Workspace()
    workspace.add(builder.build())
    workspace.set_clock("many.etdp", Fraction(10**6))
    with pytest.raises(ValueError, match="would add up to more than 146 years"):
        workspace.set_clock("many.etdp", Fraction(10**8))


def test_a_chosen_rate_holds_for_a_file_that_is_opened_again():
    workspace = opened("compile_c0_callsite.csv")
    workspace.set_clock(workspace.traces[0].path, MHZ_100)
    workspace.add(read("compile_c0_callsite.csv"))
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == MHZ_100
    workspace = Workspace(workspace.choices.lasting)
    workspace.add(read("compile_c0_callsite.csv"))
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == MHZ_800


def test_a_copy_has_rates_of_its_own():
    workspace = opened("compile_c0_callsite.csv")
    other = copy(workspace)
    other.set_clock(workspace.traces[0].path, MHZ_100)
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == MHZ_800


def test_one_rate_for_all_files_that_state_none_and_another_for_one():
    workspace = opened("compile_c0_callsite.csv", "runtime_r0_nss.csv", "demo_str_x4.etdp")
    cycles, stated, dump = workspace.traces
    every, one = ("", MHZ_100), (dump.path, MHZ_800)
    for clocks in ((every, one), (one, every)):
        assert apply(Choices(clocks=clocks), workspace) == []
        assert [workspace.clocks.ns_per_tick(t) for t in (cycles, stated, dump)] == [
            MHZ_100, Fraction(1000), MHZ_800,
        ]  # fmt: skip
    (said,) = apply(Choices(clocks=(every,)), opened("runtime_r0_nss.csv"))
    assert said.endswith("every open profile states its clock rate")


def host_profile(path: str, *slices: tuple[int, int], domain: str = "boot") -> Trace:
    """A trace in µs of one clock domain: (start, end) each."""
    builder = TraceBuilder(path, "test", "", Clock("us", Fraction(1000), domain=domain))
    times = np.array(slices, np.int64).reshape(-1, 2)
    builder.add(
        track=builder.track(path, "host"), start=times[:, 0], end=times[:, 1],
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


def test_files_of_one_clock_share_an_axis_that_begins_with_the_first_of_them():
    workspace = Workspace()
    one, two = host_profile("one", (5_000, 5_100)), host_profile("two", (5_030, 5_200))
    other = host_profile("other", (7, 9), domain="")
    for trace in (two, one, other):
        workspace.add(trace)
    starts = [tick_to_ns(t.start, Fraction(1000)) + workspace.clocks.offset_ns(t) for t in
              (one, two, other)]  # fmt: skip
    assert starts == [0, 30_000, 0]
    assert workspace.clocks.same_clock(one) == [two, one]
    assert workspace.clocks.same_clock(other) == [other]


def test_a_file_without_slices_does_not_move_the_others_of_its_clock():
    workspace = Workspace()
    for trace in (host_profile("one", (5_000, 5_100)), host_profile("empty")):
        workspace.add(trace)
    assert workspace.clocks.offset_ns(workspace.traces[0]) == -5_000_000
