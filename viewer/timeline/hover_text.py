"""What is said at the mouse of the slice under it: name, duration, operator, source line. No Qt.

The first line is the title. All of it is looked up for this one slice, so it is there in the frame
that follows the mouse.
"""

from __future__ import annotations

from viewer.model.times import counted, format_time
from viewer.opening import OpenTrace, display_name
from viewer.program.graph import Operator
from viewer.program.labels import describe_near, track_name
from viewer.program.linking import Link, LinkState
from viewer.program.source_code import file_name

_MOST_OPERATORS = 4


def slice_lines(shown: OpenTrace, index: int) -> list[str]:
    """The lines for one slice of an open trace."""
    name, label, link = shown.trace.name(index), shown.label(index), shown.link(index)
    where = "on a clock of its own, drawn inside its call"
    if shown.native(index) is None:
        where = f"at {format_time(shown.span_ns(index)[0])}"
    lines = [label or "(no name)", f"{shown.length_text(index)} {where}"]
    if name != label:
        lines.append(name)
    program = shown.table.program
    members = [program.operators[i] for i in link.operators] if program else []
    lines += _operator_lines(members, label, program.path if program else "")
    if not members:
        lines += _reason_lines(link)
    track = track_name(shown.table, shown.trace.slices.track(index))
    return [*lines, track] if track else lines


def _operator_lines(members: list[Operator], label: str, path: str) -> list[str]:
    if not members:
        return []
    shown = members[:_MOST_OPERATORS]
    names = " + ".join(member.label for member in shown)
    if len(members) > len(shown):
        names += f" + {len(members) - len(shown)} more"
    lines = [] if len(members) == 1 and names in label else [names]
    if len(members) > 1:
        lines[0] = f"shared by {counted(len(members), 'operator')}: {names}"
    places = list(dict.fromkeys(place for m in shown if (place := _place(m, path))))
    return [*lines, ", ".join(places)] if places else lines


def _place(operator: Operator, path: str) -> str:
    """The line that an operator comes from: "attention.py:12 in forward", "tiny.mlir:11"."""
    source = operator.source
    if source is not None:
        inside = f" in {source.function}" if source.function else ""
        return f"{file_name(source.path)}:{source.line}{inside}"
    return f"{display_name(path)}:{operator.place.removeprefix('L')}" if operator.place else ""


def _reason_lines(link: Link) -> list[str]:
    """Why no operator is said, where one was to be expected."""
    if link.reason.state is not LinkState.UNLINKED and not link.near:
        return []
    return [link.detail, *([near] if (near := describe_near(link)) else [])]
