"""Units that delegates append to the names of their events: times, cycles, and values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.etdump_cases import column, read_path, rows, slices_by_row
from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from tests.paths import DATA
from viewer.model.queries import foreign
from viewer.model.timing import is_value, stated_unit, values, without_unit

PLACED = "delegate events with a separate clock: placed inside their call for drawing only"


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("QNN accelerator (execute) time (cycles)", "cycles"),
        ("RPC (execute) time (us)", "us"),
        ("wait (ms)", "ms"),
        ("DSP:after_context_freed (bytes)", "bytes"),
        ("Spill (Bytes)", "bytes"),
        ("Number of HVX threads used (count)", "count"),
        ("utilization (percent)", "percent"),
        ("utilization (%)", "%"),
        ("VTCM (KB)", "KB"),
        ("power (mW)", "mW"),
        ("Number of graph(s)", ""),  # a plural
        ("QNN (execute) time", ""),
        ("Convolution (NHWC, F32)", ""),
        ("conv (fused)", ""),
    ],
)
def test_the_unit_is_what_the_last_parentheses_of_a_name_state(name, unit):
    assert stated_unit(name) == unit
    assert without_unit(name) == (name.rpartition("(")[0].rstrip() if unit else name)


def test_bytes_and_counts_of_qnn_take_no_time_and_no_place():
    trace = read_path(DATA / "delegate_clocks" / "qnn_units.etdp")
    drawn = {name: (start, end - start) for name, _, start, end in rows(trace)}
    call = drawn["DELEGATE_CALL"][0]
    assert drawn["DSP:after_context_freed (bytes)"] == (call, 0)
    assert drawn["Number of HVX threads used (count)"] == (call, 0)
    assert drawn["Accelerator (execute) time (us)"] == (call, 40_000)
    assert drawn["aten_convolution_default_0:OpId_5 (cycles)"] == (call, 24_000)
    assert drawn["aten_add_1:OpId_7 (cycles)"] == (call + 24_000, 16_000)
    held = {
        trace.name(i): (column(trace, "native_dur", i), column(trace, "native_unit", i))
        for i in values(trace.slices).tolist()
    }
    assert held == {
        "Number of HVX threads used (count)": (4, "count"),
        "DSP:after_context_freed (bytes)": (1_234_567, "bytes"),
    }
    assert [(p.kind, p.count) for p in trace.problems] == [(PLACED, 6)]


def test_a_unit_that_is_not_known_is_a_value_where_others_are_stated(dump):
    events = [
        delegate("DDR traffic (lines)", 0, 0, 700_000),
        delegate("conv:OpId_1 (cycles)", 0, 0, 50),
        operator("DELEGATE_CALL", 0, 100, 140),
        delegate("conv (fused)", 1, 150, 190),  # with a start, it is no value of QNN
        operator("DELEGATE_CALL", 1, 150, 190),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("DELEGATE_CALL", 0, 100, 140),
        ("DDR traffic (lines)", 1, 100, 100),
        ("conv:OpId_1 (cycles)", 1, 100, 140),
        ("DELEGATE_CALL", 0, 150, 190),
        ("conv (fused)", 1, 150, 190),
    ]
    assert column(trace, "native_unit", slices_by_row(trace)[0]) == "lines"


def test_a_value_next_to_times_of_the_host_moves_none_of_them(dump):
    events = [
        delegate("peak memory (bytes)", 0, 0, 4096),
        delegate("conv", 0, 110, 130),
        operator("DELEGATE_CALL", 0, 100, 140),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("DELEGATE_CALL", 0, 100, 140),
        ("peak memory (bytes)", 1, 100, 100),
        ("unattributed", 1, 100, 110),
        ("conv", 1, 110, 130),
        ("unattributed", 1, 130, 140),
    ]
    assert trace.problems == ()
    assert len(foreign(trace.slices)) == 1


def test_a_unit_counts_where_the_clock_of_the_host_starts_at_zero(dump):
    events = [
        delegate("QNN (execute) time (us)", 0, 0, 2),
        delegate("used (count)", 0, 0, 8),
        operator("DELEGATE_CALL", 0, 0, 5000),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("DELEGATE_CALL", 0, 0, 5000),
        ("used (count)", 1, 0, 0),
        ("QNN (execute) time (us)", 1, 0, 2000),
    ]


@pytest.mark.parametrize(
    "identifier",
    [
        '{conv_texture3d_half, "dispatch_id": 3}',
        '{"kernel_name": "conv_texture3d_half", "dispatch_id": 3}',
        '{"operator": {"name": "a"}, "kernel_name": "conv_texture3d_half", "dispatch_id": 3}',
        "conv_texture3d_half_3",
    ],
)
def test_shaders_of_every_version_of_vulkan_are_in_ns(dump, identifier):
    """The runtime always multiplied their stamps by the period of the GPU's clock."""
    events = [delegate(identifier, 0, 10**13, 10**13 + 50), operator("DELEGATE_CALL", 0, 100, 190)]
    trace = read_path(dump(("Execute", events)))
    (i,) = foreign(trace.slices).tolist()
    names = "native_dur", "native_unit", "kernel", "dispatch_id"
    assert [column(trace, name, i) for name in names] == [50, "ns", "conv_texture3d_half", 3]


NODES = st.lists(st.integers(0, 10**6), min_size=1, max_size=6)
VALUES = st.lists(
    st.tuples(st.sampled_from(["bytes", "count", "percent", "KB", "lines"]), st.integers(0, 10**9)),
    max_size=5,
)
CALLS = st.lists(st.tuples(NODES, VALUES, st.integers(1, 1000)), min_size=1, max_size=4)


@pytest.mark.slow
@given(CALLS, st.randoms(use_true_random=False))
def test_values_change_no_drawn_time_of_any_call(tmp_path_factory, calls, random):
    """Calls of any nodes are drawn the same with and without any values among them."""
    folder = tmp_path_factory.getbasetemp()

    def events_of(*, with_values):
        events, at = [], 1000
        for nodes, held, us in calls:
            cycles = max(sum(nodes), 1)
            own = [
                delegate("Accelerator (execute) time (us)", 0, 0, us),
                delegate("Accelerator (execute) time (cycles)", 0, 0, cycles),
                *(delegate(f"op:OpId_{i} (cycles)", 0, 0, n) for i, n in enumerate(nodes)),
            ]
            if with_values:
                for i, (unit, amount) in enumerate(held):
                    value = delegate(f"v{i} ({unit})", 0, 0, amount)
                    own.insert(random.randrange(len(own) + 1), value)
            events += [*own, operator("DELEGATE_CALL", 0, at, at + 2_000_000)]
            at += 2_000_010
        return [*events, framework("Method::execute", 990, at)]

    def read_of(name, *, with_values):
        run = Run("Execute", events_of(with_values=with_values))
        return read_path(write_dump(folder / name, [run]))

    trace = read_of("with.etdp", with_values=True)
    held = set(values(trace.slices).tolist())
    amounts = sorted(
        (column(trace, "native_unit", i), column(trace, "native_dur", i)) for i in held
    )
    assert amounts == sorted(one for _, held, _ in calls for one in held)
    assert all(trace.slices.start[i] == trace.slices.end[i] for i in held)
    assert all(is_value(unit) for unit, _ in amounts)
    times = [row for row in rows(trace) if not row[0].startswith("v")]
    assert times == rows(read_of("without.etdp", with_values=False))
