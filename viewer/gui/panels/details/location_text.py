"""MLIR locations as rich text: each place is a link, with the operation at that place."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.links.text_positions import TextPositions
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import anchor, span
from viewer.program.mlir.locations import FilePosition, OutlinedPlace, PlaceRole
from viewer.program.program import Program
from viewer.program.sources.files import file_name

_INDENT = "&nbsp;" * 4


def location_lines(
    places: Sequence[OutlinedPlace], program: Program | None, theme: Theme
) -> list[str]:
    """Return one line of HTML per place, with links of the form `source:LINE:PATH`.

    program: used to name the operation at each place, if it is an MLIR text.
    """
    texts = TextPositions(program) if program is not None and program.text_lines else None
    tokens = theme.tokens
    lines = []
    for place in places:
        line = _INDENT * place.depth
        if place.role is not PlaceRole.PLACE:
            line += span(f"{place.role.value} ", tokens.text2)
        if place.name:
            line += span(f"{place.name} ", tokens.text1)
        position = place.position
        if position is None:
            line += "" if place.name else span("unknown", tokens.text2)
        else:
            target = f"source:{position.line}:{position.file}"
            line += anchor(target, _position_text(position), theme)
            operator = texts.operator_at(position) if texts is not None else None
            if operator is not None:
                line += "&nbsp;&nbsp;" + span(operator.op, tokens.text2)
        lines.append(line)
    return lines


def _position_text(position: FilePosition) -> str:
    """Return "m.mlir:18:11", or for a range "m.mlir:1:2 – 3:4"."""
    text = f"{file_name(position.file)}:{position.line}"
    text += f":{position.col}" if position.col else ""
    if position.end_line is None:
        return text
    return f"{text} – {position.end_line}:{position.end_col}"
