"""The course of a profile: the durations of its inferences in order, levels and wall time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from viewer.analysis.sequence.rates import rate_text
from viewer.analysis.sequence.wall_time import WallPart
from viewer.analysis.summary.medians import MedianInference
from viewer.model.inferences.logged_methods import series_of
from viewer.model.times import format_time, group_digits, tick_to_ns
from viewer.model.trace import Trace
from viewer.view.open_trace import OpenTrace

_WALL_TOKENS = ("slab", "accent", "unit_compute", "unit_both", "unit_host", "unit_dma")
MOST_INFERENCES = 12  # more are not listed one by one


@dataclass(frozen=True, slots=True)
class CourseBar:
    """One inference: its position in `Trace.runs`, its ns, the number of its phase, and a text."""

    run: int
    ns: int
    phase: int
    text: str


def course_bars(open_trace: OpenTrace) -> tuple[CourseBar, ...]:
    """Return the finished inferences of a trace in order of time."""
    trace: Trace = open_trace.file
    rate = open_trace.axis.ns_per_tick
    at = [i for i, run in enumerate(trace.runs) if run.number and run.finished]
    at.sort(key=lambda i: trace.runs[i].start)
    series = list(dict.fromkeys(series_of(trace, trace.runs[i]) for i in at))
    place = {one: number for number, one in enumerate(series)}
    return tuple(
        CourseBar(
            i,
            (ns := tick_to_ns(run.end - run.start, rate)),
            place[series_of(trace, run)],
            ", ".join(filter(None, (f"{run.unit.title} {run.number}", run.phase, format_time(ns)))),
        )
        for i in at
        for run in (trace.runs[i],)
    )


def course_texts(open_trace: OpenTrace, of: Sequence[MedianInference]) -> Iterator[tuple[str, int]]:
    """Yield the levels and the rate of each phase, with the inference that a text leads to, or -1.

    of: the median of each phase or method.
    """
    rate, runs = open_trace.axis.ns_per_tick, open_trace.file.runs
    unit = open_trace.file.unit
    for median_inference in of:
        own = series_of(open_trace.file, runs[median_inference.run])
        for level in median_inference.levels:
            name = f"{median_inference.name} from" if median_inference.name else "From"
            time = format_time(tick_to_ns(level.ticks, rate))
            text = f"{name} {unit.noun} {group_digits(level.first)} on: {time}"
            text += f" ({level.factor:.2f} times)" if level.factor != 1 else ""
            at = (i for i, run in enumerate(runs) if run.number == level.first)
            yield text, next(i for i in at if series_of(open_trace.file, runs[i]) == own)
        if median_inference.rate is not None and (
            text := rate_text(
                median_inference.rate, rate, unit.in_phase(median_inference.name).noun
            )
        ):
            yield (f"{median_inference.name}: {text}" if median_inference.name else text), -1


def wall_parts(wall: Sequence[WallPart], rate: Fraction) -> list[tuple[str, str, int]]:
    """Return the name, color token and ns of each part of the wall time; idle ones are hatched."""
    busy = [part.name for part in wall if not part.is_idle]
    tokens = {name: _WALL_TOKENS[at % len(_WALL_TOKENS)] for at, name in enumerate(busy)}
    return [
        (wall_part.name, tokens.get(wall_part.name, ""), tick_to_ns(wall_part.ticks, rate))
        for wall_part in wall
    ]
