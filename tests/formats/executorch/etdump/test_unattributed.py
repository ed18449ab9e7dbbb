"""The parts of delegate calls that none of their events covers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders.etdump_cases import REAL, read, read_path, rows
from tests.builders.etdump_writer import delegate, framework, operator
from viewer.model.queries import children_of
from viewer.model.trace import KeyKind, Trace


def uncovered_of(trace: Trace) -> list[tuple[int, int]]:
    """The derived slices; nothing else may be flagged."""
    s = trace.slices
    derived = np.zeros(len(s), np.bool_) if s.derived is None else s.derived
    assert [trace.name(i) for i in np.flatnonzero(derived)] == ["unattributed"] * s.derived_count
    return [(int(s.start[i]), int(s.end[i])) for i in np.flatnonzero(derived)]


def test_what_no_event_of_a_call_covers_is_unattributed(dump):
    events = [
        delegate("a", 0, 110, 120),
        delegate("b", 0, 120, 120),
        delegate("c", 0, 150, 160),
        operator("DELEGATE_CALL", 0, 100, 160),
        operator("native_call_add.out", 1, 162, 165),
        operator("OPERATOR_CALL", 1, 161, 166),
        operator("DELEGATE_CALL", 2, 170, 190),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert uncovered_of(trace) == [(100, 110), (120, 150)]
    assert trace.problems == ()
    assert rows(trace)[1:7] == [
        ("DELEGATE_CALL", 1, 100, 160),
        ("unattributed", 2, 100, 110),
        ("a", 2, 110, 120),
        ("b", 2, 120, 120),
        ("unattributed", 2, 120, 150),
        ("c", 2, 150, 160),
    ]


def test_events_that_overlap_cover_what_they_cover_together(dump):
    events = [
        delegate("inner", 0, 120, 140),
        delegate("outer", 0, 110, 150),
        delegate("late", 0, 130, 170),
        operator("DELEGATE_CALL", 0, 100, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert uncovered_of(trace) == [(100, 110), (170, 200)]


def test_a_call_that_its_events_cover_has_nothing_unattributed(dump):
    events = [
        delegate("a", 0, 100, 120),
        delegate("b", 0, 120, 160),
        operator("DELEGATE_CALL", 0, 100, 160),
    ]
    assert uncovered_of(read_path(dump(("Execute", events)))) == []


def test_a_foreign_clock_says_nothing_about_what_it_covers(dump):
    events = [delegate("conv (cycles)", 0, 0, 5), operator("DELEGATE_CALL", 0, 100, 160)]
    assert uncovered_of(read_path(dump(("Execute", events)))) == []


@pytest.mark.parametrize("name", [n for n in REAL if "xnnpack" in n or n.startswith("demo_")])
def test_events_and_unattributed_time_add_up_to_every_call(name):
    trace = read(name)
    s, kind = trace.slices, trace.keys.kind[trace.slices.key]
    for call in np.flatnonzero(kind == KeyKind.DELEGATE_CALL).tolist():
        inner = children_of(s, call)
        if len(inner):
            assert int((s.end - s.start)[inner].sum()) == int(s.end[call] - s.start[call])
