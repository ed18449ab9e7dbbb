"""Which times of delegate events are measured."""

from __future__ import annotations

import json

import pytest

from tests.builders.etdump_cases import read, read_path
from tests.builders.etdump_writer import delegate, framework, operator
from viewer.model.queries import foreign
from viewer.model.timing import TIMING_TEXTS, timings
from viewer.model.trace import KeyKind, Trace

CONV, ADD = "Convolution (NHWC, F32) IGEMM #1", "Add (ND, F32) #1"


def times_of(trace: Trace) -> dict[str, str]:
    """Name -> where its time comes from."""
    names = [trace.name(i) for i in range(len(trace.slices))]
    texts = [TIMING_TEXTS[timing] for timing in timings(trace.slices).tolist()]
    return dict(zip(names, texts, strict=True))


def test_events_of_xnnpack_are_placed_and_rounded(dump):
    events = [
        delegate(CONV, 0, 1_234, 3_234),
        delegate(ADD, 0, 3_234, 3_234),
        operator("DELEGATE_CALL", 0, 1_000, 5_000),
        framework("Method::execute", 900, 6_000),
    ]
    assert times_of(read_path(dump(("Execute", events)))) == {
        CONV: "placed, rounded",
        ADD: "placed, rounded",
        "DELEGATE_CALL": "measured",
        "Method::execute": "measured",
        "unattributed": "derived",
    }


@pytest.mark.parametrize("odd", [(1_234, 3_235), (3_300, 4_300)])
def test_an_event_that_is_no_whole_us_shows_that_its_call_is_not_rounded(dump, odd):
    """Either its duration, or its start counted from the first event of the call."""
    first, second = (odd, (3_235, 3_235)) if odd[0] == 1_234 else ((1_234, 3_234), odd)
    events = [
        delegate(CONV, 0, *first),
        delegate(ADD, 0, *second),
        operator("DELEGATE_CALL", 0, 1_000, 5_000),
        delegate("Softmax (NC, F32) #1", 1, 7_000, 9_000),
        operator("DELEGATE_CALL", 1, 6_500, 9_500),
        framework("Method::execute", 900, 10_000),
    ]
    found = times_of(read_path(dump(("Execute", events))))
    assert (found[CONV], found[ADD]) == ("placed", "placed")
    assert found["Softmax (NC, F32) #1"] == "placed, rounded"


def test_the_name_alone_is_not_enough_outside_of_a_delegate_call(dump):
    events = [delegate(CONV, 0, 1_000, 3_000), framework("Method::execute", 900, 4_000)]
    assert times_of(read_path(dump(("Execute", events))))[CONV] == "measured"


def test_costs_in_the_metadata_of_core_ml_are_estimates(dump):
    cost = json.dumps({"operatorName": "ios17.conv", "estimatedCost": 0.25}).encode()
    other = json.dumps({"operatorName": "estimatedCost"}).encode()
    events = [
        delegate("conv", 0, 1_100, 1_500, metadata=cost),
        delegate("relu", 0, 1_500, 1_700, metadata=other),
        delegate("add", 0, 1_700, 1_800, metadata=b'{"estimatedCost": '),
        delegate("mul", 0, 1_800, 1_900, metadata=cost + b"\0"),
        operator("DELEGATE_CALL", 0, 1_000, 2_000),
        framework("Method::execute", 900, 3_000),
    ]
    found = times_of(read_path(dump(("Execute", events))))
    assert [found[n] for n in ("conv", "relu", "add")] == ["estimated", "measured", "measured"]
    assert found["mul"] == "estimated"  # some delegates log the NUL at the end of the text too


def test_events_on_a_clock_of_their_own_are_placed():
    trace = read("SYN_qnn_like")
    placed = [TIMING_TEXTS[t] for t in timings(trace.slices)[foreign(trace.slices)].tolist()]
    assert placed == ["placed"] * 3


@pytest.mark.parametrize("name", ["attn_xnnpack_x5", "cnn_xnnpack_x10"])
def test_all_events_of_real_dumps_are_placed_and_rounded(name):
    trace = read(name)
    is_event = trace.keys.kind[trace.slices.key] == KeyKind.DELEGATE_EVENT
    texts = {TIMING_TEXTS[t] for t in timings(trace.slices)[is_event].tolist()}
    assert texts == {"placed, rounded"}
