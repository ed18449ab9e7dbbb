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
    open_trace: OpenTrace, operator: Operator, scope: TimeScope, slice_: int | None = None
) -> WorkFigures:
    """Return an operator's work, with rates for one of its slices, one inference, or all of them.

    operator: including its tensors; those of an MLIR text are read by `with_tensors`.
    """
    program = open_trace.table.program
    assert program is not None
    operator_figures = figures_of(program, operator)
    timed = _timed(open_trace, operator, scope, slice_)
    where = "this slice" if slice_ is not None else scope_text(open_trace, scope)
    rates, basis = _rates(open_trace, operator, operator_figures, timed, where)
    rows = [*_rows(operator_figures)]
    if basis:
        rows.append(("Rates", basis))
    return WorkFigures(_figures(operator_figures), rates, tuple(rows))


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


def _unit(operator_figures: OperatorFigures) -> str:
    return "FLOP" if operator_figures.floating else "OP"


def _figures(operator_figures: OperatorFigures) -> tuple[Figure, ...]:
    caption = "operations"
    if operator_figures.operations is None:
        first = Figure(MISSING, "", caption)
    else:
        number, unit = amount_in_unit(operator_figures.operations, _unit(operator_figures))
        least = f"≥{NARROW_SPACE}" if operator_figures.at_least else ""
        first = Figure(least + number, unit, caption)
    second = Figure(MISSING, "", "moved")
    if operator_figures.moved is not None:
        second = Figure(*amount_in_unit(operator_figures.moved.total, "B"), "moved")
    third = Figure(MISSING, "", "per byte")
    if operator_figures.intensity is not None:
        third = Figure(
            f"{operator_figures.intensity:.3g}", f"{_unit(operator_figures)}/B", "per byte"
        )
    return first, second, third


def _rows(operator_figures: OperatorFigures) -> list[tuple[str, str]]:
    rows = []
    if operator_figures.parts:
        rows.append(("Counted", _parts(operator_figures)))
    elif operator_figures.operations == 0:
        rows.append(("Counted", "no arithmetic"))
    if operator_figures.missing:
        more = len(operator_figures.missing) - _MOST_REASONS
        lines = [
            *operator_figures.missing[:_MOST_REASONS],
            *([f"and {more} more"] if more > 0 else []),
        ]
        rows.append(("Not counted" if operator_figures.at_least else "Unknown", "\n".join(lines)))
    moved = operator_figures.moved
    if moved is None:
        if operator_figures.moved_missing not in operator_figures.missing:
            rows.append(("Bytes", f"unknown: {operator_figures.moved_missing}"))
        return rows
    named = ((moved.inputs, "in"), (moved.parameters, "parameters"), (moved.outputs, "out"))
    text = " · ".join(f"{group_digits(size)} {name}" for size, name in named if size) or "0"
    rows.append(("Bytes", f"{text}\n{operator_figures.note}" if operator_figures.note else text))
    return rows


def _parts(operator_figures: OperatorFigures) -> str:
    """Return "bmm, 2 nodes: 8 192 = 2 × 256 outputs × 8, each" per line, the largest part first."""
    if len(operator_figures.parts) == 1 and operator_figures.parts[0].nodes == 1:
        part = operator_figures.parts[0]
        return f"{group_digits(part.operations)} = {part.rule}"
    lines = []
    for part in operator_figures.parts[:_MOST_PARTS]:
        times = f"{part.nodes} × " if part.nodes > 1 else ""
        rule = f" = {times}({part.rule})" if times and part.rule else f" = {part.rule}"
        lines.append(
            f"{part.op}{'' if part.rule else f', {part.nodes} nodes'}: "
            f"{group_digits(part.operations)}{rule if part.rule else ''}"
        )
    more = len(operator_figures.parts) - _MOST_PARTS
    if more > 0:
        rest = sum(part.operations for part in operator_figures.parts[_MOST_PARTS:])
        lines.append(f"{more} others: {group_digits(rest)}")
    return "\n".join(lines)


# -- rates ----------------------------------------------------------------------------------------


def _timed(
    open_trace: OpenTrace, operator: Operator, scope: TimeScope, slice_: int | None
) -> TimedNodes:
    table, trace = open_trace.table, open_trace.trace
    slices = open_trace.slices_of((operator.index,))
    if slice_ is not None:
        around = run_of(open_trace, slice_)
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
    open_trace: OpenTrace, operator: Operator, whole: OperatorFigures, timed: TimedNodes, where: str
) -> tuple[tuple[Figure, ...], str]:
    """Return operations and bytes per second and their basis, or () and why there are none."""
    if whole.operations is None and whole.moved is None:
        return (), ""
    if timed.reason:
        return (), f"unknown: {timed.reason[0].lower()}{timed.reason[1:]}"
    operator_figures, only = whole, ""
    if len(timed.nodes) != len(operator.nodes):
        assert open_trace.table.program is not None
        inner = {t.name for node in operator.nodes for t in node.inputs}
        operator_figures = figures_of_nodes(
            timed.nodes, used_elsewhere(open_trace.table.program, operator) | inner
        )
        only = f", {base_name(timed.nodes[0].op)} only"
    rates: list[Figure] = []
    least = f"≥{NARROW_SPACE}" if operator_figures.at_least else ""
    if operator_figures.operations:
        number, unit = amount_in_unit(
            _per_second(operator_figures.operations, timed, open_trace.axis.ns_per_tick),
            f"{_unit(operator_figures)}/s",
        )
        rates.append(Figure(least + number, unit, where))
    if operator_figures.moved is not None and operator_figures.moved.total:
        number, unit = amount_in_unit(
            _per_second(operator_figures.moved.total, timed, open_trace.axis.ns_per_tick), "B/s"
        )
        rates.append(Figure(number, unit, where))
    if not rates:
        return (), ""
    time = format_time(tick_to_ns(timed.ticks, open_trace.axis.ns_per_tick))
    times = f" for {group_digits(timed.times)} calls" if timed.times > 1 else ""
    clock = (
        "" if open_trace.rate.origin is RateOrigin.STATED else f", clock {open_trace.rate.origin}"
    )
    at_once = " in which any of its slices is active" if timed.units > 1 else ""
    return tuple(rates), f"over {time}{at_once}{times} in {where}{only}{clock}"


def _per_second(amount: int, timed: TimedNodes, ns_per_tick: Fraction) -> float:
    return float(Fraction(amount * timed.times * 10**9) / (timed.ticks * ns_per_tick))
