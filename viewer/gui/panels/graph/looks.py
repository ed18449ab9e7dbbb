"""What the graph shows of each group and operator: texts and a fill. No Qt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.comparison.steps import CHANGED
from viewer.analysis.delegates.delegation import Instance
from viewer.arrays import Ints
from viewer.gui.panels.graph.measures import Amounts
from viewer.gui.panels.graph.names import backend_name, call_place, cut_line
from viewer.gui.panels.graph.node_figures import (
    NO_SLICE,
    ChangeFigures,
    ChangeFill,
    Fill,
    NoCostFill,
    NodeCell,
    NodeFigures,
)
from viewer.model.times import counted
from viewer.program.program import Operator, Program
from viewer.program.sources.files import file_name
from viewer.render.graph.model_tree import GroupKind, GroupTree
from viewer.render.graph.open_groups import ShownGroups
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB
from viewer.reports.compare_text import WORDS

_PLAIN = NodeCell("", NoCostFill.PLAIN)

Values = Amounts | ChangeFigures | None


@dataclass(frozen=True, slots=True)
class NodeLook:
    """What is drawn for a visible node.

    name: of the module, delegate or operator. detail: its class, which call it is, or the module of
    an operator. figure: its value, "" for none. backend: of the delegate call that the node is, -1
    for none. tag: the delegate call of an operator that is drawn without it.
    """

    name: str
    detail: str
    figure: str
    fill: Fill
    verdict: Verdict | None = None
    backend: int = -1
    tag: str = ""


def value_of(figure: str) -> str:
    """Return the value alone of "8.544 µs · 15.5 % + shared" or "2.774 µs shared by 5"."""
    for mark in (" · ", " shared", " in ", " + "):
        figure = figure.partition(mark)[0]
    return figure


def backends_of(calls: Sequence[Instance]) -> tuple[str, ...]:
    """Return the delegates of some calls, each once."""
    return tuple(dict.fromkeys(backend_name(call) for call in calls))


def place_of(operator: Operator) -> str:
    """Return an operator's module, else its source line; "" if neither is recorded."""
    if operator.module_path:
        return operator.module_path
    source = operator.source
    return f"{file_name(source.path)}:{source.line}" if source else ""


def looks_of(
    shown_groups: ShownGroups,
    program: Program,
    calls: Sequence[Instance],
    figures: NodeFigures | None,
    values: Values,
    tags: Mapping[int, str] | None = None,
) -> tuple[dict[int, NodeLook], str]:
    """Return the looks of all visible nodes, and the end of the scale, "" for none.

    values: what to color by, None for nothing. tags: the delegate calls of operators that are drawn
    without what is around them.
    """
    tree = shown_groups.tree
    nodes = shown_groups.visible if tags is None else shown_groups.boxes
    if isinstance(values, Amounts):
        cells, most = _valued(shown_groups, values, nodes, is_whole=tags is None)
    elif values is None:
        cells, most = dict.fromkeys(nodes.tolist(), _PLAIN), ""
    else:
        cells, most = _changed(tree, values, nodes), values.most
    names = backends_of(calls) if tags is None else ()
    backends = {name: number for number, name in enumerate(names)}
    runs = set(np.flatnonzero(tree.kind == GroupKind.RUN).tolist())
    looks = {}
    for node, cell in cells.items():
        name, detail, backend, tag = tree.names[node], tree.details[node], -1, ""
        call = int(tree.call[node])
        if call >= 0 or node in runs:
            detail = counted(int(tree.operators[node]), "operator")
        if call >= 0:
            name = backend_name(calls[call])
            detail = " · ".join(filter(None, (call_place(calls, call), detail)))
            backend = backends[name]
        if tags is not None:
            operator = int(tree.operator[node])
            tag = tags.get(operator, "") or ("" if figures is None else figures.tag(operator))
            detail = place_of(program.operators[operator])
        look = cut_line(name), cut_line(detail, from_end=True), cell.text, cell.fill, cell.verdict
        looks[node] = NodeLook(*look, backend, cut_line(tag))
    return looks, most


def _valued(
    shown_groups: ShownGroups, values: Amounts, nodes: Ints, *, is_whole: bool
) -> tuple[dict[int, NodeCell], str]:
    """Return the cells of nodes, and the end of the scale.

    That is the largest value of a box; if all of their values are shared, of a delegate call. For
    some operators of a model, it is the largest value of all its operators.
    """
    tree, measure = shown_groups.tree, values.measure
    most = values.own[shown_groups.is_box].max(initial=0) if is_whole else values.most
    if not most:
        most = values.own[shown_groups.is_frame & (tree.kind == GroupKind.CALL)].max(initial=0)
    part = measure.parts(values.own[nodes], float(most))
    steps = np.clip((part * HEAT_STEPS).astype(np.int64), 0, HEAT_STEPS - 1)
    linked = values.linked_inside[nodes].tolist()
    cells = {}
    for node, step, is_linked in zip(nodes.tolist(), steps.tolist(), linked, strict=True):
        if values.is_shared(node):
            cells[node] = NodeCell(values.text(node), SLAB)
        elif values.has[node]:
            operator = int(tree.operator[node])
            text = values.text(node)
            if operator >= 0 and measure.operator_text is not None:
                text = measure.operator_text(operator)
            cells[node] = NodeCell(text, HEAT + step)
        elif is_linked:
            cells[node] = NodeCell(measure.none, NoCostFill.IDLE)
        else:
            cells[node] = NodeCell("not linked", NoCostFill.UNLINKED)
    return cells, measure.most(np.asarray(most).item())


def _changed(tree: GroupTree, figures: ChangeFigures, nodes: Ints) -> dict[int, NodeCell]:
    """Return the changes of operators; a group counts the verdicts of its rows."""
    is_operator = tree.operator[nodes] >= 0
    operators = nodes[is_operator]
    changes = figures.cells(tree.operator[operators])
    cells = dict(zip(operators.tolist(), changes, strict=True))
    for node in nodes[~is_operator].tolist():
        cells[node] = _of_group(figures, tree, node)
    return cells


def _of_group(figures: ChangeFigures, tree: GroupTree, node: int) -> NodeCell:
    """Return how many rows of a group are slower and faster, in the color of the largest change."""
    rows: dict[int, int] = {}
    for operator in tree.inside(node).tolist():
        row = figures.changes.row_of(operator)
        if row >= 0:
            rows.setdefault(row, operator)
    if not rows:
        return NodeCell(NO_SLICE, NoCostFill.UNLINKED)
    changes = {row: figures.changes.comparison.compared[row] for row in rows}
    count = Counter(change.verdict for change in changes.values())
    parts = [
        f"{count[verdict]} {WORDS[verdict]}"
        for verdict in (Verdict.SLOWER, Verdict.FASTER)
        if count[verdict]
    ]
    if not parts:
        verdict = Verdict.NO_CHANGE
        if count[Verdict.CANNOT_TELL]:
            verdict = Verdict.CANNOT_TELL
        return NodeCell(WORDS[verdict], ChangeFill(verdict), verdict)
    largest = max(
        (row for row in rows if changes[row].verdict in CHANGED),
        key=lambda row: abs(changes[row].change_ns),
    )
    cell = figures.cells(np.array([rows[largest]], np.int64))[0]
    return NodeCell(", ".join(parts), cell.fill, cell.verdict)
