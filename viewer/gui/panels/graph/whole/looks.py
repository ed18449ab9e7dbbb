"""What the whole model shows of each group and operator: texts and a fill. No Qt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.comparison.steps import CHANGED
from viewer.analysis.delegates.delegation import Instance
from viewer.gui.panels.graph.fills import ChangeFill, Fill, NoCostFill
from viewer.gui.panels.graph.names import cut_line, tag_of
from viewer.gui.panels.graph.node_figures import ChangeFigures, NodeCell
from viewer.gui.panels.graph.whole.measures import Amounts
from viewer.model.times import counted
from viewer.render.graph.model_tree import GroupKind, GroupTree
from viewer.render.graph.open_groups import ShownGroups
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB
from viewer.reports.compare_text import WORDS

_PLAIN = NodeCell("", NoCostFill.PLAIN)


@dataclass(frozen=True, slots=True)
class NodeLook:
    """What is drawn for a visible node.

    name: of the module, call or operator. detail: its class, or the module of an operator. figure:
    its value, "" for none. backend: of the delegate call that the node is, -1 for none.
    """

    name: str
    detail: str
    figure: str
    fill: Fill
    verdict: Verdict | None = None
    backend: int = -1


@dataclass(frozen=True, eq=False)
class Looks:
    """The looks of all visible nodes, by node. most: the end of the scale, "" for none."""

    of: dict[int, NodeLook]
    most: str

    @property
    def fills(self) -> set[Fill]:
        """The fills in use."""
        return {look.fill for look in self.of.values()}


def value_of(figure: str) -> str:
    """Return the value alone of "8.544 µs · 15.5 % + shared" or "2.774 µs shared by 5"."""
    for mark in (" · ", " shared", " in ", " + "):
        figure = figure.partition(mark)[0]
    return figure


def backends_of(calls: Sequence[Instance]) -> tuple[str, ...]:
    """Return the delegates of some calls, each once, without "Backend"."""
    return tuple(dict.fromkeys(cut_line(call.backend.removesuffix("Backend")) for call in calls))


def looks_of(
    shown: ShownGroups,
    calls: Sequence[Instance],
    values: Amounts | ChangeFigures | None,
) -> Looks:
    """Return the looks of all visible nodes. values: what to color by, None for nothing."""
    tree = shown.tree
    visible = np.flatnonzero(shown.is_box | shown.is_frame)
    backends = {name: number for number, name in enumerate(backends_of(calls))}
    most = ""
    if isinstance(values, Amounts):
        cells, most = _valued(shown, values)
    elif values is None:
        cells = dict.fromkeys(visible.tolist(), _PLAIN)
    else:
        cells, most = _changed(shown, values), values.most
    found = {}
    for node in visible.tolist():
        kind, cell, call = int(tree.kind[node]), cells[node], int(tree.call[node])
        name, detail = cut_line(tree.names[node]), cut_line(tree.details[node], from_end=True)
        backend = -1
        if kind == GroupKind.CALL:
            name = tag_of(calls[call])
            detail = counted(int(tree.operators[node]), "operator")
            backend = backends[cut_line(calls[call].backend.removesuffix("Backend"))]
        elif kind == GroupKind.RUN:
            detail = counted(int(tree.operators[node]), "operator")
        found[node] = NodeLook(name, detail, cell.text, cell.fill, cell.verdict, backend)
    return Looks(found, most)


def _valued(shown: ShownGroups, values: Amounts) -> tuple[dict[int, NodeCell], str]:
    """Return the cells of visible nodes, and the end of the scale.

    That is the largest value of a box; if all of their values are shared, of a delegate call.
    """
    tree, measure = shown.tree, values.measure
    visible = np.flatnonzero(shown.is_box | shown.is_frame)
    most = values.own[shown.is_box].max(initial=0)
    if not most:
        most = values.own[shown.is_frame & (tree.kind == GroupKind.CALL)].max(initial=0)
    part = measure.parts(values.own[visible], float(most))
    steps = np.clip((part * HEAT_STEPS).astype(np.int64), 0, HEAT_STEPS - 1)
    is_linked = np.ones(len(tree), np.bool_)
    if measure.linked is not None:
        has_slices = np.zeros(len(tree), np.bool_)
        at = np.flatnonzero(tree.operator >= 0)
        has_slices[at] = measure.linked[tree.operator[at]]
        is_linked = tree.count_inside(has_slices) > 0
    cells = {}
    for node, step in zip(visible.tolist(), steps.tolist(), strict=True):
        if values.is_shared(node):
            cells[node] = NodeCell(values.text(node), SLAB)
        elif values.has[node]:
            cells[node] = NodeCell(values.text(node), HEAT + step)
        elif is_linked[node]:
            cells[node] = NodeCell(measure.none, NoCostFill.IDLE)
        else:
            cells[node] = NodeCell("not linked", NoCostFill.UNLINKED)
    return cells, measure.most(np.asarray(most).item())


def _changed(shown: ShownGroups, figures: ChangeFigures) -> dict[int, NodeCell]:
    """Return the changes of operators; a group counts the verdicts of its rows."""
    tree = shown.tree
    visible = np.flatnonzero(shown.is_box | shown.is_frame)
    operators = visible[tree.operator[visible] >= 0]
    own = figures.cells(tree.operator[operators])
    cells = dict(zip(operators.tolist(), own, strict=True))
    for node in visible[tree.operator[visible] < 0].tolist():
        cells[node] = _of_group(figures, tree, node)
    return cells


def _of_group(figures: ChangeFigures, tree: GroupTree, node: int) -> NodeCell:
    """Return how many rows of a group are slower and faster, in the color of the largest change."""
    inside = tree.inside(node)
    rows: dict[int, int] = {}
    for operator in inside.tolist():
        row = figures.changes.row_of(operator)
        if row >= 0:
            rows.setdefault(row, operator)
    if not rows:
        return NodeCell("no slice in A and B", NoCostFill.UNLINKED)
    changes = {row: figures.changes.comparison.compared[row] for row in rows}
    count = Counter(one.verdict for one in changes.values())
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
