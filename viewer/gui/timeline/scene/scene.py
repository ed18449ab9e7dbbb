"""The state shared by headers, canvas, ruler and overview of one strip: layout, scroll, time range.

Each of those widgets draws from the scene and knows none of the others. Jumps of the time range are
animated, so that the eye can follow. The session's range changes immediately; only what is drawn
moves gradually. New input interrupts the animation: it starts from the final range.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from viewer.dataclasses import replace
from viewer.gui.qt.background import Latest
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.session.clocks import cycle_trace_on
from viewer.gui.session.selection import selected_span_on
from viewer.gui.timeline.scene.drawings import Drawings, JobPlans
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.model.text import display_name
from viewer.model.times import counted
from viewer.render.arrangement import (
    NO_TRACKS,
    Arrangement,
    Busy,
    HeaderBands,
    ProcessSpec,
    TrackList,
    TrackOrder,
    TrackView,
    arrange,
    track_list,
)
from viewer.render.frame import RasterSource
from viewer.render.layout import HEADER_HEIGHT, BandKind, Canvas, HeaderPart, TimelineLayout
from viewer.render.stacking import Density, is_single, row_heights, stack, usual_heights
from viewer.render.time_axis import NO_GAPS, Gaps, Ruler, Scale, XMap
from viewer.view.clock_groups import ClockGroup, Range
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import RulerUnit, SliceRef, ViewState

# Pinned tracks stay in view as long as they take no more than this share of the viewport.
_MOST_PINNED = 2 / 3
_LEAST_BELOW_HEADER = 4 * HEADER_HEIGHT  # px of a view in which the header of a process stays

FRAME_MS = 8
DURATION_MS = 140
# Over more screens than this, an animation would only flicker, so the view jumps.
FARTHEST = 40

NsRange = tuple[int, int]


class RangeAnimation(QObject):
    """Interpolates between two ranges over time; disabled by default, as in screenshots."""

    moved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.enabled = False
        self._between: tuple[NsRange, NsRange] | None = None
        self._began = 0.0
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._step)

    @property
    def is_moving(self) -> bool:
        """Whether an animation is running."""
        return self._between is not None

    def start(self, begin: NsRange, end: NsRange) -> None:
        """Animate from one range to another; jumps if disabled or too far apart."""
        longest = max(begin[1] - begin[0], end[1] - end[0])
        too_far = max(abs(begin[0] - end[0]), abs(begin[1] - end[1])) > FARTHEST * longest
        if not self.enabled or begin == end or too_far:
            self.stop()
            return
        self._between = begin, end
        self._began = time.monotonic()
        self._timer.start()

    def stop(self) -> None:
        """Jump to the end of the animation."""
        self._between = None
        self._timer.stop()

    def keep_to(self, t0: int, t1: int) -> None:
        """Stop unless the animation leads to this range, because other input has arrived."""
        if self._between is not None and self._between[1] != (t0, t1):
            self.stop()

    def now(self) -> NsRange | None:
        """The range to draw now, None if no animation is running."""
        if self._between is None:
            return None
        share = (time.monotonic() - self._began) * 1000 / DURATION_MS
        return between(*self._between, share) if share < 1 else self._between[1]

    def _step(self) -> None:
        if (time.monotonic() - self._began) * 1000 >= DURATION_MS:
            self.stop()
        self.moved.emit()


def between(begin: NsRange, end: NsRange, share: float) -> NsRange:
    """The range at a fraction of the way from `begin` to `end`, slowing down towards the end.

    The length changes by a constant factor per unit of eased time, and both edges move with it. A
    time at the same position in both ranges therefore stays in place, as when zooming around it.
    """
    eased = 1 - (1 - share) ** 3
    first, last = begin[1] - begin[0], end[1] - end[0]
    # The quotient of nearly equal lengths loses all precision, so treat that as a pan.
    is_pan = abs(last - first) < first / 100
    part = eased if is_pan else (first * (last / first) ** eased - first) / (last - first)
    t0 = begin[0] + round((end[0] - begin[0]) * part)
    t1 = begin[1] + round((end[1] - begin[1]) * part)
    return t0, max(t1, t0 + 1)


@lru_cache(maxsize=64)  # a frame takes four of each strip
def xmap_of(t0: int, t1: int, columns: int, gaps: Gaps = NO_GAPS) -> XMap:
    """The time map of a frame; cached, because it keeps the edges that it has computed."""
    return XMap(t0, t1, columns, gaps=gaps)


@lru_cache(maxsize=16)
def _lines(scale: Scale, xmap: XMap, width: int) -> Ruler:
    """The ruler lines of a view, shared by the ruler and the canvas below it."""
    return scale.lines(xmap, width)


def text_of_missing(hidden: int, filtered: int) -> str:
    """How many tracks are hidden or filtered out, as text; "" if none."""
    verb = "hidden" if not filtered else "hidden or filtered out" if hidden else "filtered out"
    missing = hidden + filtered
    return f"{counted(missing, 'track')} {verb}" if missing else ""


class Scene(QObject):
    """Layout, visible range and vertical scroll of a strip; `changed` makes all parts repaint.

    `moved` and `scrolled` repaint only parts that show times or rows: headers and overview take a
    fifth of a frame each.
    """

    changed = Signal()
    moved = Signal()  # only the visible time range changed
    arranged = Signal()  # the layout changed; `changed` follows
    scrolled = Signal()  # only the vertical scroll position changed
    pointed = Signal(object)  # where the mouse is, as a place on screen in ns, or None

    def __init__(self, drawings: Drawings, clock: str = "") -> None:
        """clock: the key of the clock group to show; of none or an unknown one, the first group."""
        super().__init__(drawings.session)
        session = self.session = drawings.session
        self.drawings, self.search = drawings, drawings.search
        self.clock = clock
        self.track_list: TrackList = track_list([])
        self._arranged: tuple[TrackList, TrackView] | None = None  # input of the current layout
        self.arrangement: Arrangement = arrange(self.track_list, session.state.tracks)
        self._unscrolled: TimelineLayout = stack(
            self.track_list, session.state.tracks, self.arrangement
        )
        self._density = Density.COMFORTABLE
        self._is_tight = False
        # The height of rows that the user has not set, in the room that there is.
        self.used_density = Density.COMFORTABLE
        # Whether the header of the strip names the only process, which then has no header.
        self.is_titled = False
        self.full_height = 0  # of all rows in px, if there is room for the chosen density
        self.font_scale = 1.0  # of labels, relative to a 13 px font
        self.layout: TimelineLayout = self._unscrolled  # with pinned tracks on top of the view
        self._counting = Latest(self, self._counted)  # computes how busy tracks are
        self._counting.late.connect(self.changed)
        self._counting.failed.connect(self.changed)  # the order then stays as it was
        self._sticky_part: HeaderPart | None = None  # the process whose header stays in view
        self.scroll = 0
        self._scroll_rest = 0.0  # fractions of a px from a high-resolution wheel
        self.viewport_height = 0
        self.scale = Scale()
        self.animation = RangeAnimation(self)
        self.animation.moved.connect(self.moved)
        self._range = self.range
        drawings.changed.connect(self.changed)
        drawings.recolored.connect(self.changed)
        drawings.reopening.connect(self._reopen)
        drawings.reopened.connect(self._announce)
        drawings.plans.changed.connect(self._take_plans)
        session.tracks_changed.connect(self._rearrange)
        session.range_jumped.connect(self._animate)
        session.range_changed.connect(self._show)
        session.bookmarks_changed.connect(self.changed)
        for signal in (
            session.workspace_changed,
            session.selection_changed,
            session.run_picked,
            session.ruler_changed,
            session.strips_changed,
        ):
            signal.connect(self._rescale)
        session.revealed.connect(self._reveal)
        session.file_fitted.connect(self._scroll_to_file)
        self._reopen()

    @property
    def rasters(self) -> list[TraceRasters]:
        """The rasters of all open traces, by their number; those of `group` are drawn here."""
        return self.drawings.rasters

    @property
    def plans(self) -> JobPlans:
        """The plans of measured NPU jobs, which are drawn below their tracks."""
        return self.drawings.plans

    def _take_plans(self) -> None:
        self.track_list = replace(self.track_list, plan_lanes=self.plans.lanes)
        self._arrange()

    @property
    def group(self) -> ClockGroup:
        """The clock group that is shown."""
        return self.session.groups.by_key(self.clock)

    @property
    def range(self) -> Range:
        """The visible range of the group in the session, in ns of its axis."""
        return self.session.state.range_of(self.group.key)

    def show_clock(self, clock: str) -> None:
        """Show another clock group."""
        if clock != self.clock:
            self.clock = clock
            self.scroll = 0
            self._reopen()
            self._announce()
            self._rescale()

    def activate(self) -> None:
        """Make the group the one that keys act on."""
        self.session.activate(self.group.key)

    @property
    def processes(self) -> Sequence[ProcessSpec]:
        """The processes of the group's traces, indexed as in `layout.process`."""
        return self.track_list.processes

    @property
    def all_missing_text(self) -> str:
        """What to say where no track is left: "All tracks filtered out"."""
        return f"All tracks {self.missing_text.partition('track')[2].removeprefix('s').strip()}"

    @property
    def missing_text(self) -> str:
        """How many tracks are hidden or filtered out, as text; "" if none."""
        return text_of_missing(self.arrangement.hidden, self.arrangement.filtered)

    @property
    def header_bands(self) -> HeaderBands:
        """The bands grouped by process and track."""
        return HeaderBands(self.track_list, self.layout)

    def set_density(self, density: Density) -> None:
        """Set the height of rows that the user has not set."""
        if density is not self._density:
            self._density = density
            self._arrange()

    def set_tight(self, tight: bool) -> None:
        """Make automatic rows compact, because several strips share the height of the window."""
        if tight != self._is_tight:
            self._is_tight = tight
            if self._density is Density.AUTOMATIC:
                self._arrange()

    # -- drawing -----------------------------------------------------------------------------

    def sources(self, *, dark: bool) -> Sequence[RasterSource]:
        """The rasters and colors of all open traces for a frame."""
        return self.drawings.sources(dark=dark)

    @property
    def visible(self) -> tuple[int, int]:
        """The range to draw now: the view's range, or an intermediate one during an animation."""
        return self.animation.now() or self.range

    @property
    def gaps(self) -> Gaps:
        """The gaps in the axis of the group, in ns."""
        return self.session.state.gaps_of(self.group.key)

    def xmap(self, columns: int) -> XMap:
        """The visible range mapped to a number of columns."""
        t0, t1 = self.visible
        return xmap_of(t0, t1, max(columns, 1), self.gaps)

    def ns_per_pixel(self, width: int) -> float:
        """What positions in a view of `width` pixels resolve."""
        return float(self.xmap(width).ticks_per_pixel)

    def ruler(self, canvas: Canvas) -> Ruler:
        """The ruler's lines as canvas columns, and its labels."""
        return _lines(self.scale, self.xmap(canvas.columns), canvas.width)

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

    def scroll_by(self, pixels: float) -> bool:
        """Scroll the rows down, or up if negative; False at that end. Fractions add up."""
        if self.scroll == (self.scroll_limit if pixels > 0 else 0):
            return False
        if pixels * self._scroll_rest < 0:
            self._scroll_rest = 0.0  # reversing takes effect immediately
        whole = int(pixels + self._scroll_rest)
        self._scroll_rest += pixels - whole
        self.scroll_to(self.scroll + whole)
        return True

    def set_viewport_height(self, height: int) -> None:
        """Set the height of the canvas in px."""
        self.viewport_height = height
        self.scroll = min(self.scroll, self.scroll_limit)
        self._place_pinned()
        self.scrolled.emit()

    def _place_pinned(self) -> None:
        """Keep pinned tracks at the top of the view, unless they would take too much of it.

        Below them is the header of the process that the first row in view belongs to.
        """
        pinned, room = self._unscrolled.pinned_height, self.viewport_height
        fits = pinned <= room * _MOST_PINNED
        has_room = room - (pinned if fits else 0) >= _LEAST_BELOW_HEADER
        self.layout = layout = self._unscrolled.scrolled(
            self.scroll, sticks=fits, has_header=has_room
        )
        has_header = layout.sticky >= 0
        self._sticky_part = (
            self.processes[int(layout.process[layout.sticky])].part if has_header else None
        )

    def sections(self, height: int) -> list[tuple[int, int]]:
        """The (top, bottom) lines of the scrolling section of the canvas, then of the fixed ones.

        Pinned tracks and the header of a process are fixed. They come last, because they are drawn
        over the others.
        """
        stuck = min(self.layout.stuck_height, height)
        pinned = min(self.layout.stuck_height - self.layout.sticky_height, height)
        parts = [(stuck, height), (0, pinned), (pinned, stuck)]
        return [(top, bottom) for top, bottom in parts if bottom > top]

    def band_of(self, ref: SliceRef) -> int:
        """The band that shows a slice: its row, or the strip of zero-length slices."""
        slices = self.rasters[ref.trace].open_trace.trace.slices
        zero = slices.start[ref.index] == slices.end[ref.index]
        kind = BandKind.STRIP if zero else BandKind.ROW
        return self.layout.band_of(ref.trace, slices.drawn_row_of(ref.index), kind)

    def _scroll_to_file(self, trace: int) -> None:
        """Scroll the first header of a file to the top."""
        headers = (self.layout.kind == BandKind.PROCESS) & (self.layout.trace == trace)
        if headers.any():
            first = min(map(self.layout.home_of, np.flatnonzero(headers).tolist()))
            self.scroll_to(first - self.layout.stuck_height + self.layout.sticky_height)

    # -- following the session ---------------------------------------------------------------

    def _animate(self, before: ViewState) -> None:
        """Animate from the range of a previous view to the current one."""
        had_range = self.clock in before.all_ranges
        previous = before.range_of(self.clock) if had_range else self._range
        if previous != self.range:
            self.animation.start(self.animation.now() or previous, self.range)

    def _show(self) -> None:
        if self.range != self._range:
            self._range = self.range
            self.animation.keep_to(*self._range)
            self.moved.emit()

    def _rescale(self) -> None:
        """Update the ruler's scale to the selection and the current trace."""
        session, group, unit = self.session, self.group, self.session.state.ruler
        current = session.current_trace
        number = current if current in group.traces else next(iter(group.traces), None)
        if unit is RulerUnit.CYCLES:
            number = cycle_trace_on(session, group)
        self.scale = Scale()
        if unit is RulerUnit.FROM_SELECTION:
            if (span := selected_span_on(session, group.key)) is not None:
                self.scale = Scale(span[0], start="the selection")
        elif number is not None and unit is not RulerUnit.FROM_START:
            open_trace = session.traces[number]
            if unit is RulerUnit.CYCLES:
                self.scale = Scale(open_trace.trace.start, open_trace.axis)
            else:
                several = len(group.traces) > 1
                of = f" of {display_name(open_trace.file.path)}" if several else ""
                self.scale = Scale(open_trace.axis.offset_ns, start=f"clock zero{of}")
        self.changed.emit()

    def _reopen(self) -> None:
        opened, members = self.session.traces, self.group.traces
        open_traces = [
            open_trace if number in members else None for number, open_trace in enumerate(opened)
        ]
        self.track_list = track_list(
            [NO_TRACKS if open_trace is None else open_trace.tracks for open_trace in open_traces],
            [open_trace.axis for open_trace in opened],
            [
                []
                if open_trace is None
                else [(c.counter.process, c.counter.name) for c in open_trace.counters]
                for open_trace in open_traces
            ],
            self.plans.lanes,
        )
        self._range = self.range
        self.animation.keep_to(*self._range)
        self._lay_out()

    @property
    def is_sorting(self) -> bool:
        """Whether tracks will be reordered once it is known how busy they are."""
        return self._counting.pending

    def _rearrange(self) -> None:
        if self._arranged != (self.track_list, self.session.state.tracks):
            self._arrange()

    def _arrange(self) -> None:
        self._lay_out()
        self._announce()

    def _announce(self) -> None:
        self.arranged.emit()
        self.changed.emit()

    def _lay_out(self) -> None:
        tracks = self.session.state.tracks
        self._arranged = self.track_list, tracks
        self._counting.cancel()
        busy = self._busy() if tracks.order is TrackOrder.BUSY else None
        self.arrangement = arrange(self.track_list, tracks, busy)
        is_compact = self._is_tight and self._density is Density.AUTOMATIC
        self.used_density = Density.COMPACT if is_compact else self._density
        several = len(self.session.groups) > 1
        self.is_titled = several and is_single(self.track_list, tracks)
        self._unscrolled = self._stacked(self.used_density)
        full = self._unscrolled
        if self.used_density is not self._density:
            full = self._stacked(self._density)
        self.full_height = full.total_height
        # Limit the scroll position by the plain layout first: pinned tracks are placed at it.
        sticky, above = self._sticky_part, self.layout.stuck_height - self.layout.sticky_height
        self.layout = self._unscrolled
        self.scroll = min(self.scroll, self.scroll_limit)
        self._place_pinned()
        band = -1 if sticky is None else self.header_bands.first_band(sticky)
        if band >= 0 and sticky in tracks.collapsed:
            # The rows below the header are gone, and it stays where it is.
            self.scroll = min(max(self.layout.home_of(band) - above, 0), self.scroll_limit)
            self._place_pinned()

    def _stacked(self, density: Density) -> TimelineLayout:
        return stack(
            self.track_list,
            self.session.state.tracks,
            self.arrangement,
            density,
            self.font_scale,
            is_titled=self.is_titled,
        )

    def _busy(self) -> Busy | None:
        """The busy time of each track in ns; None while it is computed."""
        opened = [self.session.traces[number] for number in self.group.traces]
        slices = sum(len(open_trace.trace.slices) for open_trace in opened)
        if slices > AT_ONCE and any(not open_trace.facts.busy_is_known for open_trace in opened):
            self._counting.submit(_count_busy, opened)
            return None
        columns = [
            open_trace.facts.busy * float(open_trace.axis.ns_per_tick) for open_trace in opened
        ]
        return np.concatenate([np.empty(0), *columns])  # nothing may be open

    @Slot(object)
    def _counted(self, done: object) -> None:
        self._arrange()

    def _reveal(self, ref: SliceRef) -> None:
        if ref.trace in self.group.traces:
            self.scroll_to_band(self.band_of(ref))

    def scroll_to_band(self, band: int) -> None:
        """Scroll as little as possible to bring a band into view."""
        if band < 0:
            return
        top, height = self.layout.home_of(band), int(self.layout.height[band])
        if (self.layout.stuck and band < self.layout.pinned) or band == self.layout.sticky:
            return
        if top < self.scroll + self.layout.stuck_height:
            self.scroll_to(top - height - self.layout.stuck_height)
        elif top + height > self.scroll + self.viewport_height:
            self.scroll_to(top + 2 * height - self.viewport_height)


def _count_busy(opened: Sequence[OpenTrace]) -> None:
    """Compute how busy each trace's tracks are, which the trace caches."""
    for open_trace in opened:
        _ = open_trace.facts.busy


_STEP = 2  # px


def row_height(scene: Scene, process: HeaderPart) -> int:
    """The current row height of a process in px."""
    heights = row_heights(
        scene.track_list, scene.session.state.tracks, scene.used_density, scene.font_scale
    )
    return int(heights[scene.track_list.process_of(process)])


def with_row_height(scene: Scene, process: HeaderPart, height: int) -> TrackView:
    """The current track view with another row height for a process, in px."""
    usual = usual_heights(scene.track_list, scene.used_density, scene.font_scale)
    by_density = int(usual[scene.track_list.process_of(process)])
    return scene.session.state.tracks.with_row_height(process, height, by_density)


def grow_rows(scene: Scene, y: int, by: int) -> None:
    """Increase (1) or decrease (-1) the row height of the process at a canvas line."""
    process = scene.header_bands.process_of(scene.layout.band_at(y + scene.scroll))
    if process >= 0:
        part = scene.track_list.processes[process].part
        height = row_height(scene, part) + by * _STEP
        arrange_tracks(scene.session, with_row_height(scene, part, height))
