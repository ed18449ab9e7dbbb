"""The colors of the slices of an open trace under a scheme, cached with the trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.numeric.compared import STEP_TITLES
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
    shown: OpenTrace,
    i: int,
    operators: Sequence[int],
    scheme: str,
    lengths: LengthRange | None = None,
) -> tuple[int, ...]:
    """The palette indices of the swatch of slice i: its own color on the timeline.

    A slice shared by several operators is gray in the schemes of operators; its swatch has the
    colors of these operators.
    """
    classes = color_classes(shown, scheme, lengths)
    if classes.by_operator and len(operators) > 1:
        colors = shown.operator_colors(scheme)
        return tuple(int(colors[k]) for k in operators)
    return (int(classes.palette(shown.trace, np.array([i]))[0]),)


def scheme_key(shown: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> str:
    """What a trace is actually colored by: the scheme or names.

    For durations with the ramp, for errors with their version.
    """
    actual = NAMES if scheme in shown.barred else scheme
    if actual == ERROR and shown.errors is not None:
        return f"{actual} {shown.errors.version}"
    if actual != "duration":
        return actual
    ramp = lengths or ramp_of([shown])
    return f"{actual} {ramp.least} {ramp.most} {shown.axis.ns_per_tick}"


def ramp_of(traces: Sequence[OpenTrace]) -> LengthRange:
    """The range of durations in ns that the ramp covers."""
    return lengths_together(
        None if shown.lengths is None else shown.lengths.times(shown.axis.ns_per_tick)
        for shown in traces
    )


def palette_of(shown: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> Palette:
    """The palette index of every slice under a scheme; cached.

    `lengths` is the range of the duration ramp over everything open, by default over this trace.
    """
    key = scheme_key(shown, scheme, lengths)
    if key not in shown.palettes:
        shown.palettes[key] = color_classes(shown, scheme, lengths).palette(shown.trace)
        _forget_others(shown, key)
    return shown.palettes[key]


def color_classes(shown: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> Classes:
    """The classes of a trace's color scheme; cached."""
    key = scheme_key(shown, scheme, lengths)
    if key not in shown.classes and key.startswith(ERROR) and shown.errors is not None:
        # The steps of a scale of errors, and what was not compared.
        steps = [(title, RAMP + i) for i, title in enumerate(STEP_TITLES)]
        of_key = [shown.errors.step(link.operators) for link in shown.table.links]
        classes = [("Not compared", PLAIN) if step < 0 else steps[step] for step in of_key]
        shown.classes[key] = classes_of_keys(shown.table, classes, first=steps)
    elif key not in shown.classes:
        shown.classes[key] = classes_of(
            key.partition(" ")[0], shown.table, lengths or ramp_of([shown]), shown.axis.ns_per_tick
        )
    return shown.classes[key]


def _forget_others(shown: OpenTrace, key: str) -> None:
    """Drop cached ramps over other ranges or clock rates, and errors of other references."""
    scheme = key.partition(" ")[0]
    if scheme in ("duration", ERROR):
        for cache in (shown.palettes, shown.classes):
            for other in [k for k in cache if k.startswith(scheme) and k != key]:
                del cache[other]
