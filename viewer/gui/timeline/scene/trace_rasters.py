"""Rasters of one open trace: its slices, search hits, and what stands out in a comparison.

Rasters do not depend on the theme: light and dark, dimming and hits only change the color table.
Subsets of more than 20,000 slices are found in a thread. Each search hit has a bar on its upper
edge, at least three pixels wide, with a line of canvas color below it, so that it is visible on any
fill. Zero-length hits are larger diamonds.

While two arms are compared, what is not about the comparison is dimmed: with nothing selected, all
but the slices of rows that are proven to have changed and those that only one arm has; if nothing
changed, nothing is dimmed. A selected slice makes those of its row stand out in both arms. Only
traces whose strips are shown count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias
from weakref import ref

import numpy as np
from PySide6.QtCore import QObject, QRectF, Signal, Slot
from PySide6.QtGui import QPainter

from viewer.arrays import Bools, Ints
from viewer.codecs.reading import Cancelled
from viewer.dataclasses import dataclass, replace
from viewer.formats.column_cache import CACHE
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.choices import shown_clocks
from viewer.gui.session.comparison import ComparisonFeed, row_of_selection
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.trace import Slices
from viewer.render.color_schemes import DEFAULT, Classes, LengthRange
from viewer.render.color_shares import SAMPLED_TICKS, sampled_ticks
from viewer.render.frame import MarkedRows, RasterSource, stamp_diamonds
from viewer.render.layout import SLICE_TOP, BandKind, Canvas, TimelineLayout
from viewer.render.lod import DrawnSlices
from viewer.render.palette import Emphasis, Palette, Pixels, canvas_rgb, cell_colors
from viewer.render.raster import KeptRaster, RowRaster
from viewer.render.time_axis import XMap
from viewer.view.open_trace import AT_ONCE, OpenTrace, color_classes, palette_of, scheme_key

if TYPE_CHECKING:
    from viewer.view.open_comparison import ChangedPairs, OpenComparison


KEPT_RASTER = "raster"
# Title and palette index of a class.
ClassName = tuple[str, int]


@dataclass
class TraceRasters:
    """One open trace, ready to be drawn.

    scheme: the requested one, or names if the trace does not support it; for durations, with the
    range of its ramp. palette: a palette index per slice. hits: the slices of the highlighted
    operators. lit: the highlighted class, None if all are drawn in full color; lit_numbers,
    lit_slices: its numbers and slices in this trace, None if this trace does not have it.
    """

    open_trace: OpenTrace
    scheme: str
    classes: Classes
    palette: Palette
    raster: RowRaster
    hits: RowRaster | None = None
    lit: ClassName | None = None
    lit_numbers: Ints | None = None
    lit_slices: RowRaster | None = None
    search_hits: RowRaster | None = None  # search hits

    def source(
        self,
        *,
        dark: bool,
        emphasis: Emphasis,
        above: RowRaster | None = None,
        marks: tuple[RowRaster, ...] = (),
    ) -> RasterSource:
        """What a frame needs of the trace; highlighted slices, if any, stay in full color.

        above: other slices that do, instead of those of the operators or the class, or of the
        search hits with Emphasis.UNMATCHED and HIDDEN.
        """
        colors = cell_colors(dark, emphasis)
        if above is None and emphasis in (Emphasis.HIDDEN, Emphasis.UNMATCHED):
            above = self.search_hits
        elif above is None:
            above = self.hits if self.hits is not None else self.lit_slices
        full = cell_colors(dark, Emphasis.FULL)
        return RasterSource(self.raster, self.open_trace.axis, colors, above, full, marks)

    def are_lit(self, which: Ints) -> Bools:
        """Whether each of the given slices belongs to the highlighted class."""
        if self.lit_numbers is None or self.lit_slices is None:
            return np.zeros(len(which), np.bool_)
        return np.isin(self.classes.of(self.open_trace.trace, which), self.lit_numbers)


def rasters_again(open_trace: OpenTrace, before: TraceRasters | None) -> TraceRasters:
    """A trace as it can be drawn immediately.

    Reuses `before` if only the clock rate or offset changed; otherwise uses the default scheme, for
    which the trace was prepared.
    """
    if before is not None and before.open_trace.palettes is open_trace.palettes:
        return replace(before, open_trace=open_trace)
    return rasters_of(open_trace, DEFAULT, before)


def prepare(open_trace: OpenTrace) -> None:
    """Precompute what is needed first; for 200,000 identities, a palette takes 0.2 s."""
    _ = open_trace.barred, open_trace.lengths, open_trace.counters, open_trace.tracks
    # This includes the mipmaps, which take 1 s for 10 million slices.
    raster_of(open_trace, palette_of(open_trace, DEFAULT))


def raster_of(
    open_trace: OpenTrace, palette: Palette, drawn: DrawnSlices | None = None
) -> RowRaster:
    """The raster of a trace in the colors of a palette; the last one is cached.

    `drawn` has the rows of the same slices, if known from before they were linked again.
    """
    cached = open_trace.drawing
    if cached is None or cached[0] is not palette:
        slices = open_trace.trace.slices
        rows = drawn if cached is None else cached[1].drawn
        columns = CACHE.extra(slices, KEPT_RASTER, KeptRaster) if rows is None else None
        raster = None if columns is None else columns.raster(slices, palette)
        cached = palette, raster or RowRaster.of(slices, palette, rows)
        open_trace.drawing = cached
    return cached[1]


def keep_columns(open_trace: OpenTrace, cancelled: Cancelled) -> None:
    """Write the columns of a trace that took long to read, and its raster, for the next time."""
    slices = open_trace.trace.slices

    def extras() -> dict[str, object]:
        columns: dict[str, object] = {SAMPLED_TICKS: sampled_ticks(slices)}
        if open_trace.drawing is not None:
            palette, raster = open_trace.drawing
            columns[KEPT_RASTER] = KeptRaster.of(raster, palette)
        return columns

    CACHE.keep(slices, extras, cancelled)


def rasters_of(
    open_trace: OpenTrace,
    scheme: str,
    before: TraceRasters | None = None,
    *,
    lengths: LengthRange | None = None,
    lit: ClassName | None = None,
) -> TraceRasters:
    """Prepare a trace for drawing; reuses what has not changed since `before`."""
    key = scheme_key(open_trace, scheme, lengths)
    same = before is not None and before.open_trace is open_trace and before.scheme == key
    if before is not None and same and before.lit == lit:
        return before
    classes = color_classes(open_trace, scheme, lengths)
    palette = palette_of(open_trace, scheme, lengths)
    of_trace = before is not None and before.open_trace.trace is open_trace.trace
    drawn = before.raster.drawn if of_trace and before is not None else None
    raster = raster_of(open_trace, palette, drawn)
    numbers = None if lit is None else classes.numbers(lit)
    lit_slices = None
    if numbers is not None and len(numbers):
        of_class = np.flatnonzero(np.isin(classes.of(open_trace.trace), numbers))
        lit_slices = RowRaster.subset(open_trace.trace.slices, palette, of_class)
    return TraceRasters(open_trace, key, classes, palette, raster, None, lit, numbers, lit_slices)


BAR = 3  # px
TICK, TICK_WIDTH = 3, 2  # px, height and width in the overview
DIAMOND = 4  # px, half of the height


class HitRasters(QObject):
    """Updates the rasters of hits when the search or the colors change."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._searching = Search.of(session)
        self._all_rasters: Sequence[TraceRasters] = ()
        self._latest = Latest(self, self._take)
        self._searching.changed.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Use these rasters from now on."""
        self._all_rasters = all_rasters
        self._latest.cancel()
        self._follow()

    @Slot()
    def _follow(self) -> None:
        hits = self._searching.hits
        if self._searching.pending:
            return  # keep the previous marks until the search is done
        self._latest.cancel()
        open_traces = [drawn.open_trace for drawn in self._all_rasters]
        if not self._searching.is_on or not self._searching.is_of(open_traces):
            self._take([None] * len(self._all_rasters))
            return
        inputs = [
            (drawn.open_trace.trace.slices, drawn.palette, slices)
            for drawn, slices in zip(self._all_rasters, hits.slices, strict=True)
        ]
        self._latest.ask(len(hits) <= AT_ONCE, _rasters, inputs)

    @Slot(object)
    def _take(self, rasters: Sequence[RowRaster | None]) -> None:
        for drawn, raster in zip(self._all_rasters, rasters, strict=True):
            drawn.search_hits = raster
        self.changed.emit()


def _rasters(asked: Sequence[tuple[Slices, Palette, Ints]]) -> list[RowRaster | None]:
    return [RowRaster.subset(*item) for item in asked]


def stamp_hits(
    image: Pixels,
    layout: TimelineLayout,
    lines: tuple[int, int],
    all_rasters: Sequence[TraceRasters],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
    drawn_hits: Mapping[int, tuple[RowRaster | None, MarkedRows]],
    *,
    bars: bool,
) -> None:
    """Mark the hits of all visible rows in a frame of device pixels.

    `lines` are the content lines in logical pixels that the image covers. drawn_hits: what the
    frame has drawn over the rest, by trace: usually the same hits. `bars` marks hits that have a
    duration, which is not needed while everything else is hidden.
    """
    if all(drawn.search_hits is None for drawn in all_rasters):
        return
    color = theme.pixel("hit")
    ground = canvas_rgb(theme.dark) | 0xFF000000
    bands, scroll = layout.bands_between(*lines), lines[0]
    for number, drawn in enumerate(all_rasters):
        visible = bands[layout.trace[bands] == number]
        if drawn.search_hits is None:
            continue
        trace_xmap = xmap.on(drawn.open_trace.axis)
        rows = visible[layout.kind[visible] == BandKind.ROW]
        if bars and len(rows):
            above, hits = drawn_hits.get(number, (None, None))
            if hits is None or above is not drawn.search_hits:
                cells = drawn.search_hits.draw(layout.row[rows].tolist(), trace_xmap)
                hits = MarkedRows(rows, cells)
            _stamp_bars(image, layout, scroll, canvas, hits, (color, ground))
        for band in visible[layout.kind[visible] == BandKind.STRIP].tolist():
            marks = drawn.search_hits.zero_marks(int(layout.row[band]), trace_xmap)
            middle = canvas.device(int(layout.y[band]) - scroll + int(layout.height[band]) // 2)
            stamp_diamonds(image, marks.x, middle, canvas.device(DIAMOND), color)


def _stamp_bars(
    image: Pixels,
    layout: TimelineLayout,
    scroll: int,
    canvas: Canvas,
    hits: MarkedRows,
    colors: tuple[int, int],
) -> None:
    """Stamp a bar on each hit, and a line below it; colors: of these."""
    # Bits instead of branches: three times as fast where hits and others alternate.
    masks = np.negative(_widened(hits.cells != 0).view(np.uint8).astype(np.uint32))
    color, ground = map(np.uint32, colors)
    tall, line = canvas.device(BAR), canvas.device(1)
    tops = (layout.y[hits.bands] - scroll + SLICE_TOP).tolist()
    for top, mask in zip(map(canvas.device, tops), masks, strict=True):
        _mix(image[max(top, 0) : max(top + tall, 0)], color, mask)
        _mix(image[max(top + tall, 0) : max(top + tall + line, 0)], ground, mask)


def _mix(pixels: Pixels, color: np.uint32, mask: Pixels) -> None:
    """Give pixels a color in the columns whose mask has all bits."""
    change = pixels ^ color
    change &= mask
    pixels ^= change


def _widened(hit: Bools) -> Bools:
    """Widen hits that are one column wide by a column on each side; hit: (rows, columns)."""
    alone = hit.copy()
    alone[:, 1:] &= ~hit[:, :-1]
    alone[:, :-1] &= ~hit[:, 1:]
    wide = hit.copy()
    wide[:, 1:] |= alone[:, :-1]
    wide[:, :-1] |= alone[:, 1:]
    return wide


def hit_columns(starts: Ints, xmap: XMap) -> Ints:
    """The columns in which hits start; `starts` are sorted, in ns of the axis."""
    return np.flatnonzero(np.diff(np.searchsorted(starts, xmap.edges)))


class HitTicks:
    """Paints a tick for each column of an overview in which hits start; it keeps these columns."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._asked: tuple[object, ...] = ()
        self._runs: list[tuple[int, int]] = []

    def paint(
        self, painter: QPainter, traces: Sequence[int], xmap: XMap, y: int, theme: Theme
    ) -> None:
        """Paint the ticks below a line; traces: of the clock of the overview."""
        if not self._search.is_on:
            return
        hits = self._search.hits
        asked = ref(hits), tuple(traces), xmap
        if asked != self._asked:
            self._asked = asked
            self._runs = _runs(hit_columns(hits.starts_in(traces), xmap))
        color = theme.color("hit")
        for first, last in self._runs:
            painter.fillRect(QRectF(first, y, last - first + TICK_WIDTH, TICK), color)


