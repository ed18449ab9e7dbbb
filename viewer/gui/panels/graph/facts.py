"""Texts and fills of the graph's nodes and edges. No Qt.

A node has three lines: the operator, its place in the model, and its cost in the current scope, or
its change between two arms. That figure also determines the fill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.flows.neighborhood import Neighborhood
from viewer.analysis.workload.mlir_tensors import with_tensors
from viewer.analysis.workload.operator_tensors import outputs_of
from viewer.gui.panels.base.slice_facts import tensor_text
from viewer.gui.panels.graph.fills import Fill, NoCostFill
from viewer.gui.panels.graph.names import cut_line
from viewer.gui.panels.graph.node_figures import NodeCell, NodeFigures
from viewer.model.times import counted, group_digits
from viewer.program.program import Operator, Program, Tensor
from viewer.program.sources.files import file_name

_MOST_TENSORS = 6
_MOST_INPUTS = 6


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the graph draws for an operator.

    cost: the cost or the change, "" if there is no profile. tag: the operator's delegate call,
    "Xnnpack 2", "" for none. inputs, outputs: the number of hidden neighbors. verdict: of the
    change, None if the figure is a cost.
    """

    operator: int
    name: str
    place: str
    cost: str
    fill: Fill
    tag: str = ""
    inputs: int = 0
    outputs: int = 0
    verdict: Verdict | None = None

    @property
    def hidden(self) -> tuple[int, int]:
        """The numbers of hidden producers and hidden consumers."""
        return self.inputs, self.outputs


def nodes_of(
    program: Program,
    around: Neighborhood,
    figures: NodeFigures | None,
    tags: Mapping[int, str],
) -> tuple[NodeFacts, ...]:
    """Return the nodes of a neighborhood, in its order. figures: None without a profile."""
    nothing = [NodeCell("", NoCostFill.PLAIN)] * len(around)
    cells = nothing if figures is None else figures.cells(around.operators)
    found = []
    for at, (index, cell) in enumerate(zip(around.operators.tolist(), cells, strict=True)):
        operator = program.operators[index]
        tag = tags.get(index, "") or ("" if figures is None else cut_line(figures.tag(index)))
        hidden = int(around.hidden_inputs[at]), int(around.hidden_outputs[at])
        name, place = cut_line(operator.name), place_of(operator)
        found.append(
            NodeFacts(index, name, place, cell.text, cell.fill, tag, *hidden, cell.verdict)
        )
    return tuple(found)


def place_of(operator: Operator) -> str:
    """Return an operator's module, else its source line; "" if neither is recorded."""
    if operator.module_path:
        return cut_line(operator.module_path, from_end=True)
    source = operator.source
    return cut_line(f"{file_name(source.path)}:{source.line}", from_end=True) if source else ""


def node_tip(program: Program, node: NodeFacts, figures: NodeFigures | None) -> str:
    """Return the tooltip of a node."""
    operator = program.operators[node.operator]
    lines = [operator.label]
    source = operator.source
    if source is not None:
        lines.append(f"{file_name(source.path)}:{source.line}")
    if node.tag:
        lines.append(f"in delegate call {node.tag}")
    above = len(lines)
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
    lines = [cut_line(line) for line in lines]
    lines[above:above] = [] if figures is None else figures.lines(node.operator)
    return "\n".join(lines)


def edge_tip(program: Program, producer: int, consumer: int) -> str:
    """Return "linear → gelu" and the tensors that flow between two operators, if known."""
    source, target = (with_tensors(program, program.operators[i]) for i in (producer, consumer))
    taken = {tensor.name for node in target.nodes for tensor in node.inputs}
    produced = [tensor for node in source.nodes for tensor in node.outputs]
    passed = [tensor for tensor in produced if tensor.name in taken] or outputs_of(source)
    lines = [f"{cut_line(source.label)} → {cut_line(target.label)}", *_tensor_texts(passed)]
    return "\n".join(lines)


def _tensor_texts(tensors: Sequence[Tensor]) -> list[str]:
    texts = [f"{cut_line(t.name)}: {cut_line(tensor_text(t))}" for t in tensors[:_MOST_TENSORS]]
    more = len(tensors) - _MOST_TENSORS
    return [*texts, f"and {more} more"] if more > 0 else texts


def summary(program: Program, around: Neighborhood, seeds: Sequence[int], what: str) -> str:
    """Return "conv2d: 1 producer, 2 consumers · 14 operators shown".

    what: the name of several seeds, such as "Xnnpack 2".
    """
    flow = dataflow_of(program)
    shown = f"{counted(len(around), 'operator')} shown"
    if len(seeds) != 1:
        return f"{what}: {shown}" if what else shown
    seed = seeds[0]
    name = cut_line(program.operators[seed].label)
    takes, gives = len(flow.inputs_of(seed)), len(flow.outputs_of(seed))
    if seed in flow.unknown:
        return f"{name}: {counted(gives, 'consumer')}, producers unknown · {shown}"
    return f"{name}: {counted(takes, 'producer')}, {counted(gives, 'consumer')} · {shown}"
