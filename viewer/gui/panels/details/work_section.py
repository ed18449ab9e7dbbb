"""The work section of the details card: operations, bytes, and achieved rates.

Work is computed from shapes, not measured; rates are that work divided by a measured time. If a
figure is unavailable, its row explains why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.analysis.cost.achieved_rates import TimedNodes, timed_by, timed_in
from viewer.analysis.workload.operator_tensors import used_elsewhere
from viewer.analysis.workload.operator_work import OperatorFigures, figures_of, figures_of_nodes
from viewer.gui.panels.base.slice_facts import MISSING, Figure, run_of, scope_text
from viewer.model.queries import starts_in_run
from viewer.model.scope import TimeScope, counted_in
from viewer.model.text import amount_in_unit
from viewer.model.times import NARROW_SPACE, RateOrigin, format_time, group_digits, tick_to_ns
from viewer.model.warm_up import counted_inferences
from viewer.program.program import Operator, Setting, base_name
from viewer.view.open_trace import OpenTrace

_MOST_PARTS = 6
_MOST_REASONS = 3
_MOST_NUMBERS = 8


@dataclass(frozen=True, slots=True)
class WorkFigures:
    """The section's figures, the rates in its second line, and its rows, all as plain text."""

    figures: tuple[Figure, ...]
    rates: tuple[Figure, ...]
    rows: tuple[tuple[str, str], ...]


def work_of(
    shown: OpenTrace, operator: Operator, scope: TimeScope, slice_: int | None = None
) -> WorkFigures:
    """Return an operator's work, with rates for one of its slices, one inference, or all of them.

    operator: including its tensors; those of an MLIR text are read by `with_tensors`.
    """
    program = shown.table.program
    assert program is not None
    found = figures_of(program, operator)
    timed = _timed(shown, operator, scope, slice_)
    where = "this slice" if slice_ is not None else scope_text(shown, scope)
    rates, basis = _rates(shown, operator, found, timed, where)
    rows = [*_rows(found)]
    if basis:
        rows.append(("Rates", basis))
    return WorkFigures(_figures(found), rates, tuple(rows))


def settings_text(settings: Sequence[tuple[str, Setting]]) -> str:
    """Return an operator's settings: "stride 2 × 2 · groups 1 · transposed no"."""
    return " · ".join(f"{name} {_setting(value)}" for name, value in settings)


def _setting(value: Setting) -> str:
    if isinstance(value, tuple):
        more = f" × {len(value) - _MOST_NUMBERS} more" if len(value) > _MOST_NUMBERS else ""
        return (" × ".join(map(_setting, value[:_MOST_NUMBERS])) or "none") + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    return group_digits(value) if isinstance(value, int) else f"{value:g}"


def _unit(found: OperatorFigures) -> str:
    return "FLOP" if found.floating else "OP"


def _figures(found: OperatorFigures) -> tuple[Figure, ...]:
    caption = "operations"
    if found.operations is None:
        first = Figure(MISSING, "", caption)
    else:
        number, unit = amount_in_unit(found.operations, _unit(found))
        least = f"≥{NARROW_SPACE}" if found.at_least else ""
        first = Figure(least + number, unit, caption)
    second = Figure(MISSING, "", "moved")
    if found.moved is not None:
        second = Figure(*amount_in_unit(found.moved.total, "B"), "moved")
    third = Figure(MISSING, "", "per byte")
    if found.intensity is not None:
        third = Figure(f"{found.intensity:.3g}", f"{_unit(found)}/B", "per byte")
    return first, second, third


