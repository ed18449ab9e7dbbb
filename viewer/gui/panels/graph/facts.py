"""What the graph view says of operators and of what they hand one another, as plain text. No Qt.

A node has three lines: the operator, where it is in the model, and what it cost in the range that
costs are of. The cost also gives its fill: one of the steps of the ramp, from 0 to the most
expensive operator of the program in that range, or one of the fills for what has no such cost.
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
from viewer.render.palette import RAMP, RAMP_STEPS, SLAB

_MOST_TENSORS = 6
_MOST_INPUTS = 6
# Names come from files: no more of one is drawn or told than anybody reads.
_LONGEST = 120


class NoCostFill(Enum):
    """Fills that are no palette index: of an operator without time there, of one that no slice of
    the profile is linked to, and of every operator where there is no profile."""

    IDLE = "idle"
    UNLINKED = "unlinked"
    PLAIN = "plain"


Fill = int | NoCostFill


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What is drawn of one operator. cost: "" where nothing ran. tag: the delegate's call that it
    went into, "Xnnpack 2", "" for none. inputs, outputs: how many neighbors are not shown."""

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
        """Neighbors that are not shown: those it takes from, those it hands to."""
        return self.inputs, self.outputs


def nodes_of(
    program: Program,
    around: Neighborhood,
    costs: OperatorCosts | None,
    ns_per_tick: Fraction,
    tags: Mapping[int, str],
) -> tuple[NodeFacts, ...]:
    """The nodes of a neighborhood, in its order. costs: None of a record alone."""
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
    """The module that an operator is in, or its source line; "" where neither is recorded."""
    if operator.module_path:
        return _line(operator.module_path, from_end=True)
    source = operator.source
    return _line(f"{file_name(source.path)}:{source.line}", from_end=True) if source else ""


