"""Scopes that delegates log inside their calls, around each other."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders.etdump_cases import read_path, rows
from tests.builders.etdump_writer import delegate, framework, operator
from viewer.formats.executorch.etdump.events import ProfileEvents, nest, nest_inside
from viewer.model.trace import KeyKind

CONTRADICT = "levels contradict the times: nested by time instead"


def test_host_scopes_of_ethos_u_nest_in_each_other(dump):
    """They are plain events with the instruction of their call."""
    events = [
        operator("+EthosUBackend::execute()handles.input.memcpy()", 0, 112, 120),
        operator("+EthosUBackend::execute()NPU", 0, 120, 170),
        operator("+EthosUBackend::execute()handles.output.memcpy()", 0, 170, 178),
        operator("EthosUBackend::execute()", 0, 105, 180),
        operator("DELEGATE_CALL", 0, 100, 185),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace) == [
        ("Method::execute", 0, 90, 200),
        ("DELEGATE_CALL", 1, 100, 185),
        ("EthosUBackend::execute()", 2, 105, 180),
        ("+EthosUBackend::execute()handles.input.memcpy()", 3, 112, 120),
        ("+EthosUBackend::execute()NPU", 3, 120, 170),
        ("+EthosUBackend::execute()handles.output.memcpy()", 3, 170, 178),
    ]
    assert trace.problems == ()


def test_delegate_events_around_others_cover_their_call_once(dump):
    events = [
        delegate("VGF_COPY_INPUTS", 0, 110, 120),
        delegate("VGF_DISPATCH_AND_WAIT", 0, 121, 160),
        delegate("VGF_COPY_OUTPUTS", 0, 160, 170),
        delegate("VGF_EXECUTE", 0, 110, 172),
        operator("DELEGATE_CALL", 0, 100, 180),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace)[1:] == [
        ("DELEGATE_CALL", 1, 100, 180),
        ("unattributed", 2, 100, 110),
        ("VGF_EXECUTE", 2, 110, 172),
        ("VGF_COPY_INPUTS", 3, 110, 120),
        ("VGF_DISPATCH_AND_WAIT", 3, 121, 160),
        ("VGF_COPY_OUTPUTS", 3, 160, 170),
        ("unattributed", 2, 172, 180),
    ]
    assert trace.problems == ()


def test_shaders_are_inside_the_graphs_execution_which_is_inside_vulkans(dump):
    """As the backend logs them since it has ETVK_COMPUTE_GRAPH_EXECUTE; shaders have GPU times."""
    events = [
        delegate("ETVK_COPY_INPUTS", 0, 112, 120),
        delegate("ETVK_COMPUTE_GRAPH_EXECUTE", 0, 122, 160),
        delegate("{conv2d}", 0, 900_000, 900_030),
        delegate("{relu}", 0, 900_050, 900_055),
        delegate("ETVK_COPY_OUTPUTS", 0, 162, 170),
        delegate("ETVK_EXECUTE", 0, 110, 171),
        operator("DELEGATE_CALL", 0, 100, 180),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace)[1:] == [
        ("DELEGATE_CALL", 1, 100, 180),
        ("unattributed", 2, 100, 110),
        ("ETVK_EXECUTE", 2, 110, 171),
        ("ETVK_COPY_INPUTS", 3, 112, 120),
        ("ETVK_COMPUTE_GRAPH_EXECUTE", 3, 122, 160),
        ("{conv2d}", 4, 122, 152),
        ("{relu}", 4, 152, 157),
        ("ETVK_COPY_OUTPUTS", 3, 162, 170),
        ("unattributed", 2, 171, 180),
    ]
    assert [p.kind for p in trace.problems] == [
        "delegate events with a separate clock: placed inside their call for drawing only"
    ]


def test_scopes_of_a_load_nest_as_deep_as_their_times(dump):
    events = [
        delegate("VGF_PROCESS", 0, 14, 16, chain=-1),
        delegate("VGF_REPR", 0, 13, 17, chain=-1),
        delegate("VGF_INIT", 0, 12, 18, chain=-1),
        framework("Method::init", 10, 20),
        framework("Program::load_method", 5, 25),
    ]
    trace = read_path(dump(("Default", events)))
    assert [depth for _, depth, _, _ in rows(trace)] == [0, 1, 2, 3, 4]
    assert trace.problems == ()


def test_a_scope_inside_a_kernel_is_inside_it(dump):
    events = [
        operator("packing", 0, 112, 114),
        operator("native_call_linear.out", 0, 110, 120),
        operator("OPERATOR_CALL", 0, 105, 125),
        framework("Method::execute", 100, 140),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace)[2:] == [("native_call_linear.out", 2, 110, 120), ("packing", 3, 112, 114)]
    assert trace.problems == ()


def test_events_at_the_same_time_follow_each_other_unless_one_is_around_the_other(dump):
    """XNNPACK's events of no duration are where the next one starts, but not inside it."""
    events = [
        delegate("before", 0, 110, 110),
        delegate("first", 0, 110, 115),
        delegate("at the end", 0, 115, 115),
        delegate("same", 0, 115, 120),
        delegate("around", 0, 115, 120),
        operator("DELEGATE_CALL", 0, 110, 120),
    ]
    trace = read_path(dump(("Execute", events)))
    assert sorted(rows(trace)) == [
        ("DELEGATE_CALL", 0, 110, 120),
        ("around", 1, 115, 120),
        ("at the end", 1, 115, 115),
        ("before", 1, 110, 110),
        ("first", 1, 110, 115),
        ("same", 2, 115, 120),
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([(110, 130), (120, 140), (105, 150)], id="across each other"),
        pytest.param([(110, 150), (120, 140)], id="the outer one was logged first"),
    ],
)
def test_times_that_no_completion_order_explains_stay_a_problem(dump, times):
    events = [delegate(f"e{i}", 0, start, end) for i, (start, end) in enumerate(times)]
    trace = read_path(dump(("Execute", [*events, operator("DELEGATE_CALL", 0, 100, 160)])))
    assert [p.kind for p in trace.problems] == [CONTRADICT]