def _runs(columns: Ints) -> list[tuple[int, int]]:
    """Return the first and last of columns whose ticks touch: there may be a thousand."""
    if not len(columns):
        return []
    breaks = np.flatnonzero(np.diff(columns) > TICK_WIDTH)
    firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(columns) - 1)
    return list(zip(columns[firsts].tolist(), columns[lasts].tolist(), strict=True))


SLOWER, FASTER = 1, 2  # palette indexes of the bars


@dataclass(frozen=True, eq=False, slots=True)
class TraceMarks:
    """The marks on one trace.

    is_b: whether it belongs to arm B, where bars are above their slices. bars: the changed slices,
    colored SLOWER or FASTER. alone: those that only its arm has. None if there are none.
    """

    is_b: bool
    bars: RowRaster | None
    alone: RowRaster | None

    @property
    def rasters(self) -> tuple[RowRaster, ...]:
        """Those that there are: first `alone`, because bars are drawn over it."""
        return tuple(row_raster for row_raster in (self.alone, self.bars) if row_raster is not None)


@dataclass(frozen=True, eq=False, slots=True)
class FoundMarks:
    """The marks of traces, by their number, and the changed pairs of rows of a comparison."""

    of: Mapping[int, TraceMarks]
    pairs: ChangedPairs | None
    comparison: OpenComparison | None = None


