"""Tooltips of the graph, and the line below it. No Qt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.workload.mlir_tensors import with_tensors
from viewer.analysis.workload.operator_tensors import outputs_of
from viewer.gui.panels.base.slice_facts import tensor_text
from viewer.gui.panels.graph.measures import Amounts
from viewer.gui.panels.graph.names import backend_name, call_name, cut_line
from viewer.gui.panels.graph.question import GraphAnswer
from viewer.model.times import counted, group_digits
from viewer.program.program import Operator, Tensor
from viewer.program.sources.files import file_name
from viewer.render.graph.model_tree import GroupKind

_MOST_TENSORS = 6
_MOST_INPUTS = 6
_MOST_CARRIED = 4  # edges that a tooltip names


def node_tip(answer: GraphAnswer, node: int) -> str:
    """Return the tooltip of a visible node."""
    lines = _group_lines if answer.model.tree.operator[node] < 0 else _operator_lines
    return "\n".join(cut_line(line) for line in lines(answer, node))


def _operator_lines(answer: GraphAnswer, node: int) -> Iterator[str]:
    question, look = answer.question, answer.looks[node]
    program, calls = question.program, question.calls
    number = int(answer.model.tree.operator[node])
    operator = program.operators[number]
    yield operator.label
    if operator.source is not None:
        yield f"{file_name(operator.source.path)}:{operator.source.line}"
    call = next((call for call in calls if number in call.operators), None)
    if call is not None:
        yield f"in a delegate call: {backend_name(call)}, instruction {call.instruction}"
    elif look.tag:
        yield f"in a delegate call: {look.tag}"
    figures = [] if question.figures is None else question.figures.lines(number)
    yield from figures
    yield from (f"output: {text}" for text in _tensors(outputs_of(with_tensors(program, operator))))
    flow = dataflow_of(program)
    inputs = flow.given.get(number, ())
    constants = sum(value.is_kept for value in inputs)
    if constants:
        yield f"input: {counted(constants, 'parameter')} or constants of the model"
    names = [value.name for value in inputs if not value.is_kept]
    yield from (f"input: model input {name}" for name in names[:_MOST_INPUTS])
    if len(names) > _MOST_INPUTS:
        yield f"and {group_digits(len(names) - _MOST_INPUTS)} more inputs"
    if number in flow.unknown:
        yield f"{flow.unknown[number]}."
    for count, what in zip(
        answer.hidden.get(node, (0, 0)), ("inputs from", "outputs to"), strict=True
    ):
        if count:
            yield f"{what} {counted(count, 'more operator')}"
    title = "" if answer.measure is None else answer.measure.title
    if look.figure and title != "Time" and not any(look.figure in line for line in figures):
        yield f"{title}: {look.figure}" if title else look.figure


def _group_lines(answer: GraphAnswer, node: int) -> Iterator[str]:
    tree, question, look = answer.model.tree, answer.question, answer.looks[node]
    around = [
        tree.names[group]
        for group in tree.around(node)[::-1]
        if group and tree.kind[group] == GroupKind.MODULE
    ]
    call, count = int(tree.call[node]), counted(int(tree.operators[node]), "operator")
    if tree.kind[node] == GroupKind.MODULE:
        yield ".".join([*around, look.name]) + (f" ({look.detail})" if look.detail else "")
    else:
        name = look.name if call < 0 else call_name(question.calls, call)
        yield f"{name} in {'.'.join(around)}" if around else name
    if call >= 0:
        yield f"instruction {question.calls[call].instruction}"
        whole = len(question.calls[call].operators)
        if whole != tree.operators[node]:
            count += f" of {group_digits(whole)} in this delegate call"
    yield count
    title = "" if answer.measure is None else answer.measure.title
    if look.figure:
        yield f"{title}: {look.figure}" if title else look.figure
    values = answer.values
    if isinstance(values, Amounts) and values.own[node] and values.sets[node]:
        yield f"and {values.shared_text(node)}, not divided"
    if node:
        is_open = bool(answer.layout.shown.is_frame[node])
        yield f"Double-click to {'collapse' if is_open else 'expand'}"


def edge_tip(answer: GraphAnswer, edge: int) -> str:
    """Return the tooltip of an edge: what it carries; of a single one the tensors, if known."""
    edges, model = answer.layout.edges, answer.model
    carried = edges.carried[edges.ptr[edge] : edges.ptr[edge + 1]]
    ends = [
        [model.program.operators[int(side[number])] for side in (model.producer, model.consumer)]
        for number in carried[:_MOST_CARRIED].tolist()
    ]
    lines = [f"{source.label} → {target.label}" for source, target in ends]
    if len(carried) == 1:
        lines += _tensors(_passed(answer, *ends[0]))
    else:
        lines.insert(0, f"{group_digits(len(carried))} edges")
    if len(carried) > _MOST_CARRIED:
        lines.append(f"and {group_digits(len(carried) - _MOST_CARRIED)} more")
    return "\n".join(cut_line(line) for line in lines)


def _passed(answer: GraphAnswer, producer: Operator, consumer: Operator) -> Sequence[Tensor]:
    """Return the tensors that flow between two operators, if known, else all that one returns."""
    program = answer.question.program
    source, target = with_tensors(program, producer), with_tensors(program, consumer)
    inputs = {tensor.name for node in target.nodes for tensor in node.inputs}
    outputs = [tensor for node in source.nodes for tensor in node.outputs]
    return [tensor for tensor in outputs if tensor.name in inputs] or outputs_of(source)


def _tensors(tensors: Sequence[Tensor]) -> list[str]:
    texts = [f"{cut_line(t.name)}: {cut_line(tensor_text(t))}" for t in tensors[:_MOST_TENSORS]]
    more = len(tensors) - _MOST_TENSORS
    return [*texts, f"and {more} more"] if more > 0 else texts


def summary(answer: GraphAnswer, marked: Sequence[int]) -> str:
    """Return the line below the graph: about its operators, or the changes of the marked ones."""
    figures = answer.question.figures
    text = _around_text(answer) if answer.around is not None else _whole_text(answer)
    if figures is None:
        return text
    return figures.summary(marked) or " · ".join(filter(None, (text, figures.left_out)))


def _whole_text(answer: GraphAnswer) -> str:
    """Return "38 operators · 12 modules · 10 delegate calls · 4 closed groups"."""
    tree, calls = answer.model.tree, len(answer.question.calls)
    modules = int((tree.kind == GroupKind.MODULE).sum())
    closed = int(tree.is_group[answer.layout.shown.boxes].sum())
    parts = [counted(len(tree.leaf), "operator")]
    parts += [counted(modules, "module")] if modules else []
    parts += [counted(calls, "delegate call")] if calls else []
    parts.append(counted(closed, "closed group") if closed else "all groups open")
    return " · ".join(parts)


def _around_text(answer: GraphAnswer) -> str:
    """Return "conv2d: 1 producer, 2 consumers · 14 operators shown"."""
    question, center = answer.question, answer.question.center
    assert center is not None
    assert answer.around is not None
    count = f"{counted(len(answer.around), 'operator')} shown"
    if len(center.seeds) != 1:
        return f"{center.what}: {count}" if center.what else count
    (seed,) = center.seeds
    flow = dataflow_of(question.program)
    name = cut_line(question.program.operators[seed].label)
    consumers = counted(len(flow.outputs_of(seed)), "consumer")
    if seed in flow.unknown:
        return f"{name}: {consumers}, producers unknown · {count}"
    return f"{name}: {counted(len(flow.inputs_of(seed)), 'producer')}, {consumers} · {count}"
