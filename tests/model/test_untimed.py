"""Events without a time: noted in a builder, found by their slice, written as text."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, UntimedEvents, UntimedKind, ValueType
from viewer.model.untimed import (
    counts_text,
    identifier_of,
    kind_name,
    type_name,
    value_text,
    value_texts,
    values_of,
)

HALF = int(np.float64(0.5).view(np.int64))


def events(*values: tuple[ValueType, int], **columns: object) -> UntimedEvents:
    """Debug events with these values, and other columns as given."""
    n = len(values)
    nothing, none = Column(np.zeros(n, np.int64), np.zeros(n, np.bool_)), np.full(n, -1, np.int32)
    made = UntimedEvents(
        kind=np.full(n, UntimedKind.DEBUG, np.uint8), block=np.zeros(n, np.uint32), run=none,
        source_row=np.arange(n, dtype=np.uint32), after=none, call=none,
        name=Column(np.zeros(n, np.uint32), nothing.valid, ()), size=nothing, chain=nothing,
        instruction=nothing, identifier=none,
        type=np.array([type for type, _ in values], np.uint8),
        value=np.array([value for _, value in values], np.int64),
        output=np.zeros(n, np.bool_), offset=nothing, tensors=("f32 1 × 8", "2 tensors: f32 3, …"),
    )  # fmt: skip
    return replace(made, **columns)


def test_a_trace_has_none_by_default():
    trace = TraceBuilder("a", "b", "", Clock()).build()
    assert len(trace.untimed) == 0
    assert counts_text(trace.untimed) == ""
    assert value_texts(trace.untimed).tolist() == []


def test_slices_are_named_by_row_until_they_are_sorted_and_by_index_then():
    builder = TraceBuilder("a", "b", "", Clock())
    late, early = np.array([100, 5]), np.array([110, 8])
    builder.add(
        track=builder.track("p", "t"), start=late, end=early, name=builder.intern("x"),
        key=builder.key(KeyKind.PLAIN, "x"), source_row=np.array([3, 7], np.uint32),
    )  # fmt: skip
    made = events(*[(ValueType.INT, 5)] * 4, after=np.array([3, 7, -1, 5], np.int32))
    builder.untimed(replace(made, call=np.array([7, 7, 3, -1], np.int32)))
    trace = builder.build()
    assert trace.slices.source_row.tolist() == [7, 3]
    assert trace.untimed.after.tolist() == [1, 0, -1, -1]
    assert trace.untimed.call.tolist() == [0, 0, 1, -1]
    assert values_of(trace.untimed, 0).tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        trace.untimed.call[0] = 5


EVERY = {
    (ValueType.NONE, 0): "",
    (ValueType.NULL, 0): "null",
    (ValueType.INT, -7): "-7",
    (ValueType.BOOL, 1): "true",
    (ValueType.BOOL, 0): "false",
    (ValueType.FLOAT, HALF): "0.5",
    (ValueType.DOUBLE, HALF): "0.5",
    (ValueType.TENSOR, 0): "f32 1 × 8",
    (ValueType.TENSOR_LIST, 1): "2 tensors: f32 3, …",
    (ValueType.STRING, 0): "",
    (ValueType.COUNT, 1): "1 value",
    (ValueType.COUNT, 2): "2 values",
}


def test_values_as_text_one_by_one_and_all_at_once():
    made = events(*EVERY)
    assert [value_text(made, i) for i in range(len(EVERY))] == list(EVERY.values())
    assert value_texts(made).tolist() == list(EVERY.values())
    assert [type_name(made, i) for i in (0, 1, 8)] == ["", "null", "tensor list"]


def test_kinds_and_identifiers():
    made = events(
        *[(ValueType.NONE, 0)] * 3,
        kind=np.array([0, 1, 0], np.uint8),
        identifier=np.array([1, 0, -1], np.int32),
        identifiers=(7, "7"),
    )
    assert counts_text(made) == "2 allocation events, 1 debug event"
    assert [kind_name(made, i) for i in range(2)] == ["allocation", "debug"]
    assert [identifier_of(made, i) for i in range(3)] == ["7", 7, None]
