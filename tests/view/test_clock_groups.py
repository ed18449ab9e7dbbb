"""Clock groups: which traces share an axis, and what a group is called."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.builders.clocked_traces import CYCLES, HOST, NS, clocked_trace, shown_traces
from tests.builders.workspaces import read
from viewer.model.times import plain_spaces
from viewer.model.trace import Clock
from viewer.view.clock_groups import NO_GROUP, clock_groups, group_caption, group_title


def headers(*traces):
    shown = shown_traces(*traces)
    return [
        (group_title(group, shown), plain_spaces(group_caption(group, shown)))
        for group in clock_groups(shown)
    ]


def test_traces_of_one_domain_are_a_group_with_one_axis_and_others_are_alone():
    shown = shown_traces(
        clocked_trace("a.csv", HOST, (10, 20)),
        clocked_trace("b.csv", NS, (5, 9)),
        clocked_trace("c.csv", HOST, (15, 40)),
    )
    groups = clock_groups(shown)
    assert [(group.key, group.traces, group.span_ns) for group in groups] == [
        ("torq host", (0, 2), 30_000),
        ("b.csv", (1,), 4),
    ]
    assert list(clock_groups([])) == [NO_GROUP]


def test_a_group_is_called_by_its_clock_or_its_only_file():
    assert headers(
        clocked_trace("/runs/host.csv", HOST, (0, 1)),
        clocked_trace("/runs/net.etdp", NS, (0, 1)),
        read("compile_c3_taskid.csv"),
        clocked_trace("/runs/host2.csv", HOST, (0, 1)),
        clocked_trace("/runs/host3.csv", HOST, (0, 1)),
        clocked_trace("/runs/npu.json", CYCLES, (0, 1)),
    ) == [
        ("Host clock", "host.csv + 2 files · 1 µs ticks"),
        ("net.etdp", "1 ns ticks"),
        ("Compile clock", "compile_c3_taskid.csv · 800 MHz assumed"),
        ("npu.json", "800 MHz assumed"),
    ]
    assert group_title(NO_GROUP, []) == group_caption(NO_GROUP, []) == ""


def test_two_compile_clocks_are_told_apart_by_their_files():
    names = "compile_c3_taskid.csv", "compile_c3_taskid_mtu.csv"
    assert headers(*map(read, names)) == [(name, "800 MHz assumed") for name in names]


@pytest.mark.parametrize(
    ("clock", "ticks"),
    [
        (Clock("ns", Fraction(125, 3)), "41.6667 ns ticks"),
        (Clock("us", Fraction(1000), assumed=True), "1 µs ticks assumed"),
        (Clock("ns", Fraction(2_500_000)), "2.5 ms ticks"),
        (Clock("ns", Fraction(3_000_000_000)), "3 s ticks"),
        (Clock("cycle", Fraction(1, 2)), "2 GHz"),
    ],
)
def test_the_caption_says_how_long_a_tick_is(clock, ticks):
    assert headers(clocked_trace("a", clock, (0, 1))) == [("a", ticks)]


def test_a_domain_from_a_file_is_one_short_line():
    def title(domain):
        return headers(clocked_trace("a", replace(NS, domain=domain), (0, 1)))[0][0]

    assert title("board 7") == "Board 7 clock"
    assert title("a\nb") == "A\\nb clock"
    assert title("x" * 500) == f"X{'x' * 38}… clock"
    assert title(" ") == "a"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_groups_are_in_order_of_opening(order):
    traces = [
        clocked_trace("a", HOST, (0, 5)),
        clocked_trace("b", NS, (0, 5)),
        clocked_trace("c", HOST, (0, 5)),
    ]
    groups = clock_groups(shown_traces(*(traces[i] for i in order)))
    keys = [("torq host", "b", "torq host")[i] for i in order]
    assert [group.key for group in groups] == list(dict.fromkeys(keys))
    assert sorted(number for group in groups for number in group.traces) == [0, 1, 2]
