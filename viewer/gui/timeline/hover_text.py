"""The text of the hover tip for a slice: name, duration, operator, source line.

The first line is the title. The text is computed for this one slice only, so it appears in the
frame that follows the mouse event.
"""

from __future__ import annotations

from viewer.analysis.links.labels import describe_near, is_number
from viewer.analysis.links.link_table import Link, LinkState
from viewer.gui.timeline.scene.plan_texts import plan_lines
from viewer.gui.timeline.scene.pointing import PointedPlan
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.native_units import holds_value
from viewer.model.text import display_name, name_text
from viewer.model.times import counted, format_position
from viewer.model.timing import timing_of, timing_sentence
from viewer.program.program import Operator
from viewer.program.sources.files import file_name
from viewer.view.open_trace import OpenTrace

_MOST_OPERATORS = 5


def slice_lines(open_trace: OpenTrace, index: int, resolution_ns: float = 1) -> list[str]:
    """The lines of the hover tip for one slice; the first is the title.

    resolution_ns: the ns per pixel of the view, by default whole ns.
    """
    from viewer.analysis.memory.logged_allocations import allocation_text

    name, label, link = (
        open_trace.trace.name(index),
        open_trace.label(index),
        open_trace.link(index),
    )
    position = "separate clock, position inside its call is for drawing only"
    if holds_value(open_trace.trace.slices, index):
        position = "is a value, not a time"
    elif open_trace.native(index) is None:
        position = f"at {format_position(open_trace.span_ns(index)[0], resolution_ns)}"
    lines = [name_text(label), f"{open_trace.length_text(index)} {position}"]
    if timing_of(open_trace.trace.slices, index) and open_trace.native(index) is None:
        lines.append(timing_sentence(open_trace.trace.slices, index))
    if name != label:
        lines.append(f"identifier {name}" if is_number(name) else name_text(name))
    if allocated := allocation_text(open_trace.trace, index):
        lines.append(f"then allocates {allocated}, time not logged")
    program = open_trace.table.program
    members = list(open_trace.table.executed(int(open_trace.trace.slices.key[index])))
    lines += _operator_lines(members, label, program.path if program else "")
    if not members:
        lines += _reason_lines(link)
    return lines


def plan_tip(scene: Scene, plan: PointedPlan, resolution_ns: float) -> list[str]:
    """The lines of the hover tip for a plan: of the slice in it, else of the plan itself."""
    if plan.slice is None:
        return plan_lines(plan.plans, plan.index, scene.rasters[plan.plans.trace].open_trace)
    open_trace = scene.rasters[plan.slice.trace].open_trace
    title, *rest = slice_lines(open_trace, plan.slice.index, resolution_ns)
    return [f"Planned: {title}", *rest]


def _operator_lines(members: list[Operator], label: str, path: str) -> list[str]:
    if len(members) == 1:
        name, place = members[0].label, _place(members[0], path)
        return [line for line in ("" if name in label else name, place) if line]
    if not members:
        return []
    # One line per operator: the time belongs to all of them and is never divided.
    lines = [f"shared by {counted(len(members), 'operator')}"]
    for member in members[:_MOST_OPERATORS]:
        place = _place(member, path)
        lines.append(f"{member.label}, {place}" if place else member.label)
    more = len(members) - _MOST_OPERATORS
    return [*lines, f"and {more} more"] if more > 0 else lines


def _place(operator: Operator, path: str) -> str:
    """Where an operator comes from, such as "attention.py:12 in forward" or "tiny.mlir:11"."""
    source = operator.source
    if source is not None:
        inside = f" in {source.function}" if source.function else ""
        return f"{file_name(source.path)}:{source.line}{inside}"
    return f"{display_name(path)}:{operator.place.removeprefix('L')}" if operator.place else ""


def _reason_lines(link: Link) -> list[str]:
    """Why there is no operator, if one would be expected."""
    if link.reason.state is not LinkState.UNLINKED and not link.near:
        return []
    return [link.detail, *([nearby] if (nearby := describe_near(link)) else [])]
