"""The times of lines: next to each line, and below the source what several lines share.

Errors replace times in the gutter while slices are colored by error. While two arms are compared,
the line below has the changes of the shared times.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.cost.lines import LineCosts, PlaceOf, SharedCost, lines_text, place_of
from viewer.analysis.numbers.compared import EDGES, OperatorErrors
from viewer.analysis.statistics import figure_terms
from viewer.gui.panels.source.code_view import LineNote
from viewer.gui.panels.source.compared_lines import SharedChange
from viewer.gui.qt.theme.tokens import Tokens
from viewer.gui.qt.widgets.labels import span
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER
from viewer.gui.session.coloring import shown_scheme
from viewer.gui.session.session import Session
from viewer.model.figure_base import FigureBase
from viewer.model.times import MINUS, format_share
from viewer.render.color_schemes import ERROR
from viewer.view.open_trace import OpenTrace

ERROR_TITLE = "  Error"
ERROR_TIP = "The largest error of the operators on a line, relative to their signal."

_MOST_SHARED = 6
_SHAPES = {SLOWER: "▲ ", FASTER: "▼ "}


def time_notes(costs: LineCosts, base: FigureBase, whole: int) -> dict[int, LineNote]:
    """Return the self times of lines, and their shares of the ticks of all, `whole`."""
    most = max((c.ticks for c in costs.self_costs.values()), default=0)
    return {
        n: LineNote(
            base.text(c.ticks, c.zeros),
            c.ticks / most if most else 0,
            format_share(c.wall, whole) if whole and (c.ticks or not c.zeros) else "",
        )
        for n, c in costs.self_costs.items()
    }


def error_notes(
    session: Session, open_trace: OpenTrace, path: str, place_of: PlaceOf = place_of
) -> dict[int, LineNote] | None:
    """Return the largest error of each line of a recorded file; None if they are not shown."""
    errors, program = open_trace.errors, open_trace.table.program
    if errors is None or program is None or shown_scheme(session) != ERROR:
        return None
    of_line: dict[int, list[int]] = {}
    for operator in program.operators:
        place = place_of(operator)
        if place is not None and place[0] == path:
            of_line.setdefault(place[1], []).append(operator.index)
    return {
        line: _note(errors, operators)
        for line, operators in of_line.items()
        if errors.largest(operators) is not None
    }


def _note(errors: OperatorErrors, operators: list[int]) -> LineNote:
    text = f"{errors.largest(operators):.2g}".replace("-", MINUS)
    return LineNote(text, errors.step(operators) / len(EDGES))


def shared_times(shared: Sequence[SharedCost], base: FigureBase, tokens: Tokens) -> str:
    """Return the shared times of a file as rich text. base: what they are per."""
    return _shared_text(
        [
            _shared_part(
                shared_cost.lines, shared_cost.elsewhere, base.text(shared_cost.ticks), tokens
            )
            for shared_cost in shared[:_MOST_SHARED]
        ],
        len(shared),
        tokens,
        base.titled(figure_terms.SHARED.title),
    )


def shared_changes(changes: Sequence[SharedChange], tokens: Tokens) -> str:
    """Return the changes of the shared times of a file as rich text."""
    colors = {SLOWER: tokens.slower, FASTER: tokens.faster}
    parts = []
    for shared_change in changes[:_MOST_SHARED]:
        color = colors.get(shared_change.change.verdict, tokens.text1)
        figures = ", ".join(filter(None, (shared_change.change.change, shared_change.change.ratio)))
        by = f"{_SHAPES.get(shared_change.change.verdict, '')}{figures}"
        by = span(by.replace(" ", "\N{NO-BREAK SPACE}"), color)
        times = f"{shared_change.change.a or '–'} → {shared_change.change.b or '–'}"
        part = _shared_part(shared_change.lines, shared_change.elsewhere, times, tokens)
        parts.append(f"{part}&nbsp; {by}")
    return _shared_text(parts, len(changes), tokens)


def _shared_part(lines: Sequence[int], elsewhere: bool, time: str, tokens: Tokens) -> str:
    where = lines_text(lines) + (" and other files" if elsewhere else "")
    return f"{span(where, tokens.text2)}&nbsp; {span(time, tokens.text1, bold=True)}"


def _shared_text(
    parts: Sequence[str], count: int, tokens: Tokens, title: str = figure_terms.SHARED.title
) -> str:
    every = [span(title, tokens.text2), *parts]
    if count > _MOST_SHARED:
        every.append(span(f"and {count - _MOST_SHARED} more", tokens.text3))
    return "&nbsp;&nbsp;&nbsp;&nbsp;".join(every)
