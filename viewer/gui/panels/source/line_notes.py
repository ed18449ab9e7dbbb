"""What the gutter shows for each line: its time, or the largest error of its operators.

Errors replace times while slices are colored by error.
"""

from __future__ import annotations

from viewer.analysis.cost.lines import LineCosts
from viewer.analysis.numeric.operator_errors import EDGES, OperatorErrors
from viewer.gui.panels.source.code_view import LineNote
from viewer.gui.session.coloring import shown_scheme
from viewer.gui.session.session import Session
from viewer.model.times import MINUS, format_share, format_time, tick_to_ns
from viewer.render.color_schemes import ERROR
from viewer.view.open_trace import OpenTrace

ERROR_TITLE = "  Error"
ERROR_TIP = "The largest error of the operators on a line, relative to their signal."


def time_notes(costs: LineCosts, shown: OpenTrace, whole: int) -> dict[int, LineNote]:
    """Return the self times of lines. whole: the ticks of all."""
    rate = shown.axis.ns_per_tick
    ns_by_line = {n: tick_to_ns(c.ticks, rate) for n, c in costs.self_costs.items()}
    most = max(ns_by_line.values(), default=0)
    return {
        n: LineNote(
            format_time(ns_by_line[n]),
            ns_by_line[n] / most if most else 0,
            format_share(c.ticks, whole) if whole else "",
        )
        for n, c in costs.self_costs.items()
    }


def error_notes(session: Session, shown: OpenTrace, path: str) -> dict[int, LineNote] | None:
    """Return the largest error of each line of a recorded file; None if they are not shown."""
    errors, program = shown.errors, shown.table.program
    if errors is None or program is None or shown_scheme(session) != ERROR:
        return None
    of_line: dict[int, list[int]] = {}
    for operator in program.operators:
        if operator.source is not None and operator.source.path == path:
            of_line.setdefault(operator.source.line, []).append(operator.index)
    return {
        line: _note(errors, operators)
        for line, operators in of_line.items()
        if errors.largest(operators) is not None
    }


def _note(errors: OperatorErrors, operators: list[int]) -> LineNote:
    text = f"{errors.largest(operators):.2g}".replace("-", MINUS)
    return LineNote(text, errors.step(operators) / len(EDGES))
