"""Traces of one clock are one group with one axis; all others have groups of their own."""

import pytest

from tests.builders.inference_trace import inference_trace
from viewer.model.inference_views import Inferences
from viewer.view.clock_groups import NO_GROUP, ClockGroup, clock_groups, group_key
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace


def open_traces(*traces):
    space = Workspace()
    for trace in traces:
        space.add(trace)
    views = views_of(space, {Inferences.AS_RUN}, {})
    return [views[trace, Inferences.AS_RUN] for trace in space.traces]


def trace(path, start, length, domain=""):
    return inference_trace(path, [(start, [("conv", length)])], domain=domain)


def test_nothing_open_is_one_group_without_traces():
    assert clock_groups([]) == (NO_GROUP,)
    assert (NO_GROUP.key, NO_GROUP.traces, NO_GROUP.span_ns) == ("", (), 1)


def test_a_trace_of_an_unknown_clock_is_a_group_of_its_own():
    shown = open_traces(trace("x/a.csv", 100, 50), trace("x/b.csv", 900, 70))
    assert clock_groups(shown) == (
        ClockGroup("x/a.csv", (0,), 50),
        ClockGroup("x/b.csv", (1,), 70),
    )


def test_traces_of_one_clock_share_an_axis_that_starts_with_the_first():
    shown = open_traces(
        trace("a.csv", 1000, 50, "boot"), trace("b.csv", 5, 70), trace("c.csv", 1400, 60, "boot")
    )
    first, second = clock_groups(shown)
    assert first == ClockGroup("boot", (0, 2), 460)
    assert second == ClockGroup("b.csv", (1,), 70)
    assert shown[2].span_ns(0) == (400, 460)
    assert [group_key(one) for one in shown] == ["boot", "b.csv", "boot"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_groups_are_in_order_of_opening(order):
    traces = [trace("a", 0, 5, "one"), trace("b", 0, 5), trace("c", 0, 5, "one")]
    groups = clock_groups(open_traces(*(traces[i] for i in order)))
    keys = [("one", "b", "one")[i] for i in order]
    assert [group.key for group in groups] == list(dict.fromkeys(keys))
    assert sorted(number for group in groups for number in group.traces) == [0, 1, 2]
