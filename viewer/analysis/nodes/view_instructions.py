"""Finds the graph nodes of views that the runtime makes, by the program file.

Export replaces a view_copy by a view. One of fixed sizes in planned memory needs no instruction;
for others it emits executorch_prim::et_view, without a debug handle. Its node is a view_copy that
no other instruction ran, whose input comes from the same call and whose sizes are the same. It is
linked only if exactly one node fits, or if several of equal views fit as many instructions, which
then are in the order of the graph.
"""

from __future__ import annotations

from viewer.analysis.nodes.executable_calls import in_control_flow, kernel_name
from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind
from viewer.program.program import Method, Program, base_name

_VIEW, _COPY = "executorch_prim::et_view", "view_copy"


def view_nodes(program: Program, method: Method, ran: ExecutableMethod) -> dict[int, int]:
    """Return instruction -> index into `Program.nodes` for views outside of control flow."""
    inside = in_control_flow(ran)
    views = [
        one
        for one in ran.instructions
        if one.name.startswith(_VIEW) and one.number not in inside and len(one.values) > 2
    ]
    views = [one for one in views if one.number not in method.handles]
    if not views:
        return {}
    graph = _Graph(program, method, ran)
    fits = {one.number: graph.nodes_of(one) for one in views}
    found = dict[int, int]()
    for nodes in set(fits.values()):
        same = sorted(number for number, own in fits.items() if own == nodes)
        others = frozenset().union(*(own for own in fits.values() if own != nodes))
        if len(same) == len(nodes) and not nodes & others:
            found.update(zip(same, sorted(nodes, key=graph.position), strict=True))
    return found


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
        by_number = {one.number: one for one in ran.instructions}
        delegated, copied = set[int](), set[int]()
        for instruction, handles in method.handles.items():
            one = by_number.get(instruction)
            if one is None or one.kind is InstructionKind.DELEGATE_CALL:
                delegated.update(handles)
            elif kernel_name(one) == _COPY:
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
    found: dict[int, Instruction] = {}
    used = set(ran.inputs)
    for one in ran.instructions:
        if one.kind is InstructionKind.KERNEL_CALL and one.values:
            last = one.values[-1]
            written = {last, *ran.lists.get(last, ())}
        elif one.kind is InstructionKind.DELEGATE_CALL:
            count = method.outputs.get(one.number, len(one.values))
            written = set(one.values[max(len(one.values) - count, 0) :]) - used
        else:
            written = set[int]()
        for value in written:
            found.setdefault(value, one)
        used.update(one.values)
    return found
