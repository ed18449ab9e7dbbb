"""The colors of the slices of an open trace under a scheme, cached with the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.numbers.compared import STEP_TITLES
from viewer.render.color_schemes import (
    ERROR,
    NAMES,
    Classes,
    LengthRange,
    classes_of,
    classes_of_keys,
    lengths_together,
)
from viewer.render.palette import PLAIN, RAMP, Palette
from viewer.view.open_trace import OpenTrace


def slice_colors(
    open_trace: OpenTrace,
    i: int,
    operators: Sequence[int],
    scheme: str,
    lengths: LengthRange | None = None,
) -> tuple[int, ...]:
    """The palette indices of the swatch of slice i: its own color on the timeline.

    A slice shared by several operators is gray in the schemes of operators; its swatch has the
    colors of these operators.
    """
    classes = color_classes(open_trace, scheme, lengths)
    if classes.by_operator and len(operators) > 1:
        colors = open_trace.operator_colors(scheme)
        return tuple(int(colors[k]) for k in operators)
    return (int(classes.palette(open_trace.trace, np.array([i]))[0]),)


def scheme_key(open_trace: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> str:
    """What a trace is actually colored by: the scheme or names.

    For durations with the ramp, for errors with their version.
    """
    actual = NAMES if scheme in open_trace.barred else scheme
    if actual == ERROR and open_trace.errors is not None:
        return f"{actual} {open_trace.errors.version}"
    if actual != "duration":
        return actual
    ramp = lengths or ramp_of([open_trace])
    return f"{actual} {ramp.least} {ramp.most} {open_trace.axis.ns_per_tick}"


def ramp_of(traces: Sequence[OpenTrace]) -> LengthRange:
    """The range of durations in ns that the ramp covers."""
    return lengths_together(
        None
        if open_trace.lengths is None
        else open_trace.lengths.times(open_trace.axis.ns_per_tick)
        for open_trace in traces
    )


def palette_of(open_trace: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> Palette:
    """The palette index of every slice under a scheme; cached.

    `lengths` is the range of the duration ramp over everything open, by default over this trace.
    """
    key = scheme_key(open_trace, scheme, lengths)
    if key not in open_trace.palettes:
        open_trace.palettes[key] = color_classes(open_trace, scheme, lengths).palette(
            open_trace.trace
        )
        _forget_others(open_trace, key)
    return open_trace.palettes[key]


def color_classes(
    open_trace: OpenTrace, scheme: str, lengths: LengthRange | None = None
) -> Classes:
    """The classes of a trace's color scheme; cached."""
    key = scheme_key(open_trace, scheme, lengths)
    if key not in open_trace.classes and key.startswith(ERROR) and open_trace.errors is not None:
        # The steps of a scale of errors, and what was not compared.
        steps = [(title, RAMP + i) for i, title in enumerate(STEP_TITLES)]
        of_key = [open_trace.errors.step(link.operators) for link in open_trace.table.links]
        classes = [("Not compared", PLAIN) if step < 0 else steps[step] for step in of_key]
        open_trace.classes[key] = classes_of_keys(open_trace.table, classes, first=steps)
    elif key not in open_trace.classes:
        open_trace.classes[key] = classes_of(
            key.partition(" ")[0],
            open_trace.table,
            lengths or ramp_of([open_trace]),
            open_trace.axis.ns_per_tick,
        ).taking(open_trace.turns.get(key, {}))
    return open_trace.classes[key]


def _forget_others(open_trace: OpenTrace, key: str) -> None:
    """Drop cached ramps over other ranges or clock rates, and errors of other references."""
    scheme = key.partition(" ")[0]
    if scheme in ("duration", ERROR):
        for cache in (open_trace.palettes, open_trace.classes):
            for other in [k for k in cache if k.startswith(scheme) and k != key]:
                del cache[other]
