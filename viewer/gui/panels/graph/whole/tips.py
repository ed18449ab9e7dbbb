"""Tooltips of a whole model. No Qt."""

from __future__ import annotations

from viewer.gui.panels.graph.facts import NodeFacts, node_tip
from viewer.gui.panels.graph.names import cut_line, tag_of
from viewer.gui.panels.graph.whole.amounts import Amounts
from viewer.gui.panels.graph.whole.question import WholeAnswer
from viewer.model.times import counted, group_digits
from viewer.render.graph.model_tree import GroupKind

_MOST_CARRIED = 4  # edges that a tooltip names


def node_text(answer: WholeAnswer, node: int) -> str:
    """Return the tooltip of a visible node."""
    tree, question, look = answer.model.tree, answer.question, answer.looks.of[node]
    operator = int(tree.operator[node])
    title = "" if answer.measure is None else answer.measure.title
    value = f"{title}: {look.figure}" if title and look.figure else look.figure
    if operator >= 0:
        calls = question.calls
        tag = next((tag_of(c) for c in calls if operator in c.operators), "")
        facts = NodeFacts(operator, look.name, look.detail, look.figure, look.fill, tag)
        text = node_tip(question.program, facts, question.figures)
        is_stated = question.figures is not None and value in text
        return text if not value or is_stated or title == "Time" else f"{text}\n{value}"
    lines = [_path(answer, node)]
    if look.detail and tree.kind[node] == GroupKind.MODULE:
        lines[0] += f" ({look.detail})"
    lines.append(counted(int(tree.operators[node]), "operator"))
    call = int(tree.call[node])
    if call >= 0:
        whole = len(question.calls[call].operators)
        if whole != tree.operators[node]:
            lines[-1] += f" of {group_digits(whole)} in this delegate call"
    if value:
        lines.append(value)
    values = answer.values
    if isinstance(values, Amounts) and values.own[node] and values.sets[node]:
        lines.append(f"and {values.shared_text(node)}, not divided")
    is_open = bool(answer.layout.shown.is_frame[node])
    if node:
        lines.append(f"Double-click to {'collapse' if is_open else 'expand'}")
    return "\n".join(cut_line(line) for line in lines)


def edge_text(answer: WholeAnswer, edge: int) -> str:
    """Return the tooltip of an edge: what it carries."""
    edges, model = answer.layout.edges, answer.model
    carried = edges.carried[edges.ptr[edge] : edges.ptr[edge + 1]].tolist()
    operators = model.program.operators
    lines = [] if len(carried) == 1 else [f"{group_digits(len(carried))} edges"]
    lines += [
        f"{operators[int(model.producer[one])].label} → {operators[int(model.consumer[one])].label}"
        for one in carried[:_MOST_CARRIED]
    ]
    if len(carried) > _MOST_CARRIED:
        lines.append(f"and {group_digits(len(carried) - _MOST_CARRIED)} more")
    return "\n".join(cut_line(line) for line in lines)


def _path(answer: WholeAnswer, node: int) -> str:
    """Return the name of a group after those of the modules around it."""
    tree = answer.model.tree
    around = [
        tree.names[one]
        for one in tree.around(node)[::-1]
        if one and tree.kind[one] == GroupKind.MODULE
    ]
    own = answer.looks.of[node].name
    if tree.kind[node] == GroupKind.MODULE:
        return ".".join([*around, own])
    return f"{own} in {'.'.join(around)}" if around else own