def fills_of(costs: OperatorCosts, operators: Ints) -> list[Fill]:
    """The fill of each of some operators."""
    own, shared = costs.own[operators], costs.shared[operators]
    step = np.minimum(own * RAMP_STEPS // max(costs.most_expensive, 1), RAMP_STEPS - 1)
    return [
        RAMP + at
        if mine >= 0
        else SLAB
        if other >= 0
        else NoCostFill.IDLE
        if seen
        else NoCostFill.UNLINKED
        for at, mine, other, seen in zip(
            step.tolist(),
            own.tolist(),
            shared.tolist(),
            costs.linked[operators].tolist(),
            strict=True,
        )
    ]


def cost_text(costs: OperatorCosts, operator: int, ns_per_tick: Fraction) -> str:
    """ "12.210 µs · 22.1 %", "12.210 µs shared by 6", "no time here", "not linked"."""
    own, shared = int(costs.own[operator]), int(costs.shared[operator])
    if own >= 0:
        share = f" · {format_share(own, costs.whole)}" if costs.whole else ""
        more = " + shared" if shared >= 0 else ""
        return f"{format_time(tick_to_ns(own, ns_per_tick))}{share}{more}"
    if shared >= 0:
        return f"{format_time(tick_to_ns(shared, ns_per_tick))} {_sharing(costs, operator)}"
    return "no time here" if costs.linked[operator] else "not linked"


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
    """All of one operator. scope: what its cost is of, "run 2"."""
    operator = program.operators[node.operator]
    lines = [operator.label]
    source = operator.source
    if source is not None:
        lines.append(f"{file_name(source.path)}:{source.line}")
    if node.tag:
        lines.append(f"in the delegate's call {node.tag}")
    if costs is not None:
        lines.append(_cost_sentence(costs, node, ns_per_tick, scope))
    made = outputs_of(with_tensors(program, operator))
    lines += [f"makes {text}" for text in _tensor_texts(made)]
    flow = dataflow_of(program)
    given = flow.given.get(node.operator, ())
    kept = sum(value.is_kept for value in given)
    if kept:
        lines.append(f"takes {counted(kept, 'parameter')} or constants of the model")
    names = [value.name for value in given if not value.is_kept]
    lines += [f"takes the model's input {name}" for name in names[:_MOST_INPUTS]]
    if len(names) > _MOST_INPUTS:
        lines.append(f"and {group_digits(len(names) - _MOST_INPUTS)} inputs more")
    if node.operator in flow.unknown:
        lines.append(f"{flow.unknown[node.operator]}.")
    for count, what in zip(node.hidden, ("takes from", "hands to"), strict=True):
        if count:
            lines.append(f"{what} {counted(count, 'operator')} more")
    return "\n".join(map(_line, lines))


def _cost_sentence(costs: OperatorCosts, node: NodeFacts, ns_per_tick: Fraction, scope: str) -> str:
    own, shared = int(costs.own[node.operator]), int(costs.shared[node.operator])
    if own < 0 and shared < 0:
        linked = bool(costs.linked[node.operator])
        return f"no slice of it in {scope}" if linked else "no slice of the profile is linked to it"
    parts = []
    if own >= 0:
        share = f", {format_share(own, costs.whole)}" if costs.whole else ""
        parts.append(f"{format_time(tick_to_ns(own, ns_per_tick))} of its own{share}")
    if shared >= 0:
        time = format_time(tick_to_ns(shared, ns_per_tick))
        parts.append(f"{time} {_sharing(costs, node.operator)}, not divided")
    return f"{' and '.join(parts)} in {scope}"


def edge_tip(program: Program, producer: int, consumer: int) -> str:
    """What one operator hands to another: "linear → gelu" and the tensors, where they are known."""
    one, other = (with_tensors(program, program.operators[i]) for i in (producer, consumer))
    taken = {tensor.name for node in other.nodes for tensor in node.inputs}
    made = [tensor for node in one.nodes for tensor in node.outputs]
    handed = [tensor for tensor in made if tensor.name in taken] or outputs_of(one)
    lines = [f"{_line(one.label)} → {_line(other.label)}", *_tensor_texts(handed)]
    return "\n".join(lines)


def _tensor_texts(tensors: Sequence[Tensor]) -> list[str]:
    texts = [f"{_line(t.name)}: {_line(tensor_text(t))}" for t in tensors[:_MOST_TENSORS]]
    more = len(tensors) - _MOST_TENSORS
    return [*texts, f"and {more} more"] if more > 0 else texts


def _line(text: str, *, from_end: bool = False) -> str:
    """A text as one line that is not too long; the end of a path tells more than its begin."""
    cut = text[-_LONGEST:] if from_end else text[:_LONGEST]
    line = " ".join(cut.splitlines())
    if len(text) <= _LONGEST:
        return line
    return f"…{line}" if from_end else f"{line}…"


def tags_of(instances: Sequence[Instance]) -> dict[int, str]:
    """Operator -> the first delegate's call that it went into, "Xnnpack 2"."""
    tags: dict[int, str] = {}
    for instance in instances:
        tag = _line(f"{instance.backend.removesuffix('Backend')} {instance.instruction}")
        for operator in instance.operators:
            tags.setdefault(operator, tag)
    return tags


def summary(program: Program, around: Neighborhood, seeds: Sequence[int], what: str) -> str:
    """ "conv2d: 1 producer, 2 consumers · 14 operators shown". what: that which several seeds are,
    "Xnnpack 2"."""
    flow = dataflow_of(program)
    shown = f"{counted(len(around), 'operator')} shown"
    if len(seeds) != 1:
        return f"{what}: {shown}" if what else shown
    seed = seeds[0]
    name = _line(program.operators[seed].label)
    takes, gives = len(flow.inputs_of(seed)), len(flow.outputs_of(seed))
    if seed in flow.unknown:
        return f"{name}: {counted(gives, 'consumer')}, producers not known · {shown}"
    return f"{name}: {counted(takes, 'producer')}, {counted(gives, 'consumer')} · {shown}"