# The comparison, and the traces that are shown: numbers and identities.
_Question: TypeAlias = "tuple[OpenComparison | None, tuple[tuple[int, int], ...]]"
NO_MARKS = FoundMarks({}, None)


class ComparedMarks(QObject):
    """Finds the marks whenever the comparison or the strips change."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._feed = ComparisonFeed.of(session)
        self.answer = NO_MARKS
        self._asked: _Question | None = None
        self._latest = Latest(self, self._take)
        for signal in (self._feed.changed, session.strips_changed, session.workspace_changed):
            signal.connect(self._follow)

    @property
    def comparison(self) -> OpenComparison | None:
        """The comparison whose marks are shown, None without one."""
        return self.answer.comparison

    @property
    def pending(self) -> bool:
        """Whether the marks are still being found."""
        return self._latest.pending

    @Slot()
    def _follow(self) -> None:
        session = self._session
        as_run = session.state.inferences is Inferences.AS_RUN
        open_comparison = self._feed.in_tables if as_run else None
        keys = set(shown_clocks(session))
        numbered = [
            (number, open_trace)
            for number, open_trace in enumerate(session.traces)
            if session.groups.of(number).key in keys
        ]
        question: _Question = (
            open_comparison,
            tuple((number, id(open_trace.trace)) for number, open_trace in numbered),
        )
        if open_comparison is None:
            self._asked = None
            self._latest.cancel()
            self._take(NO_MARKS)
        elif question != self._asked:
            if self._asked is None or question[1] != self._asked[1]:
                self._take(NO_MARKS)  # traces may have other numbers now
            self._asked = question
            size = sum(len(open_trace.trace.slices) for _, open_trace in numbered)
            self._latest.ask(size <= AT_ONCE, found_marks, open_comparison, numbered)

    @Slot(object)
    def _take(self, answer: FoundMarks) -> None:
        if answer is not self.answer:
            self.answer = answer
            self.changed.emit()


def found_marks(
    open_comparison: OpenComparison, numbered: Sequence[tuple[int, OpenTrace]]
) -> FoundMarks:
    """Return the marks on some traces, given with their numbers; a pure function."""
    from viewer.analysis.comparison.comparison import Verdict
    from viewer.analysis.comparison.rows import outermost
    from viewer.view.open_comparison import changed_pairs, changed_rows, rows_of_one_arm

    traces = {open_trace.file.path: (number, open_trace) for number, open_trace in numbered}
    of: dict[int, TraceMarks] = {}
    color = np.zeros(len(open_comparison.rows), np.uint8)
    for row in changed_rows(open_comparison):
        is_slower = open_comparison.rows[row][1].verdict is Verdict.SLOWER
        color[row] = SLOWER if is_slower else FASTER
    changed, alone = changed_rows(open_comparison), rows_of_one_arm(open_comparison)
    for number, open_trace in numbered:
        row_of = open_comparison.rows_of_slices(open_trace.file.path)
        side = open_comparison.side_of(open_trace.file.path)
        if row_of is None or len(row_of) != len(open_trace.trace.slices):
            continue
        rasters = []
        for rows in (changed, alone):
            indices = outermost(open_trace.trace, row_of, rows)
            colors = np.append(color, 0)[row_of].astype(np.uint8)
            rasters.append(
                RowRaster.subset(open_trace.trace.slices, colors, indices) if len(indices) else None
            )
        of[number] = TraceMarks(side == 1, *rasters)
    return FoundMarks(of, changed_pairs(open_comparison, traces), open_comparison)


@dataclass(frozen=True, eq=False, slots=True)
class StandingOut:
    """The slices of one trace that stand out: per slice whether it does, and their raster."""

    is_out: Bools
    raster: RowRaster


class ComparedSlices(QObject):
    """Follows the comparison and the selection; `of` has an entry for each trace that is shown."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._feed = ComparisonFeed.of(session)
        self._all_rasters: Sequence[TraceRasters] = ()
        self.of: dict[int, StandingOut] = {}
        self._asked: object = None
        self._latest = Latest(self, self._take)
        for signal in (self._feed.changed, session.selection_changed, session.strips_changed):
            signal.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Use the palettes of these rasters from now on."""
        self._all_rasters = all_rasters
        self._follow()

    @Slot()
    def _follow(self) -> None:
        open_comparison, rows = self._feed.in_tables, self._rows()
        traces = self._traces() if open_comparison is not None and rows else []
        if open_comparison is None or not traces:
            self._asked = None
            self._latest.cancel()
            self._take({})
            return
        question = (
            open_comparison,
            rows,
            tuple((number, id(palette)) for number, _, palette in traces),
        )
        if question == self._asked:
            return
        self._asked = question
        size = sum(len(open_trace.trace.slices) for _, open_trace, _ in traces)
        self._latest.ask(size <= AT_ONCE, standing_out, open_comparison, rows, traces)

    def _rows(self) -> tuple[int, ...]:
        """The rows that stand out; () if nothing is dimmed."""
        session, open_comparison = self._session, self._feed.in_tables
        if open_comparison is None or session.state.inferences is not Inferences.AS_RUN:
            return ()
        if session.state.slice is not None:
            row = row_of_selection(session, open_comparison)
            return () if row < 0 else (row,)
        if session.state.operators is not None:
            return ()
        from viewer.view.open_comparison import changed_rows, rows_of_one_arm

        changed = changed_rows(open_comparison)
        return (*changed, *rows_of_one_arm(open_comparison)) if changed else ()

    def _traces(self) -> list[tuple[int, OpenTrace, Palette]]:
        """The traces that have strips, with their palettes."""
        session = self._session
        keys = set(shown_clocks(session))
        return [
            (number, drawn.open_trace, drawn.palette)
            for number, drawn in enumerate(self._all_rasters)
            if number < len(session.traces) and session.groups.of(number).key in keys
        ]

    @Slot(object)
    def _take(self, of: dict[int, StandingOut]) -> None:
        if of or self.of:
            self.of = of
            self.changed.emit()


def standing_out(
    open_comparison: OpenComparison,
    rows: tuple[int, ...],
    traces: Sequence[tuple[int, OpenTrace, Palette]],
) -> dict[int, StandingOut]:
    """Return the slices of some rows by the number of their trace; a pure function."""
    of: dict[int, StandingOut] = {}
    for number, trace, palette in traces:
        row_of_slice = open_comparison.rows_of_slices(trace.file.path)
        if row_of_slice is None or len(row_of_slice) != len(trace.trace.slices):
            continue
        is_out: Bools = np.isin(row_of_slice, np.array(rows))
        indices: Ints = np.flatnonzero(is_out)
        of[number] = StandingOut(is_out, RowRaster.subset(trace.trace.slices, palette, indices))
    return of
