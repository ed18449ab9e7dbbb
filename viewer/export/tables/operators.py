"""Operators as rows: `opscope export --table operators`, and an ETRecord exported alone.

For a profile: each operator of its ETRecord with its cost. `self` is the time of slices linked to
it alone; `shared` is the time of slices shared with other operators, repeated in the row of each.
So self times add up over operators, shared times do not. `shared_groups` identifies what is
repeated: shared times add up over the distinct groups of a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.link_table import LinkTable
from viewer.export.tables.columns import Rows, text_array
from viewer.export.tables.slices import caller_places, source_places
from viewer.model.times import tick_to_ns
from viewer.model.warm_up import counted_inferences
from viewer.program.program import Program

OPERATOR_COLUMNS = (
    "method", "debug_handle", "operator", "module", "operators", "source", "nodes", "outputs",
    "called_from",
)  # fmt: skip
_COSTS = (
    "self_ticks", "self_ns", "shared_ticks", "shared_ns", "kernel_ticks", "kernel_ns", "slices",
)  # fmt: skip
# The former names of `self_ticks` and `self_ns`, for one version.
_FORMER = ("own_ticks", "own_ns")
_GROUPS = ("shared_groups", "shared_group_ticks", "shared_group_ns")
_COVERED = ("inferences", "warm_up_inferences")
COSTED_OPERATOR_COLUMNS = (
    "file",
    "record",
    *OPERATOR_COLUMNS,
    *_COSTS,
    *_GROUPS,
    *_COVERED,
    *_FORMER,
)


def operator_columns(program: Program) -> Rows:
    """Return one row per operator of a program, in graph order."""
    operators = program.operators
    values: dict[str, Sequence[object]] = {
        "method": [o.method for o in operators],
        "debug_handle": ["" if o.debug_handle < 0 else o.debug_handle for o in operators],
        "operator": [o.op for o in operators],
        "module": [o.module_path for o in operators],
        "operators": [json.dumps(list(o.ops)) for o in operators],
        "source": ["; ".join(source_places([o])) for o in operators],
        "called_from": ["; ".join(caller_places([o])) for o in operators],
        "nodes": [len(o.nodes) if o.ops else 0 for o in operators],
        "outputs": [
            json.dumps([f"{t.dtype}{list(t.shape or ())}" for t in o.nodes[-1].outputs])
            for o in operators
        ],
    }
    return {name: text_array(values[name]) for name in OPERATOR_COLUMNS}


def costed_operator_columns(
    table: LinkTable, ns_per_tick: Fraction, costs: Costs | None = None
) -> Rows:
    """Return the same for the program of a linked trace, with the cost in the whole trace.

    self, kernel: ticks of slices of the operator alone, and of its kernels. shared: ticks of slices
    of several operators. slices: the number of slices of it alone. ns are rounded down.
    shared_groups: JSON list of numbers, the same in the rows of all operators that share slices;
    from 1 in each file, most expensive first. shared_group_ticks, shared_group_ns: JSON lists of
    the time of each of these groups. inferences: how many the costs cover, of which
    warm_up_inferences warm up. costs: of the table, if known. Raises ValueError without a program.
    """
    program = table.program
    if program is None:
        raise ValueError("the trace is linked to no program")
    count = len(program.operators)
    own, shared, kernel, slices = ([0] * count for _ in range(4))
    groups: list[dict[int, int]] = [{} for _ in range(count)]  # number -> ticks
    rows_of_costs = (costs or Costs(table)).rows()
    shared_rows = (row for row in rows_of_costs if row.is_shared)
    for number, row in enumerate(shared_rows, start=1):
        for operator in row.operators:
            shared[operator] += row.ticks
            groups[operator][number] = row.ticks
    for row in rows_of_costs:
        if not row.is_shared:
            (operator,) = row.operators
            own[operator], kernel[operator] = row.ticks, row.kernel
            slices[operator] = row.slices
    rows: Rows = {
        "file": text_array([table.trace.path] * count),
        "record": text_array([program.path] * count),
        **operator_columns(program),
    }
    for name, ticks in (("self", own), ("shared", shared), ("kernel", kernel)):
        rows[f"{name}_ticks"] = text_array(ticks)
        rows[f"{name}_ns"] = text_array([tick_to_ns(t, ns_per_tick) for t in ticks])
    rows["slices"] = text_array(slices)
    rows["shared_groups"] = text_array([json.dumps(list(own)) for own in groups])
    for unit, rate in (("ticks", Fraction(1)), ("ns", ns_per_tick)):
        times = ([tick_to_ns(ticks, rate) for ticks in own.values()] for own in groups)
        rows[f"shared_group_{unit}"] = text_array(map(json.dumps, times))
    inferences = counted_inferences(table.trace)
    warm_up = [run for run in inferences if run.warms_up]
    for name, runs in zip(_COVERED, (inferences, warm_up), strict=True):
        rows[name] = text_array([sum(run.count for run in runs)] * count)
    for name in _FORMER:
        rows[name] = rows[name.replace("own", "self")]
    return rows
