"""Flows of Chrome JSON: those of slices with a `bind_id`, and ids of any spelling."""

import json

import pytest

from tests.builders.chrome_cases import event, problems, read, slice_event


def flows(trace):
    both = zip(trace.flows.producer.tolist(), trace.flows.consumer.tolist(), strict=True)
    return sorted((trace.name(a), trace.name(b)) for a, b in both)


def test_many_slices_of_one_layout_with_bind_ids(tmp_path):
    events = [
        slice_event(f"op {i}", 10 * i, 5, bind_id=hex(i // 2), flow_out=i % 2 == 0,
                    flow_in=i % 2 == 1)
        for i in range(4000)
    ]  # fmt: skip
    trace = read(tmp_path, *events)
    assert flows(trace) == sorted((f"op {i}", f"op {i + 1}") for i in range(0, 4000, 2))
    assert problems(trace) == {}


def test_a_bind_id_on_an_end_event_has_no_slice_of_its_own(tmp_path):
    trace = read(
        tmp_path, event("B", "a", 1, bind_id=1, flow_out=True), event("E", "a", 2),
        event("B", "b", 3), event("E", "b", 4, bind_id=1, flow_in=True),
    )  # fmt: skip
    assert flows(trace) == []
    assert problems(trace) == {"flow events without a slice, or without a destination: left out": 2}


@pytest.mark.parametrize(
    "value", [True, 1.5, 10**40, -1, "", "x" * 5000, [], {}, [[1]], {"local": {}}, "\ud800"]
)
def test_hostile_ids_cost_their_flow_alone(tmp_path, value):
    good = [slice_event("a", 0, 1, bind_id=7, flow_out=True),
            slice_event("b", 2, 1, bind_id=7, flow_in=True)]  # fmt: skip
    bad = [
        slice_event("c", 4, 1, bind_id=value, flow_out=value, flow_in=True),
        slice_event("d", 6, 1, bind_id=value, flow_out=True), event("s", "s", 4, id=value),
        event("f", "s", 6, id=value, bp=value), event("b", "e", 1, id2={"local": value}),
        event("e", "e", 2, id2=value), event("S", "o", 1, id=value),
        event("F", "o", 2, id=value), event("C", "n", 1, id=value, args={"v": -1}),
        {"ph": "M", "name": value, "pid": 1, "args": value},
    ]  # fmt: skip
    trace = read(tmp_path, text=json.dumps([*good, *bad]))
    assert ("a", "b") in flows(trace)
    assert {trace.name(i) for i in range(len(trace.slices))} >= {"a", "b", "c", "d"}
