"""Rates that the user states for delegates' clocks, and the durations in ns that follow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.builders.etdump_writer import Event, delegate, framework, operator
from tests.builders.workspaces import STR, opened, read, workspace_of
from tests.paths import DATA
from viewer.analysis.links.delegate_clocks import (
    clock_names,
    clock_rate,
    native_ns,
    native_ns_of,
    own_clock_ns,
    timed_clocks,
    with_clock_rates,
    with_native_ns,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.events import event_statistics
from viewer.formats import open_file
from viewer.workspace.link_choices import Choices, apply
from viewer.workspace.workspace import Workspace

MHZ_800, MHZ_500 = Fraction(5, 4), Fraction(2)


def events(*own: Event) -> list[Event]:
    """One call with these events, which are outside of it, and one without events."""
    return [
        *own,
        operator("DELEGATE_CALL", 0, 1000, 9000),
        operator("DELEGATE_CALL", 1, 9000, 9500),
        framework("Method::execute", 900, 9900),
    ]


@pytest.fixture
def table(dump: Callable[..., Path]) -> LinkTable:
    """Cycles, microseconds and events with a number, of which the unit is unknown."""
    own = events(
        delegate("conv (cycles)", 0, 0, 5000),
        delegate("relu (cycles)", 0, 5000, 5003),
        delegate("copy (us)", 0, 0, 2),
        delegate(7, 0, 20, 60),
    )
    return unlinked(open_file(str(dump(("Execute", own)))))


def ns(table: LinkTable) -> dict[str, int | None]:
    """Name of a slice -> its duration by a stated rate."""
    column = native_ns(table)
    if column is None:
        return {}
    return {table.trace.name(i): column.value(i) for i in range(len(table.trace.slices))}


def test_clocks_without_a_known_backend_are_named_by_their_unit(table):
    assert clock_names(table) == ("cycles", "ticks")


def test_a_trace_of_one_clock_has_none():
    assert clock_names(unlinked(read("attn_xnnpack_x5.etdp"))) == ()


def test_a_rate_gives_durations_in_whole_ns_to_its_clock_alone(table):
    rated = with_clock_rates(table, {"cycles": MHZ_800})
    found = ns(rated)
    assert (found["conv (cycles)"], found["relu (cycles)"]) == (6250, 3)
    assert {found["copy (us)"], found["7"], found["DELEGATE_CALL"]} == {None}
    assert ns(with_clock_rates(table, {"cycles": MHZ_800, "ticks": MHZ_500}))["7"] == 80


def test_without_a_rate_or_with_one_of_another_clock_nothing_is_known(table):
    assert ns(table) == {}
    assert ns(with_clock_rates(table, {"QnnBackend": MHZ_800})) == {}
    assert with_native_ns(table) is table.trace


def test_a_single_slice_has_the_same_rate_and_duration(table):
    rated = with_clock_rates(table, {"cycles": MHZ_800, "ticks": MHZ_500})
    column = native_ns(rated)
    found = [native_ns_of(rated, i) for i in range(len(rated.trace.slices))]
    assert found == [column.value(i) for i in range(len(rated.trace.slices))]
    assert {clock_rate(rated, i) for i in range(len(found))} == {None, MHZ_800, MHZ_500}


def test_a_rate_changes_no_slice_and_no_native_value(table):
    shown = with_native_ns(with_clock_rates(table, {"cycles": MHZ_800})).slices
    before = table.trace.slices
    assert list(shown.columns) == [*before.columns, "native_ns"]
    assert shown.start is before.start
    assert shown.columns["native_dur"] is before.columns["native_dur"]


def test_statistics_of_events_are_in_ns_with_their_starts_as_logged(table):
    found = event_statistics(with_clock_rates(table, {"cycles": MHZ_800}))
    rows = {found.name(i): i for i in range(len(found))}
    conv, relu, copy = (rows[name] for name in ("conv (cycles)", "relu (cycles)", "copy (us)"))
    assert [found.unit_name(i) for i in (conv, relu, copy, rows["7"])] == [
        "ns",
        "ns",
        "us",
        "ticks",
    ]
    assert found.statistics.total[[conv, relu, copy]].tolist() == [6250, 3, 2]
    assert found.start[found.occurrences(relu)].tolist() == [5000]


def test_a_clock_of_a_linked_event_is_named_by_its_backend(dump):
    path = dump(("Execute", events(delegate("Fancy Fusion", 0, 0, 5000))))
    space = opened(STR)
    space.open(str(path))
    space.pair(str(path), space.programs[0].path)
    trace = space.traces[0]
    (name,) = clock_names(space.links(trace))
    assert name == "BackendStrDemo"
    space.set_delegate_clock(str(path), name, MHZ_800)
    assert ns(space.links(trace))["Fancy Fusion"] == 6250
    # Without its record, the backend is unknown, and so is the rate.
    space.pair(str(path), None)
    assert ns(space.links(trace)) == {}


def test_a_rate_is_of_one_open_file_and_can_be_taken_back(dump):
    space = Workspace()
    trace = space.open(str(dump(("Execute", events(delegate("conv (cycles)", 0, 0, 5000))))))
    space.set_delegate_clock("built.etdp", "cycles", MHZ_800)
    links = space.links(trace)
    assert ns(links)["conv (cycles)"] == 6250
    assert space.links(trace) is links
    space.set_delegate_clock("built.etdp", "cycles", None)
    assert ns(space.links(trace)) == {}


@pytest.mark.parametrize(
    ("name", "rate", "message"),
    [
        ("QnnBackend", MHZ_800, "has no delegate clock 'QnnBackend'; it has cycles"),
        ("cycles", Fraction(0), "a tick cannot last 0 ns"),
    ],
)
def test_a_clock_that_is_not_there_and_an_impossible_rate_are_refused(dump, name, rate, message):
    space = Workspace()
    path = dump(("Execute", events(delegate("conv (cycles)", 0, 0, 5000))))
    space.open(str(path))
    with pytest.raises(ValueError, match=message):
        space.set_delegate_clock(str(path), name, rate)
    assert space.choices.delegate_clocks == {}


def test_the_rate_holds_for_all_events_of_a_large_file(dump):
    own = [delegate(f"op {i % 7} (cycles)", 0, 0, i) for i in range(500)]
    table = unlinked(open_file(str(dump(("Execute", events(*own))))))
    rated = native_ns(with_clock_rates(table, {"cycles": MHZ_800}))
    native = table.trace.slices.columns["native_dur"]
    assert np.array_equal(rated.valid, native.valid)
    assert np.array_equal(rated.values[rated.valid], native.values[native.valid] * 5 // 4)


# -- clocks that count a unit of time --------------------------------------------------------------

VULKAN_DUMP = str(DATA / "delegate_clocks" / "vulkan_shaders.etdp")


def test_a_clock_of_ns_needs_no_rate_and_has_none(table):
    vulkan = unlinked(open_file(VULKAN_DUMP))
    assert (clock_names(vulkan), timed_clocks(vulkan)) == ((), {"VulkanBackend": "ns"})
    assert native_ns(vulkan) is None
    column = own_clock_ns(vulkan)
    assert int(column.valid.sum()) == 72
    assert int(column.values[column.valid].sum()) == 6 * 3_720_000
    assert timed_clocks(table) == {"us": "us"}
    found = own_clock_ns(table)
    assert [found.value(i) for i in np.flatnonzero(found.valid)] == [2000]


def test_values_have_no_clock(dump):
    own = events(delegate("used (bytes)", 0, 0, 5000), delegate("n (count)", 0, 0, 2))
    table = unlinked(open_file(str(dump(("Execute", own)))))
    assert (clock_names(table), timed_clocks(table), own_clock_ns(table)) == ((), {}, None)


@pytest.mark.parametrize(
    ("clock", "message"),
    [
        (("", "ticks"), "no open profile has this delegate clock; VulkanBackend counts ns"),
        (("", "VulkanBackend"), ""),
        ((VULKAN_DUMP, "VulkanBackend"), ""),
        ((VULKAN_DUMP, "ticks"), "VulkanBackend counts ns and needs no rate"),
    ],
)
def test_a_rate_that_is_not_needed_is_no_mistake_and_a_refusal_names_what_works(clock, message):
    space = workspace_of(VULKAN_DUMP)
    complaints = apply(Choices(delegate_clocks=((*clock, MHZ_800),)), space)
    assert (len(complaints), space.choices.delegate_clocks) == (bool(message), {})
    assert all(message in one for one in complaints)


def test_to_state_one_for_a_clock_of_ns_is_refused():
    space = workspace_of(VULKAN_DUMP)
    with pytest.raises(ValueError, match="VulkanBackend counts ns and needs no rate"):
        space.set_delegate_clock(VULKAN_DUMP, "VulkanBackend", MHZ_800)
