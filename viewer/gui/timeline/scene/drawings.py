"""What the strips of all clocks share: rasters of all traces in the current colors, plans of jobs.

For up to 20,000 slices, colors and highlighted slices are computed immediately, above that in a
thread: for ten million slices, colors take 1 s and highlighted slices 0.5 s. Old colors stay until
the new ones are ready. While highlighted slices are computed, all slices are dimmed, because the
previous raster is wrong. The plan of a measured NSS job starts where its job starts and has the
time scale of the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.torq.measured_actions import TrackPlans, plans_of_tracks, source_of
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.background import Latest
from viewer.gui.session.clocks import shared_clocks
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.trace_rasters import (
    ClassName,
    ComparedMarks,
    ComparedSlices,
    HitRasters,
    TraceRasters,
    rasters_again,
    rasters_of,
)
from viewer.model.trace import Slices
from viewer.render.frame import RasterSource
from viewer.render.palette import Emphasis, Palette
from viewer.render.raster import RowRaster
from viewer.render.time_axis import XMap
from viewer.view.open_trace import AT_ONCE, OpenTrace, ramp_of, scheme_key
from viewer.view.state import SliceSet
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.torq.measured_actions import PlannedJob


Tracks = Mapping[tuple[int, int], TrackPlans]  # by (trace, track)


class JobPlans(QObject):
    """The plans of all open traces; `changed` when they arrive from a thread."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.tracks: Tracks = {}
        self._latest = Latest(self, self._take)

    @property
    def lanes(self) -> dict[tuple[int, int], int]:
        """The number of lanes in the plans of each track that has some."""
        return {part: len(plans.lanes) for part, plans in self.tracks.items()}

    def show(self) -> None:
        """Update the plans to the session's traces; for large ones, they arrive later.

        Traces with aligned or averaged inferences have no plans.
        """
        self._latest.cancel()
        self.tracks = {}
        traces = self._session.workspace.traces
        if all(source_of(trace) is None for trace in traces):
            return
        if sum(len(trace.slices) for trace in traces) <= AT_ONCE:
            self.tracks = self._displayed(_plans(self._session.workspace))
        else:
            self._latest.submit(_plans, self._session.workspace)

    @Slot(object)
    def _take(self, tracks: Tracks) -> None:
        self.tracks = self._displayed(tracks)
        self.changed.emit()

    def _displayed(self, tracks: Tracks) -> Tracks:
        """The plans of the traces that are displayed as they ran."""
        opened = self._session.traces
        return {
            part: plans
            for part, plans in tracks.items()
            if part[0] < len(opened) and opened[part[0]].trace is opened[part[0]].file
        }


def _plans(space: Workspace) -> Tracks:
    from viewer.workspace.snapshot import shared_estimates

    return plans_of_tracks(shared_estimates(space).plans, space.traces)


@dataclass(frozen=True, slots=True, eq=False)
class PlanRooms:
    """Executions with their columns: from the start of the job to the end of job and plan.

    index: which executions. first: the column of the start. planned, measured: the columns in which
    plan and job end. last: where the room ends: at the later of the two, but not after the start of
    the next job. next: the column of that start. All are clipped to the view.
    """

    index: Ints
    first: Ints
    planned: Ints
    measured: Ints
    last: Ints
    next: Ints


def rooms_of(plans: TrackPlans, index: Ints, here: XMap) -> PlanRooms:
    """The columns of some executions; here: the view in ticks of their trace."""
    start, end = plans.start[index], plans.end[index]
    per_column = float(here.ticks_per_pixel * here.axis.ns_per_tick)
    planned = here.x_of(start) + plans.ns_of_jobs[plans.job[index]] / per_column
    first, measured = here.pixel_of(start), here.end_pixel_of(end)
    after = np.full(len(index), here.width, np.int64)
    is_last = index + 1 >= len(plans.start)
    after[~is_last] = here.pixel_of(plans.start[index[~is_last] + 1])
    # A plan takes a column at least, as a slice does.
    columns = np.clip(planned, 0, here.width).astype(np.int64)
    columns = np.minimum(np.maximum(columns, np.where(planned > 0, first + 1, 0)), here.width)
    measured = np.minimum(np.maximum(measured, first + (start >= here.edges[0])), here.width)
    return PlanRooms(
        index, first, columns, measured, np.minimum(np.maximum(columns, measured), after), after
    )


