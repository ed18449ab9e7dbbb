"""Texts and fills of the graph's nodes and edges. No Qt.

A node has three lines: the operator, its place in the model, and its cost in the current scope. The
cost also determines the fill: a step of the ramp, from 0 to the program's most expensive operator
in that scope, or a fill for operators without such a cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np

from viewer.analysis.cost.operators import OperatorCosts
from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.flows.neighborhood import Neighborhood
from viewer.analysis.workload.mlir_tensors import with_tensors
from viewer.analysis.workload.operator_tensors import outputs_of
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import tensor_text
from viewer.model.times import counted, format_share, format_time, group_digits, tick_to_ns
from viewer.program.program import Operator, Program, Tensor
from viewer.program.sources.files import file_name
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB

_MOST_TENSORS = 6
_MOST_INPUTS = 6
# Names come from files: longer ones are cut in the drawing and in tooltips.
_LONGEST = 120


class NoCostFill(Enum):
    """Fills that are not a palette index.

    IDLE: no time in the current scope. UNLINKED: no slice of the profile is linked to the operator.
    PLAIN: there is no profile.
    """

    IDLE = "idle"
    UNLINKED = "unlinked"
    PLAIN = "plain"


Fill = int | NoCostFill


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the graph draws for an operator.

    cost: "" if there is no profile. tag: the operator's delegate call, "Xnnpack 2", "" for none.
    inputs, outputs: the number of hidden neighbors.
    """

    operator: int
    name: str
    place: str
    cost: str
    fill: Fill
    tag: str = ""
    inputs: int = 0
    outputs: int = 0

    @property
    def hidden(self) -> tuple[int, int]:
        """The numbers of hidden producers and hidden consumers."""
        return self.inputs, self.outputs


def nodes_of(
    program: Program,
    around: Neighborhood,
    costs: OperatorCosts | None,
    ns_per_tick: Fraction,
    tags: Mapping[int, str],
) -> tuple[NodeFacts, ...]:
    """Return the nodes of a neighborhood, in its order. costs: None without a profile."""
    fills = [NoCostFill.PLAIN] * len(around) if costs is None else fills_of(costs, around.operators)
    return tuple(
        NodeFacts(
            index,
            _line((operator := program.operators[index]).name),
            place_of(operator),
            "" if costs is None else cost_text(costs, index, ns_per_tick),
            fill,
            tags.get(index, ""),
            int(around.hidden_inputs[at]),
            int(around.hidden_outputs[at]),
        )
        for at, (index, fill) in enumerate(zip(around.operators.tolist(), fills, strict=True))
    )


def place_of(operator: Operator) -> str:
    """Return an operator's module, else its source line; "" if neither is recorded."""
    if operator.module_path:
        return _line(operator.module_path, from_end=True)
    source = operator.source
    return _line(f"{file_name(source.path)}:{source.line}", from_end=True) if source else ""


