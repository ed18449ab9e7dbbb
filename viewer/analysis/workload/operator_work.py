"""The work of an operator: its operations and the bytes that it moves, from shapes alone.

* Operations are the sum over its graph nodes (`viewer.analysis.workload.flop_rules`); a
  multiply-add is two. They are called FLOPs if the results are floating-point numbers.
* Bytes are for the operator as a whole: each input read once, each parameter once, each output
  written once. Values passed between its own nodes are not counted, so a runtime that stores them
  moves more, and one that fuses operators moves less. A convolution kernel that reads its input
  nine times counts as reading it once.
* Nothing is guessed about a node without a rule, or with a dynamic size: operations are then "at
  least" those of the other nodes, or unknown, and bytes are unknown. The reasons are kept.

Nothing here is measured.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from viewer.analysis.workload.flop_rules import count_operations, is_understood
from viewer.analysis.workload.node_traffic import Traffic, is_structure, traffic_of
from viewer.analysis.workload.operator_tensors import (
    NotKnown,
    bytes_of,
    is_floating,
    used_elsewhere,
)
from viewer.program.program import GraphNode, Operator, Program, Tensor, base_name

_NOT_MOVED = (Traffic.CONSTANT, Traffic.ROOM)


@dataclass(frozen=True, slots=True)
class OpWork:
    """The operations of all nodes of an operator with the same op.

    rule: the rule of each of these nodes; "" if they differ.
    """

    op: str
    nodes: int
    operations: int
    rule: str


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """Bytes read from inputs, read from parameters, and written."""

    inputs: int
    parameters: int
    outputs: int

    @property
    def total(self) -> int:
        return self.inputs + self.parameters + self.outputs


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """The work of one operator, or some of its nodes, in one call.

    operations: None if unknown; at_least: whether some nodes are not counted. parts: largest first,
    without those without arithmetic. missing: why nodes are not counted, without duplicates.
    floating: whether the results are floating-point numbers. moved: None if unknown, for the reason
    `moved_missing`; note: a remark on the bytes.
    """

    operations: int | None
    at_least: bool
    parts: tuple[OpWork, ...]
    missing: tuple[str, ...]
    floating: bool
    moved: MovedBytes | None
    moved_missing: str = ""
    note: str = ""

    @property
    def intensity(self) -> float | None:
        """Operations per byte; None if either is not fully known, or nothing is moved."""
        if self.operations is None or self.at_least or self.moved is None or not self.moved.total:
            return None
        return self.operations / self.moved.total


def figures_of(program: Program, operator: Operator) -> OperatorFigures:
    """Return the work of an operator of a program."""
    return figures_of_nodes(operator.nodes, used_elsewhere(program, operator))


def figures_of_nodes(nodes: Sequence[GraphNode], leaving: Collection[str] = ()) -> OperatorFigures:
    """Return the work of some nodes as one unit.

    leaving: names of values that other nodes use as well; values that no node of the group uses
    count as outputs anyway.
    """
    parts: dict[str, OpWork] = {}
    missing: dict[str, None] = {}
    floating = False
    for node in nodes:
        try:
            count = count_operations(node)
        except NotKnown as reason:
            missing[str(reason)] = None
            continue
        if not count.operations:
            continue
        floating = floating or any(is_floating(t) for t in node.outputs[:1])
        op_work = parts.get(node.op)
        parts[node.op] = OpWork(
            node.op if node.op.count(".") == 1 else base_name(node.op),
            1 + (op_work.nodes if op_work else 0),
            count.operations + (op_work.operations if op_work else 0),
            count.rule if op_work is None or op_work.rule == count.rule else "",
        )
    total = sum(part.operations for part in parts.values())
    is_known = bool(total) or not missing
    try:
        moved, why = _moved(nodes, leaving), ""
    except NotKnown as reason:
        moved, why = None, str(reason)
    return OperatorFigures(
        operations=total if is_known else None,
        at_least=is_known and bool(missing),
        parts=tuple(sorted(parts.values(), key=lambda part: -part.operations)),
        missing=tuple(missing),
        floating=floating if parts else _makes_floats(nodes),
        moved=moved,
        moved_missing=why,
        note=_note(nodes),
    )


def _makes_floats(nodes: Sequence[GraphNode]) -> bool:
    tensors = [tensor for node in nodes for tensor in node.outputs[:1]]
    return not tensors or any(is_floating(tensor) for tensor in tensors)


def _note(nodes: Sequence[GraphNode]) -> str:
    """Return a remark on the bytes of an operator that only moves data."""
    kinds = {traffic_of(node) for node in nodes}
    return next(iter(kinds)).value if len(kinds) == 1 and Traffic.WORK not in kinds else ""


def _moved(nodes: Sequence[GraphNode], leaving: Collection[str]) -> MovedBytes:
    """Return the bytes that some nodes move. Raises NotKnown if any size is unknown."""
    for node in nodes:
        if node.op.startswith("higher_order."):
            raise NotKnown("the traffic of control flow depends on its data")
        if is_structure(node):
            raise NotKnown(f"{node.op} itself does no work")
        if not is_understood(node):  # it may read only part of its inputs, or nothing
            raise NotKnown(f"no rule for {node.op}")
        if not (node.inputs or node.outputs) and traffic_of(node) is not Traffic.SIZES:
            raise NotKnown(f"the tensors of {node.op} are not recorded")
    outputs = {tensor.name: tensor for node in nodes for tensor in node.outputs}
    roots = _roots(nodes)
    read: dict[str, int] = {}
    inputs: dict[str, Tensor] = {}
    used: set[str] = set()
    for node in nodes:
        traffic = traffic_of(node)
        used.update(tensor.name for tensor in node.inputs)
        if traffic in (Traffic.VIEW, Traffic.FILL, Traffic.SIZES, *_NOT_MOVED):
            continue
        for position, tensor in enumerate(node.inputs):
            root = roots.get(tensor.name, tensor)
            if root.name in outputs:
                continue
            picked = traffic is Traffic.PICK and position == 0
            part = sum(map(bytes_of, node.outputs)) if picked else bytes_of(tensor)
            inputs[root.name] = root
            # A part that is read twice counts twice here, but never more than the whole value.
            read[root.name] = min(read.get(root.name, 0) + part, bytes_of(root))
    written: dict[str, int] = {}
    for node in nodes:
        if traffic_of(node) in _NOT_MOVED:
            continue
        for tensor in node.outputs:
            root = roots.get(tensor.name, tensor)
            leaves = tensor.name in leaving or tensor.name not in used
            if leaves and root.name in outputs:
                written[root.name] = bytes_of(root)
    parameters = {name for name, tensor in inputs.items() if tensor.parameter}
    return MovedBytes(
        inputs=sum(size for name, size in read.items() if name not in parameters),
        parameters=sum(size for name, size in read.items() if name in parameters),
        outputs=sum(written.values()),
    )


def _roots(nodes: Sequence[GraphNode]) -> dict[str, Tensor]:
    """Map the name of each view to the value whose memory it shares."""
    roots: dict[str, Tensor] = {}
    for node in nodes:
        if traffic_of(node) is Traffic.VIEW and node.inputs:
            viewed = node.inputs[0]
            root = roots.get(viewed.name, viewed)
            roots.update((tensor.name, root) for tensor in node.outputs)
    return roots
