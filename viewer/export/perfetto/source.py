"""The input of the Perfetto exporter: traces with their current names, links, flows and bookmarks.

Everything is frozen data, so that a file can be written on another thread while the window stays in
use. Flows are those that the trace file itself contains, then those that
`viewer.analysis.flows.slice_flows` proves: between slices of one inference, from one that ended to
one that starts later. An NSS job and its host actions are also connected, although the job overlaps
its start action: they are identified by their actions, not by time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.flows.slice_flows import FlowIndex
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Codes, Ints
from viewer.dataclasses import dataclass, field
from viewer.model.times import RateOrigin, tick_to_ns
from viewer.model.trace import Trace, Unit
from viewer.program.executables import ExecutableMethod

Facts = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class ExportTrack:
    """The displayed names of a track; the method may come from an ETRecord."""

    process: str
    thread: str


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What is known about each distinct key of a trace; every list is as long as `trace.keys`.

    correlation: slices with equal text get one color ("forward/10": one operator), None for none.
    modules: module path. sources: "file:line". callers: that of the user's own files, where the
    source is in an installed package. reasons: how the link was made, "" for none.
    estimates: the compiler's estimate as (ticks of the compile clock, ns); keys may be missing.
    """

    correlation: Sequence[str | None]
    debug_handles: Sequence[tuple[int | str, ...]]
    operators: Sequence[tuple[str, ...]]
    modules: Sequence[str | None]
    sources: Sequence[str | None]
    callers: Sequence[str | None]
    reasons: Sequence[str]
    estimates: Mapping[int, tuple[int, float]] = field(default_factory=dict)

    @staticmethod
    def none(count: int) -> KeyFacts:
        """Return facts for `count` keys about which nothing is known."""
        nobody, nothing = (None,) * count, ((),) * count
        return KeyFacts(nobody, nothing, nothing, nobody, nobody, nobody, ("",) * count)


@dataclass(frozen=True, slots=True, eq=False)
class FlowEdges:
    """Flows between slices: parallel arrays of slice numbers.

    asked: the number of slices whose inputs were looked up; of: how many slices may have any.
    """

    producer: Ints
    consumer: Ints
    asked: int
    of: int

    @staticmethod
    def none() -> FlowEdges:
        """Return no edges of no slices."""
        nothing: Ints = np.empty(0, np.int64)
        return FlowEdges(nothing, nothing, 0, 0)


@dataclass(frozen=True, slots=True)
class PerfettoSource:
    """One trace to write, with its current clock, names and links.

    A time is floor(tick * ns_per_tick) + offset_ns. `tracks` is parallel to `trace.tracks`.
    `labels` (one per slice) indexes `label_strings`: the name to write instead of the file's own,
    which then becomes the argument `event`; with `own_names` slices keep the file's names, and the
    labels become the argument `label`. `rate_origin`: the origin of the tick's length.
    `counters`: whether to add the counters of NPU units and of planned memory, computed while
    writing. `ran`: as in `planned_counters`. `only`: the
    numbers of the slices to write, ascending, regardless of the range; None for all. `flows`:
    called once, while writing, with the numbers of the written slices (ascending, None for all);
    returns the flows among them. `annotations`: whether slices have arguments. `input`: facts about
    the file that the trace was read from, such as its hash. `ns_range`: the range to write on the
    common axis, if not that of the whole file. `placement`: facts about its place in this file.
    """

    trace: Trace
    ns_per_tick: Fraction
    tracks: Sequence[ExportTrack]
    offset_ns: int = 0
    rate_origin: RateOrigin = RateOrigin.STATED
    labels: Codes | None = None
    label_strings: Sequence[str] = ()
    own_names: bool = False
    facts: KeyFacts | None = None
    counters: bool = False
    ran: Sequence[ExecutableMethod | None] = ()
    only: Ints | None = None
    flows: Callable[[Ints | None], FlowEdges] | None = None
    annotations: bool = True
    input: Facts = field(default_factory=dict)
    ns_range: tuple[int, int] | None = None
    placement: Facts = field(default_factory=dict)

    @staticmethod
    def of(trace: Trace) -> PerfettoSource:
        """Return a source for a trace alone: its own names and clock, no links."""
        return PerfettoSource(
            trace=trace,
            ns_per_tick=trace.clock.ns_per_tick,
            tracks=tuple(ExportTrack(t.process, t.thread) for t in trace.tracks),
            rate_origin=RateOrigin.ASSUMED if trace.clock.assumed else RateOrigin.STATED,
        )

    def span(self) -> tuple[int, int] | None:
        """Return the earliest and latest ns on the common axis as Python ints; None without slices.

        Raises TimesTooFarApart.
        """
        trace = self.trace
        if not len(trace.slices):
            return None
        if trace.end - trace.start >= 2**63:
            raise TimesTooFarApart(f"the ticks of {trace.path} span more than 63 bits")
        return self._between(trace.start, trace.end)

    def counter_spans(self) -> list[tuple[int, int]]:
        """Return the first and last ns of each counter of the file, as `span` does for slices."""
        if not self.counters:
            return []
        ticks = (counter.tick for counter in self.trace.counters)
        return [self._between(int(tick[0]), int(tick[-1])) for tick in ticks if len(tick)]

    def _between(self, first: int, last: int) -> tuple[int, int]:
        start, end = (tick_to_ns(tick, self.ns_per_tick) for tick in (first, last))
        return start + self.offset_ns, end + self.offset_ns


