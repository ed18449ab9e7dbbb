"""The values of a profile's debug events, read from its debug buffer when they are asked for.

`LoggedTensors` has where the tensors of the debug events are stored, as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.numbers.logged_calls import LoggedCall, LoggedCalls, LoggedInference
from viewer.arrays import Ints
from viewer.codecs.file_bytes import FileBytes
from viewer.codecs.tensor_values import StoredTensor, TensorLayout, scalar
from viewer.model.trace import UntimedEvents, ValueType


@dataclass(frozen=True, eq=False)
class LoggedTensors:
    """The tensors of all debug events, in the order of the file.

    row: position of the event in the file, as `UntimedEvents.source_row`. member: number of the
    tensor in its event, which may have a list. layout: index into `layouts`. offset: bytes from the
    start of the debug buffer, -1 for a tensor without data. problems: what was left out.
    """

    row: Ints
    member: Ints
    layout: Ints
    offset: Ints
    layouts: tuple[TensorLayout, ...]
    problems: tuple[str, ...] = ()

    @staticmethod
    def none() -> LoggedTensors:
        """No tensors."""
        nothing = np.empty(0, np.int64)
        return LoggedTensors(nothing, nothing, nothing, nothing, ())

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def end(self) -> int:
        """The bytes that a buffer must have to hold all tensors that can be read."""
        return max(
            (
                int(self.offset[rows].max()) + layout.extent
                for code, layout in enumerate(self.layouts)
                if not layout.fault and len(rows := np.flatnonzero(self.layout == code))
            ),
            default=0,
        )

    def of_event(self, row: int) -> list[tuple[TensorLayout, int]]:
        """The layouts and offsets of the tensors of an event, by its position in the file."""
        first, end = np.searchsorted(self.row, [row, row + 1]).tolist()
        return [(self.layouts[self.layout[i]], int(self.offset[i])) for i in range(first, end)]


# Tensors of a file do not overlap, so together they are at most as large as the buffer. A file that
# claims more than this many times its size would take hours.
_MOST_OVERLAP = 4
OVERLAP = "tensors overlap in the debug buffer: left out"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: how it is stored, and what opens it.

    offset: in the debug buffer, None for a number in the file itself. fault: why it cannot be read,
    "" if it can. open: returns its tensor; may raise UnreadableFile for a value of another file.
    """

    layout: TensorLayout
    open: Callable[[], StoredTensor]
    offset: int | None = None
    fault: str = ""


def unreadable(layout: TensorLayout, fault: str, offset: int | None = None) -> Value:
    """Return a value that cannot be read, with the reason."""

    def refuse() -> StoredTensor:
        raise ValueError(fault)

    return Value(layout, refuse, offset, fault)


def value_of(layout: TensorLayout, data: NDArray[np.uint8] | FileBytes, offset: int = 0) -> Value:
    """Return a value in some bytes."""
    try:
        tensor = StoredTensor(layout, data, offset)
    except ValueError as error:
        return unreadable(layout, str(error), offset)
    return Value(layout, lambda: tensor, offset)


def number(dtype: str, value: float) -> Value:
    """Return a value that is a single number; dtype: "i64", "f64" or "bool"."""
    tensor = scalar(dtype, value)
    return Value(tensor.layout, lambda: tensor)


@dataclass(frozen=True, eq=False)
class LoggedValues:
    """The values of one profile.

    data: the debug buffer, empty without one.
    """

    calls: LoggedCalls
    tensors: LoggedTensors
    data: NDArray[np.uint8] | FileBytes

    def of(self, inference: LoggedInference) -> list[tuple[LoggedCall, list[Value]]]:
        """Return the calls of an inference, each with its values."""
        events = self.calls.table.trace.untimed
        left = _MOST_OVERLAP * len(self.data)
        values_of_calls = []
        for call in self.calls.of(inference):
            values: list[Value] = []
            for event in call.events:
                for value in self._of_event(events, event):
                    if value.offset is not None and not value.fault:
                        left -= value.layout.extent
                        if left < 0:
                            value = unreadable(value.layout, OVERLAP, value.offset)
                    values.append(value)
            values_of_calls.append((call, values))
        return values_of_calls

    def _of_event(self, events: UntimedEvents, event: int) -> list[Value]:
        type, value = ValueType(int(events.type[event])), int(events.value[event])
        if type is ValueType.BOOL:
            return [number("bool", float(value))]
        if type is ValueType.INT:
            return [number("i64", value)]
        if type in (ValueType.DOUBLE, ValueType.FLOAT):
            return [number("f64", float(np.int64(value).view(np.float64)))]
        stored = self.tensors.of_event(int(events.source_row[event]))
        return [value_of(layout, self.data, offset) for layout, offset in stored]


def results_of(call: LoggedCall, values: Sequence[Value]) -> list[Value]:
    """Return the values of a call that are results."""
    return list(values if call.results is None else values[-call.results :])
