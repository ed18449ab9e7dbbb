"""Looks up keys of a trace in the program file that ran: XNNPACK's nodes, operators in branches.

The graph nodes of views that the runtime makes are found by it, too. Export replaces a view_copy by
a view. One of fixed sizes in planned memory needs no instruction; for others it emits
executorch_prim::et_view, without a debug handle. Its node is a view_copy that no other instruction
ran, whose input comes from the same call and whose sizes are the same. It is linked only if exactly
one node fits, or if several of equal views fit as many instructions, in the order of the graph.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

from viewer.analysis.nodes.instruction_nodes import (
    branch_nodes,
    delegate_of,
    in_control_flow,
    kernel_name,
)
from viewer.analysis.nodes.xnnpack_events import align, call_events
from viewer.model.trace import Trace
from viewer.program.executables import (
    XNNPACK,
    Delegate,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    XnnpackNode,
)
from viewer.program.program import Method, Program, base_name

_VIEW, _COPY = "executorch_prim::et_view", "view_copy"


def view_nodes(program: Program, method: Method, ran: ExecutableMethod) -> dict[int, int]:
    """Return instruction -> index into `Program.nodes` for views outside of control flow."""
    inside = in_control_flow(ran)
    views = [
        instruction
        for instruction in ran.instructions
        if instruction.name.startswith(_VIEW)
        and instruction.number not in inside
        and len(instruction.values) > 2
    ]
    views = [instruction for instruction in views if instruction.number not in method.handles]
    if not views:
        return {}
    graph = _Graph(program, method, ran)
    fits = {instruction.number: graph.nodes_of(instruction) for instruction in views}
    node_of = dict[int, int]()
    for nodes in set(fits.values()):
        same = sorted(number for number, value in fits.items() if value == nodes)
        others = frozenset().union(*(value for value in fits.values() if value != nodes))
        if len(same) == len(nodes) and not nodes & others:
            node_of.update(zip(same, sorted(nodes, key=graph.position), strict=True))
    return node_of


class _Graph:
    """The nodes of a method that may be views, and what their inputs come from."""

    def __init__(self, program: Program, method: Method, ran: ExecutableMethod) -> None:
        self._program, self._method, self._ran = program, method, ran
        self._numbers = [
            number
            for operator in method.operators
            for number in program.node_numbers(operator.index)
            if not program.nodes[number].branch
        ]
        self._producer = {
            tensor.name: number
            for number in self._numbers
            for tensor in program.nodes[number].outputs
            if tensor.name
        }
        by_number = {instruction.number: instruction for instruction in ran.instructions}
        delegated, copied = set[int](), set[int]()
        for instruction, handles in method.handles.items():
            executed = by_number.get(instruction)
            if executed is None or executed.kind is InstructionKind.DELEGATE_CALL:
                delegated.update(handles)
            elif kernel_name(executed) == _COPY:
                copied.update(handles)
        self._views = frozenset(
            number
            for number in self._numbers
            if base_name(program.nodes[number].op) == _COPY
            and program.nodes[number].debug_handle not in delegated | copied
        )
        self._writer = _writers(ran, method)
        self._tensor = {value: i for i, value in enumerate(ran.tensors.value.tolist())}

    def position(self, number: int) -> int:
        """The place of a node in the graph."""
        return self._program.nodes[number].position

    def nodes_of(self, view: Instruction) -> frozenset[int]:
        """The nodes that a view may be."""
        return frozenset(
            number
            for number in self._views
            if self._is_input(number, view.values[0]) and self._has_sizes(number, view.values[2])
        )

    def _is_input(self, number: int, value: int) -> bool:
        """Whether the input of a node may be a value of the program file.

        Export joins a view of a view with it, and a view of fixed sizes has no instruction. So the
        input of a view's input may be the value, too.
        """
        writer = self._writer.get(value)
        producer = self._input_of(number)
        if writer is None or writer.name.startswith(_VIEW):
            return producer is None if writer is None else producer in self._views
        for _ in self._views:
            if producer not in self._views or producer is None:
                break
            producer = self._input_of(producer)
        handles = self._method.handles.get(writer.number, ())
        return producer is not None and self._program.nodes[producer].debug_handle in handles

    def _input_of(self, number: int) -> int | None:
        """The node that the first input of a node is from; None for an input of the method."""
        inputs = self._program.nodes[number].inputs
        return self._producer.get(inputs[0].name) if inputs else None

    def _has_sizes(self, number: int, value: int) -> bool:
        outputs = self._program.nodes[number].outputs
        shape, tensor = outputs[0].shape if outputs else None, self._tensor.get(value)
        if shape is None or tensor is None:
            return True
        sizes = self._ran.tensors.shape(tensor)
        return len(sizes) == len(shape) and all(
            size == wanted
            for size, wanted in zip(sizes, shape, strict=True)
            if isinstance(wanted, int)
        )


def _writers(ran: ExecutableMethod, method: Method) -> dict[int, Instruction]:
    """Value -> the instruction that writes it first.

    A kernel writes its last value; a delegate the last ones, which it is the first to use.
    """
    writers: dict[int, Instruction] = {}
    used = set(ran.inputs)
    for instruction in ran.instructions:
        if instruction.kind is InstructionKind.KERNEL_CALL and instruction.values:
            last = instruction.values[-1]
            written = {last, *ran.lists.get(last, ())}
        elif instruction.kind is InstructionKind.DELEGATE_CALL:
            count = method.outputs.get(instruction.number, len(instruction.values))
            written = set(instruction.values[max(len(instruction.values) - count, 0) :]) - used
        else:
            written = set[int]()
        for value in written:
            writers.setdefault(value, instruction)
        used.update(instruction.values)
    return writers


XnnpackNodes = tuple[XnnpackNode, ...]


class ExecutedProgram:
    """The program file that ran in a trace."""

    def __init__(self, trace: Trace, executable: Executable) -> None:
        self.name = os.path.basename(executable.path)
        self._trace = trace
        self._executable = executable
        self._alignments: dict[tuple[int, int, str], dict[int, XnnpackNodes | str]] = {}
        self._branches: dict[str, Mapping[int, int]] = {}
        self._views: dict[str, Mapping[int, int]] = {}

    def xnnpack_nodes(self, key: int, method: str) -> XnnpackNodes | str | None:
        """Return the nodes that XNNPACK logged as an event, or why they are not known.

        Several if one operator runs what they compute. None if the event is not in a call of
        XNNPACK.
        """
        ran = self._executable.method(method)
        scope, instruction = (
            int(self._trace.keys.scope[key]),
            int(self._trace.keys.instruction[key]),
        )
        if ran is None or delegate_of(ran, instruction).backend != XNNPACK:
            return None
        place = scope, instruction, method
        if place not in self._alignments:
            keys = self._events.get((scope, instruction), [])
            self._alignments[place] = self._aligned(keys, delegate_of(ran, instruction))
        return self._alignments[place].get(key)

    def _aligned(self, keys: Sequence[int], delegate: Delegate) -> dict[int, XnnpackNodes | str]:
        """Return the nodes of the events of a call, or why they are not known."""
        if delegate.unread:
            return dict.fromkeys(keys, delegate.unread)
        events = [str(self._trace.keys.identifier[key]) for key in keys]
        alignment = align(events, delegate.nodes, delegate.dataflow)
        return {
            key: why or tuple(delegate.nodes[node] for node in nodes)
            for key, nodes, why in zip(keys, alignment.nodes, alignment.reasons, strict=True)
        }

    def branch_node(self, instruction: int, program: Program, method: Method) -> int | None:
        """Return the node of an instruction in a branch, as index into `Program.nodes`."""
        if method.name not in self._branches:
            ran = self._executable.method(method.name)
            node_of = {} if ran is None else branch_nodes(program, method, ran)
            self._branches[method.name] = node_of
        return self._branches[method.name].get(instruction)

    def view_node(self, instruction: int, program: Program, method: Method) -> int | None:
        """Return the node of a view that the runtime makes, as index into `Program.nodes`."""
        if method.name not in self._views:
            ran = self._executable.method(method.name)
            self._views[method.name] = {} if ran is None else view_nodes(program, method, ran)
        return self._views[method.name].get(instruction)

    @cached_property
    def _events(self) -> dict[tuple[int, int], list[int]]:
        return call_events(self._trace)
