"""The cost of lines, of modules and of sets of operators of a linked trace, as rows.

`self` is the time of slices of one line, module or operator alone; `shared` is the time of slices
that several share, repeated in the row of each line, and stated once for the deepest module around
them. ns are rounded down. Nothing is divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from viewer.analysis.cost.costs import CostTable
from viewer.analysis.cost.lines import line_costs, place_of
from viewer.analysis.cost.modules import module_costs
from viewer.analysis.links.link_table import LinkTable
from viewer.model.times import tick_to_ns
from viewer.program.module_tree import ModuleKind, module_tree
from viewer.program.program import GraphNode, Operator, Program

Rows = list[dict[str, Any]]


def line_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> Rows:
    """Return one row per source line with a cost, file by file, ascending; empty if not linked."""
    program = table.program
    if program is None:
        return []
    rows: Rows = []
    for path in _paths(program):
        found = line_costs(program, costs, path)
        shared = found.shared_by_line
        own = {line: cost.ticks for line, cost in found.self_costs.items()}
        texts = program.quoted_texts.get(path, {})
        for line in sorted(own.keys() | shared.keys()):
            rows.append(
                {
                    "file": table.trace.path,
                    "source": path,
                    "line": line,
                    "text": next(iter(sorted(texts.get(line, ()))), None),
                    **_both("self", own.get(line, 0), ns_per_tick),
                    **_both("shared", shared.get(line, 0), ns_per_tick),
                    **_both("own", own.get(line, 0), ns_per_tick),
                }
            )
    return rows


def module_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> Rows:
    """Return one row per module in preorder; empty if the program has no modules."""
    program = table.program
    if program is None or not program.operators:
        return []
    tree = module_tree(program)
    found = module_costs(tree, costs)
    figures = {
        "total": found.total.tolist(),
        "self": found.self_ticks.tolist(),
        "shared": found.shared.tolist(),
        "outside": found.outside.tolist(),
    }
    former = {"own": figures["self"]}
    slices = found.slices.tolist()
    return [
        {
            "file": table.trace.path,
            "method": module.method or None,
            "module": module.path if module.kind is ModuleKind.MODULE else "",
            "kind": module.kind.value,
            "type": module.type or None,
            "depth": module.depth,
            "operators": len(tree.operators_in(number)),
            **_all(figures, number, ns_per_tick),
            "slices": slices[number],
            **_all(former, number, ns_per_tick),
        }
        for number, module in enumerate(tree.modules)
    ]


def cost_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> Rows:
    """Return one row per set of operators, most expensive first; wall times are the whole."""
    program = table.program
    if program is None:
        return []
    whole = costs.whole
    rows: Rows = [
        {
            "file": table.trace.path,
            "operators": [program.operators[i].label for i in row.operators],
            "debug_handles": [
                handle for i in row.operators if (handle := program.operators[i].debug_handle) >= 0
            ],
            "shared": row.is_shared,
            **_both("time", row.ticks, ns_per_tick),
            **_both("kernel", row.kernel, ns_per_tick),
            "share": round(row.wall / whole, 6) if whole else None,
            "slices": row.slices,
            **_both("wall", row.wall, ns_per_tick),
        }
        for row in costs.rows
    ]
    if costs.without_operator:
        rows.append(
            {
                "file": table.trace.path,
                "operators": [],
                "debug_handles": [],
                "shared": False,
                **_both("time", costs.without_operator, ns_per_tick),
                **_both("kernel", 0, ns_per_tick),
                "share": round(costs.without_operator / whole, 6),
                "slices": None,
                **_both("wall", costs.without_operator, ns_per_tick),
            }
        )
    return rows


def _paths(program: Program) -> list[str]:
    """The recorded paths of the source files of a program, in graph order."""
    items: list[Operator | GraphNode] = [*program.operators, *program.nodes]
    return list(dict.fromkeys(place[0] for item in items if (place := place_of(item))))


def _all(figures: Mapping[str, list[int]], number: int, rate: Fraction) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, ticks in figures.items():
        found |= _both(name, ticks[number], rate)
    return found


def _both(name: str, ticks: int, rate: Fraction) -> dict[str, int]:
    return {f"{name}_ticks": ticks, f"{name}_ns": tick_to_ns(ticks, rate)}
