"""What the Perfetto exporter is given: traces with the names, links, flows and marks of the moment.

All of it is frozen data, so that a file can be written on another thread while the window goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.model.times import RateOrigin, tick_to_ns
from viewer.model.trace import Trace

Facts = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class ExportTrack:
    """The names that a track is shown under; a record may have named the method."""

    process: str
    thread: str


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What is known about each distinct key of a trace; every list is as long as `trace.keys`.

    correlation: slices with equal text get one color ("forward/10": one operator), None for none.
    modules: module path; sources: "file:line"; reasons: how the link was made, "" for none.
    estimates: what the compiler expected of it, as (ticks of the compile clock, ns); none at all
    may be given.
    """

    correlation: Sequence[str | None]
    debug_handles: Sequence[tuple[int | str, ...]]
    operators: Sequence[tuple[str, ...]]
    modules: Sequence[str | None]
    sources: Sequence[str | None]
    reasons: Sequence[str]
    estimates: Mapping[int, tuple[int, float]] = field(default_factory=dict)

    @staticmethod
    def none(count: int) -> KeyFacts:
        """Nothing about so many keys."""
        nobody, nothing = (None,) * count, ((),) * count
        return KeyFacts(nobody, nothing, nothing, nobody, nobody, ("",) * count)


@dataclass(frozen=True, slots=True, eq=False)
class FlowEdges:
    """From which slices to which results flow: parallel arrays of slice numbers.

    asked: of how many slices the inputs were looked for; of: how many there are that may have any.
    """

    producer: Ints
    consumer: Ints
    asked: int
    of: int

    @staticmethod
    def none() -> FlowEdges:
        """No edges, of no slices."""
        nothing: Ints = np.empty(0, np.int64)
        return FlowEdges(nothing, nothing, 0, 0)


@dataclass(frozen=True, slots=True)
class PerfettoSource:
    """One trace to write, with the clock, names and links of the moment.

    A time is floor(tick * ns_per_tick) + offset_ns. `tracks` is parallel to `trace.tracks`.
    `labels` (as long as the slices) indexes `label_strings`: the name to write where it is not the
    file's own, which then becomes the argument `event`. `rate_origin`: who says how long a tick is.
    `counters` asks for the counters of the units, worked out while writing. `only`: the numbers of
    the slices to write, ascending, whatever the range says; None for all. `flows`: told the numbers
    of the slices that are written (ascending, None for all), it gives the flows among them; called
    once, while writing. `annotations`: whether slices have arguments. `input`: facts about the file
    that the trace was read from, as its hash.
    """

    trace: Trace
    ns_per_tick: Fraction
    tracks: Sequence[ExportTrack]
    offset_ns: int = 0
    rate_origin: RateOrigin = RateOrigin.STATED
    labels: Codes | None = None
    label_strings: Sequence[str] = ()
    facts: KeyFacts | None = None
    counters: bool = False
    only: Ints | None = None
    flows: Callable[[Ints | None], FlowEdges] | None = None
    annotations: bool = True
    input: Facts = field(default_factory=dict)

    @staticmethod
    def of(trace: Trace) -> PerfettoSource:
        """A trace by itself: its own names and clock, no links."""
        return PerfettoSource(
            trace=trace,
            ns_per_tick=trace.clock.ns_per_tick,
            tracks=tuple(ExportTrack(t.process, t.thread) for t in trace.tracks),
            rate_origin=RateOrigin.ASSUMED if trace.clock.assumed else RateOrigin.STATED,
        )

    def span(self) -> tuple[int, int] | None:
        """Earliest and latest ns on the common axis, in unbounded integers; None without slices.

        Raises TimesTooFarApart.
        """
        trace = self.trace
        if not len(trace.slices):
            return None
        if trace.end - trace.start >= 2**63:
            raise TimesTooFarApart(f"the ticks of {trace.path} span more than 63 bits")
        first, last = (tick_to_ns(t, self.ns_per_tick) for t in (trace.start, trace.end))
        return first + self.offset_ns, last + self.offset_ns


@dataclass(frozen=True, slots=True)
class PerfettoBookmark:
    """A moment or a span that the user marked, in ns of the common axis, with his words."""

    start_ns: int
    end_ns: int
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class TraceExtras:
    """What a file has beside the slices of its sources.

    order: (source, track) in the order of display; tracks that are not named follow in the order
    of their files. facts: about the file as a whole, by the end of their key ("range").
    """

    order: Sequence[tuple[int, int]] = ()
    marks: Sequence[PerfettoBookmark] = ()
    facts: Facts = field(default_factory=dict)


class TimesTooFarApart(ValueError):
    """The times of all sources span more than the 292 years that a Perfetto timestamp can."""
