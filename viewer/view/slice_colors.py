"""The colors of the slices of an open trace under a scheme, cached with the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from viewer.analysis.statistics.slice_keys import ARGUMENT
from viewer.render.argument_colors import ArgumentRange, ranges_together
from viewer.render.color_schemes import (
    ERROR,
    NAMES,
    Classes,
    LengthRange,
    classes_of,
    classes_of_keys,
    lengths_together,
)
from viewer.render.palette import PLAIN, RAMP, Palette, by_name
from viewer.view.color_turns import chosen_colors
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

    For durations with the ramp, for errors with their version, for arguments with their values.
    """
    actual = NAMES if open_trace.why_not_by(scheme) else scheme
    if actual.startswith(ARGUMENT):
        values = (lengths or ramp_of([open_trace], scheme)).values
        return f"{actual} {hash(values)}"
    if actual == ERROR and open_trace.errors is not None:
        return f"{actual} {open_trace.errors.version}"
    if actual != "duration":
        return actual
    ramp = lengths or ramp_of([open_trace])
    return f"{actual} {ramp.least} {ramp.most} {open_trace.axis.ns_per_tick}"


def ramp_of(traces: Sequence[OpenTrace], scheme: str = "") -> LengthRange:
    """The range of durations in ns that the ramp covers, and what the argument of a scheme has."""
    together = lengths_together(
        None
        if open_trace.lengths is None
        else open_trace.lengths.times(open_trace.axis.ns_per_tick)
        for open_trace in traces
    )
    if not scheme.startswith(ARGUMENT):
        return together
    return replace(together, values=ranges_together(t.facts.argument_range(scheme) for t in traces))


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
        from viewer.analysis.numbers.compared import STEP_TITLES

        # The steps of a scale of errors, and what was not compared.
        steps = [(title, RAMP + i) for i, title in enumerate(STEP_TITLES)]
        of_key = [open_trace.errors.step(link.operators) for link in open_trace.table.links]
        classes = [("Not compared", PLAIN) if step < 0 else steps[step] for step in of_key]
        open_trace.classes[key] = classes_of_keys(open_trace.table, classes, first=steps)
    elif key not in open_trace.classes:
        ranges = lengths or ramp_of([open_trace], scheme)
        by_argument = key.startswith(ARGUMENT)
        actual = scheme if by_argument else key.partition(" ")[0]
        turns = _turns_of(ranges.values) if by_argument else open_trace.turns.get(key, {})
        open_trace.classes[key] = classes_of(
            actual, open_trace.table, ranges, open_trace.axis.ns_per_tick
        ).taking(turns)
    return open_trace.classes[key]


def _turns_of(values: ArgumentRange) -> dict[str, int]:
    """The colors of frequent values that do not keep theirs."""
    texts = [text for text, _ in values.texts]
    return chosen_colors([tuple(zip(texts, by_name(texts).tolist(), strict=True))])


def _forget_others(open_trace: OpenTrace, key: str) -> None:
    """Drop cached ramps over other ranges or clock rates, arguments, and other errors."""
    is_argument = key.startswith(ARGUMENT)
    scheme = ARGUMENT if is_argument else key.partition(" ")[0]
    if is_argument or scheme in ("duration", ERROR):
        for cache in (open_trace.palettes, open_trace.classes):
            for other in [k for k in cache if k.startswith(scheme) and k != key]:
                del cache[other]
