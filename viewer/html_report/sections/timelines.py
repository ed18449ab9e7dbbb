"""The timelines of a report: a static picture of each clock, which the script replaces."""

from __future__ import annotations

from typing import Any

from viewer.html_report.contents import Axes, Contents
from viewer.html_report.html import details, paragraph, section, text
from viewer.html_report.timeline_data import first_view_of
from viewer.model.times import counted, group_digits
from viewer.view.clock_groups import group_caption, group_title
from viewer.view.static_timeline.svg import SvgTimeline, timeline_svg

_ROWS = 40  # of a static picture


def timelines(contents: Contents, data: dict[str, Any]) -> str:
    """Return the timelines; data: what `timeline_data` embeds for the script."""
    slices = sum(len(profile.shown.trace.slices) for profile in contents.profiles)
    exact = exact_slices(data)
    if not slices:
        return ""
    if exact < slices:
        how = (
            f"This report has {group_digits(exact)} of {group_digits(slices)} slices: the longest. "
            "Shorter ones are drawn as groups, which are paler the less time they cover; a group "
            "has no duration of its own."
        )
    else:
        how = f"This report has all {counted(slices, 'slice')}."
    parts = [paragraph(how, "note"), _TOOLS]
    left_out = sum(axis["left_out"] for axis in data["axes"])
    if left_out:
        parts.append(paragraph(f"{counted(left_out, 'more row')} not in this report.", "note"))
    parts += [_axis(contents, axis, number) for number, axis in enumerate(contents.axes)]
    parts.append('<output id="selected" class="selected" aria-live="polite" hidden></output>')
    return section("timeline", "Timeline", *parts)


def exact_slices(data: dict[str, Any]) -> int:
    """Return how many slices are exact in the data of a report."""
    return sum(profile["exact"] for axis in data["axes"] for profile in axis["profiles"])


# What the script needs; hidden without it.
_TOOLS = """<div class="tools" hidden>
<label>Search <input id="search" type="search" autocomplete="off" spellcheck="false"></label>
<output id="matches" aria-live="polite"></output>
<button type="button" id="next-match">Next</button>
</div>"""


def _axis(contents: Contents, axis: Axes, number: int) -> str:
    title, view = group_title(axis.group, axis.traces), first_view_of(axis)
    several = len(contents.axes) > 1
    caption = group_caption(axis.group, axis.traces)
    heading = f"<h3>{text(title)} <small>{text(caption)}</small></h3>" if several else ""
    if contents.profiles and axis.profiles[0].arm:
        heading = f"<h3>{text(axis.profiles[0].title)} <small>{text(caption)}</small></h3>"
    svg_timeline = _svg(contents, axis, (view.t0, view.t1))
    whole = ""
    if view.note:
        whole = details("The whole trace", _figure(_svg(contents, axis, None), ""))
    return (
        f'{heading}\n<div class="axis" data-axis="{number}">\n'
        f'<div class="static">{_figure(svg_timeline, view.note)}{whole}</div>\n'
        '<div class="live" hidden></div>\n</div>'
    )


def _svg(contents: Contents, axis: Axes, span: tuple[int, int] | None) -> SvgTimeline:
    return timeline_svg(
        axis.traces,
        axis.group,
        span_ns=span,
        most_rows=min(_ROWS, contents.limits.bands),
        most_boxes=contents.limits.svg_boxes,
        style=False,
    )


def _figure(picture: SvgTimeline, note: str) -> str:
    notes = [note] if note else []
    if picture.exact < picture.slices:
        notes.append(
            f"{group_digits(picture.exact)} of {group_digits(picture.slices)} slices; the others "
            "are drawn as groups"
        )
    if picture.left_out:
        notes.append(f"{counted(picture.left_out, 'more row')} not drawn")
    caption = f"<figcaption>{text('. '.join(notes))}</figcaption>" if notes else ""
    return (
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="Timeline">'
        f"{picture.svg}</div>{caption}</figure>"
    )