def wide_rooms(plans: TrackPlans, here: XMap, least: int) -> PlanRooms:
    """All rooms of at least `least` visible columns, and one that reaches in from the left.

    There are at most width / (least - 1) + 1, found without a look at the others.
    """
    probes = here.edges[np.arange(0, here.width, max(least - 1, 1))]
    near = np.unique(np.searchsorted(plans.start, probes, side="right") - 1)
    plan_rooms = rooms_of(plans, near[near >= 0], here)
    from_left = plans.start[plan_rooms.index] < here.edges[0]
    wide = plan_rooms.last - plan_rooms.first >= np.where(from_left, 1, least)
    return PlanRooms(
        plan_rooms.index[wide],
        plan_rooms.first[wide],
        plan_rooms.planned[wide],
        plan_rooms.measured[wide],
        plan_rooms.last[wide],
        plan_rooms.next[wide],
    )


def narrow_rooms(plans: TrackPlans, here: XMap, wide: Ints) -> PlanRooms:
    """The last room that starts in each column, without the wide ones: at most one per column."""
    bounds = np.searchsorted(plans.start, here.edges)
    last = bounds[1:][np.diff(bounds) > 0] - 1
    return rooms_of(plans, last[~np.isin(last, wide)], here)


def zero_of(plans: TrackPlans, index: int, open_trace: OpenTrace) -> Fraction:
    """The exact time of tick 0 of a compile profile in a plan, in ns of the job's axis."""
    job = plans.jobs[int(plans.job[index])]
    assert job.profile is not None
    start = int(plans.start[index]) * open_trace.axis.ns_per_tick + open_trace.axis.offset_ns
    return start - job.profile.start * job.rate.ns_per_tick


def ratio_of(plans: TrackPlans, index: int, open_trace: OpenTrace) -> float:
    """The measured time of an execution divided by the planned one."""
    return measured_ns(plans, index, open_trace) / job_of(plans, index).ns


def measured_ns(plans: TrackPlans, index: int, open_trace: OpenTrace) -> float:
    """The measured time of an execution."""
    ticks = int(plans.end[index]) - int(plans.start[index])
    return float(ticks * open_trace.axis.ns_per_tick)


def job_of(plans: TrackPlans, index: int) -> PlannedJob:
    """The job of an execution."""
    return plans.jobs[int(plans.job[index])]


class Recoloring(QObject):
    """Emits `recolored` with the rasters of all open traces, colored by the requested scheme."""

    recolored = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(self, self.recolored)
        self._asked: object = None  # identifies the latest request

    def ask(
        self, all_rasters: Sequence[TraceRasters], scheme: str, lit: ClassName | None = None
    ) -> None:
        """Color by a scheme; `recolored` follows if anything changes, at once for few slices."""
        arguments = tuple(all_rasters), scheme, lit
        request = tuple(id(drawn.open_trace) for drawn in all_rasters), scheme, lit
        if self._latest.pending and request == self._asked:
            return
        self._asked = request
        lengths = ramp_of([drawn.open_trace for drawn in all_rasters], scheme)
        if all(
            p.lit == lit and scheme_key(p.open_trace, scheme, lengths) == p.scheme
            for p in all_rasters
        ):
            self._latest.cancel()
            return
        small = sum(len(p.open_trace.trace.slices) for p in all_rasters) <= AT_ONCE
        self._latest.ask(small, colored, *arguments)


def colored(
    all_rasters: Sequence[TraceRasters], scheme: str, lit: ClassName | None
) -> list[TraceRasters]:
    """The rasters under a scheme, with one class highlighted; a pure function."""
    lengths = ramp_of([drawn.open_trace for drawn in all_rasters], scheme)
    return [rasters_of(p.open_trace, scheme, p, lengths=lengths, lit=lit) for p in all_rasters]


