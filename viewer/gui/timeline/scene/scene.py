"""The state shared by headers, canvas, ruler and overview: rasters, row layout and scroll position.

Each of those widgets draws from the scene and knows none of the others. The scene listens to the
session, so that a change of selection, colors or collapsed tracks is processed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.arrays import Bools, Ints
from viewer.gui.qt.background import Latest
from viewer.gui.session.clocks import cycle_trace, shared_clocks
from viewer.gui.session.search import Search
from viewer.gui.session.selection import selected_span_ns
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.animation import RangeAnimation
from viewer.gui.timeline.scene.highlighting import Highlighting
from viewer.gui.timeline.scene.job_plans import JobPlans
from viewer.gui.timeline.scene.recoloring import Recoloring
from viewer.gui.timeline.scene.search_hits import HitRasters
from viewer.gui.timeline.scene.selected_slices import SelectedRasters
from viewer.gui.timeline.scene.trace_rasters import TraceRasters, prepare, rasters_again
from viewer.model.text import display_name
from viewer.model.times import counted
from viewer.render.arrangement import Arrangement, TrackOrder, TrackView, arrange
from viewer.render.canvas import Canvas
from viewer.render.header_bands import HeaderBands
from viewer.render.layout import BandKind, HeaderPart, TimelineLayout, XMap
from viewer.render.palette import Emphasis
from viewer.render.raster import RasterSource
from viewer.render.stacking import Density, stack
from viewer.render.ticks import Ruler, Scale
from viewer.render.track_table import Busy, ProcessSpec, TrackList, track_list
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import RulerUnit, SliceRef

# Pinned tracks stay in view as long as they take no more than this share of the viewport.
_MOST_PINNED = 2 / 3


@lru_cache(maxsize=8)
def xmap_of(t0: int, t1: int, columns: int) -> XMap:
    """The time map of a frame; cached, because it keeps the edges that it has computed."""
    return XMap(t0, t1, columns)


@lru_cache(maxsize=4)
def _lines(scale: Scale, t0: int, t1: int, columns: int, width: int) -> Ruler:
    """The ruler lines of a view, shared by the ruler and the canvas below it."""
    return scale.lines(xmap_of(t0, t1, columns), width)


class Scene(QObject):
    """Rasters, layout and vertical scroll of the timeline; `changed` makes all parts repaint.

    `moved` and `scrolled` repaint only parts that show times or rows: headers and overview take a
    fifth of a frame each.
    """

    changed = Signal()
    moved = Signal()  # only the visible time range changed
    arranged = Signal()  # the layout changed; `changed` follows
    scrolled = Signal()  # only the vertical scroll position changed
    recolored = Signal()  # `rasters` were replaced; `changed` follows
    pointed = Signal(object)  # the time under the mouse in ns, or None

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session = session
        self.search = Search.of(session)
        self.rasters: list[TraceRasters] = []
        self.shared_clocks: list[str] = []  # note per trace on the file whose clock it shares
        self.plans = JobPlans(session)
        self.plans.changed.connect(self._take_plans)
        self.track_list: TrackList = track_list([])
        self._arranged: tuple[TrackList, TrackView] | None = None  # input of the current layout
        self.arrangement: Arrangement = arrange(self.track_list, session.state.tracks)
        self._unscrolled: TimelineLayout = stack(
            self.track_list, session.state.tracks, self.arrangement
        )
        self.density = Density.COMFORTABLE
        self.font_scale = 1.0  # of labels, relative to a 13 px font
        self.layout: TimelineLayout = self._unscrolled  # with pinned tracks on top of the view
        self._counting = Latest(self)  # computes how busy tracks are
        self._counting.answered.connect(self._counted)
        self._counting.late.connect(self.changed)
        self._counting.failed.connect(self.changed)  # the order then stays as it was
        self.scroll = 0
        self._scroll_rest = 0.0  # fractions of a px from a high-resolution wheel
        self.viewport_height = 0
        self.scale = Scale()
        self.animation = RangeAnimation(self)
        self.animation.moved.connect(self.moved)
        self._recoloring = Recoloring(self)
        self._recoloring.recolored.connect(self._take_colors)
        self.selected_rasters = SelectedRasters(session)
        self.selected_rasters.changed.connect(self.changed)
        self._hit_rasters = HitRasters(session)
        self._hit_rasters.changed.connect(self.changed)
        self._highlighting = Highlighting(session)
        self._highlighting.changed.connect(self.changed)
        session.query_changed.connect(self.changed)
        session.also.append(prepare)
        session.workspace_changed.connect(self._reopen)
        session.tracks_changed.connect(self._rearrange)
        session.coloring_changed.connect(self._recolor)
        session.range_jumped.connect(self._animate)
        session.range_changed.connect(self._show)
        session.bookmarks_changed.connect(self.changed)
        for signal in (
            session.workspace_changed,
            session.selection_changed,
            session.run_picked,
            session.ruler_changed,
        ):
            signal.connect(self._rescale)
        session.revealed.connect(self._reveal)
        session.file_fitted.connect(self._scroll_to_file)

    @property
    def processes(self) -> Sequence[ProcessSpec]:
        """The processes of all open traces, indexed as in `layout.process`."""
        return self.track_list.processes

    def shown_tracks(self) -> frozenset[tuple[int, int]]:
        """The tracks that are neither hidden nor filtered out, as (trace, track)."""
        shown = np.flatnonzero(self.arrangement.shown)
        pairs = np.column_stack([self.track_list.trace[shown], self.track_list.number[shown]])
        return frozenset((trace, track) for trace, track in pairs.tolist())

    @property
    def missing_text(self) -> str:
        """How many tracks are hidden or filtered out, as text; "" if none."""
        hidden, filtered = self.arrangement.hidden, self.arrangement.filtered
        verb = "hidden" if not filtered else "hidden or filtered out" if hidden else "filtered out"
        missing = hidden + filtered
        return f"{counted(missing, 'track')} {verb}" if missing else ""

    @property
    def header_bands(self) -> HeaderBands:
        """The bands grouped by process and track."""
        return HeaderBands(self.track_list, self.layout)

    def full_title(self, part: HeaderPart) -> str:
        """The name of a part; for a track, with its process."""
        track = self.track_list.track_of(part)
        process = self.track_list.processes[self.track_list.process_of(part)]
        return process.name if track < 0 else f"{self.track_list.names[track]} · {process.name}"

    def set_density(self, density: Density) -> None:
        """Set the height of rows that the user has not set."""
        if density is not self.density:
            self.density = density
            self._arrange()

    # -- drawing -----------------------------------------------------------------------------

    def sources(self, *, dark: bool) -> Sequence[RasterSource]:
        """The rasters and colors for a frame, dimmed while something is found or highlighted."""
        dimmed = self.session.state.operators is not None or self.has_lit_class
        emphasis = Emphasis.DIMMED if dimmed else Emphasis.FULL
        if self.search.dims:
            only = self.search.shows_only_hits
            emphasis = Emphasis.HIDDEN if only else Emphasis.UNMATCHED
        return [drawn.source(dark=dark, emphasis=emphasis) for drawn in self.rasters]

    @property
    def visible(self) -> tuple[int, int]:
        """The range to draw now: the view's range, or an intermediate one during an animation."""
        state = self.session.state
        return self.animation.now() or (state.t0, state.t1)

    def xmap(self, columns: int) -> XMap:
        """The visible range mapped to a number of columns."""
        t0, t1 = self.visible
        return xmap_of(t0, t1, max(columns, 1))

    def ns_per_pixel(self, width: int) -> float:
        """What positions in a view of `width` pixels resolve."""
        return float(self.xmap(width).ticks_per_pixel)

    def ruler(self, canvas: Canvas) -> Ruler:
        """The ruler's lines as canvas columns, and its labels."""
        return _lines(self.scale, *self.visible, canvas.columns, canvas.width)

    # -- vertical scrolling ------------------------------------------------------------------

    @property
    def scroll_limit(self) -> int:
        """The maximum scroll position in px."""
        return max(self.layout.total_height - self.viewport_height, 0)

    def scroll_to(self, y: int) -> None:
        """Scroll the rows so that line `y` of the content is at the top."""
        y = min(max(y, 0), self.scroll_limit)
        if y != self.scroll:
            self.scroll = y
            self._place_pinned()
            self.scrolled.emit()

    def scroll_by(self, pixels: float) -> None:
        """Scroll the rows down, or up if negative; fractions of a pixel accumulate."""
        if pixels * self._scroll_rest < 0:
            self._scroll_rest = 0.0  # reversing takes effect immediately
        whole = int(pixels + self._scroll_rest)
        self._scroll_rest += pixels - whole
        self.scroll_to(self.scroll + whole)

    def set_viewport_height(self, height: int) -> None:
        """Set the height of the canvas in px."""
        self.viewport_height = height
        self.scroll = min(self.scroll, self.scroll_limit)
        self._place_pinned()
        self.scrolled.emit()

    def _place_pinned(self) -> None:
        """Keep pinned tracks at the top of the view, unless they would take too much of it."""
        fits = self._unscrolled.pinned_height <= self.viewport_height * _MOST_PINNED
        self.layout = self._unscrolled.scrolled(self.scroll) if fits else self._unscrolled

    def sections(self, height: int) -> list[tuple[int, int]]:
        """The (top, bottom) lines of the scrolling section of the canvas, then of the fixed one.

        Pinned tracks are fixed and come last, because they are drawn over the others.
        """
        stuck = min(self.layout.stuck_height, height)
        parts = [(stuck, height), (0, stuck)]
        return [(top, bottom) for top, bottom in parts if bottom > top]

    def band_of(self, ref: SliceRef) -> int:
        """The band that shows a slice: its row, or the strip of zero-length slices."""
        slices = self.rasters[ref.trace].shown.trace.slices
        zero = slices.start[ref.index] == slices.end[ref.index]
        kind = BandKind.STRIP if zero else BandKind.ROW
        return self.layout.band_of(ref.trace, slices.row_of(ref.index), kind)

    def _scroll_to_file(self, trace: int) -> None:
        """Scroll the first header of a file to the top."""
        headers = (self.layout.kind == BandKind.PROCESS) & (self.layout.trace == trace)
        if headers.any():
            self.scroll_to(int(self.layout.y[headers].min()) - self.layout.stuck_height)

    # -- following the session ---------------------------------------------------------------

    def _animate(self, t0: int, t1: int) -> None:
        """Animate from a previous range to the current one."""
        state = self.session.state
        self.animation.start(self.animation.now() or (t0, t1), (state.t0, state.t1))

    def _show(self) -> None:
        state = self.session.state
        self.animation.keep_to(state.t0, state.t1)
        self.moved.emit()

    def _rescale(self) -> None:
        """Update the ruler's scale to the selection and the current trace."""
        session, unit = self.session, self.session.state.ruler
        number = cycle_trace(session) if unit is RulerUnit.CYCLES else session.current_trace
        self.scale = Scale()
        if unit is RulerUnit.FROM_SELECTION:
            span = selected_span_ns(session)
            if span is not None:
                self.scale = Scale(span[0], start="the selection")
        elif number is not None and unit is not RulerUnit.FROM_START:
            shown = session.traces[number]
            if unit is RulerUnit.CYCLES:
                self.scale = Scale(shown.trace.start, shown.axis)
            else:
                several = len(session.traces) > 1
                of = f" of {display_name(shown.file.path)}" if several else ""
                self.scale = Scale(shown.axis.offset_ns, start=f"clock zero{of}")
        self.changed.emit()

    def _reopen(self) -> None:
        before = {id(p.shown.trace): p for p in self.rasters}
        # Coloring by a scheme other than the prepared one may take a thread.
        self.rasters = [
            rasters_again(shown, before.get(id(shown.trace))) for shown in self.session.traces
        ]
        opened = self.session.traces
        self.plans.show()
        self.track_list = track_list(
            [shown.tracks for shown in opened],
            [shown.axis for shown in opened],
            [[(c.counter.process, c.counter.name) for c in shown.counters] for shown in opened],
            self.plans.lanes,
        )
        self.shared_clocks = shared_clocks(self.session)
        # Before any signal: receivers immediately look up the slice under the mouse, which takes
        # both rasters and layout.
        self._arrange()
        self._recolor()
        self._highlighting.show(self.rasters)
        self._hit_rasters.show(self.rasters)

    def _take_plans(self) -> None:
        self.track_list = replace(self.track_list, plan_lanes=self.plans.lanes)
        self._arrange()

    def _recolor(self) -> None:
        self._recoloring.ask(self.rasters, self.session.state.scheme, self.session.state.lit)

    def _take_colors(self, all_rasters: list[TraceRasters]) -> None:
        self.rasters = all_rasters
        self._highlighting.show(self.rasters)
        self._hit_rasters.show(self.rasters)
        self.recolored.emit()

    @property
    def is_sorting(self) -> bool:
        """Whether tracks will be reordered once it is known how busy they are."""
        return self._counting.pending

    def _rearrange(self) -> None:
        if self._arranged != (self.track_list, self.session.state.tracks):
            self._arrange()

    def _arrange(self) -> None:
        tracks = self.session.state.tracks
        self._arranged = self.track_list, tracks
        self._counting.cancel()
        busy = self._busy() if tracks.order is TrackOrder.BUSY else None
        self.arrangement = arrange(self.track_list, tracks, busy)
        self._unscrolled = stack(
            self.track_list, tracks, self.arrangement, self.density, self.font_scale
        )
        # Limit the scroll position by the plain layout first: pinned tracks are placed at it.
        self.layout = self._unscrolled
        self.scroll = min(self.scroll, self.scroll_limit)
        self._place_pinned()
        self.arranged.emit()
        self.changed.emit()

    def _busy(self) -> Busy | None:
        """The busy time of each track in ns; None while it is computed."""
        opened = self.session.traces
        slices = sum(len(shown.trace.slices) for shown in opened)
        if slices > AT_ONCE and any(not shown.facts.busy_is_known for shown in opened):
            self._counting.submit(_count_busy, opened)
            return None
        return np.concatenate(
            [shown.facts.busy * float(shown.axis.ns_per_tick) for shown in opened]
        )

    @Slot(object)
    def _counted(self, done: object) -> None:
        self._arrange()

    def _reveal(self, ref: SliceRef) -> None:
        self.scroll_to_band(self.band_of(ref))

    def scroll_to_band(self, band: int) -> None:
        """Scroll as little as possible to bring a band into view."""
        if band < 0:
            return
        top, height = int(self.layout.y[band]), int(self.layout.height[band])
        if self.layout.stuck and band < self.layout.pinned:
            return
        if top < self.scroll + self.layout.stuck_height:
            self.scroll_to(top - height - self.layout.stuck_height)
        elif top + height > self.scroll + self.viewport_height:
            self.scroll_to(top + 2 * height - self.viewport_height)

    @property
    def is_highlighting(self) -> bool:
        """Whether highlighted slices are still being computed, with all slices dimmed."""
        return self._highlighting.pending

    @property
    def has_lit_class(self) -> bool:
        """Whether one class of the color scheme is highlighted."""
        return any(drawn.lit_slices is not None for drawn in self.rasters)

    def stand_out(self, trace: int, which: Ints) -> Bools:
        """Whether each of the given slices is drawn in full color."""
        if self.search.dims:
            return self.search.are_hits(trace, which)
        drawn, related = self.rasters[trace], self.related(trace)
        if related is not None:
            return related[drawn.shown.trace.slices.key[which]]
        if self.session.state.operators is None and self.has_lit_class:
            return drawn.are_lit(which)
        return np.full(len(which), self.session.state.operators is None)

    def related(self, trace: int) -> Bools | None:
        """Per key, whether its slices belong to the highlighted operators; None without any."""
        highlighted = self.session.state.operators
        if highlighted is None or highlighted[0] != trace:
            return None
        return self.rasters[trace].shown.table.keys_of(highlighted[1])


def _count_busy(opened: Sequence[OpenTrace]) -> None:
    """Compute how busy each trace's tracks are, which the trace caches."""
    for shown in opened:
        _ = shown.facts.busy
