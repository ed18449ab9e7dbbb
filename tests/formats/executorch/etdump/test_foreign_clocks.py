"""Events of delegates on clocks of their own: where they are drawn and what is kept of them."""

from __future__ import annotations

from tests.builders.etdump_cases import column, read, read_path, rows, slices_by_row
from tests.builders.etdump_writer import delegate, framework, operator
from viewer.model.building.builder import BACKWARDS
from viewer.model.queries import foreign

FOREIGN = "delegate events with a separate clock: placed inside their call for drawing only"


def test_events_on_another_clock_are_laid_end_to_end_inside_their_call(dump):
    events = [
        delegate("conv (cycles)", 0, 0, 3000),
        delegate("relu (us)", 0, 110, 110 + 1),
        delegate(7, 0, 111, 111),
        operator("DELEGATE_CALL", 0, 100, 140),
        delegate("here", 1, 151, 152),
        operator("DELEGATE_CALL", 1, 150, 160),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace)[2:5] == [
        ("conv (cycles)", 2, 100, 130), ("relu (us)", 2, 130, 140), ("7", 2, 140, 140)
    ]  # fmt: skip
    assert ("here", 2, 151, 152) in rows(trace)
    where = slices_by_row(trace)
    assert [
        (column(trace, "native_dur", where[i]), column(trace, "native_unit", where[i]))
        for i in range(5)
    ] == [(3000, "cycles"), (1, "us"), (0, "ticks"), (None, None), (None, None)]
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [(FOREIGN, 3, "event 0")]


def test_an_event_of_another_instruction_has_no_part_in_the_call(dump):
    """Its own call was not logged, or is of another thread: nothing is moved into this one."""
    events = [
        delegate("of 0", 0, 110, 120),
        delegate("of 1", 1, 130, 135),
        operator("DELEGATE_CALL", 1, 130, 140),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("Method::execute", 0, 90, 200),
        ("of 0", 1, 110, 120),
        ("DELEGATE_CALL", 1, 130, 140),
        ("of 1", 2, 130, 135),
        ("unattributed", 2, 135, 140),
    ]
    assert "native_dur" not in trace.slices.columns
    assert [p.kind for p in trace.problems] == [
        "levels contradict the times: nested by time instead"
    ]


def test_events_of_calls_side_by_side_are_each_of_their_own(dump):
    """Two threads: what a call leaves open is counted by its own events alone."""
    events = [
        delegate("a", 0, 110, 130),
        delegate("b", 1, 115, 135),
        delegate("a", 0, 130, 170),
        delegate("b", 1, 140, 180),
        operator("DELEGATE_CALL", 1, 115, 180),
        operator("DELEGATE_CALL", 0, 100, 190),
    ]
    trace = read_path(dump(("Execute", events)))
    assert sorted((name, start, end) for name, _, start, end in rows(trace)) == [
        ("DELEGATE_CALL", 100, 190),
        ("DELEGATE_CALL", 115, 180),
        ("a", 110, 130),
        ("a", 130, 170),
        ("b", 115, 135),
        ("b", 140, 180),
        ("unattributed", 100, 110),
        ("unattributed", 135, 140),
        ("unattributed", 170, 190),
    ]
    assert "native_dur" not in trace.slices.columns


def test_events_on_another_clock_that_fit_keep_their_lengths(dump):
    events = [
        delegate("a", 0, 9000, 9007),
        delegate("b", 0, 9100, 9110),
        operator("DELEGATE_CALL", 0, 100, 140),
        delegate("a", 1, 9200, 9203),
        delegate("b", 1, 9300, 9304),
        operator("DELEGATE_CALL", 1, 150, 160),
    ]
    assert rows(read_path(dump(("Execute", events)))) == [
        ("DELEGATE_CALL", 0, 100, 140),
        ("a", 1, 100, 107),
        ("b", 1, 107, 117),
        ("DELEGATE_CALL", 0, 150, 160),
        ("a", 1, 150, 153),
        ("b", 1, 153, 157),
    ]


