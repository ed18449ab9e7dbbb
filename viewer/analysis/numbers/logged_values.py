"""The values that debug events logged in an inference: what logged them, and where they are stored.

A delegate call logs all of its arguments, results last; the ETRecord states how many these are. The
results of the method come last, outside of any instruction. If an instruction runs several times in
an inference, as in a loop, its last call counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.labels import key_labels, run_label, set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.codecs.file_bytes import FileBytes
from viewer.codecs.tensor_values import StoredTensor, TensorLayout, scalar
from viewer.dataclasses import dataclass
from viewer.model.trace import KeyKind, Run, RunKind, UntimedEvents, UntimedKind, ValueType
from viewer.model.untimed import identifier_of

# A program has some ten thousand instructions at most.
MOST_CALLS = 50_000
METHOD = -1  # the instruction of the results of the method
_CALLS = (KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL)


@dataclass(frozen=True, slots=True)
class LoggedInference:
    """An inference with logged values: its event block, its run if it has any times, its method."""

    block: int
    run: Run | None
    method: str
    label: str


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """What logged some values of an inference.

    label: its operators, or what it is called. name: of the kernel or the backend, and the
    identifier of an event. instruction: `METHOD` for the results of the method. identifier: of an
    event of a delegate. handles: in the order of the ETRecord, with duplicates. operators: indexes
    into `Program.operators`. results: how many of its last values are results; None for all, of a
    kernel. events: its values, as indexes into `Trace.untimed`.
    """

    label: str
    name: str
    instruction: int
    identifier: int | str | None
    backend: str
    handles: tuple[int, ...]
    operators: tuple[int, ...]
    results: int | None
    events: tuple[int, ...]

    @property
    def is_delegate_call(self) -> bool:
        """Whether it is a whole delegate call, whose first values are arguments."""
        return self.results is not None


def logged_inferences(table: LinkTable) -> tuple[LoggedInference, ...]:
    """Return the inferences with logged values, in the order of the file."""
    trace = table.trace
    events = trace.untimed
    blocks, first = np.unique(
        events.block[events.kind == UntimedKind.DEBUG].astype(np.int64), return_index=True
    )
    runs = events.run[events.kind == UntimedKind.DEBUG][first].tolist()
    inferences = []
    for block, number in zip(blocks.tolist(), runs, strict=True):
        run = trace.runs[number] if number >= 0 else None
        if run is not None and run.kind is RunKind.LOAD:
            continue
        if run is None:
            name = events.blocks[block] or "run"
            inferences.append(LoggedInference(block, None, "", f"{name} · block {block + 1}"))
        else:
            method = table.method_of_scope(run.scope) or trace.scopes[run.scope].name
            inferences.append(LoggedInference(block, run, method, run_label(table, run)))
    return tuple(inferences)


class LoggedCalls:
    """The calls of inferences of a profile that logged values.

    too_many: how many calls were left out, because no program has as many.
    """

    def __init__(self, table: LinkTable) -> None:
        self.table = table
        self.too_many = 0

    def of(self, inference: LoggedInference) -> tuple[LoggedCall, ...]:
        """Return the calls of an inference, in the order in which they finished."""
        events = self.table.trace.untimed
        rows = np.flatnonzero(
            (events.block == inference.block) & (events.kind == UntimedKind.DEBUG)
        )
        groups: dict[tuple[int, int], list[int]] = {}
        call_of: dict[tuple[int, int], int] = {}
        for i, (place, call) in zip(rows.tolist(), self._places(rows), strict=True):
            if call_of.get(place, call) != call:
                del groups[place]  # an earlier call of the same instruction
            call_of[place] = call
            groups.setdefault(place, []).append(i)
        members_of_call = list(groups.items())
        self.too_many += max(len(members_of_call) - MOST_CALLS, 0)
        return tuple(
            self._call(inference, instruction, members)
            for (instruction, _), members in members_of_call[:MOST_CALLS]
        )

    def _places(self, rows: Ints) -> Iterator[tuple[tuple[int, int], int]]:
        """The instruction and identifier of some events, and the call that each belongs to."""
        events = self.table.trace.untimed
        chain, instruction = events.chain.values[rows], events.instruction.values[rows]
        is_inside = (chain >= 0) & (instruction >= 0)
        where = np.where(is_inside, instruction, METHOD).tolist()
        # Values after a call and those of its events have other slices, or none.
        yield from zip(
            zip(where, np.where(is_inside, events.identifier[rows], -1).tolist(), strict=True),
            events.call[rows].tolist(),
            strict=True,
        )

    def _call(self, inference: LoggedInference, instruction: int, members: list[int]) -> LoggedCall:
        table = self.table
        events, identifier = table.trace.untimed, identifier_of(table.trace.untimed, members[0])
        scope = inference.run.scope if inference.run is not None else -1
        key = -1
        if (call := int(events.call[members[-1]])) >= 0:
            key = int(table.trace.slices.key[call])
        if instruction == METHOD:
            return LoggedCall("outputs", "", METHOD, None, "", (), (), None, tuple(members))
        number = f"instruction {instruction}"
        label = self._labels[key] if key >= 0 else number
        name = self._names.get((scope, instruction), number)
        if identifier is not None:
            link = table.links[key] if key >= 0 else None
            operators = link.operators if link is not None else ()
            what = set_label(table, operators)
            return LoggedCall(
                label=f"{what} ({name} {identifier})" if what else f"{name} {identifier}",
                name=f"{name} {identifier}",
                instruction=instruction,
                identifier=identifier,
                backend=name,
                handles=link.handles if link is not None else (),
                operators=operators,
                results=None,
                events=tuple(members),
            )
        handles, operators = self._links.get((scope, instruction), ((), ()))
        is_delegate = key >= 0 and table.trace.keys.kind[key] == KeyKind.DELEGATE_CALL
        return LoggedCall(
            label=label,
            name=name,
            instruction=instruction,
            identifier=None,
            backend=name if is_delegate else "",
            handles=handles,
            operators=operators,
            results=self._results(inference.method, instruction) if is_delegate else None,
            events=tuple(members),
        )

    def _results(self, name: str, instruction: int) -> int:
        """How many results a delegate call has, by the ETRecord or the program file, else 1."""
        table = self.table
        method = table.program.method(name) if table.program is not None else None
        if method is not None and instruction in method.outputs:
            return method.outputs[instruction]
        for ran in table.executable.methods if table.executable is not None else ():
            if ran.name == name and instruction < len(ran.instructions):
                delegate = ran.instructions[instruction].delegate
                if 0 <= delegate < len(ran.delegates):
                    return max(ran.delegates[delegate].outputs, 1)
        return 1

    @cached_property
    def _labels(self) -> list[str]:
        return key_labels(self.table)

    @cached_property
    def _links(self) -> dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]]:
        """Scope and instruction -> the handles and operators that any of its calls has."""
        link_of_place: dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for key, place in self._keys_of_calls():
            link = self.table.links[key]
            handles, operators = link_of_place.get(place, ((), ()))
            more = tuple(i for i in link.operators if i not in operators)
            link_of_place[place] = (handles or link.handles, operators + more)
        return link_of_place

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        """Scope and instruction -> the kernel that it runs, or the backend that it calls."""
        trace = self.table.trace
        name_of_place: dict[tuple[int, int], str] = {}
        for key, place in self._keys_of_calls():
            kind = trace.keys.kind[key]
            name = trace.strings[int(trace.keys.name[key])]
            if kind == KeyKind.DELEGATE_CALL:
                name_of_place[place] = self.table.links[key].backend or name
            elif kind == KeyKind.KERNEL or place not in name_of_place:
                name_of_place[place] = name
        return name_of_place

    def _keys_of_calls(self) -> Iterator[tuple[int, tuple[int, int]]]:
        keys = self.table.trace.keys
        index = np.flatnonzero(np.isin(keys.kind, _CALLS) & (keys.instruction >= 0))
        places = zip(keys.scope[index].tolist(), keys.instruction[index].tolist(), strict=True)
        yield from zip(index.tolist(), places, strict=True)


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