class Highlighting(QObject):
    """Updates the raster of highlighted slices when the selection or the colors change."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._all_rasters: Sequence[TraceRasters] = ()
        # Input of the current or pending raster: a trace, its palette, and operators of its
        # program.
        self._asked: tuple[OpenTrace, Palette, tuple[int, ...]] | None = None
        self._raster: RowRaster | None = None
        self._latest = Latest(self, self._draw)
        session.selection_changed.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Use these rasters from now on."""
        self._all_rasters = all_rasters
        self._follow()

    @Slot()
    def _follow(self) -> None:
        selection, inputs = self._session.state.operators, None
        if selection is not None:
            drawn = self._all_rasters[selection[0]]
            inputs = drawn.open_trace, drawn.palette, selection[1]
            if self._is_asked(*inputs):
                self._draw(self._raster)
                return
        self._latest.cancel()
        self._asked = inputs
        self._draw(None)
        if inputs is None:
            return
        self._latest.ask(len(inputs[0].trace.slices) <= AT_ONCE, highlighted, *inputs)

    def _is_asked(
        self, open_trace: OpenTrace, palette: Palette, operators: tuple[int, ...]
    ) -> bool:
        inputs = self._asked
        if inputs is None:
            return False
        return inputs[0] is open_trace and inputs[1] is palette and inputs[2] == operators

    @Slot(object)
    def _draw(self, raster: RowRaster | None) -> None:
        self._raster = raster
        of = None if self._asked is None else self._asked[0]
        for drawn in self._all_rasters:
            drawn.hits = raster if drawn.open_trace is of else None
        self.changed.emit()


def highlighted(open_trace: OpenTrace, palette: Palette, operators: tuple[int, ...]) -> RowRaster:
    """The raster of the slices of some operators, in the colors of a palette; a pure function."""
    return RowRaster.subset(open_trace.trace.slices, palette, open_trace.slices_of(operators))