def fills_of(costs: OperatorCosts, operators: Ints) -> list[Fill]:
    """Return the fill of each of these operators."""
    self_time, shared = costs.self_ticks[operators], costs.shared[operators]
    step = np.minimum(self_time * HEAT_STEPS // max(costs.most_expensive, 1), HEAT_STEPS - 1)
    return [
        HEAT + at
        if self_ticks >= 0
        else SLAB
        if shared_ticks >= 0
        else NoCostFill.IDLE
        if seen
        else NoCostFill.UNLINKED
        for at, self_ticks, shared_ticks, seen in zip(
            step.tolist(),
            self_time.tolist(),
            shared.tolist(),
            costs.linked[operators].tolist(),
            strict=True,
        )
    ]


def cost_text(costs: OperatorCosts, operator: int, ns_per_tick: Fraction) -> str:
    """Return "12.210 µs · 22.1 %", "12.210 µs shared by 6", or why there is no time."""
    self_ticks, shared = int(costs.self_ticks[operator]), int(costs.shared[operator])
    if self_ticks >= 0:
        share = f" · {format_share(self_ticks, costs.whole)}" if costs.whole else ""
        more = " + shared" if shared >= 0 else ""
        return f"{format_time(tick_to_ns(self_ticks, ns_per_tick))}{share}{more}"
    if shared >= 0:
        return f"{format_time(tick_to_ns(shared, ns_per_tick))} {_sharing(costs, operator)}"
    return "no time in this range" if costs.linked[operator] else "not linked"


def _sharing(costs: OperatorCosts, operator: int) -> str:
    if costs.sets[operator] == 1:
        return f"shared by {group_digits(int(costs.members[operator]))}"
    return f"in {group_digits(int(costs.sets[operator]))} shared calls"


def node_tip(
    program: Program,
    node: NodeFacts,
    costs: OperatorCosts | None,
    ns_per_tick: Fraction,
    scope: str,
) -> str:
    """Return the tooltip of a node. scope: the scope of its cost, such as "run 2"."""
    operator = program.operators[node.operator]
    lines = [operator.label]
    source = operator.source
    if source is not None:
        lines.append(f"{file_name(source.path)}:{source.line}")
    if node.tag:
        lines.append(f"in delegate call {node.tag}")
    if costs is not None:
        lines.append(_cost_sentence(costs, node, ns_per_tick, scope))
    outputs = outputs_of(with_tensors(program, operator))
    lines += [f"output: {text}" for text in _tensor_texts(outputs)]
    flow = dataflow_of(program)
    inputs = flow.given.get(node.operator, ())
    constants = sum(value.is_kept for value in inputs)
    if constants:
        lines.append(f"input: {counted(constants, 'parameter')} or constants of the model")
    names = [value.name for value in inputs if not value.is_kept]
    lines += [f"input: model input {name}" for name in names[:_MOST_INPUTS]]
    if len(names) > _MOST_INPUTS:
        lines.append(f"and {group_digits(len(names) - _MOST_INPUTS)} more inputs")
    if node.operator in flow.unknown:
        lines.append(f"{flow.unknown[node.operator]}.")
    for count, what in zip(node.hidden, ("inputs from", "outputs to"), strict=True):
        if count:
            lines.append(f"{what} {counted(count, 'more operator')}")
    return "\n".join(map(_line, lines))


def _cost_sentence(costs: OperatorCosts, node: NodeFacts, ns_per_tick: Fraction, scope: str) -> str:
    self_ticks, shared = int(costs.self_ticks[node.operator]), int(costs.shared[node.operator])
    if self_ticks < 0 and shared < 0:
        linked = bool(costs.linked[node.operator])
        return f"no slice in {scope}" if linked else "not linked to any slice"
    parts = []
    if self_ticks >= 0:
        share = f", {format_share(self_ticks, costs.whole)}" if costs.whole else ""
        parts.append(f"{format_time(tick_to_ns(self_ticks, ns_per_tick))} self{share}")
    if shared >= 0:
        time = format_time(tick_to_ns(shared, ns_per_tick))
        parts.append(f"{time} {_sharing(costs, node.operator)}, not divided")
    return f"{' and '.join(parts)} in {scope}"


def edge_tip(program: Program, producer: int, consumer: int) -> str:
    """Return "linear → gelu" and the tensors that flow between two operators, if known."""
    source, target = (with_tensors(program, program.operators[i]) for i in (producer, consumer))
    taken = {tensor.name for node in target.nodes for tensor in node.inputs}
    produced = [tensor for node in source.nodes for tensor in node.outputs]
    passed = [tensor for tensor in produced if tensor.name in taken] or outputs_of(source)
    lines = [f"{_line(source.label)} → {_line(target.label)}", *_tensor_texts(passed)]
    return "\n".join(lines)


def _tensor_texts(tensors: Sequence[Tensor]) -> list[str]:
    texts = [f"{_line(t.name)}: {_line(tensor_text(t))}" for t in tensors[:_MOST_TENSORS]]
    more = len(tensors) - _MOST_TENSORS
    return [*texts, f"and {more} more"] if more > 0 else texts


def _line(text: str, *, from_end: bool = False) -> str:
    """Return a text as one line of limited length.

    from_end: keep the end of a long text, which is the more telling part of a path.
    """
    cut = text[-_LONGEST:] if from_end else text[:_LONGEST]
    line = " ".join(cut.splitlines())
    if len(text) <= _LONGEST:
        return line
    return f"…{line}" if from_end else f"{line}…"


def tags_of(instances: Sequence[Instance]) -> dict[int, str]:
    """Map each operator to its first delegate call, such as "Xnnpack 2"."""
    tags: dict[int, str] = {}
    for instance in instances:
        tag = _line(f"{instance.backend.removesuffix('Backend')} {instance.instruction}")
        for operator in instance.operators:
            tags.setdefault(operator, tag)
    return tags


def summary(program: Program, around: Neighborhood, seeds: Sequence[int], what: str) -> str:
    """Return "conv2d: 1 producer, 2 consumers · 14 operators shown".

    what: the name of several seeds, such as "Xnnpack 2".
    """
    flow = dataflow_of(program)
    shown = f"{counted(len(around), 'operator')} shown"
    if len(seeds) != 1:
        return f"{what}: {shown}" if what else shown
    seed = seeds[0]
    name = _line(program.operators[seed].label)
    takes, gives = len(flow.inputs_of(seed)), len(flow.outputs_of(seed))
    if seed in flow.unknown:
        return f"{name}: {counted(gives, 'consumer')}, producers unknown · {shown}"
    return f"{name}: {counted(takes, 'producer')}, {counted(gives, 'consumer')} · {shown}"