@dataclass(frozen=True, slots=True)
class PerfettoBookmark:
    """A bookmarked moment or span, in ns of the common axis, with the user's name and note.

    trace: the number of an open trace on whose clock it is, for whoever places the traces on the
    axis.
    """

    start_ns: int
    end_ns: int
    name: str
    note: str = ""
    trace: int = 0


@dataclass(frozen=True, slots=True)
class TraceExtras:
    """The contents of a file besides the slices of its sources.

    order: (source, track) pairs in display order; other tracks follow in file order. facts: about
    the file as a whole, by the end of their attribute key ("range").
    """

    order: Sequence[tuple[int, int]] = ()
    bookmarks: Sequence[PerfettoBookmark] = ()
    facts: Facts = field(default_factory=dict)


class TimesTooFarApart(ValueError):
    """The times of all sources span more than the 292 years of a Perfetto timestamp."""


# Looking up the inputs of a slice takes 0.07 to 0.17 ms, so this limit is 3 s at most.
MOST_ASKED = 20_000


def flows_among(table: LinkTable, only: Ints | None, most: int = MOST_ASKED) -> FlowEdges:
    """Return the flows among some slices (ascending, None for all).

    The file's own flows come first, in its order, then the proven ones by consumer and producer. If
    more than `most` slices may have inputs, only the first `most` by start are looked up; the
    result's `asked` is that number.
    """
    stated = table.trace.flows
    pairs = np.stack([stated.producer, stated.consumer], axis=1)
    proved, asked, of = _proved(table, only, most)
    if len(pairs) and len(proved):
        stated_pairs = set(map(tuple, pairs.tolist()))
        proved = proved[[tuple(edge) not in stated_pairs for edge in proved.tolist()]]
    columns = np.concatenate([pairs, proved])
    if only is not None:
        columns = columns[np.isin(columns, only).all(axis=1)]
    return FlowEdges(columns[:, 0].copy(), columns[:, 1].copy(), asked, of)


def _proved(table: LinkTable, only: Ints | None, most: int) -> tuple[Ints, int, int]:
    """Return the proven edges, the number of slices looked up, and how many may have inputs."""
    candidates = _may_have_inputs(table)
    if only is not None:
        candidates = candidates[np.isin(candidates, only, assume_unique=True)]
    searched = candidates
    if len(candidates) > most:
        by_start = np.argsort(table.trace.slices.start[candidates], kind="stable")
        searched = np.sort(candidates[by_start[:most]])
    edges: list[tuple[int, int]] = []
    if not len(searched):
        return np.empty((0, 2), np.int64), 0, 0
    index = FlowIndex(table)
    for consumer in searched.tolist():
        slice_flows = index.flows(consumer)
        assert slice_flows is not None  # the search has no limit here
        edges += sorted(
            (e.slice, consumer)
            for e in slice_flows.inputs
            if e.is_job or not (e.overlaps or e.is_stated)
        )
    return np.array(edges, np.int64).reshape(len(edges), 2), len(searched), len(candidates)


def _may_have_inputs(table: LinkTable) -> Ints:
    """Return the slices with operators, and all of host and NSS, whose jobs need no program."""
    trace = table.trace
    slices = trace.slices
    linked = np.array([bool(link.operators) for link in table.links], np.bool_)
    mask = linked[slices.key] if len(linked) else np.zeros(len(slices), np.bool_)
    units = np.array([track.unit in (Unit.HOST, Unit.NSS) for track in trace.tracks], np.bool_)
    if units.any() and not trace.provenance:
        mask = mask | units[slices.row_track[slices.rows()]]
    return np.flatnonzero(mask)