def test_a_total_is_the_parent_of_what_it_sums_up(dump):
    events = [
        delegate("QNN accelerator (execute) time (us)", 0, 0, 6),
        delegate("Accelerator (execute) time (cycles)", 0, 0, 300),
        delegate("conv:OpId_12 (cycles)", 0, 0, 100),
        delegate("relu:OpId_14 (cycles)", 0, 0, 50),
        delegate("RPC (execute) time (us)", 0, 0, 8),
        operator("DELEGATE_CALL", 0, 20_000, 30_000),
        framework("Method::execute", 10_000, 31_000),
    ]
    assert rows(read_path(dump(("Execute", events)))) == [
        ("Method::execute", 0, 10_000, 31_000),
        ("DELEGATE_CALL", 1, 20_000, 30_000),
        ("RPC (execute) time (us)", 2, 20_000, 28_000),
        ("QNN accelerator (execute) time (us)", 3, 20_000, 26_000),
        ("Accelerator (execute) time (cycles)", 4, 20_000, 26_000),
        ("conv:OpId_12 (cycles)", 5, 20_000, 22_000),
        ("relu:OpId_14 (cycles)", 5, 22_000, 23_000),
    ]


def test_the_real_totals_of_a_call_nest_in_every_inference():
    trace = read("SYN_qnn_like")
    total = next(i for i in range(len(trace.slices)) if "accelerator" in trace.name(i))
    inside = [i for i in range(len(trace.slices)) if "OpId" in trace.name(i)]
    assert [trace.slices.depth(i) - trace.slices.depth(total) for i in inside] == [1, 1]
    # 1200 and 300 of the 5000 cycles, on the scale of the total.
    drawn = [int(trace.slices.end[i] - trace.slices.start[i]) for i in [total, *inside]]
    assert drawn == [7000, 1680, 420]


def test_shaders_are_laid_out_inside_the_hosts_execute(dump):
    shader = '{"kernel_name": "conv2d", "operator": {"delegate_node_id": 3}}'
    events = [
        delegate("ETVK_COPY_INPUTS", 0, 110, 120),
        delegate("ETVK_EXECUTE", 0, 120, 160),
        delegate("ETVK_COPY_OUTPUTS", 0, 160, 170),
        delegate(shader, 0, 900_000, 900_030),
        delegate(shader, 0, 900_050, 900_055),
        operator("DELEGATE_CALL", 0, 100, 180),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace)[2:] == [
        ("unattributed", 2, 100, 110),
        ("ETVK_COPY_INPUTS", 2, 110, 120),
        ("ETVK_EXECUTE", 2, 120, 160),
        (shader, 3, 120, 150),
        (shader, 3, 150, 155),
        ("ETVK_COPY_OUTPUTS", 2, 160, 170),
        ("unattributed", 2, 170, 180),
    ]
    assert [(p.kind, p.count) for p in trace.problems] == [(FOREIGN, 2)]


def test_an_event_in_cycles_is_foreign_even_where_it_happens_to_fit(dump):
    events = [
        delegate("conv (cycles)", 0, 10, 90),
        operator("DELEGATE_CALL", 0, 0, 100),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [("DELEGATE_CALL", 0, 0, 100), ("conv (cycles)", 1, 0, 80)]
    assert column(trace, "native_start", slices_by_row(trace)[0]) == 10


def test_a_native_length_is_never_below_zero(dump):
    far = 1 << 40
    events = [
        delegate("conv (cycles)", 0, far, far - 5),
        operator("DELEGATE_CALL", 0, far, far + 9),
    ]
    trace = read_path(dump(("Execute", events)))
    (event,) = foreign(trace.slices).tolist()
    assert trace.slices.columns["native_dur"].value(event) == 0
    assert BACKWARDS in [p.kind for p in trace.problems]


def test_a_total_fills_a_call_of_decades_to_the_tick(dump):
    end = 1 << 61
    events = [
        delegate("QNN accelerator (execute) time (us)", 0, 0, end),
        operator("DELEGATE_CALL", 0, 7, end),
    ]
    trace = read_path(dump(("Execute", events)))
    assert {row[2:] for row in rows(trace)} == {(7, end)}
