"""The graph nodes of an operator in the details card, each with its time."""

from __future__ import annotations

from collections.abc import Collection

from viewer.analysis.cost.costs import CostTable
from viewer.model.times import counted, format_share, format_time, tick_to_ns
from viewer.program.program import GraphNode, Operator, Program
from viewer.view.open_trace import OpenTrace

_MOST_NODES = 16


def node_rows(
    shown: OpenTrace, operator: Operator, table: CostTable, ran: Collection[int] = ()
) -> list[tuple[str, str]]:
    """Return (time, name and place) for the nodes of an operator, in graph order.

    table: the costs of the scope that times are of. ran: the nodes of the selected slice, as
    indexes into `Program.nodes`. A node without a time of its own is "shared" (several nodes have
    one slice) or has "no slice".
    """
    program = shown.table.program
    if program is None or len(operator.nodes) < 2:
        return []
    rows = [row for row in table.by_nodes if row.operators == (operator.index,)]
    alone = {row.nodes[0]: row.ticks for row in rows if len(row.nodes) == 1}
    together = {node for row in rows if len(row.nodes) > 1 for node in row.nodes}
    if not alone:
        return []
    found = []
    for number in program.node_numbers(operator.index):
        node = program.nodes[number]
        parts = [node.name]
        if number in alone:
            time = format_time(tick_to_ns(alone[number], shown.axis.ns_per_tick))
            parts += [format_share(alone[number], table.whole)] if table.whole else []
        else:
            time = "shared" if number in together else "no slice"
        parts += [place] if (place := _place(program, node)) else []
        parts += ["this slice"] if number in ran else []
        found.append((time, " · ".join(parts)))
    rest = len(found) - _MOST_NODES
    return [
        *found[:_MOST_NODES],
        *([("", f"and {counted(rest, 'more node')}")] if rest > 0 else []),
    ]


def _place(program: Program, node: GraphNode) -> str:
    source = node.source
    return "" if source is None or program.text_lines else f"line {source.line}"