def made_of(calls: int, run: list[tuple[int, int]]) -> tuple[ProfileEvents, np.ndarray]:
    """`calls` times the same delegate events and their call, 1000 ticks apart."""
    each = len(run) + 1
    times = np.tile(np.array([*run, (0, 999)], np.int64), (calls, 1))
    times += np.repeat(np.arange(calls), each)[:, np.newaxis] * 1000
    code = np.zeros(calls * each, np.int32)
    events = ProfileEvents(
        run=code, row=np.arange(calls * each, dtype=np.int32), name=code, chain=code,
        instruction=np.repeat(np.arange(calls, dtype=np.int32), each), number=code, text=code,
        metadata=code, start=times[:, 0].copy(), end=times[:, 1].copy(), names=[""], texts=[""],
        metadatas=[b""],
    )  # fmt: skip
    kind = np.full(calls * each, KeyKind.DELEGATE_EVENT, np.uint8)
    kind[len(run) :: each] = KeyKind.DELEGATE_CALL
    return events, kind


def test_a_hundred_levels_in_each_of_many_calls():
    """What is computed does not grow with the levels: each call is nested like the first."""
    run = [(100 - i, 200 + i) for i in range(100)]
    events, kind = made_of(2000, run)
    tree = nest(events, kind)
    nest_inside(events, tree, np.empty(0, np.int64))
    expected = np.append(np.arange(100, 0, -1), 0)
    assert np.array_equal(tree.depth, np.tile(expected, 2000))
    assert np.array_equal(tree.order[:101], np.arange(100, -1, -1))
    assert (np.diff(events.start[tree.order]) >= 0).all()