class SelectedRasters(QObject):
    """Rasters of the selected slices if there are several; emits `changed` on updates."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        # A child of the session: as a child of the scene, collecting both together crashes the
        # process.
        super().__init__(session)
        self._session = session
        self.rasters: dict[int, RowRaster] = {}  # by trace
        self._latest = Latest(self, self._take)
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._follow)

    @Slot()
    def _follow(self) -> None:
        state = self._session.state
        if not state.others:
            self._latest.cancel()
            self._take({})
            return
        traces, selected = self._session.traces, state.slices
        of = {number: traces[number].trace.slices for number in selected.of}
        small = len(selected) <= AT_ONCE
        if not small:
            self._take({})  # the old rings would be wrong until the new ones are ready
        self._latest.ask(small, _rasters, of, selected)

    @Slot(object)
    def _take(self, rasters: dict[int, RowRaster]) -> None:
        self.rasters = rasters
        self.changed.emit()


def _rasters(of: dict[int, Slices], selected: SliceSet) -> dict[int, RowRaster]:
    rasters = {}
    for trace, numbers in selected.of.items():
        # One color for all, because only the positions of slices are read from this raster.
        color = np.ones(len(of[trace]), np.uint8)
        rasters[trace] = RowRaster.subset(of[trace], color, numbers.astype(np.int64))
    return rasters


class Drawings(QObject):
    """The rasters of the open traces, by their number; `changed` makes all strips repaint."""

    changed = Signal()
    reopening = Signal()  # other traces are open: every scene gets its layout, and says nothing yet
    reopened = Signal()  # every scene has its layout; comes before any `changed`
    recolored = Signal()  # `rasters` were replaced; `changed` follows

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session = session
        self.search = Search.of(session)
        self.rasters: list[TraceRasters] = []
        self.shared_clocks: list[str] = []  # note per trace on the file whose clock it shares
        self.plans = JobPlans(session)
        self._recoloring = Recoloring(self)
        self._recoloring.recolored.connect(self._take_colors)
        self.selected_rasters = SelectedRasters(session)
        self.selected_rasters.changed.connect(self.changed)
        self._hit_rasters = HitRasters(session)
        self._hit_rasters.changed.connect(self.changed)
        self._highlighting = Highlighting(session)
        self._highlighting.changed.connect(self.changed)
        self._compared = ComparedSlices(session)
        self._compared.changed.connect(self.changed)
        self.compared_marks = ComparedMarks(session)
        self.compared_marks.changed.connect(self.changed)
        session.query_changed.connect(self.changed)
        session.workspace_changed.connect(self._reopen)
        session.coloring_changed.connect(self._recolor)

    def sources(self, *, dark: bool) -> Sequence[RasterSource]:
        """The rasters and colors for a frame, dimmed while something is found or highlighted."""
        compared, marks = self._compared.of, self.compared_marks.answer.of
        dimmed = bool(compared) or self.session.state.operators is not None or self.has_lit_class
        emphasis = self.behind if dimmed else Emphasis.FULL
        if self.search.dims and self.search.shows_only_hits:
            emphasis = Emphasis.HIDDEN
        elif self.search.dims:
            emphasis = Emphasis.UNMATCHED
        if self.search.dims:
            compared = {}
        return [
            drawn.source(
                dark=dark,
                emphasis=emphasis,
                above=compared[number].raster if number in compared else None,
                marks=marks[number].rasters if number in marks else (),
            )
            for number, drawn in enumerate(self.rasters)
        ]

    @property
    def behind(self) -> Emphasis:
        """How slices that do not stand out are drawn: faintest if they are found or unchanged."""
        faintest = self.search.dims or self._compared.of
        return Emphasis.UNMATCHED if faintest else Emphasis.DIMMED

    def _reopen(self) -> None:
        before = {id(p.open_trace.trace): p for p in self.rasters}
        # Coloring by a scheme other than the prepared one may take a thread.
        self.rasters = [
            rasters_again(open_trace, before.get(id(open_trace.trace)))
            for open_trace in self.session.traces
        ]
        self.shared_clocks = shared_clocks(self.session)
        self.plans.show()
        # Before any other signal: receivers immediately look up the slice under the mouse, which
        # takes both rasters and layout. A strip may resize others, so all layouts come first.
        self.reopening.emit()
        self.reopened.emit()
        self._recolor()
        self._highlighting.show(self.rasters)
        self._hit_rasters.show(self.rasters)
        self._compared.show(self.rasters)

    def _recolor(self) -> None:
        self._recoloring.ask(self.rasters, self.session.state.scheme, self.session.state.lit)

    def _take_colors(self, all_rasters: list[TraceRasters]) -> None:
        self.rasters = all_rasters
        self._highlighting.show(self.rasters)
        self._hit_rasters.show(self.rasters)
        self._compared.show(self.rasters)
        self.recolored.emit()

    @property
    def has_lit_class(self) -> bool:
        """Whether one class of the color scheme is highlighted."""
        return any(drawn.lit_slices is not None for drawn in self.rasters)

    def stand_out(self, trace: int, which: Ints) -> Bools:
        """Whether each of the given slices is drawn in full color."""
        if self.search.dims:
            return self.search.are_hits(trace, which)
        if trace in self._compared.of:
            is_out = self._compared.of[trace].is_out[which]
            return is_out
        drawn, related = self.rasters[trace], self.related(trace)
        if related is not None:
            return related[drawn.open_trace.trace.slices.key[which]]
        if self.session.state.operators is None and self.has_lit_class:
            return drawn.are_lit(which)
        return np.full(len(which), self.session.state.operators is None)

    def related(self, trace: int) -> Bools | None:
        """Per key, whether its slices belong to the highlighted operators; None without any."""
        highlighted = self.session.state.operators
        if highlighted is None or highlighted[0] != trace:
            return None
        return self.rasters[trace].open_trace.table.keys_of(highlighted[1])