def _rows(found: OperatorFigures) -> list[tuple[str, str]]:
    rows = []
    if found.parts:
        rows.append(("Counted", _parts(found)))
    elif found.operations == 0:
        rows.append(("Counted", "no arithmetic"))
    if found.missing:
        more = len(found.missing) - _MOST_REASONS
        lines = [*found.missing[:_MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]
        rows.append(("Not counted" if found.at_least else "Unknown", "\n".join(lines)))
    moved = found.moved
    if moved is None:
        if found.moved_missing not in found.missing:
            rows.append(("Bytes", f"unknown: {found.moved_missing}"))
        return rows
    named = ((moved.inputs, "in"), (moved.parameters, "parameters"), (moved.outputs, "out"))
    text = " · ".join(f"{group_digits(size)} {name}" for size, name in named if size) or "0"
    rows.append(("Bytes", f"{text}\n{found.note}" if found.note else text))
    return rows


def _parts(found: OperatorFigures) -> str:
    """Return "bmm, 2 nodes: 8 192 = 2 × 256 outputs × 8, each" per line, the largest part first."""
    if len(found.parts) == 1 and found.parts[0].nodes == 1:
        part = found.parts[0]
        return f"{group_digits(part.operations)} = {part.rule}"
    lines = []
    for part in found.parts[:_MOST_PARTS]:
        times = f"{part.nodes} × " if part.nodes > 1 else ""
        rule = f" = {times}({part.rule})" if times and part.rule else f" = {part.rule}"
        lines.append(
            f"{part.op}{'' if part.rule else f', {part.nodes} nodes'}: "
            f"{group_digits(part.operations)}{rule if part.rule else ''}"
        )
    more = len(found.parts) - _MOST_PARTS
    if more > 0:
        rest = sum(part.operations for part in found.parts[_MOST_PARTS:])
        lines.append(f"{more} others: {group_digits(rest)}")
    return "\n".join(lines)


# -- rates ----------------------------------------------------------------------------------------


def _timed(
    shown: OpenTrace, operator: Operator, scope: TimeScope, slice_: int | None
) -> TimedNodes:
    table, trace = shown.table, shown.trace
    slices = shown.slices_of((operator.index,))
    if slice_ is not None:
        around = run_of(shown, slice_)
        return timed_by(
            table,
            operator,
            slice_,
            slices if around is None else starts_in_run(trace, around, slices),
        )
    if scope.ticks is not None:  # a range may cut slices, or calls that belong together
        return TimedNodes(
            reason="Rates are available for a slice or whole inferences, not for a selected range"
        )
    if scope.run is not None:
        return timed_in(table, operator, starts_in_run(trace, scope.run, slices), 1)
    # An ETDump may contain inferences of other methods too.
    scopes = set(np.unique(trace.keys.scope[trace.slices.key[slices]]).tolist())
    counted = counted_inferences(trace, warm_up=scope.warm_up)
    runs = sum(each.scope in scopes for each in counted)
    return timed_in(table, operator, counted_in(trace, scope, slices), max(runs, 1))


def _rates(
    shown: OpenTrace, operator: Operator, whole: OperatorFigures, timed: TimedNodes, where: str
) -> tuple[tuple[Figure, ...], str]:
    """Return operations and bytes per second and their basis, or () and why there are none."""
    if whole.operations is None and whole.moved is None:
        return (), ""
    if timed.reason:
        return (), f"unknown: {timed.reason[0].lower()}{timed.reason[1:]}"
    found, only = whole, ""
    if len(timed.nodes) != len(operator.nodes):
        assert shown.table.program is not None
        inner = {t.name for node in operator.nodes for t in node.inputs}
        found = figures_of_nodes(timed.nodes, used_elsewhere(shown.table.program, operator) | inner)
        only = f", {base_name(timed.nodes[0].op)} only"
    rates: list[Figure] = []
    least = f"≥{NARROW_SPACE}" if found.at_least else ""
    if found.operations:
        number, unit = amount_in_unit(
            _per_second(found.operations, timed, shown.axis.ns_per_tick), f"{_unit(found)}/s"
        )
        rates.append(Figure(least + number, unit, where))
    if found.moved is not None and found.moved.total:
        number, unit = amount_in_unit(
            _per_second(found.moved.total, timed, shown.axis.ns_per_tick), "B/s"
        )
        rates.append(Figure(number, unit, where))
    if not rates:
        return (), ""
    time = format_time(tick_to_ns(timed.ticks, shown.axis.ns_per_tick))
    times = f" for {group_digits(timed.times)} calls" if timed.times > 1 else ""
    clock = "" if shown.rate.origin is RateOrigin.STATED else f", clock {shown.rate.origin}"
    at_once = " in which any of its slices is active" if timed.units > 1 else ""
    return tuple(rates), f"over {time}{at_once}{times} in {where}{only}{clock}"


def _per_second(amount: int, timed: TimedNodes, ns_per_tick: Fraction) -> float:
    return float(Fraction(amount * timed.times * 10**9) / (timed.ticks * ns_per_tick))
