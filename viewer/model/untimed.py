"""Formats events without a time: their values, and which of them belong to a slice.

`viewer.model.trace.UntimedEvents` describes the columns. Texts are created for visible rows, or
once per distinct tensor.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.model.trace import UntimedEvents, UntimedKind, ValueType

TYPE_NAMES = {
    ValueType.NONE: "", ValueType.NULL: "null", ValueType.INT: "int", ValueType.BOOL: "bool",
    ValueType.FLOAT: "float", ValueType.DOUBLE: "double", ValueType.TENSOR: "tensor",
    ValueType.TENSOR_LIST: "tensor list", ValueType.STRING: "string", ValueType.COUNT: "values",
}  # fmt: skip


def counts_text(events: UntimedEvents) -> str:
    """The number of events of each kind: "2 allocation events, 1 debug event"."""
    counts = {kind.name.lower(): events.count(kind) for kind in UntimedKind}
    return ", ".join(f"{n} {kind} event{'' if n == 1 else 's'}" for kind, n in counts.items() if n)


def kind_name(events: UntimedEvents, i: int) -> str:
    """The kind of event i: "allocation" or "debug"."""
    return UntimedKind(int(events.kind[i])).name.lower()


def type_name(events: UntimedEvents, i: int) -> str:
    """The value type of event i: "tensor", "int"; empty if it has no value."""
    return TYPE_NAMES[ValueType(int(events.type[i]))]


def value_text(events: UntimedEvents, i: int) -> str:
    """The value of event i: "f32 1 × 8", "-7", "true"; empty if the file does not state it.

    A float has as few digits as its 32 bits need.
    """
    return _text(events, ValueType(int(events.type[i])), int(events.value[i]))


def value_texts(events: UntimedEvents) -> NDArray[np.object_]:
    """The `value_text` of all events; each distinct value is formatted once."""
    texts = np.empty(len(events), object)
    for type in ValueType:
        rows = np.flatnonzero(events.type == type)
        distinct, inverse = np.unique(events.value[rows], return_inverse=True)
        written = np.empty(len(distinct), object)
        written[:] = [_text(events, type, value) for value in distinct.tolist()]
        texts[rows] = written[inverse]
    return texts


def _text(events: UntimedEvents, type: ValueType, value: int) -> str:
    match type:
        case ValueType.NULL:
            return "null"
        case ValueType.INT:
            return str(value)
        case ValueType.BOOL:
            return "true" if value else "false"
        case ValueType.FLOAT:
            return str(np.int64(value).view(np.float64).astype(np.float32))
        case ValueType.DOUBLE:
            return str(np.int64(value).view(np.float64))
        case ValueType.TENSOR | ValueType.TENSOR_LIST:
            return events.tensors[value]
        case ValueType.COUNT:
            return f"{value} value{'' if value == 1 else 's'}"
        case _:
            return ""


def identifier_of(events: UntimedEvents, i: int) -> int | str | None:
    """The delegate debug identifier of event i, exactly as logged."""
    code = int(events.identifier[i])
    return None if code < 0 else events.identifiers[code]


def values_of(events: UntimedEvents, call: int) -> Ints:
    """The events whose values belong to slice `call`, in file order."""
    return np.flatnonzero(events.call == call)


def values_summary(events: UntimedEvents, which: Ints, most: int = 4) -> str:
    """The number of values and their types: "3 values: f32 1 × 8 × 32, 2 f32 1 × 8 × 1"."""
    counts = Counter(
        value_text(events, i) if events.type[i] == ValueType.TENSOR else type_name(events, i)
        for i in which[:1000].tolist()
    )
    parts = [text if n == 1 else f"{n} {text}" for text, n in counts.items() if text]
    more = ["…"] if len(parts) > most or len(which) > 1000 else []
    count = f"{len(which)} value{'' if len(which) == 1 else 's'}"
    return ": ".join(filter(None, (count, ", ".join(parts[:most] + more))))
